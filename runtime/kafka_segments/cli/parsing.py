"""The command's parser: `argparse`, which says what was given without obeying it."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from kafka_segments.cli import console
from kafka_segments.escaping import shown

__all__ = ["Parser"]


class Parser(argparse.ArgumentParser):
    """`argparse.ArgumentParser` with messages that are fit to be shown."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments, and end the process with status 2."""
        self.print_usage(sys.stderr)
        self.exit(console.NOT_OPENED, f"{self.prog}: error: {shown(message)}\n")
