"""A window that ends too early is never taken for damage: what is needed is asked for, and nothing else."""

from __future__ import annotations

import os
import tempfile

import numpy as np
import pytest
from tests.columns.driver import STATE, Runner, scan, support_of
from tests.columns.samples import BATCHES, MESSAGES
from tests.made.encoder import Message, Wrapper

from kafka_segments_generated.columns import kafka_log_segment

support = support_of(kafka_log_segment)
WAYS = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
WRAPPER = Wrapper((Message(7, 1, b"k", b"v" * 40), Message(9, 1, None, b"w")), form="gzip")
ENTRIES = [each.encode() for each in (*BATCHES[:2], *MESSAGES, WRAPPER)]
DATA = b"".join(ENTRIES)
STARTS = np.cumsum([0, *map(len, ENTRIES)]).tolist()


@WAYS
@pytest.mark.parametrize("whole", [False, True], ids=["headers", "whole"])
def test_every_prefix_of_a_sound_segment(whole: bool, compiled: bool) -> None:
    for size in range(0, len(DATA) + 1, 1 if compiled else 3):
        found = scan(
            kafka_log_segment, DATA[:size], compiled=compiled, check_crc=whole, whole=whole, size=len(DATA)
        )
        assert found.status == (support.DONE if found.position == len(DATA) else support.SHORT), size
        assert found.position == STARTS[len(found.rows)]
        at_least = sum(start <= size for start in STARTS[1:])  # those that are there as a whole
        assert len(found.rows) == at_least if whole else len(found.rows) >= at_least


@WAYS
@pytest.mark.parametrize("len_window", [64, 100, 1000])
def test_a_window_of_any_size_over_a_file(len_window: int, compiled: bool) -> None:
    run = Runner(kafka_log_segment.scanner, compiled, check_crc=False, whole=False)
    with tempfile.TemporaryFile() as file:
        file.write(DATA)
        file.flush()
        state, table = np.zeros(STATE, np.int64), np.zeros(100 * kafka_log_segment.WIDTH, np.int64)
        state[support.MAX_ROWS], state[support.SIZE] = 100, len(DATA)
        state[support.FILE], state[support.WINDOW] = os.dup(file.fileno()), -1
        status = run({"data": np.zeros(len_window, np.uint8), "state": state, "table": table})
        os.close(int(state[support.FILE]))
    assert (status, state[support.ROW]) == (support.DONE, len(ENTRIES))
    rows = table.reshape(-1, kafka_log_segment.WIDTH)[: len(ENTRIES)]
    assert rows[:, support.POSITION].tolist() == STARTS[:-1]
    assert rows[:, support.END_POSITION].tolist() == STARTS[1:]


@WAYS
def test_a_file_that_cannot_be_read(compiled: bool) -> None:
    run = Runner(kafka_log_segment.scanner, compiled, check_crc=False, whole=False)
    state = np.zeros(STATE, np.int64)
    state[support.MAX_ROWS], state[support.SIZE] = 10, 1000
    state[support.FILE], state[support.WINDOW] = 1 << 20, -1  # no such file descriptor
    arrays = {"data": np.zeros(64, np.uint8), "state": state, "table": np.zeros(1000, np.int64)}
    assert run(arrays) == support.SHORT
    assert state[support.LEN_WINDOW] < 0 and state[support.AT] == 0
