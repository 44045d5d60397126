"""The same bytes, read by Kafka and by us: what each says, in one form, and whether that is the same.

A verdict has a word and records. The word is that of the first thing that is wrong: a `checksum` (the
entry's own), anything else that makes them `broken`, or nothing (`sound`). The records are those in front of
it. Behind it, Kafka's reader stops and ours goes on, so nothing there is compared.

Kafka has two ways: with checksums looked at (ensureValid, as brokers recover and consumers read) and without
(iterating alone). They are compared with `check_crc` on and off.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from tests.made.encoder import Row
from tests.made.recorded import TYPES
from tests.mutations.utf8 import java_text
from tests.properties.readers import rows_of

from kafka_segments import Batch, Damage, Record, open_segment
from kafka_segments.errors import ChecksumMismatchError

SOUND, CHECKSUM, BROKEN, INNER = "sound", "checksum", "broken", "checksum inside"
MAX_DECOMPRESSED = 1 << 20
"""What a payload may decompress to here: a bound that cases can pass."""

WORDS = "Kafka: "
"""What a difference between words begins with: the one kind that can be explained."""
HEADER = (
    "magic",
    "last_offset",
    "partition_leader_epoch",
    "crc",
    "compression",
    "timestamp_type",
    "is_transactional",
    "is_control",
    "delete_horizon_ms",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "last_sequence",
)


@dataclass
class Verdict:
    """What one side says.

    Attributes:
        word: what is wrong first, see above.
        said: the same in that side's own words.
        headers: of the entries up to there, with their positions.
        records: in front of it, as lines of the contract.
    """

    word: str = SOUND
    said: str = ""
    headers: list[dict[str, Any]] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)


def of_kafka(answer: dict[str, Any], *, check_crc: bool) -> Verdict:
    """Kafka's, from what `Judge.java` answered."""
    verdict = Verdict()
    for batch in answer["batches"]:
        if batch["header"] is not None:
            verdict.headers.append(_header(batch["header"], batch["position"], batch["size"]))
        if check_crc and batch["invalid"] is not None:
            is_crc = "Record is corrupt (stored crc" in batch["invalid"]
            return _with(verdict, CHECKSUM if is_crc else BROKEN, batch["invalid"])
        for record in batch["records"]:
            if check_crc and record["invalid"] is not None:
                return _with(verdict, INNER, record["invalid"])
            line = record["line"]
            for header, text in zip(line["headers"], record["keys"], strict=True):
                header["text"] = text
            verdict.records.append(line)
        if batch["error"] is not None:
            return _with(verdict, BROKEN, batch["error"])
    return verdict if answer["error"] is None else _with(verdict, BROKEN, answer["error"])


def _with(verdict: Verdict, word: str, said: str) -> Verdict:
    verdict.word, verdict.said = word, said
    return verdict


def _header(fields: dict[str, Any], position: int, size: int) -> dict[str, Any]:
    found = {name: fields[name] for name in HEADER} | {"position": position, "size": size}
    if fields["magic"] >= 2:
        found |= {"base_offset": fields["base_offset"], "num_records": fields["num_records"]}
    return found


def by_rows(data: bytes, *, check_crc: bool) -> Verdict:
    """Ours, the slow exact way: by the generated Kaitai classes, record by record."""
    verdict = Verdict()
    with open_segment(data, check_crc=check_crc, max_decompressed=MAX_DECOMPRESSED) as segment:
        for event in segment.iter_events(on_damage="skip"):
            if isinstance(event, Batch):
                fields = {name: getattr(event, name) for name in (*HEADER, "base_offset", "num_records")}
                verdict.headers.append(_header(fields, event.position, event.size))
            elif isinstance(event, Record):
                verdict.records.append(_line(event))
            elif isinstance(event, Damage):
                return _with(verdict, _word(event), f"{type(event.error).__name__}: {event.error}")
    return verdict


def _word(damage: Damage) -> str:
    if not isinstance(damage.error, ChecksumMismatchError):
        return BROKEN
    return INNER if damage.error.stored is None else CHECKSUM


def _line(record: Record) -> dict[str, Any]:
    control = record.control
    fields = None
    if control is not None:
        names = "type", "type_id", "version", "value"
        fields = {name: getattr(control, name) for name in names}
    return {
        "type": "record",
        "position": record.position,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": record.timestamp_type,
        "sequence": record.sequence,
        "key": _base64(record.key),
        "value": _base64(record.value),
        "headers": [
            {"key": _base64(key), "value": _base64(value), "text": java_text(key)}
            for key, value in record.headers
        ],
        "control": fields,
    }


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def by_columns(data: bytes, *, check_crc: bool) -> tuple[str, str, list[Row]]:
    """Ours, the compiled way: word, words, and the records in front of the first damage."""
    rows: list[Row] = []
    with open_segment(data, check_crc=check_crc, max_decompressed=MAX_DECOMPRESSED) as segment:
        for event in segment.iter_columnar(None, (None, None)):
            if isinstance(event, pa.RecordBatch):
                rows += rows_of(event)
            elif isinstance(event, Damage):
                return _word(event), f"{type(event.error).__name__}: {event.error}", rows
    return SOUND, "", rows


def differences(kafka: Verdict, ours: Verdict) -> Iterator[str]:
    """How two verdicts on the same bytes differ; nothing if they are the same."""
    words = kafka.word, ours.word
    # Checksums inside a wrapper: Kafka stops there, we go on and may find more that is wrong.
    is_same = kafka.word == ours.word or (SOUND not in words and INNER in words)
    if not is_same:
        yield f"{WORDS}{kafka.word} {kafka.said}; we: {ours.word} {ours.said}"
    for theirs, our in zip(kafka.headers, ours.headers, strict=False):
        if theirs != our:
            unlike = {name: (theirs[name], our.get(name)) for name in theirs if theirs[name] != our.get(name)}
            yield f"header: Kafka's and our {unlike}"
    yield from record_differences(kafka, ours)


def record_differences(kafka: Verdict, ours: Verdict) -> Iterator[str]:
    """Whether the records are the same, or one side's are the first of the other's where both complain."""
    for theirs, our in zip(kafka.records, ours.records, strict=False):
        if _comparable(theirs, our) != our:
            yield f"record: Kafka {theirs}; we {our}"
            return
    if kafka.word == ours.word == SOUND and len(kafka.records) != len(ours.records):
        yield f"Kafka reads {len(kafka.records)} records, we {len(ours.records)}"


def _comparable(theirs: dict[str, Any], our: dict[str, Any]) -> dict[str, Any]:
    """Kafka's line; where it refuses to say what a control record means, what we say of it counts."""
    if (theirs["control"] or {}).get("refused"):
        return theirs | {"control": our["control"]}
    return theirs


def row_differences(ours: Verdict, columns: tuple[str, str, list[Row]]) -> Iterator[str]:
    """How the compiled way differs from the slow one: it leaves out control records, and that is all."""
    word, said, rows = columns
    if word != ours.word:
        yield f"columns: {word} {said}; rows: {ours.word} {ours.said}"
    expected = [_row(line) for line in ours.records if line["control"] is None]
    if rows != expected:
        yield f"columns: {rows}; rows: {expected}"


def _row(line: dict[str, Any]) -> Row:
    return Row(
        line["offset"],
        line["timestamp"],
        TYPES[line["timestamp_type"]],
        _bytes(line["key"]),
        _bytes(line["value"]),
        tuple((b64decode(header["key"]), _bytes(header["value"])) for header in line["headers"]),
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
