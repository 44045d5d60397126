"""Pages from the system: zeros; and where there are none, `MemoryError`, whatever the system calls it."""

from __future__ import annotations

import pytest

from kafka_segments.core.io.memory import new_pages


def test_pages_are_zeros_and_can_be_written() -> None:
    pages = new_pages(10_000)
    assert pages[:] == bytes(10_000)
    pages[9_999] = 7
    assert pages[9_999] == 7


def test_no_pages_are_no_memory() -> None:
    with pytest.raises(MemoryError, match=f"cannot allocate {1 << 62} bytes"):
        new_pages(1 << 62)
