"""Every command that reads or writes, in a table: a new one is one more row.

`tests/invariant/test_sources_untouched.py` and `test_failed_writes.py` go through it.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from tests.in_process import run_main

from kafka_segments.cli.main import _parser
from kafka_segments.cli.parsing import arguments_of

CLEAN = Path(__file__).parents[1] / "vectors" / "recorded" / "kafka-4.3" / "clean"
PARTITIONS = ("multi-0", "transactions-0", "codec-zstd-0")


SLOW = ("audit", "compact", "ingest", "report", "rewind", "sizes")
"""Commands that take a second or more of any log."""


@dataclass(frozen=True)
class Call:
    """One way to call a command.

    Attributes:
        words: the arguments. In them SRC is a log directory, PARTITION a directory in it, LOG a segment,
            INDEX and TIMEINDEX its indexes, TABLE a table of ingest with what SRC has, OUT something that is
            written and not there yet.
        writes: what OUT is: "file", "directory" or "table"; "in place" where TABLE is changed; else nothing.
    """

    words: str
    writes: str = ""

    @property
    def name(self) -> str:
        """The words that make it another call than those before, for a test's id."""
        kept = [word for word in self.words.split() if word not in (*PLACES, "local")]
        return " ".join(kept)

    @property
    def reads_source(self) -> bool:
        """Whether it is given the log directory, or something in it."""
        return bool({*PLACES} & {*self.words.split()} - {"TABLE", "OUT"})


PLACES = ("SRC", "PARTITION", "LOG", "INDEX", "TIMEINDEX", "TABLE", "OUT")
CALLS = (
    Call("aborted SRC"),
    Call("audit TABLE SRC"),
    Call("cat SRC"),
    Call("cat --base64 --print headers --isolation read_committed PARTITION"),
    Call("compact TABLE --engine local", "in place"),
    Call("completion bash"),
    Call("convert LOG OUT --to-magic 1", "file"),
    Call("convert LOG OUT --codec lz4", "file"),
    Call("convert LOG OUT --codec producer", "file"),
    Call("dump SRC"),
    Call("dump --format jsonl --headers-only SRC"),
    Call("dump --isolation read_committed SRC"),
    Call("dump --like-kafka --files LOG --print-data-log"),
    Call("dump --like-kafka --files INDEX --index-sanity-check"),
    Call("dump --like-kafka --files TIMEINDEX"),
    Call("find --text value SRC"),
    Call("find --regex v.l --format jsonl SRC"),
    Call("find --producer-id -1 --format arrow SRC"),
    Call("find --offsets 3: --format parquet SRC"),
    Call("find --offsets 3: --to-segment OUT SRC", "directory"),
    Call("ingest --engine local SRC OUT", "table"),
    Call("ls -l SRC"),
    Call("ls --headers --format csv SRC"),
    Call("plan SRC"),
    Call("plan --compare-copies SRC"),
    Call("plan --take-snapshot OUT SRC", "file"),
    Call("report SRC -o OUT", "file"),
    Call("rewind TABLE multi:0 --to-offset 0 --engine local", "in place"),
    Call("salvage SRC OUT", "directory"),
    Call("salvage --dry-run SRC"),
    Call("schemas list"),
    Call("schemas export OUT", "directory"),
    Call("schemas export --gallery OUT", "directory"),
    Call("schemas export --webide OUT SRC", "directory"),
    Call("sizes --whole SRC"),
    Call("slice PARTITION OUT --offsets 3:90", "directory"),
    Call("verify SRC"),
    Call("verify --format jsonl PARTITION"),
)
WRITERS = tuple(call for call in CALLS if call.writes)


def commands(parser: argparse.ArgumentParser, before: str = "") -> set[str]:
    """All commands, as they are typed."""
    found: set[str] = set()
    for argument in arguments_of(parser):
        if argument.nargs == argparse.PARSER and isinstance(argument.choices, dict):
            for name, one in argument.choices.items():
                typed = f"{before}{name}"
                found |= commands(one, f"{typed} ") or {typed}
    return found


def untested() -> set[str]:
    """Commands that no row calls."""
    return {
        one
        for one in commands(_parser())
        if not any(f"{call.words} ".startswith(f"{one} ") for call in CALLS)
    }


def in_short(calls: Iterable[Call], *, slow: bool) -> list[ParameterSet]:
    """Parameters of a test: calls; without `slow` those of slow commands in the full form alone."""
    return [
        pytest.param(
            call,
            id=call.name,
            marks=pytest.mark.long(short=False) if not slow and call.words.startswith(SLOW) else (),
        )
        for call in calls
    ]


@dataclass(frozen=True)
class Places:
    """The files of a test.

    Attributes:
        source: a log directory.
        table: what ingest made of it; empty if no call needs it.
        out: a path that does not exist.
    """

    source: Path
    table: Path
    out: Path

    def words(self, call: Call) -> list[str]:
        """The arguments of a call."""
        partition = self.source / "multi-0"
        log, index, time_index = (partition / f"{0:020}.{end}" for end in ("log", "index", "timeindex"))
        places = (self.source, partition, log, index, time_index, self.table, self.out)
        named = dict(zip(PLACES, places, strict=True))
        return [str(named.get(word, word)) for word in call.words.split()]


def make_places(folder: Path, table: Path | None = None) -> Places:
    """Copy a log directory, and a table if one is given, into a folder."""
    source = folder / "source"
    source.mkdir(parents=True)
    for path in CLEAN.iterdir():
        if path.is_file() and path.name != ".kafka_cleanshutdown":
            shutil.copy2(path, source / path.name)
    for name in PARTITIONS:
        shutil.copytree(CLEAN / name, source / name)
    places = Places(source, folder / "table", folder / "made" / "out")
    places.out.parent.mkdir()
    if table is not None:
        shutil.copytree(table, places.table)
    return places


def make_table(folder: Path) -> Path:
    """Ingest the source of `make_places` in two runs, so that there are files to merge."""
    places = make_places(folder)
    for word in ("multi", "transactions", "codec-zstd"):
        words = ["ingest", "--engine", "local", "--subscribe", word, str(places.source), str(places.table)]
        status, _, error = run_main(words)
        assert status == 0, error
    return places.table
