"""Records of a batch of the discarded magic 3 whose metadata come first.

Strategy: two places in the payload. Reading all metadata once finds where the contents begin; then each
record's metadata are read a second time, with its content. So one record is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_segments.core.formats.entries import ExperimentalBatch
from kafka_segments.core.formats.java import wrap_long
from kafka_segments.core.formats.kaitai_classes import (
    PARSE_ERRORS,
    constants,
    explain,
    release,
    release_failed,
    stream,
)
from kafka_segments.core.formats.records import Body, RecordReader
from kafka_segments.errors import CorruptBatchError
from kafka_segments_generated.kaitai.kafka_record_batch_v3_metadata_first import (
    KafkaRecordBatchV3MetadataFirst,
)

__all__ = ["MetadataFirstReader"]

_List = KafkaRecordBatchV3MetadataFirst.RecordList
_Head = KafkaRecordBatchV3MetadataFirst.RecordHead
_Content = KafkaRecordBatchV3MetadataFirst.RecordContent
_MAX_HEADERS = 10_000  # of one record, all of which are objects of about 700 bytes at once


class MetadataFirstReader(RecordReader):
    """Reads the records of a batch with metadata first, one after the other.

    Args:
        payload: the records' bytes, decompressed.
        batch: its header.
        take: is called before a record's content is read, with the number of its headers and the value of a
            control record; it may raise. None is no bound.

    Raises:
        CorruptBatchError: the metadata of all records cannot be read.
    """

    def __init__(
        self,
        payload: bytes | memoryview,
        batch: ExperimentalBatch,
        take: Callable[[int, bytes | None], None] | None = None,
    ) -> None:
        super().__init__(payload, batch, _MAX_HEADERS, take=take)
        assert batch.base_offset is not None and batch.base_timestamp is not None
        self._list = around = constants(_List)
        around.ignores_attributes, around.is_control = batch.ignores_message_attributes, batch.is_control
        around.base_offset, around.base_timestamp = batch.base_offset, batch.base_timestamp
        around.batch_timestamp_type = int(batch.timestamp_type == "LogAppendTime")
        around.max_timestamp = batch.max_timestamp
        self._heads = stream(payload)
        self.len_metadata = self._skip_metadata(batch.num_records or 0)

    def _skip_metadata(self, num_records: int) -> int:
        """Move to where the contents begin; return how many bytes the metadata take."""
        for number in range(num_records):
            try:
                _Head(self._io, self._list)
            except PARSE_ERRORS as error:
                detail = f"the metadata of record {number + 1} of {num_records} cannot be read: "
                detail += explain(error)
                release_failed(error)
                raise CorruptBatchError(detail) from error
        return self._io.pos()

    def _read(self) -> Body:
        head = _Head(self._heads, self._list)
        num_headers = head.num_headers.value
        if num_headers > _MAX_HEADERS:
            raise CorruptBatchError(
                f"{num_headers} headers are more than the {_MAX_HEADERS} that this experimental reader takes"
            )
        self._list.heads = [head]
        content = _Content(0, self._io, self._list)
        if self._take is not None:
            self._take(num_headers, (content.value or b"") if self._list.is_control else None)
        headers = tuple((header.key, header.value) for header in content.headers.headers)
        offset, timestamp = wrap_long(head.offset), wrap_long(head.timestamp)
        read = Body(offset, timestamp, head.offset_delta.value, content.key, content.value, headers)
        content._parent = head._parent = None  # noqa: SLF001 (the list is for the next record, too)
        release(content)
        release(head)
        return read

    def close(self) -> None:
        """Release the payload, which records refer to; see `kaitai_classes.release`."""
        self._heads.close()
        super().close()
