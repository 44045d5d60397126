"""The options of a read: what they may be, which contradict each other, which do nothing and are named."""

from __future__ import annotations

import os
import pickle
import re
from typing import Any

import pytest
from pyspark import cloudpickle
from tests.spark.planned import source_of

from kafka_segments.errors import OptionError
from kafka_segments.log.discovery import FileOptions
from kafka_segments.query.options import OPTIONS
from kafka_segments.query.query import Bound, Topics
from kafka_segments.spark.read_options import ReadOptions


def parse(**options: str) -> ReadOptions:
    return ReadOptions.parse({"path": "/a", **options})


def test_defaults_are_the_connectors() -> None:
    options = parse()
    assert options == ReadOptions(("/a",))
    assert (options.query.start, options.query.end) == (Bound("earliest"), Bound("latest"))
    assert options.query.isolation == "read_uncommitted"
    assert options.query.fail_on_data_loss
    assert (options.view, options.mode, options.columns) == ("records", "FAILFAST", None)
    assert options.files == FileOptions()


@pytest.mark.parametrize(
    ("view", "size"), [("records", 256), ("damage", 256), ("batches", 1024), ("control", 1024)]
)
def test_views_of_headers_have_larger_tasks(view: str, size: int) -> None:
    assert parse(view=view).query.limits.max_partition_bytes == size << 20
    assert parse(view=view, MAXPARTITIONBYTES="5m").query.limits.max_partition_bytes == 5 << 20


def test_names_in_any_case_and_values_of_all() -> None:
    given = {
        "PATH": "s3a://bucket/logs",
        "SubScribe": " a , b ",
        "STARTINGOFFSETS": '{"a":{"0":5}}',
        "kafka.Isolation.Level": "READ_COMMITTED",
        "mode": "permissive",
        "CHECKCRC": "False",
        "maxdecompressedbytes": "7",
        "timestampoverflow": "CLAMP",
        "headerKeys": "Binary",
        "Columns": "offset, Headers",
        "replicas": "best",
        "recursiveFileLookup": "TRUE",
        "pathGlobFilter": "*.log",
        "fs.s3a.access.key": "AKIA",
    }
    options = ReadOptions.parse(given)
    assert options.paths == ("s3a://bucket/logs",)
    assert options.query.topics == Topics(names=frozenset({"a", "b"}))
    assert options.query.start.by_partition == {("a", 0): 5}
    assert options.query.isolation == "read_committed"
    assert (options.mode, options.check_crc, options.max_decompressed) == ("PERMISSIVE", False, 7)
    assert (options.timestamp_overflow, options.header_keys) == ("clamp", "binary")
    assert options.columns == ("offset", "Headers")
    assert options.replicas == "best"
    assert options.files == FileOptions("*.log", recursive=True)
    assert dict(options.settings) == {"fs.s3a.access.key": "AKIA"}


def test_paths() -> None:
    assert ReadOptions.parse({"paths": '["/a", "file:///b"]', "path": "/a:b"}).paths == ("/a", "/b", "/a:b")
    assert [
        parse(path=path).paths[0] for path in ("file:/a b%20", "file:///", "file://host/a", "hdfs:/a")
    ] == [
        "/a b%20",
        "/",
        "file://host/a",
        "hdfs:/a",
    ]
    assert parse(path="here").paths == (os.path.abspath("here"),), "tasks run in another directory"
    assert ReadOptions.parse({"snapshot": "/s"}).paths == ()
    assert ReadOptions.parse({"snapshot": "/s"}).snapshot == "/s"


def test_times_of_files() -> None:
    files = parse(modifiedAfter="2026-01-31T12:00:00Z", modifiedBefore="2026-01-31T13:00:00+00:30").files
    assert files.modified_after == 1_769_860_800 * 10**9
    assert files.modified_before == (1_769_860_800 + 1800) * 10**9
    local = parse(modifiedBefore="2026-01-31T13:00:00", timeZone="Europe/Paris").files
    assert local.modified_before == 1_769_860_800 * 10**9


def test_isolation_has_two_names() -> None:
    assert parse(isolationLevel="read_committed").query.isolation == "read_committed"
    both = {"isolationLevel": "read_committed", "kafka.isolation.level": "READ_COMMITTED"}
    assert parse(**both).query.isolation == "read_committed"


def test_what_spark_adds_for_tables_is_let_pass() -> None:
    added = {"owner": "me", "provider": "kafka-segments", "location": "file:/a", "option.path": "/a"}
    assert parse(**added) == parse()


def test_connections_are_accepted_with_one_remark_without_values() -> None:
    options = parse(
        **{
            "kafka.bootstrap.servers": "secret-host:9092",
            "kafka.group.id": "g",
            "kafka.sasl.jaas.config": "password=hunter2",
            "groupidprefix": "p",
            "kafkaConsumer.pollTimeoutMs": "1",
            "fetchOffset.numRetries": "1",
            "fetchOffset.retryIntervalMs": "1",
        }
    )
    (remark,) = options.remarks
    assert remark == (
        "no broker is contacted, so these options have no effect: fetchOffset.numRetries, "
        "fetchOffset.retryIntervalMs, groupIdPrefix, kafka.bootstrap.servers, kafka.group.id, "
        "kafka.sasl.jaas.config, kafkaConsumer.pollTimeoutMs"
    )
    assert parse().remarks == ()


def test_options_that_others_make_useless_are_named() -> None:
    options = parse(startingTimestamp="5", startingOffsets="earliest")
    assert options.remarks == ("startingOffsets is ignored: startingTimestamp takes precedence",)


def test_secrets_are_in_no_text() -> None:
    options = parse(**{"fs.s3a.secret.key": "canary", "spark.hadoop.fs.azure.account.key.x": "canary"})
    assert options.settings["fs.azure.account.key.x"] == "canary"
    assert "canary" not in repr(options) + str(options)
    assert "fs.s3a.secret.key" in repr(options)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"path": ""}, "'' is not a path"),
    ({"paths": "/a"}, "JSON such as"),
    *(({"paths": paths}, "JSON such as") for paths in ('"/a"', "5", "null", "{}", '{"/a": 1}', "[" * 9999)),
    ({"paths": "[5]"}, "5 is not a path"),
    ({"path": "/a\0b"}, "is not a path"),
    ({"includeHeaders": "yes"}, "includeHeaders is 'yes'; give true or false"),
    ({"checkCrc": ""}, "checkCrc is ''"),
    ({"mode": "LENIENT"}, "FAILFAST, PERMISSIVE or DROPMALFORMED"),
    ({"view": "rows"}, "records, batches, segments, control, aborted or damage"),
    ({"headerKeys": "utf8"}, "text or binary"),
    ({"timestampOverflow": "wrap"}, "error, null or clamp"),
    ({"maxDecompressedBytes": "0"}, "above 0"),
    ({"maxDecompressedBytes": "1x"}, "above 0"),
    ({"minPartitions": "0"}, "above 0"),
    ({"columns": "offset,,key"}, "each once"),
    ({"columns": "offset,Offset"}, "each once"),
    ({"modifiedBefore": "yesterday"}, "a time such as"),
    ({"modifiedBefore": "2026-01-31T12:00:00"}, "write 2026-01-31T12:00:00Z for UTC"),
    ({"modifiedBefore": "2026-01-31T12:00:00", "timeZone": "Mars/Olympus"}, "no time zone 'Mars/Olympus'"),
    ({"modifiedBefore": "2026-01-31T12:00:00", "timeZone": "../x"}, "timeZone is '../x'"),
    # what does not exist
    ({"startingOffset": "earliest"}, "unknown option startingoffset; did you mean startingOffsets?"),
    ({"subscribePatern": "a"}, "did you mean subscribePattern?"),
    ({"groupIdPrefx": "a"}, "did you mean groupIdPrefix?"),
    ({"zzz": "a"}, "unknown option zzz; there are path, paths, pathGlobFilter"),
    # what the connector refuses
    ({"kafka.auto.offset.reset": "latest"}, "say where to begin with startingOffsets"),
    ({"kafka.key.deserializer": "x"}, "decode the column key"),
    ({"kafka.value.deserializer": "x"}, "decode the column value"),
    ({"kafka.enable.auto.commit": "true"}, "nothing is committed"),
    ({"kafka.interceptor.classes": "x"}, "as they are stored"),
    ({"endingOffsets": "earliest"}, "cannot end at the earliest"),
    # what contradicts itself: both names
    ({"subscribe": "a", "subscribePattern": "a"}, "give subscribe or subscribePattern, not both"),
    ({"subscribe": "a", "assign": '{"a":[0]}'}, "give subscribe or assign, not both"),
    ({"snapshot": "/s"}, "give snapshot or a path, not both"),
    ({"columns": "key", "includeHeaders": "true"}, "options columns and includeHeaders differ"),
    ({"columns": "headers", "includeHeaders": "false"}, "options columns and includeHeaders differ"),
    (
        {"isolationLevel": "read_committed", "kafka.isolation.level": "read_uncommitted"},
        "options isolationLevel and kafka.isolation.level differ",
    ),
    (
        {"view": "batches", "includeHeaders": "true"},
        "option includeHeaders is only for records, but view=batches",
    ),
    ({"view": "damage", "timestampOverflow": "null"}, "option timestampOverflow is only for records"),
    (
        {"modifiedAfter": "2026-01-31T12:00:00Z", "modifiedBefore": "2026-01-31T12:00:00Z"},
        "options modifiedAfter (2026-01-31T12:00:00Z) and modifiedBefore",
    ),
    ({"startingTimestamp": "9", "endingTimestamp": "8"}, "begin at 9 and end before that, at 8"),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=lambda value: str(value)[:60])
def test_wrong_options(options: dict[str, str], words: str) -> None:
    with pytest.raises(OptionError, match=re.escape(words)):
        parse(**options)


def test_a_load_checks_its_options_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark pickles the source between `schema` and `reader`."""
    parsed = []

    def count(cls: type[ReadOptions], options: dict[str, str]) -> ReadOptions:
        parsed.append(options)
        return original(options)

    original = ReadOptions.parse
    monkeypatch.setattr(ReadOptions, "parse", classmethod(count))
    source = source_of(path="/a", columns="offset")
    assert source.schema().names == ["offset"]
    pickle.loads(cloudpickle.dumps(source)).reader(source.schema())
    assert len(parsed) == 1


def test_every_option_is_parsed_by_the_table() -> None:
    """A default is a text that its own parser takes, and the classes have the same defaults."""
    for option in OPTIONS.values():
        assert option.default is None or option.parse(option.name, option.default) is not None
        assert not option.choices or all(option.parse(option.name, one) == one for one in option.choices)
    assert len({name for option in OPTIONS.values() for name in option.names}) == len(OPTIONS) + 1


def test_a_path_is_needed() -> None:
    with pytest.raises(OptionError, match=r"no path: give one or more to \.load"):
        ReadOptions.parse({})
    with pytest.raises(OptionError, match="give snapshot or pathGlobFilter, not both"):
        ReadOptions.parse({"snapshot": "/s", "pathGlobFilter": "*"})
