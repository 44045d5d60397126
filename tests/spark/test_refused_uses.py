"""What the format is not for is refused in our words, and an open transaction's age names its clock."""

from __future__ import annotations

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from kafka_segments.errors import OptionError
from kafka_segments.query.committed import Pin
from kafka_segments.query.plan import _pinned
from kafka_segments.spark.source import KafkaSegmentsDataSource


def test_streams_are_refused() -> None:
    source = KafkaSegmentsDataSource(CaseInsensitiveDict({"path": "/a"}))
    with pytest.raises(OptionError, match="writes in batches only: use foreachBatch"):
        source.streamWriter(source.schema(), False)
    with pytest.raises(OptionError, match=r"reads in batches only: use spark\.read"):
        source.streamReader(source.schema()).initialOffset()


def test_the_age_of_a_transaction_is_by_its_records() -> None:
    said = _pinned(("t", 0), 7, Pin(producer_id=3, first_offset=7, timestamp=1_000))
    assert "open since offset 7, by its records' timestamps for " in said
    assert "timestamps" not in _pinned(("t", 0), 7, Pin(producer_id=3, first_offset=7, timestamp=-1))


def test_options_of_connections_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    first, second = "kafka.only.of.this.test", "kafka.another.of.this.test"
    shadowed = {"startingTimestamp": "5", "startingOffsets": "earliest"}
    for options in ({first: "x"}, {first: "y", **shadowed}, {second: "x", **shadowed}):
        KafkaSegmentsDataSource(CaseInsensitiveDict({"path": "/a", **options})).schema()
    said = [record.getMessage() for record in caplog.records]
    assert [text.rpartition(": ")[2] for text in said if "mean nothing" in text] == [first, second]
    assert len([text for text in said if "startingOffsets is ignored" in text]) == 2
