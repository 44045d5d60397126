"""Argument DEST of the verbs that need a table of ingest."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kafka_segments.cli import parsing
from kafka_segments.core.formats.file_names import real_path
from kafka_segments.core.io.store_settings import store_settings
from kafka_segments.errors import OptionError

if TYPE_CHECKING:
    from kafka_segments.ingest.runs.run_state import RunState
    from kafka_segments.ingest.tables import Table

__all__ = ["table_of"]


def table_of(arguments: argparse.Namespace) -> tuple[Table, RunState]:
    """Open the table at DEST; return it with its newest run.

    Raises:
        OptionError: there is no table, or an option that stores do not have.
        MissingExtraError: a package that the kind needs is not installed.
        ReadError: its newest run cannot be read.
    """
    from kafka_segments.ingest.runs.run_log import RunLog, newest_run
    from kafka_segments.ingest.tables import open_table

    destination = real_path(arguments.destination)
    settings = store_settings(parsing.named_options(arguments.option, ()))
    newest = newest_run(RunLog(destination, settings), arguments.destination)
    written = newest.settings
    table = open_table(written.kind, destination, settings, written.catalog)
    if written.catalog is not None and not table.is_published(newest):
        raise OptionError(
            f"the newest run names the table {written.catalog}, but is not in it: run ingest with --catalog "
            "and --identifier first, which adds it",
            path=arguments.destination,
        )
    return table, newest
