"""What the tree says of the samples, in the Web IDE and by the compiler and the runtime that it has."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.targets.webide import SAMPLES

Path = tuple[str | int, ...]
"""The names on the way to a node."""

SCHEMAS = {sample.name: sample.schema for sample in SAMPLES}
RECORDS = ("body", "content", "records")


def numbered(parent: Path, kind: str, words: Mapping[int, str]) -> dict[Path, str]:
    """The lines of some nodes of a list."""
    return {(*parent, number): f"{number} [{kind}]: {text}" for number, text in words.items()}


def entries(*words: str) -> dict[Path, str]:
    """The lines of all entries."""
    return numbered(("entries",), "Entry", dict(enumerate(words)))


CODECS = ("", ", gzip", ", snappy", ", lz4", ", zstd")
LINES: dict[str, dict[Path, str]] = {
    "plain.log": {
        **entries(
            "offset 0, 18 records",
            "offset 0, 3 records, transactional",
            "offset 7, 1 record, transactional, control COMMIT",
            "offset 8, 1 record, transactional, control COMMIT",
            "offset 0, 3 records, control LEADER_CHANGE",
            "offset 3, 9 records",
            *(f"offset {offset}, 1 record" for offset in range(12, 16)),
            "offset 16, 6 records",
            "offset 22, 2 records",
            "offset 24, 1 record",
        ),
        **numbered(
            ("entries", 0, *RECORDS),
            "KafkaRecord",
            {
                0: 'offset 0, key "k", value "v"',
                1: 'offset 1, key null, value "null key"',
                2: 'offset 2, key "", value "empty key"',
                3: 'offset 3, key "tombstone", value null',
                4: 'offset 4, key "empty value", value ""',
                5: "offset 5, key null, value null",
                6: 'offset 6, key "", value ""',
                7: "offset 7, key 0x73d51abbd89cb8196f0efb6892f94d68…, 64 bytes, "
                "value 0x39722cbbf8b91a4b9045c5e6175f1001…, 64 bytes",
                8: 'offset 8, key "ünïcöde", value "{"a":"中"}"',
            },
        ),
        **numbered(
            ("entries", 2, *RECORDS), "KafkaRecord", {0: "offset 7, key COMMIT, value coordinator epoch 0"}
        ),
        **numbered(
            ("entries", 4, *RECORDS),
            "KafkaRecord",
            {
                0: "offset 0, key LEADER_CHANGE, value leader 1, voters 1",
                2: "offset 2, key KRAFT_VOTERS, value voters 1",
            },
        ),
        ("entries", 2, *RECORDS, 0, "body", "key"): "key [KafkaControlRecordKey]: COMMIT",
    },
    "compressed.log": {
        **entries(
            *(
                f"offset {5 * number}, 5 records{codec}, log append time"
                for number, codec in enumerate(CODECS)
            )
        ),
        ("entries", 1, *RECORDS): "records = <no value>",
    },
    "compressed-plain.log": {
        **numbered(("entries",), "Entry", {1: "offset 5, 5 records, log append time"}),
    },
    "legacy.log": {
        **numbered(
            ("entries",),
            "Entry",
            {
                0: 'offset 0, magic 0, key "key-0", value "0 none 0"',
                7: "offset 13, magic 0, key null, value 154 bytes of messages, gzip",
                10: 'offset 28, magic 1, key "key-0", value "1 none 0"',
                19: "offset 55, magic 1, key null, value 235 bytes of messages, lz4",
                20: "offset 56, 7 records",
                21: "offset 63, 7 records, gzip",
            },
        ),
        ("entries", 0, "body", "content", "header"): "header [MessageHeader]: not compressed",
    },
    "damaged.log": entries(
        "offset 0, 3 records, transactional",
        "offset 3, DAMAGED or no entry: magic 9 is unknown",
        "offset 6, 1 record, transactional",
        "offset 0, 3 records, transactional",
        "offset 6, 1 record, transactional",
        "offset 0, CUT OFF or DAMAGED: a size of 448, and 288 bytes are left",
    ),
    "padded.log": numbered(("entries",), "Entry", {2: "padding: 4084 bytes up to the end of the file"}),
    "sample.index": {("entries", 0): "0 [Entry]: +7 at 616"},
    "sample.timeindex": {("entries", 0): "0 [Entry]: 1795254249644 at +1"},
    "sample.txnindex": {("entries", 0): "0 [AbortedTxn]: 9 to 16"},
    "sample.snapshot": {("producerEntries", 0): "0 [ProducerEntry]: producer 1, epoch 0"},
    "leader-epoch-checkpoint": {("entries", 0): "0 [Entry]: 0 from 0"},
    "partition.metadata": {("topicId",): "topicId = sp5EYKTjR-G1c5srJl_Fag"},
    "recovery-point-offset-checkpoint": {("entries", 0): "0 [Entry]: aiokafka-zstd-0: 45"},
    "kafka-0.7-message.bin": {("lenBody",): "lenBody = 0x28 = 40"},
    "aiven-chunk-sizes.bin": {("differences", 0): "0 [Difference]: +0"},
    "redpanda-batch-header.bin": {("baseOffset",): "baseOffset = 0x29 = 41"},
}
"""By sample and node. Of `plain.log` and `damaged.log` there are all entries."""

RECORD = ("entries", 0, *RECORDS, 0)
"""A record of `plain.log`, the names below it, and the bytes of its key."""

BELOW_BODY = (
    *("attributes", "timestampDelta", "offsetDelta", "lenKey", "key", "lenValue", "value", "numHeaders"),
    *("headers", "isControlRecord", "offset", "timestamp"),
)
KEY_BYTES = (66, 66)

DAMAGED_RECORDS = ("entries", 3, *RECORDS)
"""The node of `damaged.log` that has a warning sign."""
