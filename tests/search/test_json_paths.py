"""Paths into JSON documents, and comparisons: numbers as numbers, exactly."""

from __future__ import annotations

import json

import pytest
from tests.python import traced

from kafka_segments.errors import DecodeError, OptionError
from kafka_segments.search.json_paths import parse_json_test, read_json

DOCUMENT = {
    "id": 9007199254740993,
    "amount": 10.10,
    "currency": "EUR",
    "items": [{"sku": "A-1", "n": 2}, {"sku": "B", "n": 30}],
    "a b": {"it's": None},
    "paid": True,
    "größe": 1,
}


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("$.id", True),
        ("$.nothing", False),
        ("$.id = 9007199254740993", True),
        ("$.id = 9007199254740992", False),
        ("$.id>9007199254740992.5", True),
        ("$.amount = 10.1", True),
        ("$.amount == 10.100000000000000001", False),
        ("$.amount < 9", False),
        ("$.amount < 100", True),
        ("$.amount >= 1e1", True),
        ("$.currency = EUR", True),
        ('$.currency = "EUR"', True),
        ("$.currency != USD", True),
        ("$.currency > 5", False),
        ("$.currency != 5", True),
        ("$.items[0].sku = A-1", True),
        ("$.items[-1].n = 30", True),
        ("$.items[2].n", False),
        ("$.items[*].n > 29", True),
        ("$.items.*.n > 30", False),
        ("$['a b']['it\\'s'] = null", True),
        ('$["a b"].*', True),
        ("$.paid = true", True),
        ("$.paid = 1", False),
        ("$.paid > false", False),
        ("$.größe = 1", True),
        ("$[0]", False),
        ("$", True),
    ],
)
def test_what_a_path_leads_to_is_compared(text: str, is_found: bool) -> None:
    document = read_json(json.dumps(DOCUMENT).encode())
    assert parse_json_test(text).holds(document) is is_found


@pytest.mark.parametrize("text", ["id", "$.", "$.a ~ 5", "$[", "$.a[x]", "$..a", "$.a b"])
def test_another_path_is_refused_with_what_it_may_be(text: str) -> None:
    with pytest.raises(OptionError, match=r"\$\.name|neither a step"):
        parse_json_test(text)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"NaN", b"[Infinity]", b"\xff", b"[" * 100_000, b"[1e99999999999999999999]"]
)
def test_what_is_no_json_is_an_error_of_ours(data: bytes) -> None:
    with pytest.raises(DecodeError, match="this is not JSON"):
        read_json(data)


@pytest.mark.parametrize("part", [b"[]", b"{}", b"1", b'{"a":0}'])
def test_a_document_of_millions_of_values_is_not_read(part: bytes) -> None:
    data = b"[" + part + (b"," + part) * (1 << 21) + b"]"
    with traced() as memory:
        with pytest.raises(OptionError, match="more than 524,288 values"):
            read_json(data)
        assert memory()[1] < 1 << 20


def test_integers_of_any_length_are_exact_and_take_no_time() -> None:
    digits = "9" * 200_000
    found = read_json(f'{{"n": {digits}}}'.encode())
    assert parse_json_test("$.n > 5").holds(found)
    assert not parse_json_test(f"$.n < {digits}").holds(found)
    assert parse_json_test(f"$.n = {digits}").holds(found)
