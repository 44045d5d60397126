"""Any file costs bounded time and memory: 64 KiB at most 20 s of CPU and 600 MiB, a GiB at most 3 minutes.

Where that is too little to read all, an error names the bound. Files are read in processes of their own: each
in one, in some ways after each other, or in the short form a few, whose peak is that of the worst.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from tests.bounds.measured import DISK_VERBS, READING, VERBS, WITHOUT_NUMBA
from tests.forms import IS_FULL, pick
from tests.made.adversaries import ADVERSARIES, search_adversary
from tests.python import run_python

pytest.importorskip("numba")
pytest.importorskip("snappy")

# What is measured is compiled before, in the fixture `machine_code`: for a few tests in one process alone.
pytestmark = [pytest.mark.long, *pick((pytest.mark.xdist_group("adversaries"),), ())]

_ROOT = Path(__file__).parents[2]
_SIZE = pick(2 << 10, 32 << 10)
# Besides what grows with the file, `compression.bounds.MORE_ITEMS` are read of any: ten seconds.
_MOST_CPU = 10 + 10 * _SIZE / (64 << 10)
_MOST_MEMORY = 600  # MiB, at the peak
_START = 3  # seconds of CPU that a process may take to load machine code

# In the short form: of the containers of the codecs, and of what is read in other ways, one of a sort each.
_OF_CONTAINERS = (
    "snappy blocks of a byte in wrappers",
    "lz4 blocks of a byte",
    "gzip members of nothing, then a record",
    "zstd frames of a record",
    "zstd windows of 128 MiB",
)
_BY_OTHER_WAYS = (
    "zstd frames of a record",
    "voters of leader changes",
    "large wrappers behind damage, magic 1",
)
_BY_DISK_VERBS = ("lz4 records, a byte behind them", "large wrappers behind damage, magic 1")
_READ_ALWAYS = pick(("read_batches", "read_headers"), tuple(READING))
_READ_SOME = [way for way in READING if way not in _READ_ALWAYS]
# What costs as much as another of its sort, seconds of CPU each.
_TWINS = ("tagged fields of snapshot footers", "zstd records in control batches")
_FIRST_OF_CONTAINERS = list(ADVERSARIES).index("snappy blocks of a byte")
_OTHERS = pick(_BY_OTHER_WAYS, tuple(ADVERSARIES))
_ON_DISKS = pick(_BY_DISK_VERBS, tuple(ADVERSARIES))
_OF_SEGMENTS = [name for name in list(ADVERSARIES)[:_FIRST_OF_CONTAINERS] if name not in _TWINS]
_READ = list(ADVERSARIES) if IS_FULL else [*_OF_SEGMENTS, *_OF_CONTAINERS]

# Of the search behind damage: bytes, and seconds of CPU for them.
_LEN_SEARCHED = pick(2 << 20, 1 << 30)
_MOST_SEARCHING = 180 * _LEN_SEARCHED / (1 << 30)
_SEARCHED = (
    "00 01",
    "01 00 00",
    "zeros before a byte",
    "bytes of 0, 1 and 2",
    "random bytes",
    "wrong checksums, magic 0",
    "wrong checksums, magic 2",
    "entries to the end of the file",
    "entries that overlap",
)


def measure(paths: Iterable[Path], ways: list[str], *options: str) -> list[dict]:
    words = [*options, os.pathsep.join(map(str, paths)), *ways]
    done = run_python("-m", "tests.bounds.measured", *words, cwd=_ROOT)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="session", autouse=True)
def machine_code(tmp_path_factory):
    """Compile once what is needed, before anything is measured."""
    path = tmp_path_factory.mktemp("warm") / "00000000000000000000.log"
    kinds = ("small zstd batches", "snappy wrapper of magic 1", "a byte behind plain records")
    sound = b"".join(ADVERSARIES[kind](1 << 9) for kind in kinds)
    path.write_bytes(sound + b"".join(search_adversary("00 01", 1 << 12)))
    measure([path], [*READING, *VERBS, *DISK_VERBS])


def check_costs(names: Sequence[str], ways: Iterable[str], folder: Path, *options: str) -> None:
    paths = [folder / str(number) / "topic-0" / "00000000000000000000.log" for number in range(len(names))]
    for name, path in zip(names, paths, strict=True):
        path.parent.mkdir(parents=True)
        path.write_bytes(ADVERSARIES[name](_SIZE))
    measured = measure(paths, list(ways), *options)
    assert len(measured) == len(list(ways)) * len(names)
    for one in measured:
        assert one["cpu"] <= _MOST_CPU + _START, (names, one)
        if one["peak"] > _MOST_MEMORY:  # that of all ways so far: is it this way's own?
            (alone,) = measure([Path(one["path"])], [one["way"]], *options)
            assert alone["peak"] <= _MOST_MEMORY, (names, alone)


def in_turns(names: Sequence[str], num: int) -> pytest.MarkDecorator:
    """Parametrize with lists of names: `num` of them in the short form, else each name alone."""
    return pytest.mark.parametrize("names", [names[at::num] for at in range(num)], ids=lambda some: some[0])


@in_turns(_READ, pick(2, len(_READ)))
def test_small_file_costs_little(names, tmp_path):
    check_costs(names, _READ_ALWAYS, tmp_path)


@in_turns(_OTHERS, pick(1, len(_OTHERS)))
def test_small_file_costs_little_by_other_verbs(names, tmp_path):
    check_costs(names, [*_READ_SOME, *VERBS], tmp_path)


@in_turns(_ON_DISKS, pick(1, len(_ON_DISKS)))
def test_small_file_costs_little_by_verbs_for_damaged_disks(names, tmp_path):
    check_costs(names, [*DISK_VERBS], tmp_path)


@in_turns(_OTHERS, pick(1, len(_OTHERS)))
def test_small_file_costs_little_without_numba(names, tmp_path):
    check_costs(names, WITHOUT_NUMBA, tmp_path, "--without-numba")


@in_turns(_SEARCHED, pick(1, len(_SEARCHED)))
def test_search_is_fast(names, tmp_path):
    paths = [tmp_path / str(number) / "00000000000000000000.log" for number in range(len(names))]
    for name, path in zip(names, paths, strict=True):
        path.parent.mkdir()
        with path.open("wb") as file:
            file.writelines(search_adversary(name, _LEN_SEARCHED))
    measured = measure(paths, ["read_batches"])
    assert len(measured) == len(names)
    for one in measured:
        assert one["cpu"] <= _MOST_SEARCHING + _START, (names, one)
