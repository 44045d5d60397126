"""README's pieces of code, as a reader copies them: each a program of its own, all in one empty folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

README = Path(__file__).resolve().parents[2] / "README.md"
Run = Callable[..., "CompletedProcess[str]"]


def blocks(language: str) -> list[str]:
    """The code of a language, in order."""
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def programs() -> dict[str, str]:
    """What runs without Spark, by what it is for; PySpark's session and lines are one program."""
    write, arrow, scan, events, construct, session, rows, back = blocks("python")
    return {
        "write": write,
        "arrow": arrow,
        "scan": scan,
        "events": events,
        "construct": construct,
        "spark": session + rows,
        "back": back,
    }


def run_without_spark(run: Run, folder: Path) -> dict[str, str]:
    """Run every program, and what README's first screen shows; what each printed.

    Args:
        run: takes a program of the environment, its arguments, and `cwd`.
        folder: an empty one.
    """
    said = {}
    for name, code in programs().items():
        if name != "spark":
            done = run("python", "-c", code, cwd=folder)
            assert done.returncode == 0, (name, done.stderr)
            said[name] = done.stdout
    (shown,) = blocks("console")
    command, expected = shown.split("\n", 1)
    program, *arguments = command.removeprefix("$ ").split()
    done = run(program, *arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout == expected, "README does not show what dump prints"
    return said


def check(said: dict[str, str]) -> None:
    """What the programs print is what README says they do."""
    assert said["write"] == ""
    lines = said["arrow"].splitlines()
    assert sum(int(line.split()[0]) for line in lines[:-1]) == 2
    assert lines[-1] == "[{'base_offset': 42, 'num_records': 1}]"
    assert said["scan"].splitlines() == [
        "orders 0 42 44",
        "[{'partition': 0, 'offset': 43, 'value': b'world'}]",
    ]
    assert [line.split()[0] for line in said["events"].splitlines()] == ["42", "43"]
    assert bytes.fromhex(said["construct"])
    message, written = said["back"].splitlines()
    assert bytes.fromhex(message)
    assert "num_batches=2, num_records=3" in written
