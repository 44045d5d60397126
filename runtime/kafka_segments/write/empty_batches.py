"""Batches without records: the header alone."""

from __future__ import annotations

import ctypes

import numpy as np

from kafka_segments.core.native import kernels
from kafka_segments.core.native.engine import load_decoder
from kafka_segments.write.batch_options import BatchOptions
from kafka_segments.write.encoder import new_state, template_of
from kafka_segments.write.encoding import len_head
from kafka_segments.write.refusals import refused
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["encode_head"]


def encode_head(options: BatchOptions, *, is_control: bool, **fields: int) -> bytes:
    """Encode a batch of magic 2 without records.

    Args:
        options: fields that are common to all batches.
        is_control: whether it was a control batch.
        fields: the other fields, by the names of the table's columns.

    Raises:
        EncodeError: a value that does not fit its field.
    """
    row = template_of(options, compression="none", is_control=is_control)
    for name, value in fields.items():
        row[kafka_log_segment.BATCH_COLUMNS.index(name)] = value
    size = len_head(options.magic)
    out, state = np.zeros(size, np.uint8), new_state()
    state[kernels.ENC_AT] = state[kernels.ENC_PAYLOAD] = state[kernels.ENC_LIMIT] = size
    state[kernels.ENC_GIVEN] = -1
    encoder = load_decoder(kafka_log_segment.head_encoder, writes=True)
    table = encoder.new_table()
    for name, array in (("batches", row), ("state", state), ("out", out)):
        table.set(name, array.ctypes.data, array.size)
    if encoder(table) != kernels.DONE:
        raise refused("unwritable", "a value does not fit its field", offset=fields.get("base_offset"))
    return ctypes.string_at(out.ctypes.data, size)
