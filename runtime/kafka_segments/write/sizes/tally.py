"""Counts of entries: what is there, what other forms make of it, and what older formats cannot carry."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kafka_segments.core.codecs import CODEC_NAMES
from kafka_segments.write.sizes.forms import Form
from kafka_segments.write.sizes.recoding import EncodedForm, GivenEntries

__all__ = ["FormTally", "Tally", "lost_in"]

_NONE = -1


@dataclass(slots=True)
class FormTally:
    """Counts of entries in one form.

    Attributes:
        num_source_bytes: of the entries that these were before; without those whose records are in a batch
            that the end of a stretch cut short.
        num_bytes: their bytes.
        num_batches: their number.
        num_records: their records.
        encode_ns: CPU time of encoding, in nanoseconds.
        num_encoded_bytes: bytes of source entries that this time was taken of.
    """

    num_source_bytes: float = 0.0
    num_bytes: int = 0
    num_batches: int = 0
    num_records: int = 0
    encode_ns: int = 0
    num_encoded_bytes: int = 0

    def add(self, other: FormTally) -> None:
        """Add the counts of other entries."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class Tally:
    """Counts of the entries of a stretch, or of many.

    Attributes:
        num_bytes: bytes of entries.
        num_batches: batches, messages and wrappers.
        num_single: of those, such as hold one record.
        num_records: data records.
        num_refused: entries that Kafka would refuse to write again; in none of the other counts.
        codecs: entries by codec.
        magics: entries by magic.
        losses: what each older format cannot carry: number by magic and name, see `lost_in`.
        forms: counts in each form.
    """

    num_bytes: int = 0
    num_batches: int = 0
    num_single: int = 0
    num_records: int = 0
    num_refused: int = 0
    codecs: Counter[str] = field(default_factory=Counter)
    magics: Counter[int] = field(default_factory=Counter)
    losses: Counter[tuple[int, str]] = field(default_factory=Counter)
    forms: dict[Form, FormTally] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Add the counts of other entries."""
        for name in self.__slots__:
            if name != "forms":
                setattr(self, name, getattr(self, name) + getattr(other, name))
        for form, tally in other.forms.items():
            self.forms.setdefault(form, FormTally()).add(tally)

    def add_source(self, piece: GivenEntries) -> None:
        """Count the entries of a piece."""
        entries = piece.entries
        table = entries.table
        self.num_bytes += entries.num_bytes
        self.num_batches += len(entries.heads)
        self.num_single += int((entries.num_records == 1).sum())
        self.num_records += entries.records.num_rows
        self.num_refused += piece.num_refused
        names = ("none", *CODEC_NAMES)
        for codec, count in zip(*np.unique(table.column("codec"), return_counts=True), strict=True):
            self.codecs[names[codec] if codec < len(names) else str(codec)] += int(count)
        for magic, count in zip(*np.unique(table.column("magic"), return_counts=True), strict=True):
            self.magics[int(magic)] += int(count)

    def add_form(self, form: Form, piece: GivenEntries, recoded: EncodedForm, *, is_cut: bool) -> None:
        """Count the entries of a piece in another form.

        Args:
            form: the form.
            piece: the entries before.
            recoded: the entries in that form.
            is_cut: whether the last one lacks the records that would have come after the piece.
        """
        tally = self.forms.setdefault(form, FormTally())
        num_source = piece.entries.num_bytes
        tally.encode_ns += recoded.nanoseconds
        tally.num_encoded_bytes += num_source
        sizes, counts = recoded.sizes, recoded.counts
        share = 1.0
        if is_cut and len(sizes) > 1:
            share = 1.0 - int(counts[-1]) / int(counts.sum())
            sizes, counts = sizes[:-1], counts[:-1]
        # Batches without data records have no part in what is cut.
        tally.num_source_bytes += share * (num_source - piece.num_copied_bytes) + piece.num_copied_bytes
        tally.num_bytes += int(sizes.sum()) + recoded.num_copied_bytes
        tally.num_batches += len(sizes) + recoded.num_copied
        tally.num_records += int(counts.sum())


def lost_in(magic: int, piece: GivenEntries) -> Counter[str]:
    """Count what entries have that a message format does not carry; names are those of `convert.LOSSES`."""
    table = piece.entries.table
    if magic >= 2:
        return Counter()
    is_batch = table.is_batch()

    def has(name: str, none: int = 0) -> Any:
        return is_batch & (table.column(name) != none)

    is_control = has("is_control")
    is_data = is_batch & ~is_control & (piece.entries.num_records > 0)
    counts = {
        "control_batches": is_control.sum(),
        "control_records": np.maximum(table.column("num_records"), 0)[is_control].sum(),
        "transactional_batches": (is_data & has("is_transactional")).sum(),
        "producer_ids": (is_data & has("producer_id", _NONE)).sum(),
        "sequences": (is_data & has("base_sequence", _NONE)).sum(),
        "leader_epochs": (is_data & has("partition_leader_epoch", _NONE)).sum(),
        "delete_horizons": (is_data & has("has_delete_horizon")).sum(),
        "empty_batches": (is_batch & ~is_control & (piece.entries.num_records == 0)).sum(),
        "headers": piece.num_headers,
    }
    if magic == 0:
        counts["timestamps"] = piece.num_timestamps
        is_append_time = (table.column("magic") > 0) & (table.column("timestamp_type") == 1) & ~is_control
        counts["log_append_times"] = is_append_time.sum()
    return Counter({name: int(count) for name, count in counts.items() if count})
