"""Guides: pages whose blocks run from top to bottom, as a reader types them, in a place like a fresh clone.

`console` blocks hold commands after `$ ` with what they print, standard error too; `sh` blocks hold commands
alone; all `python` blocks of a page are one session, and a `text` block straight after one is what it prints.
In what is shown, a line `...` stands for any lines and `...` within a line for any text; runs of spaces and
dashes may have other lengths. `# exit status 1` after a command says how it ends, which is 0 otherwise. A
block after a line that ends with "save as `NAME`:" becomes that file, and a `diff` block is applied.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What a reader has done, or does once, and what other tests do: `make run` is one of the two commands of CI.
NOT_RUN = ("git clone ", "make run", "pip install ", "source .venv/bin/activate")
TIMEOUT_S = 300
# In messages of the first call on a machine, and of one that takes seconds; a terminal shows a bar instead.
PASSING = re.compile(r"compiling decoders|^kafka-segments: [\d.,]+ \w+ of [\d.,]+ \w+ done")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"save (?:it |this |them )?as `([\w./-]+)`:\n+\Z", re.IGNORECASE)
_STATUS = re.compile(r"\s+# exit status (\d+)$")
# Takes blocks as lines of JSON, runs them in one namespace, and ends what each prints with a mark.
_SESSION = """
import json, os, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    folder, code, mark = json.loads(line)
    os.chdir(folder)
    try:
        exec(compile(code, "<page>", "exec"), names)
    except BaseException:
        traceback.print_exc()
        mark += " failed"
    sys.stderr.flush()
    print(mark, flush=True)
"""
_MARK = "--- end of the block ---"


class GuideError(AssertionError):
    """A block does not do what its page shows."""


@dataclass(frozen=True)
class Block:
    """A block of a page.

    Attributes:
        language: after its fence.
        code: its lines.
        saved_as: the file that it becomes.
        shown: what it prints, where the page shows that in a block of its own.
        line: number of its first line in the page.
    """

    language: str
    code: str
    saved_as: str | None
    shown: str | None
    line: int


def blocks_of(text: str) -> Iterator[Block]:
    """The blocks of a page, without those that are another one's output."""
    found = list(_FENCE.finditer(text))
    for number, match in enumerate(found):
        language, code = match.groups()
        before = found[number - 1] if number else None
        if language == "text" and before and before[1] == "python" and _adjoin(text, before, match):
            continue
        after = found[number + 1] if number + 1 < len(found) else None
        is_followed = language == "python" and after and after[1] == "text" and _adjoin(text, match, after)
        saved = _SAVED.search(text, 0, match.start())
        yield Block(
            language,
            code,
            saved[1] if saved else None,
            after[2] if after and is_followed else None,
            text.count("\n", 0, match.start()) + 2,
        )


def _adjoin(text: str, before: re.Match[str], after: re.Match[str]) -> bool:
    return not text[before.end() : after.start()].strip()


def make_place(folder: Path) -> Path:
    """Make what looks like a fresh clone in an empty folder: links, and a folder `build` of its own."""
    place = folder / "kafka-segments"
    (place / "tests" / "vectors").mkdir(parents=True)
    for name in ("codegen.py", "compiler", "schemas", "tests/vectors/recorded"):
        (place / name).symlink_to(ROOT / name)
    (place / "build").mkdir()
    return place


class Reader:
    """A reader at a shell and at Python, who follows a page."""

    def __init__(self, place: Path, variables: Mapping[str, str]) -> None:
        """Stand in a folder.

        Args:
            place: of `make_place`.
            variables: of the environment; the first folder of its PATH has the programs.
        """
        self.folder = place
        self.variables = {**variables, "PYTHONUNBUFFERED": "1"}  # as at a terminal
        self._notes = place.parent / "shell-state"
        self._python: subprocess.Popen[str] | None = None

    def close(self) -> None:
        """Leave Python."""
        if self._python is not None:
            assert self._python.stdin is not None and self._python.stdout is not None
            self._python.stdin.close()
            self._python.wait(TIMEOUT_S)
            self._python.stdout.close()

    def follow(self, text: str) -> None:
        """Do what a page says.

        Raises:
            GuideError: a command fails, or what it prints is not what the page shows.
        """
        for block in blocks_of(text):
            try:
                self._do(block)
            except GuideError as error:
                raise GuideError(f"line {block.line}: {error}") from None

    def _do(self, block: Block) -> None:
        if block.saved_as is not None:
            path = self.folder / block.saved_as
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code, encoding="utf-8")
        elif block.language == "diff":
            self._type("git apply -", 0, block.code)
        elif block.language == "sh":
            for line in block.code.replace("\\\n", " ").splitlines():
                self._type(line, 0)
        elif block.language == "console":
            for line, status, shown in commands(block.code):
                compare(shown, self._type(line, status), line)
        elif block.language == "python":
            printed = self._run(block.code)
            if block.shown is not None:
                compare(block.shown.splitlines(), printed, "Python")

    def _type(self, line: str, status: int, given: str = "") -> str:
        """Run a command; what it printed."""
        if not line.strip() or line.startswith(NOT_RUN):
            return "..."
        script = f'{line}\nended=$?\n{{ pwd; env -0; }} > "{self._notes}"\nexit $ended\n'
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.variables,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
        )
        if done.returncode != status:
            raise GuideError(f"{line}: exit status {done.returncode}, not {status}:\n{done.stdout}")
        folder, _, variables = self._notes.read_text(encoding="utf-8").partition("\n")
        self.folder = Path(folder)
        self.variables = dict(one.split("=", 1) for one in variables.split("\0") if "=" in one)
        return done.stdout

    def _run(self, code: str) -> str:
        """Run a block in the page's session of Python; what it printed."""
        if self._python is None:
            python = shutil.which("python", path=self.variables["PATH"]) or "python"
            self._python = subprocess.Popen(
                [python, "-c", _SESSION],
                env=self.variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        assert self._python.stdin is not None and self._python.stdout is not None
        self._python.stdin.write(json.dumps([str(self.folder), code, _MARK]) + "\n")
        self._python.stdin.flush()
        printed = []
        for line in self._python.stdout:
            if line.startswith(_MARK):
                if line.endswith("failed\n"):
                    break
                return "".join(printed)
            printed.append(line)
        raise GuideError(f"{code}\nfailed:\n{''.join(printed)}")


def commands(code: str) -> Iterator[tuple[str, int, list[str]]]:
    """The commands of a `console` block, with the statuses that they end with and the lines they print."""
    lines = code.replace("\\\n", " ").splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    if starts[:1] != [0]:
        raise GuideError(f"no command: {code}")
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        line = lines[start].removeprefix("$ ")
        status = _STATUS.search(line)
        yield _STATUS.sub("", line), int(status[1]) if status else 0, lines[start + 1 : end]


def compare(shown: Sequence[str], printed: str, command: str) -> None:
    """See that a command printed what its page shows.

    Raises:
        GuideError: it did not.
    """
    lines = [narrow(line) for line in shown]
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n"
        for line in lines
    )
    real = "".join(f"{narrow(line)}\n" for line in printed.splitlines() if not PASSING.search(line))
    if printed != "..." and not re.fullmatch(pattern, real):
        raise GuideError(f"{command}: the page shows\n{os.linesep.join(shown)}\nand it prints\n{printed}")


def narrow(line: str) -> str:
    """A line with runs of spaces and dashes of one length, which follow from the widths of columns."""
    return re.sub(r"-{3,}", "---", " ".join(line.split()))
