"""Runs of a table, one file each; a run exists when its file does, and one run gets each number.

Strategy: `DEST/_kafka_segments/runs/NUMBER.json` is written under another name, fsynced and linked: of two
runs that continue the same one, the second finds the file there and is refused (`ConflictError`).
"""

from __future__ import annotations

import errno
import os
import re

from kafka_segments.errors import ConflictError, OutputError, ReadError
from kafka_segments.ingest.run_state import RunState, from_json, to_json
from kafka_segments.io.outputs import OutputFile, hidden_sibling, publish_files

__all__ = ["STATE_DIRECTORY", "RunLog"]

STATE_DIRECTORY = "_kafka_segments"
"""Below the destination; readers of directories of Parquet skip names that begin with `_`."""

_RUNS = "runs"
_NAME = re.compile(r"([0-9]{20})\.json")


class RunLog:
    """The runs of a table.

    Args:
        destination: of the table.
    """

    def __init__(self, destination: str) -> None:
        self.directory = os.path.join(destination, STATE_DIRECTORY, _RUNS)

    def numbers(self) -> list[int]:
        """Return the numbers of all runs, ascending; empty without a table.

        Raises:
            ReadError: the directory cannot be listed.
        """
        try:
            names = os.listdir(self.directory)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise ReadError(f"{error.strerror or error}", path=self.directory, errno=error.errno) from error
        return sorted(int(match[1]) for match in map(_NAME.fullmatch, names) if match)

    def newest(self) -> RunState | None:
        """Return the newest run; None without any; errors as `read`."""
        number = max(self.numbers(), default=None)
        return None if number is None else self.read(number)

    def read(self, number: int) -> RunState:
        """Return a run.

        Raises:
            ReadError: its file cannot be read.
            OptionError: it is no run, or one of another version.
        """
        path = self._path(number)
        try:
            with open(path, "rb") as file:
                return from_json(file.read(), path)
        except OSError as error:
            raise ReadError(f"{error.strerror or error}", path=path, errno=error.errno) from error

    def create(self, run: RunState) -> None:
        """Add a run: from then on it exists.

        Raises:
            ConflictError: there is one of this number.
            OutputError: it cannot be written.
        """
        path = self._path(run.number)
        output = OutputFile(hidden_sibling(path), path)
        try:
            output.write(to_json(run))
            output.finish()
            publish_files([(output.path, path)])
        except OutputError as error:
            output.discard()
            if error.errno == errno.EEXIST or os.path.lexists(path):
                raise ConflictError(
                    f"another run was committed meanwhile (number {run.number}), and this one wrote nothing: "
                    "run it again to take what is new since then",
                    path=path,
                ) from error
            raise
        except BaseException:
            output.discard()
            raise

    def _path(self, number: int) -> str:
        return os.path.join(self.directory, f"{number:020}.json")
