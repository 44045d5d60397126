"""Measurement of what segments take in other forms, of all their entries or of a sample.

Strategy: stretches of the files (`frame`) are read, and their entries encoded in every form (`recoding`); the
forms are divided among threads, since codecs and encoders let others run. Of large inputs a sample is taken,
in rounds of one stretch from each stratum, until its intervals are narrow or time is up (`estimate`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from types import TracebackType

from kafka_segments.core.io.storage import Source
from kafka_segments.write.entry_records import read_entry_records
from kafka_segments.write.sizes.entry_pieces import MAX_OF_ENTRY, EntryPieces, LeftOut
from kafka_segments.write.sizes.forms import Form
from kafka_segments.write.sizes.frame import Frame, MeasuredFile
from kafka_segments.write.sizes.recoding import EncodedForm, GivenEntries, Recoder, piece_of
from kafka_segments.write.sizes.stretches import Stretch, read_stretch
from kafka_segments.write.sizes.tally import Tally, lost_in
from kafka_segments.write.sizes.timing import DecodeTimes

__all__ = ["Gauge", "OnFinding", "SizeFinding", "measure_whole"]

_LEN_WHOLE = 1 << 20  # of a stretch where all are read
_MAX_TOGETHER = 4 << 20  # bytes of records that are encoded at once, if they are not of one entry
_NUM_TOGETHER = 8  # batches of a given size, likewise


@dataclass(frozen=True, slots=True)
class SizeFinding:
    """A place in which entries are damaged.

    Attributes:
        path: the file.
        position: where it begins.
        end_position: where it ends, as far as that was read.
        detail: what is wrong.
    """

    path: str
    position: int
    end_position: int
    detail: str


OnFinding = Callable[[SizeFinding], None]


class Gauge:
    """Encoder of entries in every form; a context manager.

    Args:
        forms: the forms.
        on_finding: called with each damaged place.

    Attributes:
        decoding: the times of decoding.
        num_findings: damaged places so far.
    """

    def __init__(self, forms: Sequence[Form], on_finding: OnFinding) -> None:
        self._recoders = [(form, Recoder(form)) for form in forms]
        self._magics = sorted({form.magic for form in forms})
        self._on_finding = on_finding
        largest = max((form.batch_size or 0 for form in forms), default=0)
        self._max_together = max(_MAX_TOGETHER, _NUM_TOGETHER * largest)
        self._pieces = EntryPieces(self._max_together)
        self._num_threads = os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._num_threads, "sizes")
        self.decoding = DecodeTimes(self._pool)
        self.num_findings = 0

    def __enter__(self) -> Gauge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def measure(self, source: Source, stretch: Stretch, *, is_whole: bool) -> Tally:
        """Measure the entries of a stretch.

        Args:
            source: the segment.
            stretch: where its entries are.
            is_whole: whether all stretches are measured in order: then batches of a given size go on from one
                to the next, and `finish` ends them. Otherwise the last one of a stretch is left out.
        """
        tally = Tally()
        for gap in stretch.gaps:
            self._find(source.name, gap.position, gap.end_position, "no sound entry is here")
        for start, end in stretch.runs:
            if end - start > MAX_OF_ENTRY:  # one that is a run by itself
                self._find(source.name, start, end, f"left out: more than {MAX_OF_ENTRY >> 20} MiB")
                continue
            for piece in self._pieces.pieces(memoryview(source.read(start, end - start)), start):
                if isinstance(piece, LeftOut):
                    self._find(source.name, piece.position, piece.end_position, piece.detail)
                    continue
                position, entries = piece
                for damage in entries.damages:
                    place = position + damage.position, position + damage.end_position
                    self._find(source.name, *place, damage.error.detail)
                self._add(tally, piece_of(entries), is_whole=is_whole)
        return tally

    def finish(self) -> Tally:
        """Measure what is left of batches of a given size."""
        tally, nothing = Tally(), piece_of(read_entry_records(b""))
        for form, recoder in self._recoders:
            recoded = recoder.finish()
            tally.add_form(form, nothing, recoded, is_cut=False)
            self.decoding.add(form, recoded, 0)
        return tally

    def _find(self, path: str, position: int, end_position: int, detail: str) -> None:
        self.num_findings += 1
        self._on_finding(SizeFinding(path, position, end_position, detail))

    def _add(self, tally: Tally, piece: GivenEntries, *, is_whole: bool) -> None:
        tally.add_source(piece)
        for magic in self._magics:
            for name, count in lost_in(magic, piece).items():
                tally.losses[magic, name] += count

        def recode(first: int) -> list[tuple[Form, EncodedForm]]:
            mine = self._recoders[first :: self._num_threads]
            return [(form, recoder.recode(piece, continues=is_whole)) for form, recoder in mine]

        if piece.entries.records.nbytes > self._max_together:
            encoded: Iterable[list[tuple[Form, EncodedForm]]] = self._one_by_one(piece, is_whole=is_whole)
        else:
            encoded = self._pool.map(recode, range(self._num_threads))
        for form, recoded in chain.from_iterable(encoded):
            is_cut = form.batch_size is not None and not is_whole
            tally.add_form(form, piece, recoded, is_cut=is_cut)
            self.decoding.add(form, recoded, piece.entries.num_bytes)

    def _one_by_one(self, piece: GivenEntries, *, is_whole: bool) -> Iterator[list[tuple[Form, EncodedForm]]]:
        """Encode a large entry in one form after the other: an encoder keeps the memory that it has used."""
        for form, recoder in self._recoders:
            one = recoder if form.batch_size is not None and is_whole else Recoder(form)
            yield [(form, one.recode(piece, continues=is_whole))]


def measure_whole(files: Sequence[MeasuredFile], gauge: Gauge, progress: Callable[[int, int], None]) -> Tally:
    """Measure all entries of some files.

    Args:
        files: the files.
        gauge: measures.
        progress: called with the bytes that were read, and with those of all files.
    """
    total, done = Tally(), 0
    num_data = sum(file.num_data for file in files)
    for file in files:
        with closing(file.file.open()) as source:
            frame, known = Frame([file], _LEN_WHOLE), None
            for number in range(len(frame)):
                parts = frame.stretch(number)[1]
                stretch = read_stretch(source, parts, file.end, known)
                known = stretch.end_position
                total.add(gauge.measure(source, stretch, is_whole=True))
                done += sum(end - start for start, end in parts)
                progress(done, num_data)
        total.add(gauge.finish())
    gauge.decoding.finish()
    return total
