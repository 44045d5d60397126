"""What findings say to people: one line on what is lost, then why."""

from __future__ import annotations

import pytest

from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import ChecksumMismatchError, DataLossError, TruncatedError
from kafka_segments.log.findings import Finding, Kind, copy_words, error_words, worst_first


def lost(first: int | None, last: int | None) -> Finding:
    return Finding(Kind.LOST, "t", 0, "", first, last)


def damaged(first: int | None, last: int | None) -> Finding:
    error = ChecksumMismatchError("stored 0x00000001, computed 0x00000002", position=7)
    return Finding.of_damage(Damage("t-0/0.log", 7, 90, error, first, last), "t", 0)


NOTE = Finding(Kind.NOTE, "t", 0, "its name is odd")
UNUSED = Finding(Kind.UNUSED, "t", 0, "an index")


@pytest.mark.parametrize(
    ("findings", "words"),
    [
        ([damaged(105, 109)], "5 records lost, offsets 105 to 109; the rest is readable"),
        ([damaged(105, 105), NOTE], "1 record lost, offsets 105 to 105; the rest is readable"),
        ([lost(20, 29), damaged(5, 9)], "15 records lost, offsets 5 to 9, 20 to 29; the rest is readable"),
        ([lost(5, 9), damaged(8, 11), lost(12, 12)], "8 records lost, offsets 5 to 12; the rest is readable"),
        ([damaged(7, None), lost(3, 4)], "records lost, offsets 3 to 4, 7 and above; the rest is readable"),
        (
            [lost(one, one) for one in range(0, 10, 2)],
            "5 records lost, offsets 0 to 0, 2 to 2, 4 to 4 and 2 more ranges; the rest is readable",
        ),
        ([damaged(5, 9), damaged(None, None)], "5 records lost, offsets 5 to 9; there are other findings"),
        ([NOTE], "1 finding, no offsets known to be lost"),
        ([damaged(None, None), UNUSED], "2 findings, no offsets known to be lost"),
    ],
)
def test_one_line_says_what_is_lost(findings: list[Finding], words: str) -> None:
    assert copy_words("t-0", findings) == f"t-0: {words}"


def test_causes_come_by_weight() -> None:
    found = sorted([NOTE, UNUSED, lost(1, 2), damaged(3, 4)], key=worst_first)
    assert [one.kind for one in found] == [Kind.DAMAGE, Kind.LOST, Kind.UNUSED, Kind.NOTE]


def test_errors_in_words() -> None:
    assert error_words(TruncatedError("the file ends after 3 bytes")) == (
        "the batch is cut off: the file ends after 3 bytes"
    )
    assert error_words(DataLossError("offsets 3 to 4 are missing")) == "offsets 3 to 4 are missing"
    assert damaged(3, 4).message == (
        "t-0/0.log, position 7 to 90: the checksum of the batch is wrong: stored 0x00000001, computed "
        "0x00000002; offsets lost: 3 to 4"
    )
