"""What helps to read the same offsets from other copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from kafka_segments.catalog.model import Loss
from kafka_segments.entries import Damage, SoundBatches
from kafka_segments.ranges.findings import Findings, Note

__all__ = ["Heard", "without"]


class Heard:
    """`Findings` of another copy: counts and notes are passed on; damage is only noticed.

    Args:
        findings: to whom.

    Attributes:
        is_whole: nothing was damaged or missing.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.is_whole = True

    def batches(self, batches: SoundBatches) -> None:
        """See `Findings`."""
        self._findings.batches(batches)

    def damage(self, damage: Damage) -> None:  # noqa: ARG002
        """See `Findings`."""
        self.is_whole = False

    def pending(self, damage: Damage) -> None:  # noqa: ARG002
        """See `Findings`."""
        self.is_whole = False

    def lost(self, loss: Loss) -> None:  # noqa: ARG002
        """See `Findings`."""
        self.is_whole = False

    def note(self, note: Note) -> None:
        """See `Findings`."""
        self._findings.note(note)


def without(batch: pa.RecordBatch, others: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows whose offsets are in none of the others."""
    if not others:
        yield batch
        return
    seen = np.concatenate([other.column("offset").to_numpy() for other in others])
    is_new = ~np.isin(batch.column("offset").to_numpy(), seen)
    if is_new.all():
        yield batch
    elif is_new.any():
        yield batch.filter(pa.array(is_new))
