"""What the format is not for, or lacks: refused in our words, by the module that Spark finds, too."""

from __future__ import annotations

import importlib
import logging
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql.datasource import DataSource
from tests.forgotten import forget
from tests.made.directories import append, run_of
from tests.spark.planned import source_of
from tests.spark.test_reader import read

from kafka_segments.errors import OptionError
from kafka_segments.query.committed import Pin
from kafka_segments.query.plan import _pinned


def test_streams_cannot_be_written() -> None:
    source = source_of(path="/a")
    with pytest.raises(OptionError, match="writes in batches only: use foreachBatch"):
        source.streamWriter(source.schema(), False)


def test_older_sparks_are_referred_to_ingest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql.streaming.datasource", None)
    forget(monkeypatch, ["kafka_segments.spark.stream_reader"])
    source = source_of(path="/a")
    reader = source.streamReader(source.schema())
    words = rf"need Spark 4\.2 or newer, but this is {pyspark.__version__}.*`kafka-segments ingest SRC DEST`"
    for call in (reader.initialOffset, reader.latestOffset, lambda: reader.partitions({}, {})):
        with pytest.raises(OptionError, match=words):
            call()


def test_a_batch_has_no_use_for_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    append(tmp_path / "t-0", *run_of(0, 3))
    with caplog.at_level(logging.WARNING):
        assert len(read(tmp_path, maxOffsetsPerTrigger="1", maxTriggerDelay="1m")) == 3
    assert (
        "these options have an effect only in streams: maxOffsetsPerTrigger, maxTriggerDelay" in caplog.text
    )
    for start in ("latest", '{"t":{"0":-1}}'):
        with pytest.raises(OptionError, match=r"cannot begin at (the )?latest"):
            read(tmp_path, startingOffsets=start)


def test_the_age_of_a_transaction_is_by_its_records() -> None:
    said = _pinned(("t", 0), 7, Pin(producer_id=3, first_offset=7, timestamp=1_000))
    assert "open since offset 7, by its records' timestamps for " in said
    assert "timestamps" not in _pinned(("t", 0), 7, Pin(producer_id=3, first_offset=7, timestamp=-1))


def test_options_of_connections_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    first, second = "kafka.only.of.this.test", "kafka.another.of.this.test"
    shadowed = {"startingTimestamp": "5", "startingOffsets": "earliest"}
    for options in ({first: "x"}, {first: "y", **shadowed}, {second: "x", **shadowed}):
        source_of(path="/a", **options).schema()
    said = [record.getMessage() for record in caplog.records]
    assert [text.rpartition(": ")[2] for text in said if "have no effect" in text] == [first, second]
    assert len([text for text in said if "startingOffsets is ignored" in text]) == 2


def import_shim(monkeypatch: pytest.MonkeyPatch, **hidden: None) -> Any:
    forget(monkeypatch, ["kafka_segments.spark.source", "pyspark_kafka_segments", *hidden])
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    return importlib.import_module("pyspark_kafka_segments")


def test_shim_offers_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    shim = import_shim(monkeypatch)
    assert issubclass(shim.DefaultSource, DataSource)
    assert shim.DefaultSource.name() == "kafka-segments"


def test_shim_stands_in_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    shim = import_shim(monkeypatch, **{"kafka_segments.spark.read_options": None})
    assert issubclass(shim.DefaultSource, DataSource)
    assert shim.DefaultSource.name() == "kafka-segments"
    with pytest.raises(ImportError, match=r"cannot be used here: .*kafka_segments\.spark\.read_options"):
        shim.DefaultSource({})


def test_shim_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    shim = import_shim(monkeypatch, **{"pyspark.sql.datasource": None})
    assert not hasattr(shim, "DefaultSource")
