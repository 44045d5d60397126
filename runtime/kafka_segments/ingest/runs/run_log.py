"""Runs of a table, one file each; a run exists when its file does, and one run gets each number.

Strategy: `DEST/_kafka_segments/runs/NUMBER.json` is created in one act if it is absent: of two runs that
continue the same one, the second finds the file there and is refused (`ConflictError`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from kafka_segments.errors import ConflictError, OptionError
from kafka_segments.ingest.files.table_files import table_files
from kafka_segments.ingest.runs.run_state import RunState
from kafka_segments.query.documents import read_document, write_document

__all__ = ["STATE_DIRECTORY", "RunLog"]

STATE_DIRECTORY = "_kafka_segments"
"""Below the destination; readers of directories of Parquet skip names that begin with `_`."""

_KIND, _VERSION = "run", 1
_RUNS = "runs"
_NAME = re.compile(r"([0-9]{20})\.json")


class RunLog:
    """The runs of a table.

    Args:
        destination: of the table: a path or an address.
        settings: of stores, see `Places`.

    Attributes:
        destination: likewise.
        directory: of the runs.
        files: where the table is.
    """

    def __init__(self, destination: str, settings: Mapping[str, str] | None = None) -> None:
        self.destination, self.files = destination, table_files(destination, settings)
        self.directory = os.path.join(destination, STATE_DIRECTORY, _RUNS)

    def numbers(self) -> list[int]:
        """Return the numbers of all runs, ascending; empty without a table.

        Raises:
            ReadError: the directory cannot be listed.
            StoreError: the store refused or failed.
        """
        names = self.files.names(self.directory)
        return sorted(int(match[1]) for match in map(_NAME.fullmatch, names) if match)

    def oldest(self) -> RunState | None:
        """Return the first run that is kept; None without any; errors as `read`."""
        number = min(self.numbers(), default=None)
        return None if number is None else self.read(number)

    def newest(self) -> RunState | None:
        """Return the newest run; None without any; errors as `read`."""
        number = max(self.numbers(), default=None)
        return None if number is None else self.read(number)

    def read(self, number: int) -> RunState:
        """Return a run.

        Raises:
            ReadError: its file cannot be read.
            StoreError: the store refused or failed.
            OptionError: it is not a run, one of another version, or another run.
        """
        path = self._path(number)
        run = read_document(RunState, self.files.read(path), path, _KIND, _VERSION)
        if run.number != number or re.fullmatch(rf"{number - 1:020}-[0-9a-f]{{32}}", run.run_id) is None:
            raise OptionError(
                f"this is not run {number}, but run {run.number} with the id {run.run_id!r:.60}", path=path
            )
        return run

    def has(self, run_id: str) -> bool:
        """Whether a run was committed; errors as `read`."""
        number = int(run_id.partition("-")[0]) + 1
        return self.files.has(self._path(number)) and self.read(number).run_id == run_id

    def create(self, run: RunState) -> None:
        """Add a run: from then on it exists.

        Raises:
            ConflictError: there is one of this number.
            OutputError: it cannot be written.
            UndecidedRunError: it is not known whether it exists.
        """
        path = self._path(run.number)
        if not self.files.create(path, write_document(run, _KIND, _VERSION)):
            raise ConflictError(
                f"another run was committed meanwhile (number {run.number}), so this one wrote nothing: run "
                "it again to take what is new since",
                path=path,
            )

    def _path(self, number: int) -> str:
        return os.path.join(self.directory, f"{number:020}.json")
