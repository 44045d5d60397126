"""The Spark session of the tests of our source, for those that compare it with Spark's own."""

from tests.spark.conftest import spark, workers_path

__all__ = ["spark", "workers_path"]
