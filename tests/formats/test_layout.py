"""What is learned of the layout from the generated classes, not written down a second time."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from kafka_segments.core import formats
from kafka_segments.core.segment.scan.resync import candidate_pattern

SCHEMA = Path(__file__).resolve().parents[2] / "schemas" / "kafka_log_segment.ksy"


def test_the_magics_are_the_cases_of_the_schemas_switch() -> None:
    cases = re.findall(r"^            (-?\d+): (kafka_\w+)", SCHEMA.read_text(encoding="utf-8"), re.MULTILINE)
    known = {magic: content.schema for magic, content in formats.MAGICS.items()}
    assert known == {int(magic): schema for magic, schema in cases}


def test_the_length_field_is_where_the_schema_has_it() -> None:
    assert list(range(formats.OFS_LEN_BODY, formats.LEN_LOG_OVERHEAD)) == [8, 9, 10, 11]
    assert formats.MIN_LEN_BODY == 14


def test_frames_are_as_the_generated_class_reads_them() -> None:
    data = Random(1).randbytes(4096)
    frames = formats.FrameReader(data)
    for position in range(len(data) - formats.LEN_LOG_OVERHEAD + 1):
        prefix = formats.read_prefix(data[position:].ljust(formats.LEN_PREFIX, b"\0")[: formats.LEN_PREFIX])
        assert frames.read(position) == (prefix.base_offset, prefix.len_body)
        assert prefix.len_entry == formats.LEN_LOG_OVERHEAD + prefix.len_body


@pytest.mark.parametrize("magic", range(-3, 6))
def test_the_search_looks_for_known_magics_alone(magic: int) -> None:
    pattern, shift = candidate_pattern(1 << 20)
    entry = bytearray(formats.LEN_PREFIX)
    entry[formats.OFS_MAGIC] = magic % 256
    entry[shift + 2] = 1  # a length of 256
    found = pattern.search(entry, shift)
    assert (found is not None and found.start() == shift) == (magic in formats.MAGICS)
