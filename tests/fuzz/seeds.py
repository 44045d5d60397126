"""What inputs grow from: sound entries of recorded segments, hand-made ones, and what growing has found."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from tests.codegen.vectors import all_vectors
from tests.columns.samples import BATCHES, MESSAGES
from tests.fuzz.anatomy import Anatomy, dissect
from tests.made.codecs import FORMS, LEGACY_FORMS
from tests.made.encoder import Batch, Message, Record, Wrapper
from tests.made.recorded import distinct

from kafka_segments import open_segment

GROWN = Path(__file__).parent / "grown.txt"
CRASHERS = Path(__file__).resolve().parents[1] / "vectors" / "crashers"
LARGEST = 1500
"""Bytes of an entry that is taken from a recording; small inputs are quick, and reach the same lines."""
OF_A_SORT = 2
SORT = (
    "magic", "compression", "timestamp_type", "is_control", "is_transactional", "has_delete_horizon",
    "num_records",
)  # fmt: skip


def _by_size(data: bytes) -> tuple[int, bytes]:
    return len(data), data


@cache
def recorded() -> tuple[bytes, ...]:
    """Entries of the recorded segments, the smallest few of each sort."""
    sorts: dict[Any, list[bytes]] = {}
    for file in distinct():
        with open_segment(file.data) as segment:
            table = segment.read_headers(on_damage="skip")
        headers = {name: table.column(name).to_pylist() for name in ("position", "end_position", *SORT)}
        names = [headers[name] for name in SORT]
        for start, end, *sort in zip(headers["position"], headers["end_position"], *names, strict=True):
            if end - start <= LARGEST:
                sort[-1] = min(sort[-1] or 0, 3)
                sorts.setdefault((*sort, file.name.split("/")[0]), []).append(file.data[start:end])
    return tuple(
        entry for entries in sorts.values() for entry in sorted(set(entries), key=_by_size)[:OF_A_SORT]
    )


@cache
def hand_made() -> tuple[bytes, ...]:
    """Entries with all that the formats have, in every form of every codec."""
    records = (*BATCHES[0].records, Record(300, 9, b"text", b"words and words and words and words " * 9))
    messages = tuple(Message(7 + at, 1, b"k%d" % at, b"value " * at, timestamp=50 + at) for at in range(4))
    old = tuple(Message(7 + at, 0, None if at else b"k", b"value " * at) for at in range(4))
    control = (Record(0, 0, b"\0\0\0\1", b"\0\0\0\0\0\7"), Record(1, 0, b"\0\0\0\2", b"\0" * 6 + b"\1\0\0"))
    entries: list[Any] = [*BATCHES, *MESSAGES]
    entries += [Batch(9, records, form) for form in FORMS if form != "none"]
    entries += [Batch(9, (), form, base_sequence=3) for form in ("gzip", "zstd")]
    entries += [
        Batch(9, control, is_control=True, is_transactional=True, form=form) for form in ("none", "lz4")
    ]
    entries += [Batch(9, records, base_sequence=(1 << 31) - 2, has_delete_horizon=True, producer_id=5)]
    entries += [Batch(9, (Record(0, 0, b"", b"", ((b"", None),) * 1100),))]  # more than are objects at a time
    entries += [Wrapper(messages, 1, form) for form in LEGACY_FORMS]
    entries += [Wrapper(old, 0, form) for form in LEGACY_FORMS]
    entries += [Wrapper(messages, 1, "gzip", of_librdkafka=True), Wrapper(messages, 1, timestamp_type=1)]
    return tuple(entry.encode() for entry in entries)


@cache
def entries() -> tuple[Anatomy, ...]:
    """All sound entries that inputs are made of."""
    found = [dissect(data) for data in dict.fromkeys((*recorded(), *hand_made()))]
    return tuple(anatomy for anatomy in found if anatomy is not None)


@cache
def grown() -> tuple[bytes, ...]:
    """Segments that were kept because they reached lines that none before them did; see `grow`."""
    return tuple(bytes.fromhex(line) for line in GROWN.read_text().split()) if GROWN.exists() else ()


@cache
def crashers() -> tuple[bytes, ...]:
    """Segments that once broke something."""
    return tuple(path.read_bytes() for path in sorted(CRASHERS.glob("*.bin")))


@cache
def vectors() -> dict[str, tuple[tuple[tuple[Any, ...], bytes], ...]]:
    """The small vectors of each schema: parameters and bytes."""
    found: dict[str, list[tuple[tuple[Any, ...], bytes]]] = {}
    for vector in all_vectors():
        found.setdefault(vector.schema, []).append((vector.params, vector.file.read_bytes()))
    return {stem: tuple(pairs) for stem, pairs in found.items()}
