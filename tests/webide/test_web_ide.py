"""The real Kaitai Web IDE in a browser: every step of its instructions, and a user's own files."""

from __future__ import annotations

import pytest
from tests.webide.web_ide import WebIde, opened

pytestmark = pytest.mark.browser


def test_entries_of_plain_segments_read_like_records(ide: WebIde) -> None:
    """Steps 3 and 4."""
    opened(ide, "plain.log")
    ide.fold()
    ide.word("entries").click()
    assert ide.lines() == ["entries"], "a single click opens nothing"
    ide.word("entries").dblclick()
    ide.node("entries", 0).wait_for()
    assert ide.lines() == [
        "entries",
        "  0 [Entry]: offset 0, 18 records",
        "  1 [Entry]: offset 0, 3 records, transactional",
        "  2 [Entry]: offset 7, 1 record, transactional, control COMMIT",
        "  3 [Entry]: offset 8, 1 record, transactional, control COMMIT",
        "  4 [Entry]: offset 0, 3 records, control LEADER_CHANGE",
        "  5 [Entry]: offset 3, 9 records",
        *(f"  {number} [Entry]: offset {number + 6}, 1 record" for number in range(6, 10)),
        "  10 [Entry]: offset 16, 6 records",
        "  11 [Entry]: offset 22, 2 records",
        "  12 [Entry]: offset 24, 1 record",
    ]


def test_records_keys_and_the_bytes_that_are_marked(ide: WebIde) -> None:
    """Steps 5, 6 and 7."""
    opened(ide, "plain.log")
    records = ("entries", 0, "body", "content", "records")
    ide.expand(*records)
    assert [ide.line(*records, number) for number in range(9)] == [
        '0 [KafkaRecord]: offset 0, key "k", value "v"',
        '1 [KafkaRecord]: offset 1, key null, value "null key"',
        '2 [KafkaRecord]: offset 2, key "", value "empty key"',
        '3 [KafkaRecord]: offset 3, key "tombstone", value null',
        '4 [KafkaRecord]: offset 4, key "empty value", value ""',
        "5 [KafkaRecord]: offset 5, key null, value null",
        '6 [KafkaRecord]: offset 6, key "", value ""',
        "7 [KafkaRecord]: offset 7, key 0x73d51abbd89cb8196f0efb6892f94d68…, 64 bytes, "
        "value 0x39722cbbf8b91a4b9045c5e6175f1001…, 64 bytes",
        '8 [KafkaRecord]: offset 8, key "ünïcöde", value "{"a":"中"}"',
    ]
    ide.expand(*records, 0, "body")
    below = [line.strip().split(" ")[0] for line in ide.lines_below(*records, 0)]
    assert below == [
        *(
            "lenBody",
            "body",
            "attributes",
            "timestampDelta",
            "offsetDelta",
            "lenKey",
            "key",
            "lenValue",
            "value",
        ),
        *("numHeaders", "headers", "isControlRecord", "offset", "timestamp"),
    ]
    ide.word(*records, 0, "body", "key").click()
    assert ide.marked() == (66, 66)
    ide.word(*records, 0, "body", "offset").click()
    assert ide.marked() == (66, 66), "what is computed has no bytes"
    ide.click_byte(68)
    assert ide.selected().startswith("entries/0/body/content/records/0/body/value")


def test_control_records(ide: WebIde) -> None:
    """Step 8."""
    opened(ide, "plain.log")
    for entry, number, line in (
        (2, 0, "0 [KafkaRecord]: offset 7, key COMMIT, value coordinator epoch 0"),
        (4, 0, "0 [KafkaRecord]: offset 0, key LEADER_CHANGE, value leader 1, voters 1"),
        (4, 2, "2 [KafkaRecord]: offset 2, key KRAFT_VOTERS, value voters 1"),
    ):
        records = ("entries", entry, "body", "content", "records")
        ide.expand(*records)
        assert ide.line(*records, number) == line
    ide.expand("entries", 2, "body", "content", "records", 0, "body")
    assert (
        ide.line("entries", 2, "body", "content", "records", 0, "body", "key")
        == "key [KafkaControlRecordKey]: COMMIT"
    )


def test_compressed_segments(ide: WebIde) -> None:
    """Step 9."""
    opened(ide, "compressed.log")
    ide.expand("entries")
    codecs = ("", ", gzip", ", snappy", ", lz4", ", zstd")
    assert [ide.line("entries", number) for number in range(5)] == [
        f"{number} [Entry]: offset {5 * number}, 5 records{codec}, log append time"
        for number, codec in enumerate(codecs)
    ]
    ide.expand("entries", 1, "body", "content", "records")
    assert ide.line("entries", 1, "body", "content", "records") == "records = <no value>"
    opened(ide, "compressed-plain.log")
    ide.expand("entries", 1, "body", "content", "records")
    assert ide.line("entries", 1) == "1 [Entry]: offset 5, 5 records, log append time"
    assert ide.line("entries", 1, "body", "content", "records", 0).startswith(
        "0 [KafkaRecord]: offset 5, key "
    )


def test_old_formats(ide: WebIde) -> None:
    """Step 10."""
    opened(ide, "legacy.log")
    ide.expand("entries")
    assert [ide.line("entries", number) for number in (0, 7, 10, 19, 20, 21)] == [
        '0 [Entry]: offset 0, magic 0, key "key-0", value "0 none 0"',
        "7 [Entry]: offset 13, magic 0, key null, value 154 bytes of messages, gzip",
        '10 [Entry]: offset 28, magic 1, key "key-0", value "1 none 0"',
        "19 [Entry]: offset 55, magic 1, key null, value 235 bytes of messages, lz4",
        "20 [Entry]: offset 56, 7 records",
        "21 [Entry]: offset 63, 7 records, gzip",
    ]
    ide.expand("entries", 0, "body", "content", "header")
    assert ide.line("entries", 0, "body", "content", "header") == "header [MessageHeader]: not compressed"


def test_damage_padding_and_the_end(ide: WebIde) -> None:
    """Step 11."""
    opened(ide, "damaged.log")
    ide.fold()
    ide.expand("entries")
    assert ide.lines()[1:] == [
        "  0 [Entry]: offset 0, 3 records, transactional",
        "  1 [Entry]: offset 3, DAMAGED or no entry: magic 9 is unknown",
        "  2 [Entry]: offset 6, 1 record, transactional",
        "  3 [Entry]: offset 0, 3 records, transactional",
        "  4 [Entry]: offset 6, 1 record, transactional",
        "  5 [Entry]: offset 0, CUT OFF or DAMAGED: a size of 448, and 288 bytes are left",
    ]
    records = ("entries", 3, "body", "content", "records")
    ide.expand(*records)
    assert ide.word(*records).locator(".glyphicon").count() == 1, "the warning sign"
    opened(ide, "padded.log")
    ide.expand("entries")
    assert ide.line("entries", 2) == "2 [Entry]: padding: 4084 bytes up to the end of the file"


@pytest.mark.parametrize(
    ("name", "schema", "path", "line"),
    [
        ("sample.index", "kafka_offset_index", ("entries", 0), "0 [Entry]: +7 at 616"),
        ("sample.timeindex", "kafka_time_index", ("entries", 0), "0 [Entry]: 1795254249644 at +1"),
        ("sample.txnindex", "kafka_transaction_index", ("entries", 0), "0 [AbortedTxn]: 9 to 16"),
        (
            "sample.snapshot",
            "kafka_producer_snapshot",
            ("producerEntries", 0),
            "0 [ProducerEntry]: producer 1, epoch 0",
        ),
        ("leader-epoch-checkpoint", "kafka_leader_epoch_checkpoint", ("entries", 0), "0 [Entry]: 0 from 0"),
        (
            "partition.metadata",
            "kafka_partition_metadata",
            ("topicId",),
            "topicId = sp5EYKTjR-G1c5srJl_Fag",
        ),
        (
            "recovery-point-offset-checkpoint",
            "kafka_offset_checkpoint",
            ("entries", 0),
            "0 [Entry]: aiokafka-zstd-0: 45",
        ),
        ("kafka-0.7-message.bin", "kafka_message_0_7", ("lenBody",), "lenBody = 0x28 = 40"),
        ("aiven-chunk-sizes.bin", "aiven_chunk_sizes", ("differences", 0), "0 [Difference]: +0"),
        (
            "redpanda-batch-header.bin",
            "redpanda_batch_header",
            ("baseOffset",),
            "baseOffset = 0x29 = 41",
        ),
    ],
)
def test_other_files(ide: WebIde, name: str, schema: str, path: tuple[str | int, ...], line: str) -> None:
    """Step 12."""
    opened(ide, name, schema)
    ide.expand(*path[:-1])
    assert ide.line(*path) == line
