"""Templates of records: fields, escapes, null and empty, base64."""

from __future__ import annotations

import pytest

from kafka_segments.core.formats.entries import Record
from kafka_segments.errors import OptionError
from kafka_segments.search.templates import RecordFile, Template, unescaped

HEADERS = ((b"a", b"1"), (b"b", None), (b"a", b"2"))
RECORD = Record(133, 7, 1_700_000_000_123, "CreateTime", -1, b"k\n", b"", HEADERS, None)
NULL = Record(0, 8, -1, "NoTimestampType", -1, None, None, (), None)


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{offset} {timestamp} {time}", b"7 1700000000123 2023-11-14T22:13:20.123Z"),
        (r"{key}|{value}\0", b"k\n|\0"),
        ("{headers} {num_headers}", b"a=1,b=null,a=2 3"),
        ("{header:a} {header:b} {header:c}", b"2 null null"),
        ("{key_size} {value_size}", b"2 0"),
        ("{topic}-{partition} {position} {path}", b"my-topic-3 133 logs/my-topic-3/x.log"),
        (r"{{}}\t\\\xff", b"{}\t\\\xff"),
        ("größe", "größe".encode()),
        ("", b""),
    ],
)
def test_fields_and_escapes(text: str, rendered: bytes) -> None:
    file = RecordFile.of("logs/my-topic-3/x.log")
    assert Template(text).render(RECORD, file) == rendered


def test_null_is_not_empty() -> None:
    text = "{key} {value} {time} {key_size}"
    assert Template(text).render(NULL) == b"null null null -1"
    assert Template(text, null=b"").render(NULL) == b"   -1"
    assert Template("{key},{value}", is_base64=True, null=b"-").render(NULL) == b"-,-"
    assert Template("{key},{value}", is_base64=True, null=b"-").render(RECORD) == b"awo=,"


def test_base64_is_of_contents_alone() -> None:
    text = "{offset} {headers} {header:a} {path}"
    file = RecordFile("a b")
    assert Template(text, is_base64=True, null=b"-").render(RECORD, file) == b"7 YQ==:"[:2] + (
        b"YQ===MQ==,Yg===-,YQ===Mg== Mg== a b"
    )


def test_a_timestamp_beyond_the_calendar_is_null_as_a_time() -> None:
    far = Record(0, 0, 1 << 62, "CreateTime", -1, None, None, (), None)
    assert Template("{time} {timestamp}").render(far) == b"null %d" % (1 << 62)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{offst}", "no field 'offst'; it has offset, timestamp,"),
        ("{", "a single brace: write {{ for one"),
        ("a}", "a single brace: write }} for one"),
        ("{}", "no field ''"),
        (r"\q", "a backslash needs"),
    ],
)
def test_what_is_no_template_is_refused(text: str, said: str) -> None:
    with pytest.raises(OptionError, match=said.replace("{", r"\{").replace("}", r"\}")):
        Template(text)


def test_a_file_elsewhere_has_no_topic() -> None:
    assert RecordFile.of("x.log") == RecordFile("x.log", "", -1) or RecordFile.of("x.log").topic
    assert RecordFile.of("s3a://bucket/logs/orders-7/0.log").partition == 7


def test_a_backslash_at_the_end_stands_for_itself() -> None:
    assert unescaped("a\\") == b"a\\"
