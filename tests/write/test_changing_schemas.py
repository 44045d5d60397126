"""Arrow batches of one stream need not have the same columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kafka_segments as ks
from kafka_segments.errors import OptionError

VALUES = pa.array([b"a", b"b"])
HEADER = pa.struct([pa.field("key", pa.binary(), nullable=False), pa.field("value", pa.binary())])


def values_of(segment: bytes) -> list[bytes]:
    """What was written, as it is read."""
    with ks.open_segment(segment) as opened:
        return [value for batch in opened.read_batches(columns=["value"]) for value in batch[0].to_pylist()]


def test_a_later_batch_with_other_columns_is_cast_by_its_own() -> None:
    batches = [
        pa.record_batch({"value": VALUES}),
        pa.record_batch({"value": VALUES}),
        pa.record_batch({"key": VALUES, "value": pa.array(["c", "d"])}),
        pa.record_batch({"timestamp": pa.array([1, 2], pa.int32()), "value": pa.array([b"e", b"f"])}),
    ]
    assert values_of(ks.encode_records(batches)) == [b"a", b"b", b"a", b"b", b"c", b"d", b"e", b"f"]


def test_a_later_batch_with_a_wrong_column_is_refused() -> None:
    batches = [pa.record_batch({"value": VALUES}), pa.record_batch({"value": pa.array([1, 2])})]
    with pytest.raises(OptionError, match="column value is of type int64"):
        ks.encode_records(batches)


@pytest.mark.parametrize("kind", [pa.list_(HEADER), pa.list_(pa.field("item", HEADER, nullable=False))])
def test_headers_are_the_same_whatever_their_type_says_of_nulls(kind: pa.DataType) -> None:
    headers = [[{"key": b"k", "value": None}], []]
    given, loose = (
        pa.record_batch({"value": VALUES, "headers": pa.array(headers, one)})
        for one in (kind, pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())])))
    )
    assert ks.encode_records(given) == ks.encode_records(loose)


def test_members_of_headers_in_another_order_are_found_by_name() -> None:
    swapped = pa.list_(pa.struct([("value", pa.binary()), ("key", pa.binary())]))
    headers = [[{"key": b"k", "value": b"v"}], []]
    usual = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))
    found = {
        ks.encode_records(pa.record_batch({"value": VALUES, "headers": pa.array(headers, kind)}))
        for kind in (swapped, usual)
    }
    assert len(found) == 1
