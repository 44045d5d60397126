"""The command in the process of a test: it takes milliseconds where a process of its own takes a second."""

from __future__ import annotations

import io
import sys
from functools import cache
from unittest import mock

from kafka_segments.cli import main as command

_parser = cache(command._parser)


def run_main(arguments: list[str]) -> tuple[int, str, str]:
    """Run the command in this process: exit status, standard output, standard error."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
    error = io.StringIO()
    with (
        mock.patch.object(sys, "stdout", out),
        mock.patch.object(sys, "stderr", error),
        mock.patch.object(command, "_parser", _parser),  # to make one takes as long as a small verb
    ):
        status = command.main(arguments)
        out.flush()
    return status, out.buffer.getvalue().decode("utf-8", "surrogateescape"), error.getvalue()  # type: ignore[attr-defined]
