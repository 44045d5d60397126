"""Records and options that tests write: every kind of value, every option."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from kafka_segments.core.codecs import CODEC_NAMES

TIME = 1_714_000_000_000

Row = dict[str, Any]


def plain_rows(count: int = 40, first: int = 0) -> list[Row]:
    """Records without headers: null and empty keys and values, timestamps that rise, fall and are none."""
    rows = []
    for at in range(count):
        rows.append(
            {
                "offset": first + at,
                "timestamp": -1 if at % 11 == 10 else TIME + (at * 37) % 90 - 3 * (at % 5),
                "key": (None, b"", b"key-%d" % at)[at % 3],
                "value": (b"value %d " % at * (at % 17), None, b"")[0 if at % 5 else 1 + at % 2],
                "headers": [],
            }
        )
    return rows


def rows_with_headers(count: int = 40, first: int = 0) -> list[Row]:
    """The same with headers: none, duplicates, null and empty values, keys that are no UTF-8."""
    rows = plain_rows(count, first)
    kinds: list[list[tuple[bytes, bytes | None]]] = [
        [],
        [(b"a", b"1"), (b"a", None)],
        [(b"", b"")],
        [("schlüssel".encode(), b"x" * 200)] * 3,
    ]
    for at, row in enumerate(rows):
        row["headers"] = kinds[at % 4]
    return rows


def rows_with_gaps(first: int = 1000) -> list[Row]:
    """Offsets as compaction leaves them."""
    rows = rows_with_headers(30)
    for at, row in enumerate(rows):
        row["offset"] = first + at * 7 + (at % 3)
    return rows


@dataclass(frozen=True)
class Case:
    """Options, and the records that go with them."""

    name: str
    options: dict[str, Any]
    rows: list[Row] = field(repr=False)


V2_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "append time": {"timestamp_type": "LogAppendTime", "log_append_time": TIME + 7},
    "leader epoch": {"partition_leader_epoch": 12},
    "idempotent": {"producer_id": 77, "producer_epoch": 3, "base_sequence": 5},
    "sequence wraps": {"producer_id": 77, "producer_epoch": 3, "base_sequence": 2**31 - 12},
    "transaction": {
        "producer_id": 4000,
        "producer_epoch": 0,
        "base_sequence": 0,
        "is_transactional": True,
    },
    "horizon": {"delete_horizon_ms": TIME + 86_400_000},
    "everything": {
        "timestamp_type": "LogAppendTime",
        "log_append_time": 5,
        "partition_leader_epoch": 2**31 - 1,
        "producer_id": 2**63 - 1,
        "producer_epoch": 2**15 - 1,
        "base_sequence": 2**31 - 1,
        "is_transactional": True,
        "delete_horizon_ms": 0,
    },
}
LEGACY_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "append time": {"timestamp_type": "LogAppendTime", "log_append_time": TIME + 7},
}
SIZES = {"one batch": 1 << 20, "small batches": 600, "a record each": 0}


def cases() -> list[Case]:
    """Every combination of magic, codec, options and batch size that there is."""
    found = []
    for magic, codec in product((0, 1, 2), ("none", *CODEC_NAMES)):
        if codec == "zstd" and magic < 2:
            continue
        for (what, options), (how, size) in product(_options(magic).items(), SIZES.items()):
            merged = {"magic": magic, "compression": codec, "batch_size": size, **options}
            rows = plain_rows() if magic < 2 else rows_with_headers()
            found.append(Case(f"magic {magic}, {codec}, {what}, {how}", merged, rows))
    gaps = [{**row, "headers": []} for row in rows_with_gaps()]
    for magic, codec in ((0, "gzip"), (1, "none"), (1, "snappy")):
        found.append(Case(f"magic {magic}, {codec}, gaps", {"magic": magic, "compression": codec}, gaps))
    for codec in ("none", "lz4"):
        found.append(Case(f"magic 2, {codec}, gaps", {"compression": codec}, rows_with_gaps(2**40)))
    return found


def _options(magic: int) -> dict[str, dict[str, Any]]:
    if magic == 2:
        return V2_OPTIONS
    return LEGACY_OPTIONS if magic == 1 else {"plain": {}}
