"""Values of all sorts, for every argument of every public call that writes: sound ones, and whatever else."""

from __future__ import annotations

import datetime
import decimal
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import kafka_segments
from kafka_segments.core.formats.entries import ControlRecord

SearchStrategy = st.SearchStrategy[Any]


class Unprintable:
    """Does not like to be looked at, but by who says what failed."""

    def __repr__(self) -> str:
        if "kafka_segments" in sys._getframe(1).f_globals["__name__"]:
            raise RuntimeError("no")
        return "Unprintable()"

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


_POWERS = (7, 8, 15, 16, 31, 32, 62, 63, 64, 70)
NUMBERS = [
    -2,
    -1,
    0,
    1,
    2,
    *(sign * 2**power + by for power in _POWERS for sign in (-1, 1) for by in (-1, 0, 1)),
]
ODD = [
    None,
    True,
    False,
    1.0,
    -0.5,
    float("nan"),
    float("inf"),
    10**5000,
    1j,
    decimal.Decimal("1.5"),
    "",
    "x",
    "1",
    "none",
    "gzip",
    "zstd",
    "COMMIT",
    "CreateTime",
    "LogAppendTime",
    "\ud800",
    "a\0b",
    b"",
    b"x",
    bytearray(b"y"),
    memoryview(b"zz")[::2],
    [],
    [1],
    [None],
    (),
    (b"k", b"v"),
    {},
    {"key": b"k"},
    {1: 2, "x": 3},
    {3},
    range(3),
    object(),
    Unprintable(),
    int,
    pa.Table,
    datetime.datetime(2020, 1, 1),
    datetime.timedelta(seconds=1),
    np.int64(3),
    np.float32(1.5),
    np.bool_(True),
    np.array([1, 2]),
    np.array([b"a", object()], dtype=object),
    np.datetime64("2020-01-01"),
    pa.scalar(3),
    pa.scalar(b"x"),
    pa.scalar(None),
    pa.array([b"a"]),
    pa.chunked_array([[b"a"]]),
    ControlRecord("COMMIT", 1, 0, None),
    ControlRecord("UNKNOWN", 99, 0, None),
]
"""What no number, text, path or record should be, mostly."""


def anything() -> SearchStrategy:
    """Numbers at the edges, and objects of all kinds. What can be gone through once only is made anew."""
    once = st.builds(iter, st.lists(st.sampled_from(ODD), max_size=2))
    return st.one_of(
        st.sampled_from(NUMBERS), st.sampled_from(ODD), once, st.integers(), st.binary(max_size=4)
    )


def mostly(*sound: Any) -> SearchStrategy:
    """Sound values, and now and then any."""
    # Not by one_of, which would choose among the kinds of values that none should be.
    return st.integers(0, 9).flatmap(lambda which: anything() if which == 0 else st.sampled_from(sound))


BYTES = mostly(None, b"", b"v", "text", bytes(300))
HEADERS = st.one_of(
    mostly(None, (), [(b"a", b"1")], [{"key": b"a", "value": None}]),
    st.lists(st.one_of(st.tuples(BYTES, BYTES), anything()), max_size=3),
)
OFFSETS = mostly(None, None, *range(6))
TIMES = mostly(None, -1, 0, 1_700_000_000_000)


def rows() -> SearchStrategy:
    """Rows in all their forms."""
    values = {"offset": OFFSETS, "timestamp": TIMES, "key": BYTES, "value": BYTES, "headers": HEADERS}
    record = st.builds(
        lambda offset, timestamp, key, value, headers, control: kafka_segments.Record(
            0, offset, timestamp, "CreateTime", -1, key, value, headers, control
        ),
        *values.values(),
        mostly(None),
    )
    mapping = st.fixed_dictionaries({}, optional=values)
    sound = st.one_of(mapping, mapping, st.tuples(*values.values()), record, batches())
    return st.integers(0, 9).flatmap(lambda which: anything() if which == 0 else sound)


_PAIR = pa.struct([("key", pa.binary()), ("value", pa.binary())])
_TEXTS = [pa.binary(), pa.string(), pa.large_binary(), pa.string_view(), pa.binary_view(), pa.binary(2)]
_KINDS = [
    *_TEXTS,
    *(pa.dictionary(pa.int8(), kind) for kind in (pa.string(), pa.int64(), pa.timestamp("us"))),
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")),
    *(
        pa.int8(),
        pa.int64(),
        pa.uint64(),
        pa.float64(),
        pa.bool_(),
        pa.null(),
        pa.date32(),
        pa.duration("ms"),
    ),
    *(pa.decimal128(10, 2), pa.list_(_PAIR), pa.large_list(_PAIR), pa.list_(pa.null()), pa.list_view(_PAIR)),
    *(pa.map_(kind, kind) for kind in (pa.binary(), pa.string(), pa.int64())),
    *(pa.list_(pa.binary()), pa.list_(pa.struct([("key", pa.string())])), _PAIR),
]
_CONTENTS: list[list[Any]] = [
    [None, None],
    [0, 1],
    [5, 4],
    [-1, 2**63 - 1],
    [b"aa", None],
    ["ab", "cd"],
    [[(b"a", b"b")], None],
    [[], [(None, b"b")]],
    [[None], []],
    [[{"key": b"a", "value": b"b"}], []],
]


def _column(kind: Any, content: list[Any]) -> pa.Array:
    """A column of a type; of nulls where the type does not take the content."""
    if pa.types.is_map(kind) and content == [[None], []]:
        return pa.nulls(len(content), kind)  # Arrow 26 ends the process there
    try:
        if pa.types.is_dictionary(kind):
            return pa.DictionaryArray.from_arrays(
                pa.array([1, 0], pa.int8()), _column(kind.value_type, content)
            )
        return pa.array(content, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.nulls(len(content), kind)


def batches() -> SearchStrategy:
    """Arrow batches of two rows, with columns of all types under all names."""
    column = st.builds(_column, st.sampled_from(_KINDS), st.sampled_from(_CONTENTS))
    value = st.builds(_column, st.sampled_from(_TEXTS), st.sampled_from(_CONTENTS))
    others = dict.fromkeys(("offset", "timestamp", "key", "headers", "timestamp_type", "more"), column)
    columns = st.fixed_dictionaries({"value": st.one_of(value, value, column)}, optional=others)
    # Some begin behind their first row.
    made = columns.map(lambda given: pa.RecordBatch.from_arrays(list(given.values()), list(given)))
    return st.builds(lambda batch, start: batch.slice(start), made, st.sampled_from([0, 0, 1, 2]))


def data() -> SearchStrategy:
    """What may be given as records."""
    listed = st.lists(rows(), max_size=4)
    sound = st.lists(st.sampled_from([{"value": b"v"}, {"key": b"k", "value": None}]), max_size=4)
    tables = batches().map(lambda batch: pa.Table.from_batches([batch, batch]))
    return st.one_of(sound, listed, listed, listed.map(iter), batches(), tables, anything())


_UUID = "uvNgLjnRRaK5kWWU5hTnCw"
_VOTER = {"voter_id": 1, "voter_directory_id": _UUID, "endpoints": [], "k_raft_version_feature": None}
_FIELDS: dict[str, SearchStrategy] = {
    "version": mostly(0, 1),
    "coordinator_epoch": mostly(0, -1),
    "leader_id": mostly(1),
    "voters": mostly([], [_VOTER], [{"voter_id": 1}]),
    "granting_voters": mostly([], [{"voter_id": 1, "voter_directory_id": _UUID}]),
    "last_contained_log_timestamp": mostly(5),
    "k_raft_version": mostly(1),
    "tagged_fields": mostly(None, {"fields": []}),
}
_TYPES = (
    "COMMIT",
    "ABORT",
    "LEADER_CHANGE",
    "SNAPSHOT_HEADER",
    "SNAPSHOT_FOOTER",
    "KRAFT_VERSION",
    "KRAFT_VOTERS",
)


def controls() -> SearchStrategy:
    """What may be given as control records."""
    values = st.one_of(st.fixed_dictionaries({}, optional=_FIELDS), anything())
    marker = st.just(("COMMIT", {"coordinator_epoch": 0}))
    pair = st.one_of(marker, marker, marker, st.tuples(mostly(*_TYPES), values))
    any_pair = st.integers(0, 5).flatmap(lambda which: anything() if which == 0 else pair)
    return st.one_of(st.lists(pair, min_size=1, max_size=2), st.lists(any_pair, min_size=1, max_size=3))


CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PRODUCER = {
    "producer_id": mostly(-1, 1),
    "producer_epoch": mostly(-1, 0),
    "is_transactional": mostly(True, False),
}
OPTIONS: dict[str, SearchStrategy] = {
    "magic": mostly(0, 1, 2, 2, 2),
    "compression": mostly(*CODECS),
    "compression_level": mostly(None, None, 1),
    "timestamp_type": mostly("CreateTime", "LogAppendTime"),
    "log_append_time": mostly(None, 5),
    "partition_leader_epoch": mostly(-1, 3),
    "base_sequence": mostly(None, -1, 0),
    "delete_horizon_ms": mostly(None, 7),
    "max_message_bytes": mostly(None, 1048588, 80),
    "compacted": mostly(True, False),
    **PRODUCER,
}
MANY = {"base_offset": mostly(None, 0, 7), "batch_size": mostly(16384, 0, 100)} | OPTIONS
ONE = {"base_offset": mostly(None, 0), "last_offset": mostly(None, 9)} | OPTIONS
EMPTY = {name: OPTIONS[name] for name in ("timestamp_type", "partition_leader_epoch", "base_sequence")} | {
    "max_timestamp": mostly(-1, 5),
    "is_control": mostly(True, False),
    **PRODUCER,
}
CONTROL = PRODUCER | {
    name: OPTIONS[name]
    for name in (
        *("compression", "compression_level", "delete_horizon_ms"),
        *("max_message_bytes", "partition_leader_epoch", "base_sequence"),
    )
}
OF_A_MARKER = {"producer_id": 1, "producer_epoch": 0, "is_transactional": True, "partition_leader_epoch": 3}
"""Sound options of any control record."""
FILES = {
    "index": mostly(True, False),
    "index_interval_bytes": mostly(0, 4096),
    "segment_bytes": mostly(1 << 30, 200),
} | MANY


def some(
    options: dict[str, SearchStrategy], needed: Iterable[str] = (), base: dict[str, Any] | None = None
) -> SearchStrategy:
    """A few of the options, and those that are needed; what stands in `base` is kept or drawn."""
    must = {name: options[name] for name in needed}
    rest = {name: strategy for name, strategy in options.items() if name not in must}
    few = st.lists(st.sampled_from(sorted(rest)), max_size=3, unique=True)
    drawn = few.flatmap(lambda names: st.fixed_dictionaries(must | {name: rest[name] for name in names}))
    return drawn.map(lambda given: {**(base or {}), **given})
