"""Measurement of the entries of files, all of them or those of some stretches, in every form.

Strategy: the entries of a stretch are read once (`entry_pieces`) and encoded in every form (`recoding`), each
form in another thread, since codecs and encoders let others run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from kafka_segments.core.codecs import CODEC_NAMES
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.storage import Source
from kafka_segments.sizes.entry_pieces import NO_TIMESTAMP, EntryPiece, PieceReader
from kafka_segments.sizes.recoding import Form, Recoder
from kafka_segments.sizes.stretches import EntryFinder, Frame, MeasuredFile

__all__ = ["Gauge", "Tally"]

_LEN_WHOLE = 1 << 20  # of a stretch where all are read
_MAX_TOGETHER = 4 << 20  # bytes of records that are encoded at once, if they are not of one entry
_NUM_TOGETHER = 8  # batches of a given size, likewise


@dataclass(slots=True)
class Tally:
    """Counts of entries.

    Attributes:
        num_bytes: bytes of entries.
        num_batches: batches, messages and wrappers.
        num_single: of those, such as hold one record.
        num_records: data records.
        num_refused: entries that Kafka would refuse to write again; in none of the other counts.
        num_damaged: places that are damaged, or left out.
        codecs: entries by codec.
        magics: entries by magic.
        losses: what the older formats cannot carry: number by magic and name, as in `convert.LOSSES`.
    """

    num_bytes: int = 0
    num_batches: int = 0
    num_single: int = 0
    num_records: int = 0
    num_refused: int = 0
    num_damaged: int = 0
    codecs: Counter[str] = field(default_factory=Counter)
    magics: Counter[int] = field(default_factory=Counter)
    losses: Counter[tuple[int, str]] = field(default_factory=Counter)

    def add(self, piece: EntryPiece) -> None:
        """Count the entries of a piece."""
        names = ("none", *CODEC_NAMES)
        self.num_bytes += piece.num_bytes
        self.num_batches += len(piece.table)
        self.num_single += int((piece.num_records == 1).sum())
        self.num_records += piece.records.num_rows
        self.num_refused += piece.num_refused
        codecs = piece.table.column("codec").tolist()
        self.codecs.update(names[codec] if codec < len(names) else str(codec) for codec in codecs)
        self.magics.update(piece.table.column("magic").tolist())
        self.losses.update(_losses(piece))


def _losses(piece: EntryPiece) -> dict[tuple[int, str], int]:
    """Count what entries have that the formats of magic 0 and 1 do not carry."""
    table, columns = piece.table, piece.records.columns
    is_batch, is_empty = table.is_batch(), piece.num_records == 0

    def has(name: str, none: int = 0) -> Any:
        return is_batch & (table.column(name) != none)

    is_control, is_data = has("is_control"), is_batch & ~is_empty
    is_append_time = (table.column("magic") > 0) & (table.column("timestamp_type") == 1) & ~is_control
    in_both = {
        "control_batches": is_control,
        "control_records": np.maximum(table.column("num_records"), 0)[is_control],
        "transactional_batches": is_data & has("is_transactional"),
        "producer_ids": is_data & has("producer_id", -1),
        "sequences": is_data & has("base_sequence", -1),
        "leader_epochs": is_data & has("partition_leader_epoch", -1),
        "delete_horizons": is_data & has("has_delete_horizon"),
        "empty_batches": is_batch & is_empty & ~is_control,
        "headers": columns["headers"].value_lengths().to_numpy() if columns else is_empty,
    }
    in_magic_0 = {
        "timestamps": columns["timestamp"].to_numpy() != NO_TIMESTAMP if columns else is_empty,
        "log_append_times": is_append_time,
    }
    lost = [((magic, name), found) for magic in (0, 1) for name, found in in_both.items()]
    lost += [((0, name), found) for name, found in in_magic_0.items()]
    return {key: int(found.sum()) for key, found in lost}


class Gauge:
    """Encoder of entries in every form; a context manager.

    Args:
        forms: the forms.
        on_finding: called with each place that is damaged, or left out.
        is_whole: whether all entries of files are measured, in order; else those of some stretches.

    Attributes:
        tally: counts of the entries so far.
        recoders: measure a form each.
    """

    def __init__(
        self, forms: Sequence[Form], on_finding: Callable[[Damage], None], *, is_whole: bool
    ) -> None:
        self.recoders = [Recoder(form, is_whole=is_whole) for form in forms]
        self.tally = Tally()
        self._on_finding = on_finding
        self._max_together = max(_MAX_TOGETHER, *(_NUM_TOGETHER * (form.batch_size or 0) for form in forms))
        self._reader = PieceReader(self._max_together)
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1, "sizes")

    def __enter__(self) -> Gauge:
        return self

    def __exit__(self, *_error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def measure_whole(self, files: Sequence[MeasuredFile], progress: Callable[[int, int], None]) -> None:
        """Measure all entries of some files; `progress` is called with the bytes read, and those of all."""
        done, num_data = 0, sum(file.num_data for file in files)
        for file in files:
            with closing(file.open()) as source:
                finder = EntryFinder(source, file.end)
                frame = Frame([file], _LEN_WHOLE)
                for _file, start, stop in map(frame.stretch, range(len(frame))):
                    self._measure(source, finder, start, stop)
                    done += stop - start
                    progress(done, num_data)
            for recoder in self.recoders:
                recoder.finish()

    def measure_stretch(self, file: MeasuredFile, start: int, stop: int) -> Any:
        """Measure the entries that begin in a stretch.

        Returns:
            float64: its length and the bytes of its entries, then for each form the bytes of the entries that
                count, before and in this form.
        """
        with closing(file.open()) as source:
            return self._measure(source, EntryFinder(source, file.end), start, stop)

    def decode_waiting(self) -> None:
        """Decode what was encoded and waits for more."""
        list(self._pool.map(Recoder.decode_waiting, self.recoders))

    def _measure(self, source: Source, finder: EntryFinder, start: int, stop: int) -> Any:
        found = np.zeros((1 + len(self.recoders), 2))
        found[0, 0] = stop - start
        for run in finder.runs(start, stop):
            if isinstance(run, Damage):
                self._find(run)
                continue
            position, end = run
            data = source.read(position, end - position)
            for piece in self._reader.pieces(source.name, data, position):
                if isinstance(piece, Damage):
                    self._find(piece)
                    continue
                self.tally.add(piece)
                # Of large entries one form after the other: an encoder needs memory for all of one.
                is_large = piece.len_records > self._max_together
                measure = partial(Recoder.measure, piece=piece, is_large=is_large)
                found[0, 1] += piece.num_bytes
                found[1:] += list((map if is_large else self._pool.map)(measure, self.recoders))
        return found

    def _find(self, damage: Damage) -> None:
        self.tally.num_damaged += 1
        self._on_finding(damage)
