"""The short programs of docs/programs, and a segment with all that they meet."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from compiler.toolchain import FOLDER
from tests.languages.toolchains import CACHES, HERE, ROOT, runtime
from tests.oracle import jvm

import kafka_segments

PAGES = ROOT / "docs" / "programs"
RECORDED = ROOT / "tests" / "vectors" / "recorded" / "kafka-4.3" / "clean" / "append-time-0"
MOST_LINES = 35
"""Of a program, without blank lines, imports and lines that only close a block."""
_SAVED = re.compile(r"ave as `([^`]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NO_CODE = re.compile(r"\s*(?:[\])};]*|end|import .*|using .*|#include .*|use .*|require.*|\s*\"\S+\")")


def shown() -> list[str]:
    """What the list of the programs shows that each prints of a recorded segment."""
    text = (PAGES / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return block.splitlines()


def files_of(language: str) -> dict[str, str]:
    """The files that a page says to save, by name."""
    return dict(_SAVED.findall((PAGES / f"{language}.md").read_text(encoding="utf-8")))


def num_lines(code: str) -> int:
    """How many lines of a program say something."""
    return sum(_NO_CODE.fullmatch(line) is None for line in code.splitlines())


class Program:
    """A program as a reader of its page makes it, in a folder."""

    def __init__(self, language: str, folder: Path) -> None:
        """Save the files of its page."""
        self._folder, self._is_built = folder, False
        for name, content in files_of(language).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
        (commands,) = _COMMANDS.findall((PAGES / f"{language}.md").read_text(encoding="utf-8"))
        *self._builds, self._run = commands.splitlines()
        programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self._variables = {
            **os.environ,
            **CACHES.get(language, {}),
            "NODE_PATH": str(FOLDER / "node_modules"),
            "PATH": programs,
            "RUNTIME": str(_runtime_of(language)),
            "PYTHONUTF8": "1",
        }

    def printed(self, segment: Path) -> tuple[list[str], list[str]]:
        """What the program prints of a segment, and on standard error of offsets."""
        commands = [self._run] if self._is_built else [*self._builds, self._run]
        done = subprocess.run(
            ["bash", "-ec", "\n".join(commands)],
            cwd=self._folder,
            env={**self._variables, "SEGMENT": str(segment)},
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr[-2000:]
        self._is_built = True
        return done.stdout.splitlines(), [
            line for line in done.stderr.splitlines() if line.startswith("offset ")
        ]


def _runtime_of(language: str) -> Path:
    if language == "javascript":
        return FOLDER / "node_modules"
    if language == "java":
        return jvm.fetch_jars(HERE / "java" / "pom.xml")
    return Path() if language in ("go", "python") else runtime(language.removesuffix("_11"))


def write_all_kinds(folder: Path) -> tuple[Path, Path]:
    """Write a segment with nulls, a compressed batch, a marker, damage and padding; and one cut off."""
    path = folder / f"{0:020}.log"
    of_producer = {"producer_id": 7, "producer_epoch": 0}
    with kafka_segments.open_writer(path, index=False) as writer:
        writer.write(
            [
                {"timestamp": 1, "key": b"k0", "value": "gr\u00fc\u00dfe".encode()},
                {"timestamp": 1, "key": None, "value": b""},
                {"timestamp": 1, "key": b"", "value": None, "headers": [("h", b"x")]},
            ]
        )
        writer.write([{"timestamp": 1, "key": b"z", "value": b"packed"}], compression="gzip")
        writer.write([{"timestamp": 1, "key": b"t", "value": b"tx"}], is_transactional=True, **of_producer)
        writer.write_marker("COMMIT", timestamp=1, **of_producer)
        writer.write([{"timestamp": 1, "key": b"hurt", "value": b"x"}])
        writer.write([{"timestamp": 1, "key": b"last", "value": b"end"}])
    data = bytearray(path.read_bytes())
    data[data.index(b"hurt") - 1] ^= 0x7F  # the length of the key: more than the batch has
    whole, cut = folder / "whole.log", folder / "cut.log"
    whole.write_bytes(bytes(data) + bytes(64))
    cut.write_bytes(data[:-5])
    return whole, cut


RECORDS = ["0 k0 gr\u00fc\u00dfe", "1 null ", "2  null", "4 t tx"]
"""What is printed of these two, and, of the whole one alone:"""
LAST = "7 last end"
SKIPPED, DAMAGED = "offset 3: compressed, or an old format", "offset 6: "
