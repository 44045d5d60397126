"""The entries of a segment with facts about their records, in file order.

Strategy: by the scanner and compiled decoders where the packages for that are installed, else entry by entry.
Each entry that is sound by its header comes, also if its records are damaged; damage comes after it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.foreign_logs import refuse_foreign
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.core.segment.verified.verified_entries import (
    VerifiedEvent,
    VerifiedTable,
    read_exactly,
    table_of,
    unread_facts,
)
from kafka_segments.errors import MissingExtraError

__all__ = ["iter_verified"]


def iter_verified(
    source: Source,
    *,
    check_crc: bool = True,
    with_records: bool = True,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
    max_read: int = NO_END,
) -> Iterator[VerifiedEvent]:
    """Yield the entries of a segment in file order, with damage and padding in their places.

    Args:
        source: the segment's bytes.
        check_crc: verify checksums.
        with_records: read the records; else headers alone.
        max_decompressed: bytes that one batch may decompress to.
        max_read: bytes of an entry whose records are read; of larger ones the checksum alone is verified.

    Yields:
        Tables of entries, each valid until the next event. Damage of an entry's records follows the table
        that ends with the entry.

    Raises:
        UnknownFormatError: the file is of another program.
        MissingCodecError: a codec's package is not installed.
        StoreError: its store failed.
    """
    refuse_foreign(source)
    if not with_records:
        return _headers(source, check_crc=check_crc)
    options = {"max_decompressed": max_decompressed, "max_read": max_read}
    try:
        import kafka_segments.core.segment.columnar  # noqa: F401  says so if packages lack
        from kafka_segments.core.segment.verified.verified_tables import iter_tables_verified

        return iter_tables_verified(source, check_crc=check_crc, **options)
    except MissingExtraError:
        return _one_by_one(source, check_crc=check_crc, **options)


def _headers(source: Source, *, check_crc: bool) -> Iterator[VerifiedEvent]:
    walk = Walk(source, check_crc=check_crc, whole=check_crc)
    for piece in walk.pieces():
        yield VerifiedTable(piece, before=walk.scan.sound_offset) if isinstance(piece, EntryTable) else piece


def _one_by_one(
    source: Source, *, check_crc: bool, max_decompressed: int, max_read: int
) -> Iterator[VerifiedEvent]:
    scan = Scan(source, check_crc=check_crc, max_decompressed=max_decompressed)
    for entry in scan.entries():
        if not isinstance(entry, Batch):
            yield entry
        elif entry.crc_valid is False:
            continue  # its damage follows
        elif entry.size > max_read:
            yield table_of(entry, unread_facts(entry))
        else:
            facts, damage = read_exactly(entry, scan, check_crc=check_crc, max_decompressed=max_decompressed)
            yield table_of(entry, facts)
            if damage is not None:
                yield damage
