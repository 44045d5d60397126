"""Ingest of growing logs into a table: run after run, each offset once, with accounts and audits."""

import kafka_segments.core.segment.columnar  # noqa: F401  says what to install if a package is missing
