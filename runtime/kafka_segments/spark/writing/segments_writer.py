"""The writer of the data source: tasks write pieces, the driver makes them partitions of the destination.

Strategy: Spark pickles the writer after the driver made it, and calls `commit` with one message a task, that
of the attempt that it took: what other attempts wrote is removed with the job's directory.

Everything is written in a hidden directory beside the destination. What replaces something is put together
there and renamed as a whole, so it appears at once or not at all; partitions that are added to a directory
that is there are renamed one by one, each as a whole.
"""

from __future__ import annotations

import glob
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kafka_segments.core.formats.file_names import TopicPartition, parse_directory_name
from kafka_segments.core.io import outputs
from kafka_segments.core.io.local_files import is_locked
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.errors import EncodeError, OptionError, OutputError
from kafka_segments.spark.writing.write_options import WriteOptions
from kafka_segments.spark.writing.write_rows import check_write_schema
from kafka_segments.spark.writing.write_tasks import SORT_ADVICE, Piece, TaskOutput, write_task
from kafka_segments.write.log_writer import LogWriter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KafkaSegmentsWriter", "WriteDestination"]

_log = get_logger(__name__)

_LOCK = ".lock"  # LogManager.LOCK_FILE_NAME
_SNAPSHOT = ".snapshot"


@dataclass(frozen=True, slots=True)
class WriteDestination:
    """Where a job writes.

    Attributes:
        path: as the user named it.
        real: with links resolved.
        staging: directory of the job.
        is_added_to: it is there, and partitions are added to it.
        is_replaced: what is there is removed.
    """

    path: str
    real: str
    staging: str
    is_added_to: bool
    is_replaced: bool

    @classmethod
    def open(cls, path: str, *, overwrite: bool) -> WriteDestination:
        """Check a destination; nothing is created or removed.

        Raises:
            OptionError: a broker has it open; it is not a directory; `overwrite` would remove other files.
            OutputError: it cannot be listed.
        """
        real = os.path.realpath(path)
        names: list[str] = []
        if os.path.lexists(real):
            if not os.path.isdir(real):
                raise OptionError("this is not a directory; give one, or a path where nothing is", path=path)
            if is_locked(os.path.join(real, _LOCK)):
                raise OptionError(
                    "a broker has this log directory open: write elsewhere, stop the broker, and move the "
                    "partitions there",
                    path=path,
                )
            names = outputs.names_in(real, path)
        is_added_to = bool(names) and not overwrite
        if overwrite:
            _check_removable(path, real, names)
        if not names and os.path.isdir(real):
            outputs.check_replaceable(path)
        # A directory beside a mounted one is on another disk, from which nothing can be renamed.
        is_inside = is_added_to and os.path.ismount(real)
        beside = os.path.join(real, os.path.basename(real)) if is_inside else real
        _warn_of_leftovers(beside)
        return cls(path, real, outputs.hidden_sibling(beside), is_added_to, overwrite)

    @property
    def existing(self) -> str | None:
        """The directory whose partitions stay; None if there is none."""
        return self.real if self.is_added_to else None

    def begin(self) -> None:
        """Make the directory of the job.

        Raises:
            OutputError: it cannot be made.
        """
        outputs.make_directories(self.staging)

    def publish(self, pieces: Iterable[Piece], options: WriteOptions) -> None:
        """Make what tasks wrote the partitions of the destination.

        Args:
            pieces: of all tasks.
            options: of the write.

        Raises:
            EncodeError: two tasks wrote rows of a partition with offsets that overlap.
            OptionError: `topicId` has no id for a topic, or one for several.
            OutputError: a piece is missing, or cannot be renamed; partitions that were added are removed.
        """
        by_name = _ordered(pieces, self.path)
        topic_ids = _topic_ids(by_name, options)
        made = os.path.join(self.staging, "made")
        outputs.make_directories(made)
        for name, parts in by_name.items():
            directory = os.path.join(made, str(name))
            named = os.path.join(self.path, str(name))
            outputs.make_directory(directory, named)
            epochs = [(options.leader_epoch, parts[0].first_offset)]
            LogWriter(directory, named).write_state(epochs=epochs, topic_id=topic_ids[name.topic])
            _join(parts, directory)
        if self.is_added_to:
            outputs.move_into(made, self.real, self.path, [str(name) for name in by_name])
        elif self.is_replaced and os.path.isdir(self.real):
            _check_removable(self.path, self.real, outputs.names_in(self.real, self.path))
            outputs.replace_directory(made, self.real, self.path)
        else:
            outputs.publish_directory(made, self.real, self.path)

    def discard(self) -> None:
        """Remove what the job left in its own directory, without raising.

        Spark does not wait for the other tasks of a job that failed. Under its new name they create nothing
        in the directory while it is removed.
        """
        removed = f"{self.staging}-removed"
        with suppress(OSError):
            os.rename(self.staging, removed)
            outputs.discard_directory(removed)
        outputs.discard_directory(self.staging)  # if it could not be renamed


class KafkaSegmentsWriter(DataSourceArrowWriter):
    """Writes on executors (`write`), publishes on the driver (`commit`).

    Args:
        schema: of the DataFrame.
        options: of the write.
        overwrite: whether the partitions that are there are removed.

    Raises:
        OptionError: columns that cannot be written, or a destination that must not be written to.
        OutputError: a destination that cannot be listed.
    """

    def __init__(self, schema: StructType, options: WriteOptions, *, overwrite: bool) -> None:
        check_write_schema(schema, options)
        self._options = options
        self._destination = WriteDestination.open(options.path, overwrite=overwrite)
        self._destination.begin()
        for remark in options.remarks:
            _log.warning("%s", remark)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskOutput:
        """Write the rows of a task under names of its own.

        Raises:
            KafkaFormatError: see `write_task`.
        """
        return write_task(iterator, self._destination.staging, self._destination.existing, self._options)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make the rows of all tasks visible.

        Raises:
            KafkaFormatError: see `WriteDestination.publish`; nothing is visible then.
        """
        outputs = [message for message in messages if isinstance(message, TaskOutput)]
        self._destination.publish([piece for output in outputs for piece in output.pieces], self._options)
        self._destination.discard()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        """Remove what the tasks wrote."""
        self._destination.discard()


def _check_removable(path: str, real: str, names: Sequence[str]) -> None:
    """Refuse to remove what no write of segments makes."""
    for name in names:
        if parse_directory_name(name) is None or not os.path.isdir(os.path.join(real, name)):
            raise OptionError(
                f"overwrite removes only partitions, but there is {name!r}: give a directory with only "
                "partitions, or remove it yourself",
                path=path,
            )
    if names and os.path.ismount(real):
        raise OptionError("overwrite replaces the directory, but it is the mount point of a disk", path=path)


def _warn_of_leftovers(path: str) -> None:
    parent, name = os.path.split(path)
    stem = outputs.hidden_stem(name)
    for left in sorted(glob.glob(f"{glob.escape(os.path.join(parent, stem))}*")):
        _log.warning(
            "%s belongs to a write that is running or was killed; remove it if none is running",
            left,
        )


def _ordered(pieces: Iterable[Piece], path: str) -> dict[TopicPartition, list[Piece]]:
    """The pieces of each partition by offset.

    Raises:
        EncodeError: they overlap.
    """
    found: defaultdict[TopicPartition, list[Piece]] = defaultdict(list)
    for piece in pieces:
        found[piece.name].append(piece)
    for name, parts in found.items():
        parts.sort(key=lambda piece: piece.first_offset)
        for before, after in pairwise(parts):
            if after.first_offset <= before.last_offset:
                raise _overlap(name, before, after, path)
    return dict(sorted(found.items()))


def _overlap(name: TopicPartition, before: Piece, after: Piece, path: str) -> EncodeError:
    if before.has_own_offsets:
        detail = (
            f"two tasks wrote offsets of partition {name} that overlap, {before.first_offset} to "
            f"{before.last_offset} and {after.first_offset} to {after.last_offset}: {SORT_ADVICE}"
        )
    else:
        detail = (
            f"two tasks wrote rows of partition {name}, and the rows have no offsets that say in which "
            "order: .repartition('topic', 'partition') before .write gives each partition to one task, as "
            ".coalesce(1) does where there is no column partition"
        )
    return EncodeError(detail, path=path, topic=name.topic, partition=name.partition, rule="offset_order")


def _topic_ids(names: Iterable[TopicPartition], options: WriteOptions) -> Mapping[str, str | None]:
    topics = sorted({name.topic for name in names})
    if isinstance(options.topic_ids, str) and options.topic_ids and len(topics) > 1:
        raise OptionError(
            f"option topicId is one id, but there are the topics {', '.join(topics)}: give JSON"
        )
    found = {topic: options.topic_id_of(topic) for topic in topics}
    missing = [topic for topic, topic_id in found.items() if topic_id is None]
    if options.topic_ids and missing:
        raise OptionError(f"option topicId has no id for topic {missing[0]}")
    return found


def _join(parts: Sequence[Piece], directory: str) -> None:
    """Move the files of pieces to one directory; only the newest snapshot of producers counts."""
    for piece in parts:
        try:
            names = outputs.names_in(piece.directory, piece.directory)
        except OutputError as error:
            raise OutputError(
                f"partition {piece.name}: files that a task wrote are missing: executors on other machines "
                "must write to a file system that the driver sees under the same path",
                path=piece.directory,
                errno=error.errno,
            ) from error
        kept = [name for name in names if piece is parts[-1] or not name.endswith(_SNAPSHOT)]
        outputs.move_into(piece.directory, directory, directory, kept)
