"""Files that `ingest` writes about each run: a report in JSON and OpenMetrics text."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from kafka_segments.cli import console
from kafka_segments.core.formats.file_names import is_address
from kafka_segments.core.io.outputs import replace_file
from kafka_segments.errors import OptionError, OutputError

if TYPE_CHECKING:
    from kafka_segments.ingest.run_report import RunReport

__all__ = ["add_run_file_options", "check_run_files", "write_run_files"]


def add_run_file_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the files."""
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write a report of the run to this file as JSON, even if the run fails",
    )
    parser.add_argument(
        "--metrics",
        metavar="FILE",
        help="also write the report as OpenMetrics text; node_exporter's textfile collector wants a name "
        "that ends in .prom",
    )


def check_run_files(arguments: argparse.Namespace) -> None:
    """Check that the files can be written, before a run does anything.

    Raises:
        OptionError: one is not a file on this machine, in an existing directory.
    """
    for option in ("report", "metrics"):
        path = getattr(arguments, option)
        if path is None:
            continue
        if is_address(path):
            raise OptionError(f"--{option} takes a file on this machine", path=path)
        if os.path.isdir(path):
            raise OptionError(f"--{option} takes a file, but this is a directory", path=path)
        parent = os.path.dirname(path) or "."
        if not os.path.isdir(parent) or not os.access(parent, os.W_OK | os.X_OK):
            raise OptionError(
                f"--{option} cannot be written: {parent} is not a directory, or is not writable", path=path
            )


def write_run_files(arguments: argparse.Namespace, report: RunReport) -> bool:
    """Write the files that are asked for; return whether that worked, and say if it did not."""
    from kafka_segments.ingest.run_report import report_to_json, to_open_metrics

    is_written = True
    for path, text_of in ((arguments.report, report_to_json), (arguments.metrics, to_open_metrics)):
        if path is None:
            continue
        try:
            replace_file(path, text_of(report))
        except OutputError as error:
            console.say(f"{error}; this run is not in that file")
            is_written = False
    return is_written
