"""Records by the compiled decoders, from where so many have been read that loading them is worth the time."""

from __future__ import annotations

from collections.abc import Generator

from kafka_segments.cli import console
from kafka_segments.entries import Batch, Record
from kafka_segments.errors import MissingExtraError
from kafka_segments.records import Rows, Start
from kafka_segments.segment import fast_rows

__all__ = ["FastRows"]

_MANY = 10_000  # records: reading them one by one takes as long as loading pyarrow and the decoders


class FastRows:
    """`segment.fast_rows()` after the first 10,000 records; the batches before are read one by one."""

    def __init__(self) -> None:
        self._num_records = 0
        self._rows: Rows | None = None
        self._has_looked = False

    def records(
        self, batch: Batch, payload: bytes | memoryview, max_items: int
    ) -> Generator[Record, None, Start | None]:
        """See `records.Rows`; the header tells how many records a batch has."""
        self._num_records += batch.num_records or 0
        rows = self._loaded() if self._num_records > _MANY else None
        if rows is None:
            return Start()
        return (yield from rows.records(batch, payload, max_items))

    def _loaded(self) -> Rows | None:
        if not self._has_looked:
            self._has_looked = True
            try:
                self._rows = fast_rows()
            except MissingExtraError as error:
                console.say(f"records are decoded one by one, which is slow: {error.detail}")
        return self._rows
