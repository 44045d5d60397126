"""Conversion of bytes to named values by the generated classes, and of their errors to ours.

No position, width or order of a field is written here: positions that are needed without parsing are the
constants of the schemas (`ofs_*`, `len_*`), and magics those of the generated table of entries.

Java's integer arithmetic is here too: sums of offsets, timestamps and sequences wrap silently in Kafka.
"""

from __future__ import annotations

from kafka_segments.core.formats.entry_header import (
    EXPERIMENTAL_MAGICS,
    LEN_HEAD,
    LEN_LOG_OVERHEAD,
    LEN_LONGEST_HEAD,
    LEN_PREFIX,
    MAGICS,
    MIN_LEN_BODY,
    OFS_LEN_BODY,
    OFS_MAGIC,
    TIMESTAMP_TYPE_NAMES,
    FrameReader,
    Prefix,
    checksum_region,
    read_entry_header,
    read_header_leniently,
    read_prefix,
)
from kafka_segments.core.formats.index_entries import (
    LEN_OFFSET_ENTRY,
    LEN_TIME_ENTRY,
    LEN_TRANSACTION_ENTRY,
    MAX_LEN_OFFSET_CHECKPOINT,
    read_leader_epochs,
    read_offset_checkpoint,
    read_offset_entries,
    read_partition_metadata,
    read_producer_snapshot,
    read_time_entries,
    read_transaction_entries,
)
from kafka_segments.core.formats.java import (
    decrement_sequence,
    increment_sequence,
    java_integer,
    java_text,
    num_sequences_between,
    wrap_long,
)
from kafka_segments.core.formats.messages import (
    Message,
    find_value,
    read_inner_message,
    read_message,
    read_message_leniently,
)
from kafka_segments.core.formats.meta_properties import (
    MAX_LEN_META_PROPERTIES,
    MetaProperties,
    read_meta_properties,
)
from kafka_segments.core.formats.metadata_first import MetadataFirstReader
from kafka_segments.core.formats.other_formats import (
    LEN_REDPANDA_HEADER,
    message_0_7_size,
    read_chunk_sizes,
    read_message_0_7,
    read_redpanda_header,
)
from kafka_segments.core.formats.records import Body, RecordReader

__all__ = [
    "EXPERIMENTAL_MAGICS",
    "LEN_HEAD",
    "LEN_LOG_OVERHEAD",
    "LEN_LONGEST_HEAD",
    "LEN_OFFSET_ENTRY",
    "LEN_PREFIX",
    "LEN_REDPANDA_HEADER",
    "LEN_TIME_ENTRY",
    "LEN_TRANSACTION_ENTRY",
    "MAGICS",
    "MAX_LEN_META_PROPERTIES",
    "MAX_LEN_OFFSET_CHECKPOINT",
    "MIN_LEN_BODY",
    "OFS_LEN_BODY",
    "OFS_MAGIC",
    "TIMESTAMP_TYPE_NAMES",
    "Body",
    "FrameReader",
    "Message",
    "MetaProperties",
    "MetadataFirstReader",
    "Prefix",
    "RecordReader",
    "checksum_region",
    "decrement_sequence",
    "find_value",
    "increment_sequence",
    "java_integer",
    "java_text",
    "message_0_7_size",
    "num_sequences_between",
    "read_chunk_sizes",
    "read_entry_header",
    "read_header_leniently",
    "read_inner_message",
    "read_leader_epochs",
    "read_message",
    "read_message_0_7",
    "read_message_leniently",
    "read_meta_properties",
    "read_offset_checkpoint",
    "read_offset_entries",
    "read_partition_metadata",
    "read_prefix",
    "read_producer_snapshot",
    "read_redpanda_header",
    "read_time_entries",
    "read_transaction_entries",
    "wrap_long",
]
