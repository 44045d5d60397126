"""Construct parses what the Kaitai classes parse, in the same words, and refuses what they refuse."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import construct
import pytest
from construct import ConstructError
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import work
from tests.codegen.plain_copies import plain_copy
from tests.codegen.test_any_bytes_generated import LIES, PARAMS, STEMS, VECTORS
from tests.codegen.trees import Job, count_leaves, differences, python_tree
from tests.codegen.vectors import BESIDE, all_vectors
from tests.construct.trees import assert_same_trees, construct_tree, parse, tree_of
from tests.construct.values import RECORDED, hooks, segments
from tests.made import build as by_hand
from tests.made.edits import edited
from tests.python import traced

from kafka_segments_generated.construct import ExpressionError, Tree
from kafka_segments_generated.construct.kafka_log_segment import KafkaLogSegment
from kafka_segments_generated.construct.kafka_record_batch_v2 import KafkaRecordBatchV2
from kafka_segments_generated.construct.kafka_varint import KafkaVarint

BOUND = 4 << 20


def compare(jobs: list[Job]) -> int:
    """Compare trees; the number of values that were the same."""
    found: list[str] = []
    leaves = 0
    for job in jobs:
        tree = construct_tree(job)
        found += [f"{job.file}{place}" for place in differences(python_tree(job), tree)]
        leaves += count_leaves(tree)
    assert found == []
    return leaves


def test_every_recorded_segment_has_the_same_tree() -> None:
    files = segments()
    leaves = compare([Job("kafka_log_segment", path) for path in files])
    print(f"{len(files)} files, {leaves} values")
    assert len(files) > 250 and leaves > 100_000


def test_every_compressed_record_has_the_same_tree(tmp_path: Path) -> None:
    copies = [copy for copy in map(plain_copy, segments()) if copy]
    jobs = []
    for number, copy in enumerate(copies):
        (tmp_path / str(number)).write_bytes(copy)
        jobs.append(Job("kafka_log_segment", tmp_path / str(number)))
    assert len(jobs) >= 30
    compare(jobs)


@pytest.mark.parametrize("schema", BESIDE)
def test_every_file_beside_the_segments_has_the_same_tree(schema: str) -> None:
    pattern, least = BESIDE[schema]
    files = sorted(RECORDED.rglob(pattern))
    assert len(files) >= least
    compare([Job(schema, path) for path in files])


@pytest.mark.parametrize("vector", all_vectors(), ids=str)
def test_every_vector_has_the_same_tree(vector: Any) -> None:
    job = Job(vector.schema, vector.file, vector.params)
    assert list(differences(python_tree(job), construct_tree(job))) == []
    assert ("error" in construct_tree(job)) == (vector.error is not None)


def test_decompressed_by_the_callers_codecs() -> None:
    """Wherever there are codecs, the records inside are there as if they had not been compressed."""
    num_batches = 0
    for path in segments():
        data, copy = path.read_bytes(), plain_copy(path)
        batches = []
        for entry in KafkaLogSegment.parse(data, codecs=hooks()).entries:
            content = entry.body.content if entry.body else None
            if is_batch(content) and content.num_records and content.attributes.compression != "none":
                batches.append(content)
        plain = [entry.body.content for entry in KafkaLogSegment.parse(copy).entries]
        plain = [content for content in plain if is_batch(content)]
        for ours, theirs in zip(batches, plain, strict=True):
            assert list(differences(tree_of(theirs.records), tree_of(ours.records))) == []
        num_batches += len(batches)
    assert num_batches > 100


def is_batch(content: Any) -> bool:
    """Whether something is a batch of magic 2."""
    return isinstance(content, Tree) and content._struct is KafkaRecordBatchV2


def test_messages_inside_wrappers() -> None:
    for magic, folder in ((0, "v0"), (1, "v1")):
        for codec in ("gzip", "snappy", "lz4"):
            data = next((RECORDED / f"kafka-2.8/clean/{folder}-{codec}-0").glob("*.log")).read_bytes()
            entry = KafkaLogSegment.parse(data, codecs=hooks(magic)).entries[0]
            inner = entry.body.content.value_content
            assert len(inner.entries) > 1
            assert all(part.body.content.header.magic == magic for part in inner.entries)
            opaque = KafkaLogSegment.parse(data).entries[0].body.content
            assert "value_content" not in opaque
            with pytest.raises(ConstructError, match=f"value is compressed with {codec}: to see it, parse"):
                _ = opaque.value_content


def test_a_codec_that_fails_is_one_error() -> None:
    data = (next((RECORDED / "kafka-4.3/clean/codec-gzip-0").glob("*.log"))).read_bytes()
    payload_at = 12 + 49
    broken = KafkaLogSegment.parse(data[:payload_at] + b"\0" + data[payload_at + 1 :], codecs=hooks())
    with pytest.raises(ConstructError, match="decompressing failed"):
        _ = broken.entries[0].body.content.records


@pytest.mark.parametrize("stem", STEMS)
@settings(max_examples=100)
@given(data=st.data())
def test_any_bytes_have_the_same_tree(stem: str, data: st.DataObject) -> None:
    assert_same_trees(data.draw(st.binary(max_size=300)), stem, data.draw(params_of(stem)))


@pytest.mark.parametrize("stem", STEMS)
def test_damaged_vectors_have_the_same_tree(stem: str) -> None:
    dice = Random(stem)
    for _ in range(100):
        vector = dice.choice(VECTORS[stem])
        assert_same_trees(edited(dice, vector.file.read_bytes()), stem, vector.params)


def params_of(stem: str) -> st.SearchStrategy[tuple[Any, ...]]:
    """Parameters of a schema's root, as its class takes them."""
    return PARAMS.get(stem, st.just(VECTORS[stem][0].params))


def visit(stem: str, params: tuple[Any, ...], data: bytes) -> None:
    """Parse and ask for everything: nothing but a ConstructError may come of it."""
    try:
        tree_of(parse(stem, params, data, codecs=hooks()))
    except ConstructError:
        return


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_count_or_size_is_found_out_quickly(lie: str) -> None:
    stem, params, make = LIES[lie]
    data = make()
    with work.at_most(100_000), traced() as memory:
        visit(stem, params, data)
        peak = memory()[1]
    assert peak < BOUND


@pytest.mark.long(short=False)
def test_many_small_things_take_memory_in_proportion() -> None:
    """Headers of two bytes each: nothing has more parts to the byte."""
    body = bytes.fromhex("0000000101") + by_hand.varint(20_000) + bytes(40_000)
    data = by_hand.batch(0, [by_hand.varint(len(body)) + body])
    with traced() as memory:
        tree = KafkaLogSegment.parse(data)
        assert memory()[1] < 100_000
        assert len(tree.entries[0].body.content.records[0].body.headers) == 20_000
        assert memory()[1] < 400 * len(data)


def test_a_tree_is_its_fields() -> None:
    tree = KafkaRecordBatchV2.parse(vector("worked_example"), base_offset=0)
    assert tree.magic == tree["magic"] == 2
    assert "magic" in tree and "records" in tree and "nonsense" not in tree
    assert list(tree)[:3] == ["partition_leader_epoch", "magic", "crc"]
    assert tree == KafkaRecordBatchV2.parse(vector("worked_example"), base_offset=0)
    assert "compression='none'" in repr(tree)
    assert dict(tree) == dict(tree.items()) == {name: tree[name] for name in tree.keys()}  # noqa: SIM118
    with pytest.raises(AttributeError, match=r"no field 'num_record'.*did you mean 'num_records'"):
        _ = tree.num_record
    with pytest.raises(KeyError):
        _ = tree["nonsense"]


def vector(name: str) -> bytes:
    return next(v.file for v in VECTORS["kafka_record_batch_v2"] if v.name == name).read_bytes()


def test_what_is_absent_is_none() -> None:
    entry = KafkaLogSegment.parse(bytes(12)).entries[0]
    assert entry.body is None and entry.padding == b""
    assert "body" not in entry and "padding" in entry


def test_a_parameter_is_asked_for_when_it_is_needed() -> None:
    tree = KafkaRecordBatchV2.parse(vector("worked_example"))
    assert tree.num_records > 0
    with pytest.raises(ExpressionError, match="base_offset"):
        _ = tree.records


def test_declarations_work_within_others() -> None:
    """They are constructs: in structs, ranges and over streams that go on behind them."""
    data = b"\x0a" + vector("worked_example")
    whole = construct.Struct("head" / construct.Int8ub, "batch" / KafkaRecordBatchV2)
    assert whole.parse(data).batch.magic == 2
    pair = construct.Struct("first" / KafkaVarint, "second" / KafkaVarint, "rest" / construct.GreedyBytes)
    found = pair.parse(b"\x02\x80\x01rest")
    assert (found.first, found.second, found.rest) == (1, 64, b"rest")
    stream = BytesIO(data[1:50] + b"behind")
    assert construct.Struct("batch" / KafkaRecordBatchV2).parse_stream(stream).batch.magic == 2
    assert stream.read() == b"behind"
    assert KafkaRecordBatchV2.sizeof() == 49


def test_a_varint_knows_its_bytes() -> None:
    number = KafkaVarint.parse(b"\x80\x80\x00")
    assert (number, number.value, number.len, number.groups) == (0, 0, 3, [0x80, 0x80, 0])
    assert KafkaVarint.build(number) == b"\x80\x80\x00"
    assert KafkaVarint.build(0) == b"\x00"
    for wrong in (1 << 31, -(1 << 31) - 1, "1", None):
        with pytest.raises(ConstructError):
            KafkaVarint.build(wrong)
