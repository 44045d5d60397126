"""Lines of DumpLogSegments for a `.index`, a `.txnindex` and a `.snapshot`."""

from __future__ import annotations

import os
from contextlib import closing

from kafka_segments.core import formats
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.beside.index_files import ProducerEntry, read_producer_snapshot
from kafka_segments.errors import CorruptIndexError, DecodeError
from kafka_segments.like_kafka.lenient_entries import EntryReader
from kafka_segments.like_kafka.stored_index import (
    IndexOptions,
    StoredIndex,
    content_of,
    end_of_slice,
    offset_in_name,
    path_beside,
)
from kafka_segments.like_kafka.tool_output import ToolOutput

__all__ = ["dump_offset_index", "dump_snapshot", "dump_transaction_index"]


def dump_offset_index(path: str, output: ToolOutput, options: IndexOptions) -> dict[int, int]:
    """Print a `.index` after its entries were looked up in the log beside it.

    Returns:
        Offsets of entries and the last offsets of the batches that stand there, where they differ.

    Raises:
        KafkaFormatError: where the tool ends with an exception; all before that was printed.
    """
    base_offset = offset_in_name(path)
    with closing(open_source(path_beside(path, ".log"), only_files=True)) as source:
        reader = EntryReader(source)
        entries = StoredIndex(path, formats.LEN_OFFSET_ENTRY, formats.read_offset_entries, base_offset)
        if not len(entries):
            output.line(f"{path} is empty.")
            return {}
        if options.is_sanity_only:
            entries.check_last_offset(entries.firsts[-1])
            entries.check_size()
            output.line(f"{path} passed sanity check.")
            return {}
        return _dump_offsets(entries, reader, output, options)


def _dump_offsets(
    entries: StoredIndex, reader: EntryReader, output: ToolOutput, options: IndexOptions
) -> dict[int, int]:
    mismatches = {}
    for number, (relative, position) in enumerate(zip(entries.firsts, entries.seconds, strict=True)):
        if relative == 0 and number > 0:  # zeros of a broker that was killed
            break
        offset = entries.base_offset + relative
        end = end_of_slice(reader, position, options.max_message_size)
        frame = reader.frame(position, end)
        if frame is None:
            detail = f"the entry of offset {offset} is at position {position}, where no whole batch begins"
            raise CorruptIndexError(detail, path=entries.path)
        last_offset = reader.last_offset(frame)
        if last_offset != offset:
            mismatches[offset] = last_offset
        if not options.is_verify_only:
            output.write(f"offset: {offset} position: {position}\n")
    return mismatches


def dump_transaction_index(path: str, output: ToolOutput) -> None:
    """Print a `.txnindex`; nothing if there is no such file.

    Raises:
        KafkaFormatError: where the tool ends with an exception, which is before the first line.
    """
    offset_in_name(path)
    if not os.path.exists(path):
        return
    data, size = content_of(path), formats.LEN_TRANSACTION_ENTRY
    columns = formats.read_transaction_entries(data[: len(data) // size * size])
    lines = []
    for stored, producer_id, first_offset, last_offset, last_stable_offset in zip(*columns, strict=True):
        version = stored // 256  # its first byte, as AbortedTxn.version
        if version > 0:
            raise CorruptIndexError(f"version {version}; only 0 is known", path=path)
        lines.append(
            f"version: {version} producerId: {producer_id} firstOffset: {first_offset} "
            f"lastOffset: {last_offset} lastStableOffset: {last_stable_offset}"
        )
    for line in lines:
        output.line(line)


def dump_snapshot(path: str, output: ToolOutput) -> None:
    """Print a `.snapshot`; a message if it is invalid.

    Raises:
        ReadError: it cannot be read.
    """
    try:
        entries = read_producer_snapshot(path)
    except DecodeError as error:
        output.message(str(error))
        return
    for entry in entries:
        output.line(_producer(entry))


def _producer(entry: ProducerEntry) -> str:
    begun = entry.current_txn_first_offset
    line = (
        f"producerId: {entry.producer_id} producerEpoch: {entry.epoch} "
        f"coordinatorEpoch: {entry.coordinator_epoch} "
        f"currentTxnFirstOffset: {f'OptionalLong[{begun}]' if begun >= 0 else 'OptionalLong.empty'} "
        f"lastTimestamp: {entry.timestamp}"
    )
    if entry.last_offset < 0:
        return line
    first_sequence = formats.decrement_sequence(entry.last_sequence, entry.offset_delta)
    return (
        f"{line} firstSequence: {first_sequence} lastSequence: {entry.last_sequence} "
        f"lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp}"
    )
