"""docs/concepts/layout.md: the batch that it takes apart, and offsets inside wrappers, are recorded ones."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "vectors" / "recorded"
PAGE = (ROOT / "docs" / "concepts" / "layout.md").read_text(encoding="utf-8")
FILE = RECORDED / "kafka-4.3" / "clean" / "compact-multi-0" / "00000000000000000125.log"
ROWS = re.findall(r"^\| (\d+) \| `([0-9a-f ]+)` \| (?:`([a-z_.\[\]0-9]+)`)? ?\| (.+) \|$", PAGE, re.MULTILINE)


def test_the_bytes_of_the_batch_are_those_of_the_file() -> None:
    data = FILE.read_bytes()
    at = 0
    for place, digits, _, _ in ROWS:
        piece = bytes.fromhex(digits)
        assert (int(place), piece) == (at, data[at : at + len(piece)])
        at += len(piece)
    assert at == KafkaLogSegment.from_bytes(data).entries[0].len_body + 12


def test_the_fields_of_the_batch_are_what_a_parser_reads() -> None:
    entry = KafkaLogSegment.from_bytes(FILE.read_bytes()).entries[0]
    batch = entry.body.content
    record, header = batch.records[0].body, batch.records[0].body.headers[0]
    seen = 0
    for place, _, name, meaning in ROWS:
        owners = (entry, batch) if int(place) < 61 else (batch.records[0], record)
        owner = next((one for one in owners if hasattr(one, name)), header)
        value = getattr(owner, name.rpartition(".")[2], None)
        value = getattr(value, "value", value)
        number = re.match(r"(?:varint )?(-?\d+)\b", meaning)
        if number and isinstance(value, int):
            assert int(number[1]) == value, name
            seen += 1
        elif meaning.startswith('"'):
            assert meaning == f'"{value.decode()}"'
            seen += 1
    assert seen == 23


@pytest.mark.parametrize(("release", "magic"), [("0.9", 0), ("0.10.2", 1)])
def test_offsets_inside_wrappers_are_the_recorded_ones(release: str, magic: int) -> None:
    path = RECORDED / f"kafka-{release}" / "clean" / "compact-gzip-0" / "00000000000000000000.log"
    entries = KafkaLogSegment.from_bytes(path.read_bytes()).entries
    row = re.search(rf"^\| {magic} \| (\d+) \| ([\d, ]+) \| .+ \| ([\d, ]+) \|$", PAGE, re.MULTILINE)
    assert row is not None
    (wrapper,) = (one for one in entries if one.base_offset == int(row[1]))
    assert wrapper.body.magic == magic
    inside = [
        one.base_offset
        for one in KafkaLogSegment.from_bytes(gzip.decompress(wrapper.body.content.value)).entries
    ]
    assert row[2] == ", ".join(map(str, inside))
    shift = wrapper.base_offset - inside[-1]
    assert row[3] == ", ".join(str(offset + shift) for offset in inside)
