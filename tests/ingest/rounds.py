"""Run by test_stores: the same command in one process again and again, each time when a line is read."""

from __future__ import annotations

import contextlib
import os
import sys

from kafka_segments.cli.main import main

if __name__ == "__main__":
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
            status = main(sys.argv[1:])
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()
