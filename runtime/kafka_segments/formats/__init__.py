"""Bytes to named values through the generated classes, and their errors to ours.

No position, width or order of a field is written here. Where the search for entries needs to know a place
without parsing, it is asked of the schema (`len_prefix`, `ofs_*`, `len_*`) or, for the digits of the length
field and the magics, learned by parsing probes: see `length_digits` and `known_magics`.

Java's integer arithmetic is here too: what Kafka adds up (offsets, timestamps, sequences) wraps silently.
"""

from __future__ import annotations

from kafka_segments.formats.entry_header import (
    LEN_HEAD,
    LEN_LOG_OVERHEAD,
    LEN_PREFIX,
    OFS_MAGIC,
    TIMESTAMP_TYPE_NAMES,
    EntryHeader,
    FrameReader,
    Prefix,
    checksum_region,
    known_magics,
    length_digits,
    read_entry_header,
    read_prefix,
)
from kafka_segments.formats.index_entries import (
    LEN_OFFSET_ENTRY,
    LEN_TIME_ENTRY,
    LEN_TRANSACTION_ENTRY,
    read_leader_epochs,
    read_offset_entries,
    read_partition_metadata,
    read_producer_snapshot,
    read_time_entries,
    read_transaction_entries,
)
from kafka_segments.formats.java import increment_sequence, java_text, num_sequences_between, wrap_long
from kafka_segments.formats.messages import Message, find_value, read_inner_message, read_message
from kafka_segments.formats.other_formats import (
    LEN_REDPANDA_HEADER,
    MAX_LEN_OFFSET_CHECKPOINT,
    message_0_7_size,
    read_chunk_sizes,
    read_message_0_7,
    read_offset_checkpoint,
    read_redpanda_header,
)
from kafka_segments.formats.records import Body, RecordReader, read_control_key, read_control_value

__all__ = [
    "LEN_HEAD",
    "LEN_LOG_OVERHEAD",
    "LEN_OFFSET_ENTRY",
    "LEN_PREFIX",
    "LEN_REDPANDA_HEADER",
    "LEN_TIME_ENTRY",
    "LEN_TRANSACTION_ENTRY",
    "MAX_LEN_OFFSET_CHECKPOINT",
    "OFS_MAGIC",
    "TIMESTAMP_TYPE_NAMES",
    "Body",
    "EntryHeader",
    "FrameReader",
    "Message",
    "Prefix",
    "RecordReader",
    "checksum_region",
    "find_value",
    "increment_sequence",
    "java_text",
    "known_magics",
    "length_digits",
    "message_0_7_size",
    "num_sequences_between",
    "read_chunk_sizes",
    "read_control_key",
    "read_control_value",
    "read_entry_header",
    "read_inner_message",
    "read_leader_epochs",
    "read_message",
    "read_message_0_7",
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
