"""What shapes a run has gone through: counted from the plain values, asserted, and printed at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tests.made.codecs import FORMS, LEGACY_FORMS, codec_of
from tests.made.encoder import LOG_APPEND_TIME, Batch, Entry, Row, Wrapper
from tests.made.shapes import LARGE, MANY


def count(entries: Iterable[Entry]) -> Counter[str]:
    """How many entries have each shape; and records, which are counted one by one."""
    counts: Counter[str] = Counter()
    for entry in entries:
        counts.update({"batches": 1, "records": len(entry.rows())})
        counts.update(set(_shapes(entry)))
    return counts


def _shapes(entry: Entry) -> Iterator[str]:
    """Names of shapes; several records of one kind may give theirs several times."""
    rows = entry.rows()
    if isinstance(entry, Batch):
        yield "magic 2"
        yield f"magic 2, {entry.form}"
        yield from _shapes_of_batch(entry)
    elif isinstance(entry, Wrapper):
        yield f"magic {entry.magic}"
        yield f"magic {entry.magic}, {entry.form}"
        if {message.magic for message in entry.messages} != {entry.magic}:
            yield "wrapper around messages of another magic"
    else:
        yield f"magic {entry.magic}"
        yield f"magic {entry.magic}, none"
    if len(rows) >= MANY:
        yield f"many records ({MANY} and more)"
    for row in rows:
        yield from _shapes_of_row(row)


def _shapes_of_batch(batch: Batch) -> Iterator[str]:
    flags = {
        "control": batch.is_control,
        "transactional": batch.is_transactional,
        "delete horizon": batch.has_delete_horizon,
        "LogAppendTime": batch.timestamp_type == LOG_APPEND_TIME,
        "no records": not batch.records,
    }
    yield from (name for name, is_set in flags.items() if is_set)
    offsets = [record.offset_delta for record in batch.records]
    if offsets and min(offsets) < 0:
        yield "negative offset delta"
    if offsets and offsets != list(range(len(offsets))):
        yield "gap in offsets"
    if any(record.timestamp_delta < 0 for record in batch.records):
        yield "negative timestamp delta"
    if any(record.attributes for record in batch.records):
        yield "record attributes set"


def _shapes_of_row(row: Row) -> Iterator[str]:
    for name, content in (("key", row.key), ("value", row.value)):
        if not content:
            yield f"null {name}" if content is None else f"empty {name}"
        elif len(content) >= LARGE:
            yield f"large {name} (64 KiB and more)"
    if not row.headers:
        return
    yield "headers"
    keys = [key for key, _ in row.headers]
    if len(set(keys)) < len(keys):
        yield "duplicate header keys"
    for key, value in row.headers:
        if value is None:
            yield "null header value"
        elif len(value) >= LARGE:
            yield "large header value (64 KiB and more)"
        if not key.isascii() and key.decode("utf-8", "replace").encode() != key:
            yield "header key that is no UTF-8"


OLD = ("none", *LEGACY_FORMS)

SHAPES = (
    "headers",
    "duplicate header keys",
    "null header value",
    "header key that is no UTF-8",
    "large header value (64 KiB and more)",
    "null key",
    "empty key",
    "large key (64 KiB and more)",
    "null value",
    "empty value",
    "large value (64 KiB and more)",
    f"many records ({MANY} and more)",
    "no records",
    "control",
    "transactional",
    "delete horizon",
    "LogAppendTime",
    "negative timestamp delta",
    "negative offset delta",
    "gap in offsets",
    "record attributes set",
)
"""What every long run must have seen, whatever the codec."""


def forms(codec: str) -> list[str]:
    """The forms that a run of one codec goes through."""
    of_codec = [form for form in FORMS if codec_of(form) == codec]
    old = [form for form in ("none", *of_codec) if form in OLD]
    names = [f"magic 2, {form}" for form in of_codec]
    return names + [f"magic {magic}, {form}" for magic in (0, 1) for form in old]


def ordered(counts: Counter[str]) -> dict[str, int]:
    """The counts as they are to be printed: the shapes in their order, then others."""
    known = [name for name in ("batches", "distinct batches", "records", *SHAPES) if name in counts]
    return {name: counts[name] for name in (*known, *sorted(counts.keys() - {*known}))}
