"""The session of Spark that the tests of the data source have, too."""

from __future__ import annotations

from tests.spark.conftest import spark, workers_path

__all__ = ["spark", "workers_path"]
