"""Writers of segments and partitions: the public interface.

Strategy: all data become pieces of encoded batches with their heads (`encoder.EncodedBatches`); a `LogWriter`
takes them, and `LogState` decides which are valid and what the transaction index gets.
"""

from __future__ import annotations

import os
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from os import PathLike
from types import TracebackType
from typing import Any, Unpack

from kafka_segments.core.io.outputs import path_of
from kafka_segments.core.segment.beside.index_files import AbortedTxn
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.transactions.log_state import LogState, go_on
from kafka_segments.errors import OptionError
from kafka_segments.errors.escaping import shown
from kafka_segments.write import batch_options
from kafka_segments.write.api import encode_empty_batch, iter_pieces, start_of
from kafka_segments.write.batch_options import BatchOptions, Options, check_choice, check_numbers
from kafka_segments.write.control_batches import MARKERS, Control, encode_control
from kafka_segments.write.encoding import EncodingStart
from kafka_segments.write.following import follow, last_offset
from kafka_segments.write.inputs import Data
from kafka_segments.write.log_writer import DEFAULT_INTERVAL, LogWriter, OneSegment, PartitionFiles
from kafka_segments.write.ready_batches import read_ready_batches
from kafka_segments.write.refusals import refused

__all__ = ["SegmentWriter", "Written", "open_partition_writer", "open_writer", "write_segment"]

_DEFAULT_SEGMENT_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer has written.

    Attributes:
        paths: the segments, in order.
        num_batches: number of entries in them.
        num_records: number of records in them, including control records.
        num_bytes: size of the segments, without their indexes.
        first_offset: the first batch's; None if there is no batch.
        last_offset: the last batch's.
    """

    paths: tuple[str, ...]
    num_batches: int
    num_records: int
    num_bytes: int
    first_offset: int | None
    last_offset: int | None


def open_writer(
    path: str | PathLike[str],
    *,
    index: bool = True,
    index_interval_bytes: int = DEFAULT_INTERVAL,
    segment_bytes: int = _DEFAULT_SEGMENT_BYTES,
    **options: Unpack[Options],
) -> SegmentWriter:
    """Open a writer of one segment, which appears with its indexes when the writer is closed.

    Args:
        path: a file that does not exist. If it is named as a broker names segments, the base offset of the
            indexes comes from the name; otherwise it is `base_offset` or that of the first batch.
        index: whether to write `.index` and `.timeindex` next to it, and `.txnindex` if transactions were
            aborted.
        index_interval_bytes: bytes between their entries, as Kafka's `index.interval.bytes`.
        segment_bytes: maximum size of the segment, as Kafka's `segment.bytes`.
        options: options of batches: `magic`, `compression`, `compression_level` and the others of
            `BatchOptions`.

    Raises:
        OptionError: the file exists, or options contradict each other.
        OutputError: it cannot be written there.
        MissingExtraError: the extra `construct` is not installed, which the indexes need.

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open_writer(f"{folder}/00000000000000000000.log") as writer:
        ...         writer.write([{"key": b"k", "value": b"v"}])
        ...     sorted(os.listdir(folder))
        ['00000000000000000000.index', '00000000000000000000.log', '00000000000000000000.timeindex']
    """
    return _opened(OneSegment, path_of(path), options, index, index_interval_bytes, segment_bytes)


def open_partition_writer(
    directory: str | PathLike[str],
    *,
    index: bool = True,
    index_interval_bytes: int = DEFAULT_INTERVAL,
    segment_bytes: int = _DEFAULT_SEGMENT_BYTES,
    **options: Unpack[Options],
) -> SegmentWriter:
    """Open a writer of a partition's segments, as many as needed; the directory appears as a whole.

    Args:
        directory: a path that does not exist, or an empty directory.
        index: as for `open_writer`; also whether a `.snapshot` of the producers is written at the end.
        index_interval_bytes: as for `open_writer`.
        segment_bytes: maximum size of a segment; then the next one begins, as when a broker rolls.
        options: as for `open_writer`.

    Raises:
        OptionError: the directory is not empty, or options contradict each other.
        OutputError: it cannot be written there.
        MissingExtraError: the extra `construct` is not installed, which the indexes need.
    """
    path = path_of(directory).rstrip("/") or "/"
    return _opened(PartitionFiles, path, options, index, index_interval_bytes, segment_bytes)


def write_segment(
    path: str | PathLike[str],
    data: Data,
    *,
    index: bool = True,
    index_interval_bytes: int = DEFAULT_INTERVAL,
    segment_bytes: int = _DEFAULT_SEGMENT_BYTES,
    **options: Unpack[Options],
) -> Written:
    """Write records as one segment, see `open_writer`.

    Raises:
        EncodeError: a record or batch that Kafka would refuse; no file is left then.
    """
    with open_writer(
        path, index=index, index_interval_bytes=index_interval_bytes, segment_bytes=segment_bytes, **options
    ) as writer:
        writer.write(data)
    return writer.close()


def _opened(  # noqa: PLR0917
    kind: type[OneSegment] | type[PartitionFiles],
    path: str,
    options: Options,
    index: bool,
    interval: int,
    segment_bytes: int,
) -> SegmentWriter:
    checked = batch_options.segment_options_of(options)
    batch_options.check_flags(index=index)
    check_numbers(index_interval_bytes=interval, segment_bytes=segment_bytes)
    given = interval if index else None
    store = kind(path, segment_bytes=segment_bytes, interval=given, base_offset=checked.base_offset)
    return SegmentWriter(store, checked)


def _names(function: Callable[..., bytes], *taken: str) -> set[str]:
    """Return the names of a function's parameters, without `taken`."""
    return set(signature(function).parameters) - set(taken)


def _discard_unfinished(store: LogWriter, process: int) -> None:
    """Remove the files of a writer that was collected as garbage, or not closed before exit."""
    if os.getpid() != process:
        return  # a fork of the process that wrote
    store.discard()
    warnings.warn(
        f"{shown(str(store.path))}: its writer was neither closed nor aborted; nothing was written",
        ResourceWarning,
        stacklevel=2,
    )


class SegmentWriter:
    """Writer of batches; a context manager.

    Leaving the context makes the files appear; an exception in it removes them, and so does garbage
    collection, with a `ResourceWarning`. For one thread.

    Attributes:
        next_offset: the offset of the next record, if the data have no offsets.
    """

    def __init__(self, store: LogWriter, options: BatchOptions) -> None:
        self._store, self._options = store, options
        self._state = LogState(0)
        self.next_offset = (store.base_offset or 0) if options.base_offset is None else options.base_offset
        self._last_offset = -1
        self._first_offset: int | None = None
        self._num_batches = self._num_records = self._num_bytes = 0
        self._written: Written | None = None
        self._end = weakref.finalize(self, _discard_unfinished, store, os.getpid())
        self._cause = ""  # of the abort, if it was an error

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def write(self, data: Data, **options: Unpack[Options]) -> None:
        """Append records; the last batch is closed, whatever its size.

        Args:
            data: Arrow data or rows, see `inputs`.
            options: options that differ from the writer's.

        Raises:
            EncodeError: a record or batch that Kafka would refuse; the writer is aborted then.
            OptionError: options that contradict each other, or data of an unsupported type; the writer is
                unchanged if none of these data was written yet, otherwise aborted.
            OutputError: a failed write.
        """
        self._ensure_open()
        checked = batch_options.segment_options_of(options, self._options)
        sequence = start_of(checked).sequence
        if checked.producer_id >= 0 and options.get("base_sequence") is None:
            # The writer's option is a producer's first sequence number; it continues from call to call.
            known = checked.producer_id, checked.producer_epoch
            sequence = self._state.next_sequence(*known, first=checked.base_sequence or 0)
        first = options.get("base_offset")
        start = EncodingStart(self.next_offset if first is None else first, self._last_offset, sequence)
        with self._aborting():
            for piece in iter_pieces(data, checked, start):
                if len(piece.heads):
                    entries = piece.entries
                    if checked.producer_id != -1:
                        follow(self._state, entries, _no_marker, _refuse)
                    self._put(piece.data, entries, int(piece.counts.sum()))

    def write_control(self, records: Iterable[Control], *, timestamp: int, **options: Any) -> None:
        """Append a control batch; see `encode_control` for records and options."""
        self._ensure_open()
        settings = {"partition_leader_epoch": self._options.partition_leader_epoch, **options}
        settings.setdefault("max_message_bytes", self._options.max_message_bytes)
        batch_options.check_names(settings, _names(encode_control, "records", "timestamp", "base_offset"))
        with self._aborting():
            data = encode_control(records, timestamp=timestamp, base_offset=self.next_offset, **settings)
            self._append(data, is_checked=True)

    def write_marker(
        self,
        kind: str,
        *,
        producer_id: int,
        producer_epoch: int,
        timestamp: int,
        coordinator_epoch: int = 0,
        partition_leader_epoch: int | None = None,
    ) -> None:
        """Append the marker that ends a producer's transaction.

        Args:
            kind: "COMMIT" or "ABORT".
        """
        check_choice(MARKERS, kind=kind)
        epoch = (
            self._options.partition_leader_epoch if partition_leader_epoch is None else partition_leader_epoch
        )
        self.write_control(
            [(kind, {"coordinator_epoch": coordinator_epoch})],
            timestamp=timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=True,
            partition_leader_epoch=epoch,
        )

    def write_empty_batch(self, *, base_offset: int, last_offset: int, **options: Any) -> None:
        """Append a batch without records; see `encode_empty_batch`."""
        self._ensure_open()
        batch_options.check_names(options, _names(encode_empty_batch, "base_offset", "last_offset"))
        with self._aborting():
            data = encode_empty_batch(base_offset=base_offset, last_offset=last_offset, **options)
            self._append(data, is_checked=False)

    def append(self, encoded: bytes | memoryview) -> None:
        """Append whole batches that were encoded before, or copied from another segment.

        They are checked (framing, checksums, increasing offsets) and indexed. Sequence numbers and epochs are
        recorded without a check, as on a follower.

        Raises:
            KafkaFormatError: damage in them.
            EncodeError: offsets not greater than those before, or batches that do not fit into the segment.
        """
        self._ensure_open()
        with self._aborting():
            self._append(encoded, is_checked=False)

    def close(self) -> Written:
        """Make the files appear; return what was written. Idempotent.

        Raises:
            OutputError: a failed write; no file is left then.
            OptionError: the writer was aborted; the message has the cause.
        """
        if self._written is not None:
            return self._written
        self._ensure_open()
        with self._aborting():
            if self._first_offset is not None and self._store.interval is not None:
                self._store.write_state(end_offset=self.next_offset, producers=self._state.snapshot())
            paths = self._store.publish()
        self._end.detach()
        last = None if self._first_offset is None else self._last_offset
        counts = self._num_batches, self._num_records, self._num_bytes
        self._written = Written(paths, *counts, self._first_offset, last)
        return self._written

    def abort(self) -> None:
        """Remove what was written; idempotent, and without effect after `close`."""
        if self._end.detach():
            self._store.discard()

    def _ensure_open(self) -> None:
        if self._end.alive:
            return
        if self._written is not None:
            raise OptionError("the writer is closed", path=self._store.path)
        by = f" by {self._cause}" if self._cause else ""
        detail = f"the writer is closed: it was aborted{by}, and nothing was written"
        raise OptionError(detail, path=self._store.path)

    @contextmanager
    def _aborting(self) -> Iterator[None]:
        """Abort the writer on an error, except an `OptionError` before the call wrote anything."""
        before = self._num_batches
        try:
            yield
        except BaseException as error:
            if not isinstance(error, OptionError) or self._num_batches != before:
                self._cause = traceback.format_exception_only(error)[-1].strip()
                self.abort()
            raise

    def _append(self, encoded: bytes | memoryview, *, is_checked: bool) -> None:
        for data, entries, marker_at in read_ready_batches(encoded, self._last_offset):
            aborted = follow(self._state, entries, marker_at, _refuse if is_checked else go_on)
            self._put(data, entries, sum(entries.values("num_records")), aborted)

    def _put(
        self, data: memoryview, entries: EntryTable, num_records: int, aborted: Sequence[AbortedTxn] = ()
    ) -> None:
        """Write batches, of which there are some, and count them."""
        if self._first_offset is None:
            self._first_offset = entries.value(0, "base_offset")
        self._store.append(data, entries, aborted)
        self._last_offset = last_offset(entries, len(entries) - 1)
        self.next_offset = self._last_offset + 1
        self._num_batches += len(entries)
        self._num_records += num_records
        self._num_bytes += entries.value(len(entries) - 1, "end_position") - entries.value(0, "position")


def _refuse(rule: str, found: str, offset: int) -> None:
    raise refused(rule, found, offset=offset)


def _no_marker(_row: int) -> None:
    """Find no marker, where there are no control batches."""
