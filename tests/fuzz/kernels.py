"""Drives `storm`: arrays at the end of readable memory, and what came of a million inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.columns.guarded import guarded
from tests.fuzz import seeds, storm
from tests.fuzz.anatomy import MAGIC_AT
from tests.made.edits import NUMBERS

from kafka_segments.core.native import engine
from kafka_segments.core.segment.columnar.record_columns import Capacity, columns_of
from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record

CAPACITY = Capacity(num_rows=5, num_bytes=700, num_items=30)
"""What there is room for: so little that decoders stop and go on, which is where they write to the end."""
NUM_ROWS = 6
PLAIN_SHARE = 4
"""How many times as often as a compressed entry one is taken whose records are there to be decoded."""
STATUS = {"damaged": -1, "done": 0, "full": 1, "short": 2}
WIDTHS = {1: np.uint8, 4: np.int32, 8: np.int64}


def as_long(value: int) -> int:
    """A number as 64 bits have it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


@dataclass
class Corpus:
    """The seeds' entries as arrays; see `storm`."""

    corpus: Any
    items: Any
    fields: Any
    rows: Any
    values: Any

    @classmethod
    def of_seeds(cls) -> Corpus:
        """All entries that there are."""
        items, fields, rows, place = [], [], [], 0
        all_entries = [each for each in seeds.entries() for _ in range(1 if each.codec else PLAIN_SHARE)]
        for anatomy in all_entries:
            size = len(anatomy.data)
            first = len(fields)
            fields += [(each.at, -each.width if each.is_varint else each.width) for each in anatomy.fields]
            items.append(
                (
                    place,
                    place + size,
                    anatomy.content,
                    anatomy.data[MAGIC_AT],
                    anatomy.crc_at,
                    anatomy.crc_start,
                    anatomy.len_at,
                    anatomy.len_overhead,
                    anatomy.payload[0],
                    first,
                    len(fields),
                )
            )
            rows.append(anatomy.row)
            place += size
        data = np.frombuffer(b"".join(anatomy.data for anatomy in all_entries), np.uint8)
        numbers = [np.array(each, np.int64).ravel() for each in (items, fields, rows)]
        values = np.array(sorted({as_long(value) for value in NUMBERS}), np.int64)
        return cls(data.copy(), *numbers, values)


class _Decoder:
    """One of the generated decoders with its arrays, each of which ends where memory does."""

    def __init__(self, module: Any, load: Callable[..., Any], *, has_views: bool) -> None:
        columns = columns_of(module.RECORD_COLUMNS, has_views=has_views)
        options = dict.fromkeys(inspect.signature(module.decoder).parameters, True)
        self.native = load(module.decoder, **options | {"views": has_views})
        self.state = guarded(np.zeros(storm.NUM_STATE, np.int64))
        self.state[[5, 6, 7]] = CAPACITY.num_rows, CAPACITY.num_bytes, CAPACITY.num_items
        self.table = self.native.new_table()
        self.arrays = {"state": self.state}
        exact = Capacity(CAPACITY.num_rows, CAPACITY.num_bytes, CAPACITY.num_items)
        for column in columns:
            for array in column.arrays(exact):
                length = CAPACITY.num_bytes if array.name.endswith("_bytes") else array.length
                kind = np.int8 if array.name == "timestamp_type_values" else WIDTHS[array.width]
                self.arrays[array.name] = guarded(np.zeros(length, kind))
        for name, array in self.arrays.items():
            self.table.set(name, array.ctypes.data, len(array))


class Storm:
    """The loop with its arrays.

    Args:
        seed: of the inputs; decoders of odd ones make views.
        check_crc: as the scanner has it.
        whole: as the scanner has it.
        state: where the loop's state is, if others want to see it; else it is made.
        load: `native.engine.load_decoder`, or what stands for it.
    """

    def __init__(
        self,
        seed: int,
        *,
        check_crc: bool = True,
        whole: bool = True,
        state: Any = None,
        load: Callable[..., Any] | None = None,
    ) -> None:
        load = load or engine.load_decoder
        self.corpus = Corpus.of_seeds()
        self.state = np.zeros(storm.NUM_STATE, np.int64) if state is None else state
        self.state[:] = 0
        self._scan = load(kafka_log_segment.scanner, check_crc=check_crc, whole=whole)
        self._scan_table = self._scan.new_table()
        has_views = bool(seed % 2)
        modules = kafka_message_legacy, kafka_record
        self._decoders = [_Decoder(module, load, has_views=has_views) for module in modules]
        self.data = guarded(np.zeros(storm.LARGEST, np.uint8))
        self._arrays = self._all_arrays()
        self._set_state(seed)
        self._blow = load(storm.storm)
        self._table = self._blow.new_table()
        for name, array in self._arrays.items():
            self._table.set(name, array.ctypes.data, len(array))

    def _all_arrays(self) -> dict[str, Any]:
        width = kafka_log_segment.WIDTH
        shared = {
            "scan": guarded(np.zeros(7, np.int64)),
            "table": guarded(np.zeros(NUM_ROWS * width, np.int64)),
            "spans": guarded(np.zeros(3 * NUM_ROWS, np.int64)),
        }
        self._scan_table.set("state", shared["scan"].ctypes.data, len(shared["scan"]))
        self._scan_table.set("table", shared["table"].ctypes.data, len(shared["table"]))
        for decoder in self._decoders:
            for name, ours in (("spans", "spans"), ("batches", "table")):
                decoder.table.set(name, shared[ours].ctypes.data, len(shared[ours]))
        legacy, repeated = self._decoders
        return {
            **vars(self.corpus),
            **shared,
            "state": self.state,
            "work": guarded(np.zeros(storm.LARGEST, np.uint8)),
            "data": self.data,
            "scan_arguments": _words(self._scan_table, self._scan.parameters),
            "legacy": legacy.state,
            "legacy_arguments": _words(legacy.table, legacy.native.parameters),
            "repeated": repeated.state,
            "repeated_arguments": _words(repeated.table, repeated.native.parameters),
            "len_data": np.array([storm.LARGEST]),
        }

    def _set_state(self, seed: int) -> None:
        state = self.state
        functions = [(self._scan, self._scan_table), *((each.native, each.table) for each in self._decoders)]
        for at, (function, table) in enumerate(functions):
            state[2 * at : 2 * at + 2] = function.address, table.address
        state[storm.RETURNED_AT] = state.ctypes.data + storm.RETURNED * state.itemsize
        state[storm.SEED], state[storm.WIDTH] = seed, kafka_log_segment.WIDTH
        state[storm.NUM_ITEMS] = len(self.corpus.items) // storm.LEN_ITEM
        state[storm.NUM_VALUES], state[storm.NUM_ROWS] = len(self.corpus.values), NUM_ROWS
        state[storm.DATA_END] = self.data.ctypes.data + storm.LARGEST
        state[storm.MAGIC_AT] = MAGIC_AT

    def run(self, first: int, end: int) -> None:
        """Go through inputs by their numbers."""
        self.state[storm.NUMBER], self.state[storm.END_NUMBER] = first, end
        self._blow(self._table)

    @property
    def last_input(self) -> bytes:
        """The bytes of the last one."""
        return bytes(self.data[storm.LARGEST - int(self.state[storm.LEN_INPUT]) :])

    def counts(self) -> dict[str, int]:
        """What came of them so far."""
        found = {}
        for at, name in enumerate(("scanned", "messages", "records")):
            for word, status in STATUS.items():
                found[f"{name}: {word}"] = int(self.state[storm.COUNTS + 4 * at + status + 1])
        return {name: number for name, number in found.items() if number}


def _words(table: Any, parameters: tuple[str, ...]) -> Any:
    """A table of arguments as an array that the loop can write to; `data` comes first in it."""
    assert parameters[0] == "data"
    return np.frombuffer(table._words, np.int64)
