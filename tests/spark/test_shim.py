"""The module by which Spark finds the format: it never raises, and says later what is wrong."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest
from pyspark.sql.datasource import DataSource
from tests.forgotten import forget


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
