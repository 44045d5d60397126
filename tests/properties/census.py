"""What shapes a run has gone through: counted from the plain values, asserted, and printed at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from tests.made.codecs import FORMS, LEGACY_FORMS, codec_of
from tests.made.encoder import LOG_APPEND_TIME, Batch, Entry, Row, Wrapper
from tests.made.shapes import LARGE, MANY


def _is_utf8(key: bytes) -> bool:
    return key.decode("utf-8", "replace").encode() == key


def _is_large(content: bytes | None) -> bool:
    return content is not None and len(content) >= LARGE


OF_BATCHES: dict[str, Callable[[Batch], bool]] = {
    "no records": lambda batch: not batch.records,
    "control": lambda batch: batch.is_control,
    "transactional": lambda batch: batch.is_transactional,
    "delete horizon": lambda batch: batch.has_delete_horizon,
    "LogAppendTime": lambda batch: batch.timestamp_type == LOG_APPEND_TIME,
    "negative timestamp delta": lambda batch: any(one.timestamp_delta < 0 for one in batch.records),
    "negative offset delta": lambda batch: any(one.offset_delta < 0 for one in batch.records),
    "gap in offsets": lambda batch: any(one.offset_delta != at for at, one in enumerate(batch.records)),
    "record attributes set": lambda batch: any(one.attributes for one in batch.records),
}
OF_ROWS: dict[str, Callable[[Row], bool]] = {
    "headers": lambda row: bool(row.headers),
    "duplicate header keys": lambda row: len({key for key, _ in row.headers}) < len(row.headers),
    "null header value": lambda row: any(value is None for _, value in row.headers),
    "header key that is no UTF-8": lambda row: any(
        b"\xff" in key or b"\xed" in key for key, _ in row.headers
    ),
    "large header value (64 KiB and more)": lambda row: any(
        len(value or b"") >= LARGE for _, value in row.headers
    ),
    "null key": lambda row: row.key is None,
    "empty key": lambda row: row.key == b"",
    "large key (64 KiB and more)": lambda row: _is_large(row.key),
    "null value": lambda row: row.value is None,
    "empty value": lambda row: row.value == b"",
    "large value (64 KiB and more)": lambda row: _is_large(row.value),
}
MANY_RECORDS = f"many records ({MANY} and more)"
SHAPES = (*OF_ROWS, MANY_RECORDS, *OF_BATCHES)
"""What every long run must have seen, whatever the codec."""


def count(entries: Iterable[Entry]) -> Counter[str]:
    """How many entries have each shape."""
    counts: Counter[str] = Counter()
    for entry in entries:
        rows, magic = entry.rows(), 2 if isinstance(entry, Batch) else entry.magic
        counts.update({"batches": 1, "records": len(rows)})
        counts.update([f"magic {magic}", f"magic {magic}, {getattr(entry, 'form', 'none')}"])
        counts.update({name for name, has in OF_ROWS.items() if any(map(has, rows))})
        if isinstance(entry, Batch):
            counts.update(name for name, has in OF_BATCHES.items() if has(entry))
        if isinstance(entry, Wrapper) and {message.magic for message in entry.messages} != {magic}:
            counts["wrapper around messages of another magic"] += 1
        counts[MANY_RECORDS] += len(rows) >= MANY
    return counts


def forms(codec: str) -> list[str]:
    """The forms that a run of one codec goes through."""
    of_codec = [form for form in FORMS if codec_of(form) == codec]
    old = [form for form in ("none", *of_codec) if form in ("none", *LEGACY_FORMS)]
    names = [f"magic 2, {form}" for form in of_codec]
    return names + [f"magic {magic}, {form}" for magic in (0, 1) for form in old]


def ordered(counts: Counter[str]) -> dict[str, int]:
    """The counts as they are to be printed: the shapes in their order, then others."""
    known = [name for name in ("batches", "distinct batches", "records", *SHAPES) if name in counts]
    return {name: counts[name] for name in (*known, *sorted(counts.keys() - {*known}))}
