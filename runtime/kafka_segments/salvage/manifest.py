"""The manifest: every range of bytes of the sources, and what became of it; as JSON, written piece by piece.

Each range is a line of its own, so that a manifest of millions can be written and searched. Its parts are in
one temporary file until all partitions are done.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, NamedTuple

from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.io.outputs import output_errors
from kafka_segments.core.segment.transactions.log_state import LogState
from kafka_segments.salvage.ledger import Fate, Status
from kafka_segments.salvage.partition_plan import PartitionPlan
from kafka_segments.salvage.partition_sink import WrittenSegment
from kafka_segments.salvage.source_files import SourceFile

__all__ = ["Fragment", "Fragments", "PartitionOutcome", "document"]


_MAX_MISSING = 10_000  # that are listed
_MAX_TRANSACTIONS = 1_000
_MAX_PUT_ASIDE = 1_000


@dataclass
class PartitionOutcome:
    """What became of a partition, for the manifest.

    Attributes:
        plan: its plan.
        segments: of the result.
        state: after the last batch.
        retention_ms: of the topic, as far as is known.
        now_ms: the time of the run, in milliseconds since 1970.
    """

    plan: PartitionPlan
    segments: Sequence[WrittenSegment]
    state: LogState
    retention_ms: int
    now_ms: int

    @property
    def name(self) -> str:
        """The partition's directory."""
        return f"{self.plan.topic}-{self.plan.partition}"

    def summary(self) -> dict[str, Any]:
        """Return everything but the ranges of files."""
        plan = self.plan
        return {
            "topic": plan.topic,
            "partition": plan.partition,
            "topic_id": plan.ranked.log.topic_id,
            "log_start_offset": plan.start_offset,
            "log_end_offset": plan.end_offset,
            "num_bytes": plan.ledger.counts(),
            "copies": [
                {
                    "path": one.copy.path,
                    "trusted_to": None if one.limit == NO_END else max(one.limit, 0),
                    "reason": one.reason,
                }
                for one in plan.ranked.copies
            ],
            "segments": [self._segment(one) for one in self.segments],
            "num_missing": plan.num_gaps,
            "missing": [
                {"first_offset": one.first, "last_offset": one.last}
                for one in islice(plan.gaps(), _MAX_MISSING)
            ],
            "put_aside": [
                {
                    "path": plan.files[one.file].path,
                    "position": one.position,
                    "first_offset": one.first,
                    "last_offset": one.last,
                    "reason": one.reason,
                }
                for one in islice(plan.ledger.unused(self._lawful()), _MAX_PUT_ASIDE)
            ],
            "num_transactions": sum(1 for _ in self.state.open_transactions()) + self.state.num_doubtful,
            "transactions": list(islice(self._transactions(), _MAX_TRANSACTIONS)),
            "retention": self._retention(),
            "notes": [*plan.notes, *self._notes()],
        }

    def _notes(self) -> Iterator[str]:
        if not self.state.has_all_producers:
            yield "too many producers have open transactions: no snapshot of producers was written"
        if self.state.num_forgotten:
            yield f"the state of the {self.state.num_forgotten} oldest producers was not kept"

    def has_findings(self) -> bool:
        """Return whether anything was lost or put aside."""
        is_lost = any(one["marker_lost"] for one in self._transactions())
        return bool(
            any(True for _one in self.plan.ledger.unused(self._lawful()))
            or self.plan.num_gaps
            or self.plan.notes
            or is_lost
            or not self.state.has_all_producers
        )

    def _lawful(self) -> set[int]:
        """Numbers of the files that a broker would not use either."""
        return {file.number for file in self.plan.files if file.is_lawful}

    def head(self) -> str:
        """Return the beginning of the partition's part of the manifest, which is its summary."""
        return _opened(self.summary(), "files")

    def files(self) -> Iterator[str]:
        """Yield the rest of it."""
        for number, file in enumerate(self.plan.files):
            yield "\n" if number == 0 else ",\n"
            yield from self._file(file)
        yield "\n]}"

    def _segment(self, one: WrittenSegment) -> dict[str, Any]:
        return {
            "path": f"log/{self.name}/{one.name}",
            "base_offset": one.base_offset,
            "size": one.size,
            "sha256": None if one.digest is None else one.digest.result(),
            "first_offset": one.first,
            "last_offset": one.last,
            "newest_timestamp": one.newest,
        }

    def _transactions(self) -> Iterator[dict[str, Any]]:
        """Yield open transactions, and those whose outcome is unknown."""
        where = f"--topic {self.plan.topic} --partition {self.plan.partition}"
        for one, epoch in self.state.open_transactions():
            lost = one.damage
            yield {
                "producer_id": one.producer_id,
                "producer_epoch": epoch,
                "first_offset": one.first_offset,
                "last_offset": None,
                "marker_lost": lost is not None,
                "first_lost_offset": None if lost is None else lost.first_lost_offset,
                "last_lost_offset": None if lost is None else lost.last_lost_offset,
                "command": f"kafka-transactions.sh --bootstrap-server HOST:PORT abort {where} "
                f"--start-offset {one.first_offset}",
            }
        for doubtful in self.state.doubtful:
            yield {
                "producer_id": doubtful.producer_id,
                "producer_epoch": None,
                "first_offset": doubtful.first_offset,
                "last_offset": doubtful.last_offset,
                "marker_lost": True,
                "first_lost_offset": doubtful.damage.first_lost_offset,
                "last_lost_offset": doubtful.damage.last_lost_offset,
                "command": None,
            }

    def _retention(self) -> dict[str, Any]:
        """Return what a broker would delete: segments from the start on, all of whose records are too old."""
        expired = 0
        for one in self.segments:
            is_old = one.newest >= 0 and self.now_ms - one.newest > self.retention_ms
            if self.retention_ms < 0 or not is_old:  # without timestamps the file's own time counts
                break
            expired += 1
        num_bytes = sum(one.size for one in self.segments[:expired])
        return {
            "retention_ms": self.retention_ms,
            "newest_timestamp": max((one.newest for one in self.segments), default=-1),
            "num_deleted_segments": expired,
            "num_deleted_bytes": num_bytes,
            "deletes_all": expired > 0 and expired == len(self.segments),
        }

    def _file(self, file: SourceFile) -> Iterator[str]:
        digest = self.plan.digests.get(file.number)
        head = {
            "path": file.path,
            "size": file.segment.size,
            "sha256": None if digest is None else digest.result(),
            "copy": file.copy,
        }
        yield _opened(head, "ranges")
        kept = 0
        for number, fate in enumerate(self.plan.ledger.fates(file.number)):
            yield ("\n" if number == 0 else ",\n") + json.dumps(self._range(file, fate, kept))
            kept += fate.end_position - fate.position if fate.status == Status.QUARANTINED else 0
        yield "]}"

    def _range(self, file: SourceFile, fate: Fate, kept: int) -> dict[str, Any]:
        to: dict[str, Any] | None = None
        if fate.segment is not None:
            to = {"path": f"log/{self.name}/{fate.segment:020d}.log", "position": fate.to_position}
        elif fate.status == Status.QUARANTINED:
            to = {"path": f"quarantine/{self.name}/{file.quarantine_name}", "position": kept}
        return {
            "position": fate.position,
            "end_position": fate.end_position,
            "first_offset": fate.first,
            "last_offset": fate.last,
            "status": fate.status,
            "reason": fate.reason,
            "to": to,
        }


def document(head: Mapping[str, Any], partitions: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the text of the whole manifest.

    Args:
        head: what stands before the partitions.
        partitions: the text of each.
    """
    yield _opened(head, "partitions")
    for number, text in enumerate(partitions):
        yield "\n" if number == 0 else ",\n"
        yield from text
    yield "\n]}\n"


def _opened(head: Mapping[str, Any], name: str) -> str:
    """Return an object of JSON that ends in the beginning of a list, a line for each of its values."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    return "{" + ",\n".join([*lines, f"{json.dumps(name)}: ["])


class Fragment(NamedTuple):
    """Where a part is in the file."""

    start: int
    end: int


class Fragments:
    """Texts in a file without a name, which threads add to one after the other.

    Args:
        directory: where the file is; None is where temporary files are.

    Raises:
        OutputError: it cannot be created.
    """

    def __init__(self, directory: str | None) -> None:
        self._where = directory or tempfile.gettempdir()
        self._lock = threading.Lock()
        with output_errors(self._where):
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115  it outlives this

    def add(self, text: Iterable[str]) -> Fragment:
        """Add a text, piece by piece.

        Raises:
            OutputError: the disk is full, or fails.
        """
        with self._lock, output_errors(self._where):
            start = self._file.seek(0, os.SEEK_END)
            for piece in text:
                self._file.write(piece.encode())
            self._file.flush()
            return Fragment(start, self._file.tell())

    def read(self, fragment: Fragment) -> Iterator[str]:
        """Yield a text, line by line."""
        self._file.seek(fragment.start)
        left = fragment.end - fragment.start
        while left > 0:
            line = self._file.readline(left)
            left -= len(line)
            yield line.decode()
