"""Entries of a file, in file order, with damage and padding in their places.

Strategy: each entry is checked alone (`entry_check`). After a damaged one the scan continues where the entry
ends by its own length, if that is plausible: the file ends there, or a sound entry begins there. Otherwise
the next sound entry is searched for (`resync`). So a damaged region is followed by a sound entry, padding or
the end of the file, and never by another damaged region.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from kafka_segments.core import formats
from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.codecs.bounds import ItemBudget
from kafka_segments.core.formats.entries import Batch, Damage, ExperimentalBatch, Padding
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.io.storage import BLOCK_SIZE, WINDOW_SIZE, Source, Window
from kafka_segments.core.segment.records.legacy_messages import Messages
from kafka_segments.core.segment.scan.entry_check import CheckedEntry, Probe
from kafka_segments.core.segment.scan.nested_messages import NestedMessages
from kafka_segments.core.segment.scan.resync import Resync
from kafka_segments.errors import (
    ChecksumMismatchError,
    KafkaFormatError,
    ReadError,
    StoreError,
    raise_unless_file_at_fault,
)

__all__ = [
    "Readable",
    "Scan",
    "first_offset_at",
    "first_offset_in_name",
    "read_payload",
    "sound_entry",
    "with_offsets",
]

_LEN_WINDOW = 64 << 10
_NAME = re.compile(r"([0-9]{20})\.log(\.[^/]*)?")


def first_offset_in_name(path: str) -> int | None:
    """Return the offset in a segment's name (`<20 digits>.log`, also `.log.deleted`), None for other names.

    A number above the greatest offset is not a segment's name: a broker refuses to start on such a file.
    """
    match = _NAME.fullmatch(path.rpartition("/")[2])
    offset = int(match[1]) if match else None
    return None if offset is None or offset > MAX_LONG else offset


class Scan:
    """A pass over one source.

    Args:
        source: the segment's bytes.
        check_crc: compute the checksum of every entry. The search after damage does so in any case.
        headers_only: do not read payloads; implies that checksums are not computed.
        len_window: bytes to read at once.
        max_decompressed: bytes that one wrapper may decompress to, where its first offset is needed.
        experimental_magic3: read batches of the discarded magic 3, too.
    """

    def __init__(
        self,
        source: Source,
        *,
        check_crc: bool = True,
        headers_only: bool = False,
        len_window: int = WINDOW_SIZE,
        max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
        experimental_magic3: bool = False,
    ) -> None:
        self.source = source
        self.window = Window(source, BLOCK_SIZE if headers_only else len_window)
        self._check_crc = check_crc and not headers_only
        self._headers_only = headers_only
        self._max_decompressed = max_decompressed
        self._magics = formats.EXPERIMENTAL_MAGICS if experimental_magic3 else formats.MAGICS
        self._probe = Probe(source, self.window, headers_only=headers_only, magics=self._magics)
        name_offset = first_offset_in_name(source.name)
        self.sound_offset = None if name_offset is None else name_offset - 1
        """Last offset of the last sound batch so far."""
        self.items = ItemBudget(max_decompressed)
        """Budget of items of compressed batches that are read one by one."""
        self._wrapper_items = ItemBudget(max_decompressed)  # likewise, for first offsets of wrappers

    @cached_property
    def _resync(self) -> Resync:
        return Resync(self.source, self._magics)  # lazy: its tables take a while, and most segments are sound

    def entries(self, position: int = 0) -> Iterator[Batch | Damage | Padding]:
        """Yield every entry, damaged region and padding; a batch with a wrong checksum precedes its damage.

        Args:
            position: where to begin; after the batch of `sound_offset`.
        """
        while position < self.source.size:
            if self._probe.is_padding(position):
                yield Padding(self.source.name, position, self.source.size)
                return
            checked = self._examine(position)
            if checked.error is not None:
                if checked.batch is not None:
                    yield checked.batch
                damage = self._damage(checked, position)
                yield damage
                position = damage.end_position
            elif checked.batch is not None:
                self.note_sound(checked.batch)
                yield checked.batch
                position = checked.batch.end_position

    def region(self, position: int) -> Iterator[Batch | Damage | Padding]:
        """The entries from a position on, up to the first one after which a compiled scanner can go on.

        That is a sound batch, padding, or damage; a batch with a wrong checksum comes before its damage.
        """
        for entry in self.entries(position):
            yield entry
            if not isinstance(entry, Batch) or entry.crc_valid is not False:
                return

    def batch_at(self, position: int) -> Batch:
        """Return the sound batch or message at a known position.

        Raises:
            ReadError: it is gone: the file was truncated or rewritten after it was scanned.
        """
        checked = self._probe.examine(position, self.sound_offset, check_crc=False)
        if checked.batch is None:
            reason = "nothing" if checked.error is None else checked.error.detail
            raise ReadError(
                f"the file was changed while it was read: a sound entry stood here, now {reason}; "
                "read it again",
                position=position,
                path=self.source.name,
            )
        return replace(checked.batch, crc_valid=True) if self._check_crc else checked.batch

    def note_sound(self, batch: Batch) -> None:
        """Record a batch as the last sound one so far."""
        self.sound_offset = _last_offset(batch)

    def payload(self, batch: Batch) -> bytes | memoryview:
        """Read the payload of a batch or message, for `batch_records`."""
        return read_payload(self.window, batch)

    def damage_of(self, batch: Batch, error: KafkaFormatError, last_offset: int | None) -> Damage:
        """Return the damage of a batch that was framed soundly and could not be decoded.

        After this call, only the delivered records of the batch count as sound.

        Args:
            batch: the last batch; the damage is all of it.
            error: the error in its records.
            last_offset: of the last record that was delivered, None if there was none.
        """
        self.sound_offset = batch.previous_offset if last_offset is None else last_offset
        before, after = self.sound_offset, None
        between = error.between if isinstance(error, ChecksumMismatchError) else None
        if between is not None:
            before = batch.previous_offset if between[0] is None else between[0]
            after = between[1]
        if after is None:
            after = self._next_base_offset(batch.end_position)
        neighbours = before, after
        return _damage(error, self.source.name, (batch.position, batch.end_position), neighbours)

    def _examine(self, position: int) -> CheckedEntry:
        return self._probe.examine(position, self.sound_offset, check_crc=self._check_crc)

    def _damage(self, checked: CheckedEntry, position: int) -> Damage:
        assert checked.error is not None
        end, following = self._end_of_region(checked, position)
        return _damage(checked.error, self.source.name, (position, end), (self.sound_offset, following))

    def _end_of_region(self, checked: CheckedEntry, position: int) -> tuple[int, int | None]:
        """Return where a damaged region ends, and the base offset of the sound entry there, if any."""
        claimed = checked.end_position
        if claimed is not None:
            if claimed == self.source.size:
                return claimed, None
            if claimed >= self._probe.zeros_position:
                return self._end_before_zeros(claimed), None
        batch = None if claimed is None else self._resync.true_entry(claimed)
        inside = NestedMessages(self.source, position)
        batch = batch or self._resync.next_entry(position + 1, self.sound_offset, inside.end_of)
        if batch is not None:
            return batch.position, self.first_offset(batch)
        return self._end_before_zeros(self.source.size), None

    def first_offset(self, batch: Batch) -> int | None:
        """Return a batch's first offset, of a wrapper that of its first message; None if it cannot be read.

        It is not read either once the pass has used up its budget of items.
        """
        if self._headers_only:
            return batch.base_offset
        opened = with_offsets(self.source, batch, self._wrapper_items, self._max_decompressed)
        return None if opened is None else opened.base_offset

    def _end_before_zeros(self, end: int) -> int:
        """Return `end`, or the start of the trailing zeros if well before it: a write that was cut short."""
        zeros = self._probe.zeros_position
        return zeros if end - zeros >= formats.LEN_PREFIX else end

    def _next_base_offset(self, position: int) -> int | None:
        """Return the base offset of the first sound entry from `position` on."""
        while position < self.source.size and not self._probe.is_padding(position):
            checked = self._examine(position)
            if checked.error is None:
                return None if checked.batch is None else self.first_offset(checked.batch)
            position = self._end_of_region(checked, position)[0]
        return None


def sound_entry(source: Source, position: int) -> Batch | None:
    """The batch or message at a position; None if no whole and valid one stands there."""
    if not 0 <= position < source.size:
        return None
    entry = next(Scan(source, len_window=_LEN_WINDOW).entries(position), None)
    return entry if isinstance(entry, Batch) and entry.crc_valid else None


def first_offset_at(
    source: Source, position: int, max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
) -> int | None:
    """The first offset of the sound entry at a position; None if none is there, or its messages hide it."""
    batch = sound_entry(source, position)
    if batch is not None:
        batch = with_offsets(source, batch, ItemBudget(max_decompressed), max_decompressed)
    return None if batch is None else batch.base_offset


def with_offsets(
    source: Source, batch: Batch, items: ItemBudget, max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
) -> Batch | None:
    """A batch with its first offset and number of records, which of a wrapper only its messages know.

    Args:
        source: the segment.
        batch: a batch or message of it.
        items: how many messages may be read for that.
        max_decompressed: bytes that a wrapper may decompress to.

    Returns:
        None if the messages cannot be read.
    """
    if batch.base_offset is not None:
        return batch
    if batch.compression == "none":  # where only headers are read, old messages are not judged
        return replace(batch, base_offset=batch.last_offset, num_records=1)
    try:
        payload = read_payload(source, batch)
        opened = Messages(batch, payload, max_decompressed=max_decompressed, check_crc=False, items=items)
        return opened.batch
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)  # reading the records reports it
        return None


class Readable(Protocol):
    """Reader of the bytes of a segment."""

    def read(self, position: int, size: int) -> bytes | memoryview:
        """Return bytes at a position."""
        ...


def read_payload(source: Readable, batch: Batch) -> bytes | memoryview:
    """Read what follows the header of a batch, or the length of an older entry; as stored."""
    if isinstance(batch, ExperimentalBatch):
        len_head = batch.len_head
    else:
        len_head = formats.LEN_HEAD if batch.magic >= 2 else formats.LEN_LOG_OVERHEAD
    return source.read(batch.position + len_head, batch.size - len_head)


def _last_offset(batch: Batch) -> int:
    """Return a batch's last offset; its first where lastOffsetDelta is negative or overflows."""
    return batch.last_offset if batch.base_offset is None else max(batch.base_offset, batch.last_offset)


def _offset(value: int) -> int | None:
    """Return `value`, or None outside Java's long: the neighbour of the least or greatest offset."""
    return value if value == formats.wrap_long(value) else None


def _damage(
    error: KafkaFormatError, path: str, region: tuple[int, int], neighbours: tuple[int | None, int | None]
) -> Damage:
    if isinstance(error, StoreError):  # the file is not at fault
        raise error
    previous, following = neighbours
    first = None if previous is None else _offset(previous + 1)
    last = None if following is None else _offset(following - 1)
    if last is not None and last < (first or 0):  # no offset is below 0
        first = last = None
    return Damage(path, *region, _without_frames(error), first, last, previous, following)


def _without_frames(error: KafkaFormatError) -> KafkaFormatError:
    """Drop the traceback and the causes of an error.

    They would keep the bytes that were being read, whole payloads, alive as long as the damage; and if the
    damage is itself in one of the frames, only the garbage collector would free them.
    """
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
