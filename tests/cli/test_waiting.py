"""What a terminal shows while a verb computes: a line on standard error, which is gone afterwards."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests import work
from tests.python import environment

ROOT = Path(__file__).resolve().parents[2]
CLEAN = ROOT / "tests/vectors/recorded/kafka-4.3/clean/multi-0"
SEGMENT = CLEAN / f"{0:020}.log"
LINE = "\r\x1b[Kkafka-segments: "

# Each verb, made slow where it computes.
SLOW = {
    "plan": ("kafka_segments.cli.plan.plan", [CLEAN], "planning partitions: 1 ("),
    "aborted": ("kafka_segments.cli.aborted.discover", [CLEAN], "listing segments ("),
    "dump": ("kafka_segments.core.segment.segment.Segment.iter_events", [SEGMENT], "reading "),
    "ingest": (
        "kafka_segments.ingest.run_plan.plan_ingest",
        [CLEAN, "OUT"],
        "listing and opening segments (",
    ),
}
PROGRAM = """
import importlib, sys, time
from kafka_segments.cli import console, main
console._SECONDS_BEFORE = float(sys.argv[1])
module, _, name = sys.argv[2].rpartition(".")
try:
    holder = importlib.import_module(module)
except ModuleNotFoundError:
    module, _, owner = module.rpartition(".")
    holder = getattr(importlib.import_module(module), owner)
quick = getattr(holder, name)
def slow(*arguments, **more):
    time.sleep(float(sys.argv[3]))
    return quick(*arguments, **more)
setattr(holder, name, slow)
sys.exit(main.main(sys.argv[4:]))
"""


def shown(before: float, delay: float, where: str, *arguments: str) -> str:
    """What a terminal is sent as standard error."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", PROGRAM, str(before), where, str(delay), *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment(TERM="xterm")
    ) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # Linux' way to say that the other end is closed
                break
            if not part:
                break
            parts.append(part)
    os.close(ours)
    assert process.returncode in (0, 2)
    return b"".join(parts).decode()


@pytest.mark.parametrize("verb", SLOW)
def test_a_line_is_shown_and_taken_away(verb: str, tmp_path: Path) -> None:
    if verb == "ingest":
        pytest.importorskip("pyspark")
    where, arguments, words = SLOW[verb]
    if verb == "ingest":
        (tmp_path / "taken").touch()  # it ends before Spark would be started
        arguments = [CLEAN, tmp_path / "taken"]
    text = shown(0.1, 1.5, where, verb, *map(str, arguments))
    assert LINE + words in text
    last = text.rindex(LINE + words)
    assert "\r\x1b[K" in text[last + len(LINE) :], "it is gone before anything else comes"


def test_what_takes_a_moment_shows_nothing() -> None:
    assert shown(work.HANGS, 0.1, SLOW["plan"][0], "plan", str(CLEAN)) == ""


def test_nothing_is_silent_for_more_than_five_seconds() -> None:
    from kafka_segments.cli import console

    assert console._SECONDS_BEFORE <= 4
