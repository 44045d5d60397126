"""Runs generated scanners and decoders, as plain Python over numpy arrays or as machine code.

Nothing here knows a format: what arrays there are follows from `RECORD_COLUMNS`, what a row has from
`BATCH_COLUMNS`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

TYPES = {"Bytes": np.uint8, "Tinies": np.int8, "Ints": np.int32, "Longs": np.int64}
SLACK = 64
BUFFER = 3  # any number
STATE = 64


def support_of(module: ModuleType) -> Any:
    """The `support` that a generated module uses."""
    return sys.modules[f"{module.__name__.rpartition('.')[0]}.support"]


class Runner:
    """A function that a factory returns, compiled or not; arrays are handed over by name."""

    def __init__(self, factory: Any, compiled: bool, **options: bool) -> None:
        self._plain = factory(**options)
        self.parameters = {
            name: str(parameter.annotation)
            for name, parameter in inspect.signature(self._plain).parameters.items()
        }
        self._compiled = None
        if compiled:
            from kafka_segments.core.native.engine import load_decoder

            self._compiled = load_decoder(factory, **options)

    def __call__(self, arrays: dict[str, Any]) -> int:
        if self._compiled is None:
            return int(self._plain(**{name: arrays[name] for name in self.parameters}))
        table = self._compiled.new_table()
        for name in self.parameters:
            table.set(name, arrays[name].ctypes.data, len(arrays[name]))
        return int(self._compiled(table))


@dataclass
class Scanned:
    """What a scan found: rows of the table as dictionaries, how it ended and where."""

    rows: list[dict[str, int]]
    status: int
    position: int
    table: Any


def scan(
    module: ModuleType,
    data: bytes | Any,
    *,
    compiled: bool,
    check_crc: bool = True,
    whole: bool = True,
    max_rows: int = 100,
    size: int | None = None,
) -> Scanned:
    """Scan from the beginning to the end, or to what is not sound; a table that is full is emptied."""
    support = support_of(module)
    run = Runner(module.scanner, compiled, check_crc=check_crc, whole=whole)
    source = np.frombuffer(data, np.uint8) if isinstance(data, bytes | bytearray) else data
    state = np.zeros(STATE, np.int64)
    state[support.MAX_ROWS], state[support.FILE] = max_rows, -1
    state[support.SIZE] = len(source) if size is None else size
    state[support.LEN_WINDOW] = len(source)
    tables, found = [], []
    while True:
        table = np.zeros(max_rows * module.WIDTH, np.int64)
        state[support.ROW] = 0
        status = run({"data": source, "state": state, "table": table})
        rows = table.reshape(-1, module.WIDTH)[: state[support.ROW]]
        tables.append(rows)
        found += [dict(zip(module.BATCH_COLUMNS, row.tolist(), strict=True)) for row in rows]
        if status != support.FULL:
            return Scanned(found, status, int(state[support.AT]), np.concatenate(tables))


@dataclass
class Decoded:
    """What a decoder found: rows as tuples of what was asked for, and where (batch, record) damage is."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    damage: tuple[int, int] | None = None
    runs: int = 0


@dataclass(frozen=True)
class Limits:
    """What there is room for."""

    rows: int = 1000
    size: int = 1 << 20
    items: int = 10_000


def decode(
    module: ModuleType,
    data: bytes | Any,
    spans: Sequence[tuple[int, int, int]],
    table: Any,
    *,
    compiled: bool,
    columns: Sequence[str] | None = None,
    limits: Limits = Limits(),
) -> Decoded:
    """Decode all spans, emptying the columns whenever they are full; with copies and with views alike."""
    names = [column[0] for column in module.RECORD_COLUMNS]
    wanted = [name for name in names if columns is None or name in columns]
    found = _Decoding(module, wanted, limits, compiled, views=False).run(data, spans, table)
    if "views" in inspect.signature(module.decoder).parameters:
        viewed = _Decoding(module, wanted, limits, compiled, views=True).run(data, spans, table)
        assert (viewed.rows, viewed.damage) == (found.rows, found.damage)
    return found


class _Decoding:
    def __init__(
        self, module: ModuleType, wanted: list[str], limits: Limits, compiled: bool, *, views: bool
    ) -> None:
        self._support = support_of(module)
        self._module, self._wanted, self._limits = module, wanted, limits
        options = {name: name in wanted for name in inspect.signature(module.decoder).parameters}
        self._views = views
        if "views" in options:
            options["views"] = views
        self._function = Runner(module.decoder, compiled, **options)
        self._arrays: dict[str, Any] = {"state": np.zeros(STATE, np.int64)}

    def run(self, data: bytes | Any, spans: Sequence[tuple[int, int, int]], table: Any) -> Decoded:
        support, state, found = self._support, self._arrays["state"], Decoded()
        self._arrays["data"] = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
        self._arrays["spans"] = np.array(spans, np.int64).ravel()
        self._arrays["batches"] = np.ascontiguousarray(table).ravel()
        state[support.NUM_BATCHES] = len(spans)
        while True:
            self._empty()
            before = tuple(state[[support.BATCH, support.RECORD]])
            status = self._function(self._arrays)
            found.rows += self._rows()
            found.runs += 1
            if status != support.FULL:
                break
            assert tuple(state[[support.BATCH, support.RECORD]]) != before, (
                "no progress: one record has no room"
            )
        if status != support.DONE:
            assert status == support.DAMAGED
            found.damage = int(state[support.BATCH]), int(state[support.RECORD])
        return found

    def _empty(self) -> None:
        """Arrays that hold nothing, those of columns that are not wanted without any element."""
        support, state, limits = self._support, self._arrays["state"], self._limits
        state[support.RECORD_ROW] = state[support.NUM_BYTES] = 0
        state[support.COLUMNS :] = 0
        state[support.RECORD_MAX_ROWS], state[support.MAX_BYTES] = limits.rows, limits.size
        state[support.MAX_ITEMS], state[support.BUFFER] = limits.items, BUFFER
        for name, kind in self._function.parameters.items():
            if name in ("data", "spans", "batches", "state"):
                continue
            is_used = not name.endswith("_bytes" if self._views else "_views")
            size = self._size(name) if is_used and self._is_wanted(name) else 0
            self._arrays[name] = np.full(size, 255 if name.endswith("_validity") else 0, TYPES[kind])

    def _is_wanted(self, array: str) -> bool:
        owners = [column[0] for column in self._module.RECORD_COLUMNS if array.startswith(f"{column[0]}_")]
        return max(owners, key=len) in self._wanted

    def _size(self, array: str) -> int:
        column = max(
            (each for each in self._module.RECORD_COLUMNS if array.startswith(f"{each[0]}_")),
            key=lambda each: len(each[0]),
        )
        is_member = bool(column[3]) and array != f"{column[0]}_offsets"
        rows = self._limits.items if is_member else self._limits.rows
        return {
            "offsets": rows + 1,
            "bytes": self._limits.size + SLACK,
            "validity": rows // 8 + 1,
            "values": rows,
            "views": 16 * rows,
        }[array.rpartition("_")[2]]

    def _rows(self) -> list[tuple[Any, ...]]:
        num_rows = int(self._arrays["state"][self._support.RECORD_ROW])
        columns = [
            list(self._values(column, column[0], num_rows))
            for column in self._module.RECORD_COLUMNS
            if column[0] in self._wanted
        ]
        return list(zip(*columns, strict=True)) if columns else [()] * num_rows

    def _values(self, column: Any, path: str, num_rows: int) -> Iterator[Any]:
        _name, kind, nullable, members = column
        if not members and kind != "binary":
            yield from self._arrays[f"{path}_values"][:num_rows].tolist()
            return
        if kind == "binary" and self._views:
            yield from self._viewed(path, nullable, num_rows)
            return
        offsets = self._arrays[f"{path}_offsets"][: num_rows + 1].tolist()
        if members:
            items = [tuple(self._values(each, f"{path}_{each[0]}", offsets[-1])) for each in members]
            for start, end in pairwise(offsets):
                yield tuple(tuple(values[at] for values in items) for at in range(start, end))
            return
        content, validity = self._arrays[f"{path}_bytes"], self._arrays[f"{path}_validity"]
        for row in range(num_rows):
            is_there = bool(validity[row >> 3] >> (row & 7) & 1)
            assert is_there or (nullable and offsets[row] == offsets[row + 1])
            yield content[offsets[row] : offsets[row + 1]].tobytes() if is_there else None

    def _viewed(self, path: str, nullable: bool, num_rows: int) -> Iterator[bytes | None]:
        """The bytes of views, as pyarrow reads them."""
        import pyarrow as pa

        buffers = [pa.py_buffer(self._arrays[f"{path}_{part}"]) for part in ("validity", "views")]
        buffers += [pa.py_buffer(b"")] * BUFFER + [pa.py_buffer(self._arrays["data"])]
        found = pa.Array.from_buffers(pa.binary_view(), num_rows, buffers)
        found.validate(full=True)
        assert nullable or not found.null_count
        yield from found.to_pylist()
