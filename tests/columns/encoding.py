"""Runs generated encoders, as plain Python over numpy arrays or as machine code.

Nothing here knows a format: what arrays there are follows from `ENCODED_COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from tests.columns.driver import STATE, TYPES, Runner, support_of

_KINDS = {"int8": "Tinies", "int32": "Ints", "int64": "Longs", "timestamp[ms, UTC]": "Longs"}


def columns_in_order(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The columns of an encoder with their paths, each before its members: the order of `ENC_COLUMNS`."""
    for column in module.ENCODED_COLUMNS:
        yield column[0], column
        for member in column[3]:
            yield f"{column[0]}_{member[0]}", member


def arrays_of(module: ModuleType, rows: Sequence[dict[str, Any]], *, lead: int = 0) -> dict[str, Any]:
    """Arrow's arrays of some rows; with `lead`, as many other rows stand in front, as in a slice.

    Args:
        module: whose `ENCODED_COLUMNS` they are for.
        rows: values by column; a list's items are tuples.
        lead: rows, and items, before the first.
    """
    arrays: dict[str, Any] = {}
    for name, kind, _nullable, members in module.ENCODED_COLUMNS:
        values = [row[name] for row in rows]
        if members:
            lists = [(_filler(members),) * lead, *values] if lead else values
            counts = [0] * max(lead - 1, 0) + [len(each) for each in lists]
            arrays[f"{name}_offsets"] = np.array([0, *np.cumsum(counts)], np.int32)
            items = [item for each in lists for item in each]
            for at, member in enumerate(members):
                column = f"{name}_{member[0]}", member[1]
                arrays |= _column(*column, [item[at] for item in items], 0)
        else:
            arrays |= _column(name, kind, values, lead)
    return arrays


def _filler(members: Any) -> tuple[Any, ...]:
    return tuple(b"filler" if member[1] == "binary" else 99 for member in members)


def _column(name: str, kind: str, values: list[Any], lead: int) -> dict[str, Any]:
    if kind != "binary":
        filled = [99] * lead + values
        return {f"{name}_values": np.array(filled, TYPES[_KINDS[kind]])}
    filled = [b"filler"] * lead + values
    sizes = [0 if value is None else len(value) for value in filled]
    is_there = np.array([value is not None for value in filled], np.uint8)
    has_nulls = not is_there.all()
    return {
        f"{name}_offsets": np.array([0, *np.cumsum(sizes)], np.int32),
        f"{name}_bytes": np.frombuffer(b"".join(value or b"" for value in filled), np.uint8),
        f"{name}_validity": np.packbits(is_there, bitorder="little") if has_nulls else np.zeros(0, np.uint8),
    }


@dataclass
class Encoded:
    """What an encoder did."""

    status: int
    data: bytes
    row: int
    at: int
    state: Any


class Encoder:
    """The encoder of one module's records, which can be called again and again over the same state.

    Args:
        module: the generated module.
        compiled: whether it is machine code.
        writes: whether it writes.
    """

    def __init__(self, module: ModuleType, compiled: bool, writes: bool = True) -> None:
        self.module, self.support = module, support_of(module)
        self._run, self._writes = Runner(module.encoder, compiled, writes=writes), writes
        self.state = np.zeros(STATE, np.int64)
        self.num_rows = 0

    def give(self, rows: Sequence[dict[str, Any]], table: Any, *, lead: int = 0) -> None:
        """The rows to be encoded, and the row of the table."""
        self.give_arrays(arrays_of(self.module, rows, lead=lead), len(rows), table)
        if lead:
            for number, (path, _) in enumerate(columns_in_order(self.module)):
                is_member = path not in [column[0] for column in self.module.ENCODED_COLUMNS]
                self.state[self.support.ENC_COLUMNS + number] = 0 if is_member else lead

    def give_arrays(self, arrays: dict[str, Any], num_rows: int, table: Any) -> None:
        """The arrays that hold them."""
        self.state[:] = 0
        self.state[self.support.ENC_END_ROW] = self.num_rows = num_rows
        self.arrays = {**arrays, "state": self.state, "batches": np.array(table, np.int64).ravel()}

    def encode(self, size: int, limit: int | None = None, *, at: int = 0) -> Encoded:
        """Encode into `size` new bytes, from a place in them on."""
        out = np.full(size if self._writes else 0, 0xAA, np.uint8)
        self.state[self.support.ENC_AT] = at
        self.state[self.support.ENC_LIMIT] = size if limit is None else limit
        status = self._run({**self.arrays, "out": out})
        end = int(self.state[self.support.ENC_AT])
        row = int(self.state[self.support.ENC_ROW])
        return Encoded(status, out[at:end].tobytes(), row, end, self.state)


def payload_of(module: ModuleType, rows: Sequence[dict[str, Any]], table: Any, *, compiled: bool) -> bytes:
    """The bytes of records, whose size is what the sizer says."""
    sizer, writer = Encoder(module, compiled, writes=False), Encoder(module, compiled)
    sizer.give(rows, table)
    writer.give(rows, table)
    support = sizer.support
    counted = sizer.encode(1 << 40)
    written = writer.encode(counted.at)
    assert counted.status == written.status == support.DONE, (counted, written)
    assert counted.at == written.at == len(written.data)
    same = slice(support.ENC_COUNT, support.ENC_COLUMNS)
    assert counted.state[same].tolist() == written.state[same].tolist()
    return written.data


def entry_of(
    segment: ModuleType,
    records: ModuleType,
    rows: Sequence[dict[str, Any]],
    table: Any,
    *,
    compiled: bool,
    payload: bytes | None = None,
    given: int = 0,
) -> bytes:
    """A whole entry of a content that has records; the row of the table is completed.

    Args:
        segment: the generated module of the segment.
        records: that of the records.
        rows: the records.
        table: one row.
        compiled: whether it is machine code.
        payload: other bytes in the place of the records: those compressed.
        given: what the row gives although records tell it, see `ENC_GIVEN`.
    """
    encoder, support = Encoder(records, compiled), support_of(segment)
    encoder.give(rows, table)
    state = encoder.state
    plain = encoder.encode(sum(_size(row) for row in rows) + 100 * len(rows) + 1)
    assert plain.status == support.DONE, plain
    payload = plain.data if payload is None else payload
    state[support.ENC_GIVEN] = given
    state[support.ENC_HEAD] = state[support.ENC_PAYLOAD] = 3
    state[support.ENC_AT] = 3 + len(payload)
    batches = encoder.arrays["batches"]
    arrays = {"batches": batches, "state": state, "out": np.zeros(0, np.uint8)}
    assert Runner(segment.head_encoder, compiled, writes=False)(arrays) == support.DONE
    start, end = int(state[support.ENC_PAYLOAD]), int(state[support.ENC_AT])
    assert end - start == len(payload)
    fixed = segment.LEN_HEADS[batches[support.CONTENT]]
    assert fixed is None or fixed == start - 3
    out = arrays["out"] = np.full(end, 0xAA, np.uint8)
    out[start:] = np.frombuffer(payload, np.uint8)
    assert Runner(segment.head_encoder, compiled, writes=True)(arrays) == support.DONE
    assert out[:3].tolist() == [0xAA] * 3
    table[:] = batches.reshape(np.shape(table))
    return out[3:].tobytes()


def _size(row: dict[str, Any]) -> int:
    """Bytes of a row's values, and more than enough for the lengths of items."""
    size = 0
    for value in row.values():
        if isinstance(value, bytes):
            size += len(value)
        elif isinstance(value, tuple):
            size += sum(20 + len(part) for item in value for part in item if isinstance(part, bytes))
    return size
