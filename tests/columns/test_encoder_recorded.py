"""What brokers and clients wrote is decoded into columns and encoded again: the same bytes.

Where they are not, it is because the columns do not hold everything that was written; each reason is looked
for by itself, in what was recorded, and counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.columns.driver import decode, scan, support_of
from tests.columns.encoding import entry_of, payload_of
from tests.columns.test_decoder_recorded import DECODERS, payload_of as recorded_payload
from tests.columns.test_decoder_recorded import some

from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record

support = support_of(kafka_log_segment)
WAYS = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])


def rows_of(module: Any, payload: bytes, number: int, table: Any) -> list[dict[str, Any]] | None:
    """The records of a payload by column; None if one is damaged."""
    found = decode(module, payload, [(0, len(payload), number)], table, compiled=True)
    names = [column[0] for column in module.RECORD_COLUMNS]
    return None if found.damage else [dict(zip(names, row, strict=True)) for row in found.rows]


def test_x():
    seen = Counter()
    for file in some(True):
        found = scan(kafka_log_segment, file.data, compiled=True, check_crc=True)
        for number, row in enumerate(found.rows):
            content = kafka_log_segment.CONTENTS[row["content"]]
            if not content.is_repeated:
                continue
            payload = recorded_payload(file.data, row)
            rows = rows_of(kafka_record, payload, number, found.table)
            if rows is None:
                seen["damaged"] += 1
                continue
            table = found.table[number].copy()
            again = payload_of(kafka_record, rows, table, compiled=True)
            if again != payload:
                seen["payload", row["timestamp_type"]] += 1
                if row["timestamp_type"] == 0: print(file.name, row, payload[:100].hex(), again[:100].hex())
                continue
            stored = file.data[row["payload"]: row["end_payload"]]
            whole = file.data[row["position"]: row["end_position"]]
            for given in (0, -1):
                t = found.table[number].copy()
                entry = entry_of(kafka_log_segment, kafka_record, rows, t, compiled=True, payload=stored, given=given)
                seen["entry", given, entry == whole] += 1
                if entry == whole:
                    if given: assert t.tolist() == found.table[number].tolist()
                else:
                    d = {k: (a, b) for k, a, b in zip(kafka_log_segment.BATCH_COLUMNS, found.table[number], t) if a != b}
                    seen["diff", tuple(sorted(set(d)-{"crc"})), row["num_records"]] += 1
    print(seen)
