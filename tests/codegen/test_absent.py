"""What is absent is said to be: fields as None, and the package that the Construct declarations need."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO

from kaitaistruct import KaitaiStream

from kafka_segments_generated.kaitai.kafka_record import KafkaRecord

WITHOUT_CONSTRUCT = """
import sys
sys.modules["construct"] = None  # as if it were not installed
try:
    from kafka_segments_generated.construct.kafka_record import KafkaRecord
except ModuleNotFoundError as error:
    print(error.name, error)
"""


def test_a_null_key_and_value_are_none_and_empty_ones_are_not() -> None:
    base = (0, 0, 0, 0, 0, -1, -1, -1)
    for lengths, expected in (("0101", None), ("0000", b"")):
        data = bytes.fromhex("0c000000" + lengths + "00")
        body = KafkaRecord(False, 10, *base, KaitaiStream(BytesIO(data))).body
        assert (body.key, body.value, body.headers) == (expected, expected, [])


def test_without_construct_the_declarations_say_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CONSTRUCT], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("construct ")
    assert "pip install 'kafka-segments[construct]'" in done.stdout
