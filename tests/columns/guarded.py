"""Run as a program: decode, scan and encode with every array at the very end of readable memory.

Behind each array is a page that cannot be read or written: whatever goes beyond its end stops the process.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

import numpy as np
from tests.columns import driver, encoding
from tests.columns.samples import BATCHES, MESSAGES, header_of, table_row
from tests.columns.test_encoder_room import KINDS, ROWS, table_of

from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record

PAGE = mmap.PAGESIZE
_PROT_NONE = 0


def guarded(content: Any) -> Any:
    """A copy of an array whose last byte is the last before a page that cannot be touched."""
    num_pages = -(-max(content.nbytes, 1) // PAGE)
    memory = mmap.mmap(-1, (num_pages + 1) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if libc.mprotect(start + num_pages * PAGE, PAGE, _PROT_NONE):
        raise OSError(ctypes.get_errno(), "mprotect")
    array: Any = np.frombuffer(memory, content.dtype, len(content), offset=num_pages * PAGE - content.nbytes)
    array[:] = content
    return array


class GuardedRunner(driver.Runner):
    """A compiled function whose arrays are copied to such places, and back."""

    def __call__(self, arrays: dict[str, Any]) -> int:
        copies = {name: guarded(arrays[name]) for name in self.parameters}
        status = super().__call__(copies)
        for name, copy in copies.items():
            if arrays[name].flags.writeable:
                arrays[name][:] = copy
        return status


def encode_all() -> int:
    """Encode into every number of bytes up to those that are needed, with a limit beyond them."""
    num_runs = 0
    for module, rows, table in KINDS.values():
        size = len(encoding.payload_of(module, rows, table, compiled=True))
        for room in range(size, -1, -1):
            encoder = encoding.Encoder(module, True)
            encoder.give(rows, table)
            found = encoder.encode(room, 1 << 40)
            assert (found.status == encoder.support.DONE) == (room == size)
            num_runs += 1
    for lead in range(9):
        table = table_of()
        encoding.entry_of(kafka_log_segment, kafka_record, ROWS[lead % 5 :], table, compiled=True)
        num_runs += 1
    return num_runs


def main() -> int:
    """Decode what is sound, then every prefix of it."""
    driver.Runner, driver.SLACK = GuardedRunner, 0  # type: ignore[misc]
    encoding.Runner = GuardedRunner  # type: ignore[misc]
    num_runs = 0
    for batch in BATCHES:
        payload, table = batch.content(), np.array(table_row(kafka_log_segment, **header_of(batch)))
        limits = driver.Limits(len(batch.records) + 1, len(payload), 20)
        for size in range(len(payload), -1, -1 if len(payload) < 400 else -5):
            spans = [(0, size, 0)]
            found = driver.decode(kafka_record, payload[:size], spans, table, compiled=True, limits=limits)
            assert (found.damage is None) == (size == len(payload))
            num_runs += 1
    for message in MESSAGES:
        body, table = message.encode()[12:], np.array(table_row(kafka_log_segment))
        for size in range(len(body) + 1):
            limits = driver.Limits(1, len(body), 0)
            driver.decode(
                kafka_message_legacy, body[:size], [(0, size, 0)], table, compiled=True, limits=limits
            )
            num_runs += 1
    segment = b"".join(each.encode() for each in (*BATCHES, *MESSAGES))
    for size in range(len(segment), 0, -3):
        for whole in (False, True):
            driver.scan(
                kafka_log_segment,
                segment[:size],
                compiled=True,
                check_crc=whole,
                whole=whole,
                size=len(segment),
            )
            num_runs += 1
    print(f"{num_runs + encode_all()} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
