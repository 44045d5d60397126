"""How ranges are read, whichever they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_segments.compression import DEFAULT_MAX_DECOMPRESSED

__all__ = ["Reading"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read.

    Attributes:
        columns: names, see `columnar.schema`.
        check_crc: verify the checksum of every batch.
        max_decompressed: bytes that one batch may decompress to.
        is_best: what is damaged is read from other copies (`replicas=best`).
        max_row_size: bytes of one record that can be handed on; None is any.
    """

    columns: Sequence[str]
    check_crc: bool = True
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
    is_best: bool = False
    max_row_size: int | None = None
