"""Kafka's own builder makes the same bytes of the same records and options; nothing is compressed here."""

from __future__ import annotations

from typing import Any

import pytest
from tests.write.builders import built, record
from tests.write.cases import TIME, Case, cases, rows_with_gaps, rows_with_headers

import kafka_segments
from kafka_segments.errors import EncodeError, OptionError

pytestmark = pytest.mark.oracle

PLAIN = [case for case in cases() if case.options.get("compression", "none") == "none"]


def of_kafka(options: dict[str, Any]) -> dict[str, Any]:
    """Options as `Built` takes them: what is not said has a number there."""
    return {name: value for name, value in options.items() if value is not None}


@pytest.fixture(scope="module")
def answers() -> dict[str, bytes | str]:
    asked = [of_kafka(case.options) | {"records": [record(**row) for row in case.rows]} for case in PLAIN]
    return dict(zip([case.name for case in PLAIN], built(asked), strict=True))


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.name)
def test_same_bytes(case: Case, answers: dict[str, bytes | str]) -> None:
    """Kafka's builder makes a batch at a time; the program around it does what a producer does between
    them.
    """
    answer = answers[case.name]
    assert isinstance(answer, bytes), answer
    assert kafka_segments.encode_records(case.rows, **case.options) == answer


def exact_cases() -> list[dict[str, Any]]:
    """Batches with first and last offsets of their own."""
    rows = rows_with_gaps(100)
    last = rows[-1]["offset"]
    magic_1 = [{**row, "headers": []} for row in rows]
    return [
        {"base_offset": 50, "rows": rows},
        {"base_offset": None, "last_offset": last + 9, "rows": rows},
        {"base_offset": 0, "last_offset": 2**31 - 1, "rows": rows},
        {"base_offset": 100, "delete_horizon_ms": TIME, "last_offset": last, "rows": rows},
        {"magic": 1, "rows": magic_1[:1]},
    ]


def test_batches_as_compaction_leaves_them() -> None:
    asked = exact_cases()
    answers = built(
        [{**case, "records": [record(**row) for row in case["rows"]], "rows": 0} for case in asked]
    )
    for case, answer in zip(asked, answers, strict=True):
        assert isinstance(answer, bytes), answer
        rows = case.pop("rows")
        assert kafka_segments.encode_batch(rows, **case) == answer


CONTROL: list[tuple[list[tuple[str, dict[str, Any], dict[str, Any]]], dict[str, Any]]] = [
    (
        [("COMMIT", {"coordinator_epoch": 9}, {"coordinatorEpoch": 9})],
        {"producer_id": 1, "producer_epoch": 0, "is_transactional": True},
    ),
    (
        [("ABORT", {"coordinator_epoch": -1}, {"coordinatorEpoch": -1})],
        {"producer_id": 2**40, "producer_epoch": 8, "is_transactional": True, "delete_horizon_ms": TIME},
    ),
    (
        [
            (
                "LEADER_CHANGE",
                {
                    "version": 0,
                    "leader_id": 3,
                    "voters": [{"voter_id": 1}, {"voter_id": 3}],
                    "granting_voters": [{"voter_id": 3}],
                },
                {
                    "version": 0,
                    "leaderId": 3,
                    "voters": [{"voterId": 1}, {"voterId": 3}],
                    "grantingVoters": [{"voterId": 3}],
                },
            )
        ],
        {"partition_leader_epoch": 5},
    ),
    (
        [
            (
                "SNAPSHOT_HEADER",
                {"version": 0, "last_contained_log_timestamp": TIME},
                {"version": 0, "lastContainedLogTimestamp": TIME},
            ),
            ("KRAFT_VERSION", {"version": 0, "k_raft_version": 1}, {"version": 0, "kRaftVersion": 1}),
            (
                "KRAFT_VOTERS",
                {
                    "version": 0,
                    "voters": [
                        {
                            "voter_id": 1,
                            "voter_directory_id": "uvNgLjnRRaK5kWWU5hTnCw",
                            "endpoints": [{"name": "CONTROLLER", "host": "höst", "port": 65535}],
                            "k_raft_version_feature": {
                                "min_supported_version": 0,
                                "max_supported_version": 1,
                            },
                        }
                    ],
                },
                {
                    "version": 0,
                    "voters": [
                        {
                            "voterId": 1,
                            "voterDirectoryId": "uvNgLjnRRaK5kWWU5hTnCw",
                            "endpoints": [{"name": "CONTROLLER", "host": "höst", "port": 65535}],
                            "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
                        }
                    ],
                },
            ),
        ],
        {"partition_leader_epoch": 2},
    ),
    ([("SNAPSHOT_FOOTER", {"version": 0}, {"version": 0})], {"partition_leader_epoch": 2}),
]


def test_control_batches() -> None:
    """All types, from the dicts that reading gives."""
    asked = []
    for records, options in CONTROL:
        lines = [
            {"offset": 7, "timestamp": TIME, "control": kind, "fields": fields} for kind, _, fields in records
        ]
        asked.append({**options, "is_control": True, "base_offset": 7, "records": lines})
    for (records, options), answer in zip(CONTROL, built(asked), strict=True):
        assert isinstance(answer, bytes), answer
        pairs = [(kind, value) for kind, value, _ in records]
        ours = kafka_segments.encode_control(pairs, timestamp=TIME, base_offset=7, **options)
        assert ours == answer
        with kafka_segments.open_segment(ours) as segment:
            found = [
                event.control for event in segment.iter_events() if isinstance(event, kafka_segments.Record)
            ]
        assert [(control.type, control.value) for control in found if control] == pairs


EMPTY: list[dict[str, Any]] = [
    {"base_offset": 10, "last_offset": 99, "max_timestamp": TIME},
    {
        "base_offset": 0,
        "last_offset": 2**31 - 1,
        "max_timestamp": -1,
        "producer_id": 5,
        "producer_epoch": 1,
        "base_sequence": 44,
        "is_transactional": True,
        "partition_leader_epoch": 3,
    },
    {
        "base_offset": 2**62,
        "last_offset": 2**62,
        "max_timestamp": 9,
        "producer_id": 5,
        "producer_epoch": 1,
        "base_sequence": -1,
        "is_transactional": True,
        "is_control": True,
    },
    {"base_offset": 1, "last_offset": 2, "max_timestamp": TIME, "timestamp_type": "LogAppendTime"},
    # Of a batch that nobody could have written: the cleaner does not ask.
    {"base_offset": 1, "last_offset": 2, "max_timestamp": -7, "is_transactional": True},
    {"base_offset": 1, "last_offset": 2, "max_timestamp": -7, "producer_id": 6, "producer_epoch": -1},
]


def test_batches_without_records() -> None:
    for case, answer in zip(EMPTY, built([{**case, "empty": True} for case in EMPTY]), strict=True):
        assert isinstance(answer, bytes), answer
        assert kafka_segments.encode_empty_batch(**case) == answer
    for wrong in ({"last_offset": 9}, {"last_offset": 10 + 2**31}):
        with pytest.raises(EncodeError):
            kafka_segments.encode_empty_batch(base_offset=10, **wrong)
    for number in ({"max_timestamp": 2**63}, {"producer_epoch": 2**15}, {"base_sequence": -2}):
        with pytest.raises(OptionError):
            kafka_segments.encode_empty_batch(base_offset=10, last_offset=10, **number)


def test_headers_of_compressed_frames() -> None:
    """LZ4's frame begins as Kafka's own, in magic 0 with the checksum that is wrong there (KAFKA-3160)."""
    rows = rows_with_headers(1)
    lines = [record(**row) for row in rows]
    asked = [{"magic": magic, "compression": "lz4", "records": lines} for magic in (0, 1, 2)]
    for magic, answer in zip((0, 1, 2), built(asked), strict=True):
        assert isinstance(answer, bytes), answer
        ours = kafka_segments.encode_records(rows, magic=magic, compression="lz4")
        frame, theirs = ours.index(b"\x04\x22\x4d\x18"), answer.index(b"\x04\x22\x4d\x18")
        assert ours[frame : frame + 7] == answer[theirs : theirs + 7]
