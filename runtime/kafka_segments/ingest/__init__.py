"""Ingest: growing logs to a table, run after run, each offset once; accounts of them, and audits."""

import kafka_segments.segment.columnar  # noqa: F401  says what to install if a package is missing
