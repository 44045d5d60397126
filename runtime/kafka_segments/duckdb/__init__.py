"""Segments as a relation of DuckDB: `relation`.

Example:
    >>> from kafka_segments.duckdb import relation
    >>> orders = relation("/var/lib/kafka", topics="orders")  # doctest: +SKIP
    >>> orders.aggregate("partition, count(*)").fetchall()  # doctest: +SKIP
"""

from __future__ import annotations

from kafka_segments.errors.packages import check_packages

check_packages(("duckdb", "pyarrow"), "relations of DuckDB need", "duckdb")

from kafka_segments.duckdb.relations import relation  # noqa: E402

__all__ = ["relation"]
