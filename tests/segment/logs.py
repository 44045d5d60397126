"""Partitions with transactions, made by hand, and what of them a reader of committed records is given."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

from tests.made.build import batch, record

from kafka_segments_generated.columns import kafka_transaction_index
from kafka_segments_generated.construct.kafka_producer_snapshot import KafkaProducerSnapshot

TRANSACTIONAL, CONTROL = 0x10, 0x20


def marker(offset: int, producer_id: int, *, is_abort: bool, epoch: int = 0) -> bytes:
    """A control batch that ends a transaction."""
    return control(offset, producer_id, struct.pack(">hh", 0, 0 if is_abort else 1), epoch=epoch)


def control(
    offset: int, producer_id: int, key: bytes, value: bytes | None = struct.pack(">hi", 0, 0), epoch: int = 0
) -> bytes:
    """A control batch of one record."""
    return batch(
        offset,
        [record(0, key, value)],
        attributes=TRANSACTIONAL | CONTROL,
        producer_id=producer_id,
        producer_epoch=epoch,
    )


@dataclass
class Piece:
    """A batch: its bytes, and what the model has to know of it."""

    kind: str
    producer_id: int
    offset: int
    num_records: int
    data: bytes

    @property
    def end_offset(self) -> int:
        return self.offset + self.num_records


@dataclass
class Log:
    """A partition that grows batch by batch.

    Attributes:
        segments: base offset and batches of each.
        offset: of the next record.
    """

    segments: list[tuple[int, list[Piece]]] = field(default_factory=lambda: [(0, [])])
    offset: int = 0
    _sequences: dict[int, int] = field(default_factory=dict)

    @property
    def pieces(self) -> list[Piece]:
        """All batches."""
        return [piece for _base, pieces in self.segments for piece in pieces]

    def roll(self) -> None:
        """Begin a new segment, unless the last one is empty."""
        if self.segments[-1][1]:
            self.segments.append((self.offset, []))

    def data(
        self, producer_id: int, num_records: int = 1, *, transactional: bool = True, epoch: int = 0
    ) -> Piece:
        """Records of a producer; -1 is one without an id."""
        sequence = -1 if producer_id < 0 else self._sequences.get(producer_id, 0)
        if producer_id >= 0:
            self._sequences[producer_id] = sequence + num_records
        data = batch(
            self.offset,
            [record(delta, None, b"%d" % (self.offset + delta)) for delta in range(num_records)],
            attributes=TRANSACTIONAL if transactional else 0,
            producer_id=producer_id,
            producer_epoch=-1 if producer_id < 0 else epoch,
            base_sequence=sequence,
        )
        return self.add("data" if transactional else "plain", producer_id, num_records, data)

    def end(self, producer_id: int, *, is_abort: bool, epoch: int = 0) -> Piece:
        """A marker."""
        data = marker(self.offset, producer_id, is_abort=is_abort, epoch=epoch)
        return self.add("abort" if is_abort else "commit", producer_id, 1, data)

    def abort(self, producer_id: int, epoch: int = 0) -> Piece:
        """An ABORT marker."""
        return self.end(producer_id, is_abort=True, epoch=epoch)

    def commit(self, producer_id: int, epoch: int = 0) -> Piece:
        """A COMMIT marker."""
        return self.end(producer_id, is_abort=False, epoch=epoch)

    def add(self, kind: str, producer_id: int, num_records: int, data: bytes) -> Piece:
        """A batch of the caller's own bytes."""
        piece = Piece(kind, producer_id, self.offset, num_records, data)
        self.segments[-1][1].append(piece)
        self.offset += num_records
        return piece

    def write(self, root: Path, name: str = "t-0") -> Path:
        """The segments as files; returns the directory."""
        folder = root / name
        folder.mkdir(parents=True)
        for base, pieces in self.segments:
            (folder / f"{base:020d}.log").write_bytes(b"".join(piece.data for piece in pieces))
        return folder


def outcome_of(log: Log, piece: Piece) -> str:
    """How the transaction of a batch ended: the producer's next marker says it; "open" if there is none."""
    if piece.kind == "plain":
        return "commit"
    behind = [other for other in log.pieces if other.offset > piece.offset]
    ends = [other.kind for other in behind if other.producer_id == piece.producer_id]
    return next((kind for kind in ends if kind in ("abort", "commit")), "open")


def stable_offset(log: Log) -> int:
    """First offset of the earliest open transaction."""
    still_open = [piece.offset for piece in log.pieces if is_open(log, piece)]
    return min(still_open, default=log.offset)


def is_open(log: Log, piece: Piece) -> bool:
    return piece.kind == "data" and outcome_of(log, piece) == "open"


def committed(log: Log) -> list[int]:
    """The offsets that a reader of committed records is given."""
    end = stable_offset(log)
    pieces = [piece for piece in log.pieces if piece.kind in ("data", "plain") and piece.offset < end]
    pieces = [piece for piece in pieces if outcome_of(log, piece) == "commit"]
    return [offset for piece in pieces for offset in range(piece.offset, piece.end_offset)]


def aborted(log: Log) -> list[tuple[int, int, int]]:
    """Producer, first offset and marker of each aborted transaction."""
    found = []
    for end in log.pieces:
        if end.kind != "abort":
            continue
        own = [
            piece
            for piece in log.pieces
            if piece.producer_id == end.producer_id and piece.offset < end.offset
        ]
        ends = [piece.offset for piece in own if piece.kind in ("abort", "commit")]
        firsts = [
            piece.offset for piece in own if piece.kind == "data" and piece.offset > max(ends, default=-1)
        ]
        found += [(end.producer_id, min(firsts), end.offset)] if firsts else []
    return found


def write_indexes(log: Log, folder: Path) -> None:
    """The `.txnindex` and `.snapshot` files that a broker would have written, by the model."""
    for number, (base, _pieces) in enumerate(log.segments):
        ends = [base for base, _pieces in log.segments[number + 1 :]]
        end = ends[0] if ends else log.offset
        entries = [one for one in aborted(log) if base <= one[2] < end]
        if entries:
            rows = [(0, producer, first, last, stable_behind(log, last)) for producer, first, last in entries]
            index = kafka_transaction_index.write_columns(*zip(*rows, strict=True))
            (folder / f"{base:020d}.txnindex").write_bytes(index)
        if number:
            write_snapshot(folder / f"{base:020d}.snapshot", open_at(log, base))


def stable_behind(log: Log, offset: int) -> int:
    """The last stable offset as a marker at this offset leaves it."""
    return min(open_at(log, offset + 1).values(), default=offset + 1)


def open_at(log: Log, offset: int) -> dict[int, int]:
    """Which producers have a transaction open where an offset begins, and since when."""
    before = Log([(0, [piece for piece in log.pieces if piece.offset < offset])])
    found: dict[int, int] = {}
    for piece in before.pieces:
        if is_open(before, piece):
            found.setdefault(piece.producer_id, piece.offset)
    return found


def write_snapshot(path: Path, still_open: dict[int, int]) -> None:
    """A snapshot that knows of open transactions."""
    entries = [
        {"producer_id": producer, "epoch": 0, "current_txn_first_offset": first}
        for producer, first in still_open.items()
    ]
    path.write_bytes(KafkaProducerSnapshot.build({"producer_entries": entries}))


def indexed(tmp_path: Path) -> tuple[Log, Path]:
    """A log of three segments, and the directory with all its files."""
    log = Log()
    log.data(10, 2)
    log.data(20)
    log.abort(10)
    log.data(10)
    log.roll()
    log.commit(10)
    log.data(10)
    log.data(-1, transactional=False)
    log.abort(10)
    log.roll()
    log.data(10)
    log.commit(20)
    log.abort(10)
    log.data(-1, transactional=False)
    folder = log.write(tmp_path)
    write_indexes(log, folder)
    return log, folder
