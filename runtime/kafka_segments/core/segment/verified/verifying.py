"""The entries of a segment with what their records show, in file order.

Strategy: by the scanner and compiled decoders, in tables, where the packages for that are installed, else
entry by entry. Each entry that is sound by its header comes, also if its records are damaged; damage comes
after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.core.segment.scan.foreign_logs import refuse_foreign
from kafka_segments.core.segment.verified.verified_entries import read_verified, verified_entry
from kafka_segments.errors import MissingExtraError

if TYPE_CHECKING:
    from kafka_segments.core.segment.verified.entry_rows import VerifiedEvent

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
        Tables of entries, each valid until the next event, or entries.

    Raises:
        UnknownFormatError: the file is of another program.
        MissingCodecError: a codec's package is not installed.
        StoreError: its store failed.
    """
    refuse_foreign(source)
    try:
        from kafka_segments.core.segment import columnar as _columnar  # noqa: F401  says so if packages lack
        from kafka_segments.core.segment.verified.verified_tables import iter_tables_verified

        return iter_tables_verified(
            source,
            check_crc=check_crc,
            with_records=with_records,
            max_decompressed=max_decompressed,
            max_read=max_read,
        )
    except MissingExtraError:
        scan = Scan(source, check_crc=check_crc, max_decompressed=max_decompressed)
        limit = max_read if with_records else 0
        return _iter_slowly(scan, check_crc=check_crc, max_decompressed=max_decompressed, max_read=limit)


def _iter_slowly(
    scan: Scan, *, check_crc: bool, max_decompressed: int, max_read: int
) -> Iterator[VerifiedEvent]:
    for entry in scan.entries():
        if not isinstance(entry, Batch):
            yield entry
        elif entry.crc_valid is False:
            continue  # its damage follows
        elif entry.size > max_read:
            yield verified_entry(entry)
        else:
            found, damage = read_verified(entry, scan, check_crc=check_crc, max_decompressed=max_decompressed)
            yield found
            if damage is not None:
                yield damage
