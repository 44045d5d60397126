"""Conversion between magic 2 and the discarded magic 3.

Strategy: a batch goes through its values (`formats.batch_values`), so that everything that both formats have
stays as it is: records' attributes, deltas, bounds and times of the batch, a delete horizon, control records.
The generated Construct declarations do it, at some thousand records a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from kafka_segments.core.codecs import CODEC_NAMES, DEFAULT_MAX_DECOMPRESSED, compress, decompress
from kafka_segments.core.formats import EXPERIMENTAL_MAGICS, MAGICS
from kafka_segments.core.formats.batch_values import Hook, build_batch, parse_batch
from kafka_segments.core.formats.entries import Batch, ExperimentalBatch
from kafka_segments.core.formats.on_damage import OnDamage
from kafka_segments.core.io.storage import SourceLike
from kafka_segments.core.segment.segment import Segment
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.write.batch_options import check_flags, is_integer
from kafka_segments.write.convert.conversions import Conversion
from kafka_segments.write.convert.loss_report import ConversionReport
from kafka_segments.write.convert.source_entries import Recoded, SourceEntry, Untouched

__all__ = ["convert_magic3"]

_MOST_ITEMS = 200_000  # records and headers of a batch, each of which is some KiB of objects meanwhile
_CONVERTED_FROM = 2  # older messages are made batches by up_convert


class _Codec:
    """A codec of Kafka's, as the generated declarations take it."""

    def __init__(self, name: str, max_decompressed: int) -> None:
        self._name, self._max_decompressed = name, max_decompressed

    def compress(self, data: bytes) -> bytes:
        return compress(self._name, data)

    def decompress(self, data: bytes) -> bytes:
        return bytes(decompress(self._name, data, max_size=self._max_decompressed))


def convert_magic3(
    source: SourceLike | Segment,
    to_magic: int,
    *,
    metadata_first: bool = False,
    experimental_magic3: bool = False,
    on_damage: OnDamage = "raise",
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
) -> Conversion:
    """Convert the batches of a segment to the discarded magic 3, or back to magic 2.

    Nothing that Kafka reads of a batch changes; what is compressed is compressed again, at the codec's
    default level. Reserved bits and the form of varints that are longer than needed are lost; `report.losses`
    counts them. Messages of magic 0 and 1 are copied byte for byte. A batch with damaged records is left out.
    Needs the extras `arrow` and `construct`.

    Args:
        source: as for `open_segment`, or a segment opened with `experimental_magic3`, which stays open.
        to_magic: 2 or 3.
        metadata_first: going to magic 3, write the layout in which the metadata of all records come first.
        experimental_magic3: must be True, to show that the format is known to be experimental.
        on_damage: "raise", "skip", or a function to call with each `Damage`.
        max_decompressed: bytes that one batch may decompress to; an open segment has its own.

    Raises:
        OptionError: `experimental_magic3` is not True, an invalid magic or `on_damage`.
        EncodeError: while iterating: a batch with more than 200,000 records and headers.

    Example:
        >>> convert_magic3(b"", to_magic=3, experimental_magic3=True).to_bytes()
        b''
    """
    check_flags(metadata_first=metadata_first, experimental_magic3=experimental_magic3)
    if not experimental_magic3:
        raise OptionError("no version of Kafka has magic 3: experimental_magic3=True allows it")
    magics = (_CONVERTED_FROM, *sorted(EXPERIMENTAL_MAGICS.keys() - MAGICS.keys()))
    if not is_integer(to_magic) or to_magic not in magics:
        raise OptionError(f"to_magic is {to_magic!r}; it must be 2 or 3")
    if metadata_first and to_magic == _CONVERTED_FROM:
        raise OptionError("metadata_first is a layout of magic 3, not of magic 2")
    codecs: dict[str, Hook] = {name: _Codec(name, max_decompressed) for name in CODEC_NAMES}
    wanted = partial(_has_to_change, to_magic, metadata_first)
    return Conversion(
        source,
        wanted,
        partial(_pieces, wanted=wanted, to_magic=to_magic, metadata_first=metadata_first, codecs=codecs),
        on_damage,
        max_decompressed,
        experimental_magic3=True,
    )


def _has_to_change(to_magic: int, metadata_first: bool, batch: Batch) -> bool:
    """Return whether a batch is of another format than what is wanted."""
    if isinstance(batch, ExperimentalBatch):
        return to_magic != batch.magic or batch.has_metadata_first != metadata_first
    return batch.magic == _CONVERTED_FROM and batch.magic != to_magic


def _pieces(
    entries: Iterator[SourceEntry],
    report: ConversionReport,
    *,
    wanted: partial[bool],
    to_magic: int,
    metadata_first: bool,
    codecs: Mapping[str, Hook],
) -> Iterator[Untouched | Recoded]:
    for entry in entries:
        if not wanted(entry.batch):
            yield Untouched(entry.batch)
        elif entry.is_damaged:
            report.num_dropped += 1
        else:
            _check_items(entry)
            report.num_rewritten += 1
            recode = partial(_recoded, report, to_magic, metadata_first, codecs, entry.batch)
            yield Recoded(entry.batch, len(entry.records or ()), recode)


def _check_items(entry: SourceEntry) -> None:
    num_items = sum(1 + len(record.headers) for record in entry.records or ())
    if num_items > _MOST_ITEMS:
        raise EncodeError(
            f"it has {num_items} records and headers, more than the {_MOST_ITEMS} that this conversion takes",
            position=entry.batch.position,
            path=entry.batch.path,
        )


def _recoded(  # noqa: PLR0917
    report: ConversionReport,
    to_magic: int,
    metadata_first: bool,
    codecs: Mapping[str, Hook],
    batch: Batch,
    data: bytes,
) -> bytes:
    """The bytes of a batch in the other format; what gets lost is counted."""
    values = parse_batch(data, codecs)
    bounds = values.base_offset, batch.last_offset
    report.lose("reserved_bits", int(values.num_reserved_bits > 0), *bounds)
    report.lose("long_varints", values.num_long_varints, *bounds)
    try:
        return build_batch(values, to_magic, codecs, metadata_first=metadata_first)
    except EncodeError as error:
        raise error.with_context(position=batch.position, path=batch.path) from error.__cause__
