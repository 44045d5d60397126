"""Manifests of Aiven's tiered storage: what they say, and what of it cannot be."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.log.test_tiered import MULTI, find, in_memory
from tests.log.tiers import aivens, copy_of, encoded_sizes
from tests.python import traced

from kafka_segments.core import formats
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.errors import DecodeError, KafkaFormatError, OptionError, ReadError, UnknownFormatError
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_stored
from kafka_segments.log.tiers import read_manifest


def other_sizes(manifest: dict[str, Any]) -> None:
    manifest["chunkIndex"]["originalChunkSize"] = 50


@pytest.mark.parametrize(
    ("edit", "cut", "says"),
    [
        (None, 1, "was it copied completely?"),
        (other_sizes, 0, "chunks, but .* bytes make"),
        (lambda manifest: manifest["chunkIndex"].update(originalChunkSize=0), 0, "chunks of 0 bytes"),
        (
            lambda manifest: manifest["chunkIndex"].update(originalChunkSize=1 << 30),
            0,
            "chunks of 1073741824 bytes",
        ),
        (lambda manifest: manifest["chunkIndex"].update(transformedChunks="?"), 0, "not base64"),
        (lambda manifest: manifest["chunkIndex"].update(transformedChunks="AAAA"), 0, "cannot be read"),
    ],
)
def test_manifests_that_do_not_fit(
    edit: Callable[[dict[str, Any]], None] | None, cut: int, says: str
) -> None:
    with pytest.raises(DecodeError, match=says) as error:
        in_memory(100, edit, cut)
    assert str(error.value.path).endswith(".log")


def test_a_chunk_of_another_size_than_the_manifest_says() -> None:
    _, plain, source = in_memory(
        100,
        lambda manifest: manifest["chunkIndex"].update(
            originalFileSize=manifest["chunkIndex"]["originalFileSize"] - 1
        ),
    )
    with pytest.raises(ReadError, match=r"decompress.* more than|according to the manifest"):
        source.read(source.size - 1, 1)
    assert bytes(source.read(0, 100)) == plain[:100]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda m: m.update(version="2"), "'2' - at `.*version`"),
        (lambda m: m.pop("version"), "missing required field `version`"),
        (lambda m: m.pop("compression"), "missing required field `compression`"),
        (lambda m: m["chunkIndex"].update(originalFileSize=-1), "`int` >= 0 - at `.*originalFileSize`"),
        (lambda m: m["chunkIndex"].update(originalFileSize=True), "got `bool` - at `.*originalFileSize`"),
        (lambda m: m["chunkIndex"].update(type="fixed"), "with 'fixed' chunks"),
        (lambda m: m.update(segmentIndexes=[]), "got `array` - at `.*segmentIndexes`"),
        (
            lambda m: m["segmentIndexes"].update(offset={"position": "0"}),
            "got `str` - at `.*offset.position`",
        ),
        (
            lambda m: m["remoteLogSegmentMetadata"].update(segmentLeaderEpochs={"x": 1}),
            "got `str` - at `key` in `.*segmentLeaderEpochs`",
        ),
        (lambda m: m["remoteLogSegmentMetadata"].update(startOffset=None), "got `null` - at `.*startOffset`"),
    ],
)
def test_manifests_that_are_none(tmp_path: Path, edit: Callable[[dict[str, Any]], None], says: str) -> None:
    directory = aivens(copy_of(MULTI), tmp_path)
    path = min(directory.glob("*.rsm-manifest"))
    manifest = json.loads(path.read_text())
    edit(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(DecodeError, match=says) as error:
        find(tmp_path)
    assert error.value.path == str(path)
    # Who does not want that segment is not bothered with its manifest.
    assert find(tmp_path, path_glob_filter="0000000000000000001*")


def test_encrypted_segments_are_refused_by_name(tmp_path: Path) -> None:
    directory = aivens(copy_of(MULTI), tmp_path)
    path = min(directory.glob("*.rsm-manifest"))
    manifest = json.loads(path.read_text())
    manifest["encryption"] = {"dataKey": "key-1:c2VjcmV0", "aad": "CgsMDQ=="}
    path.write_text(json.dumps(manifest))
    with pytest.raises(
        UnknownFormatError, match=r"encrypted .*AES-GCM, the key wrapped by the RSA key 'key-1'"
    ) as error:
        find(tmp_path)
    assert error.value.path == str(path)
    assert "c2VjcmV0" not in str(error.value)


def test_the_manifest_in_aivens_own_test() -> None:
    """The text that SegmentManifestV1SerdeTest expects, and what is in it."""
    text = (
        '{"version":"1","chunkIndex":{"type":"fixed","originalChunkSize":100,"originalFileSize":1000,'
        '"transformedChunkSize":110,"finalTransformedChunkSize":110},"segmentIndexes":{'
        '"offset":{"position":0,"size":1},"timestamp":{"position":1,"size":1},'
        '"producerSnapshot":{"position":2,"size":1},"leaderEpoch":{"position":3,"size":1},'
        '"transaction":null},"compression":false,"remoteLogSegmentMetadata":{"remoteLogSegmentId":{'
        '"topicIdPartition":{"topicId":"lZ6vvmajTWKDBUTV6SQAtQ","topicPartition":{"topic":"topic1","partition":42}},'
        '"id":"adh9f8BMS4anaUnD8KWfWg"},"startOffset":0,"endOffset":1000,"maxTimestampMs":1000000000,"brokerId":2,'
        '"eventTimestampMs":2000000000,"segmentLeaderEpochs":{"0":100,"1":200,"2":300}}}'
    )
    manifest = read_manifest(text.encode())
    assert (manifest.size, manifest.chunks, manifest.base_offset, manifest.end_offset) == (
        1000,
        None,
        0,
        1001,
    )
    assert manifest.leader_epochs == (LeaderEpoch(0, 100), LeaderEpoch(1, 200), LeaderEpoch(2, 300))
    assert manifest.indexes == {
        "index": (0, 1),
        "timeindex": (1, 1),
        "end-snapshot": (2, 1),
        "leader-epoch-checkpoint": (3, 1),
    }


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.dictionaries(
            st.sampled_from(["version", "chunkIndex", "compression", "segmentIndexes", "type", "encryption"]),
            inner,
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_are_a_manifest_or_our_error(data: bytes) -> None:
    with contextlib.suppress(KafkaFormatError):
        read_manifest(data)


@given(st.lists(st.integers(0, 2**31 - 1), max_size=50))
def test_sizes_of_chunks_come_back(sizes: list[int]) -> None:
    assert formats.read_chunk_sizes(encoded_sizes(sizes)) == tuple(sizes)


@given(st.binary(max_size=60))
def test_any_bytes_are_sizes_of_chunks_or_our_error(data: bytes) -> None:
    with contextlib.suppress(DecodeError):
        assert all(size >= 0 for size in formats.read_chunk_sizes(data))


def test_a_form_that_is_not_known(tmp_path: Path) -> None:
    aivens(copy_of(MULTI), tmp_path)
    stored = find(tmp_path)[0].segments[0]
    with pytest.raises(OptionError, match="stored as 'rar' cannot be read"):
        open_stored(Places(), StoredSegment(stored.file, 0, form="rar"))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"[" + b"[]," * (16 << 20) + b"[]]", "a manifest of 50331652 bytes and .*; 16777216 and"),
        (b"[" + b"[]," * (5 << 20) + b"[]]", "and 10485762 values; 16777216 and 65536 at most"),
    ],
)
def test_manifests_larger_than_any_are_refused_before_they_are_parsed(data: bytes, says: str) -> None:
    with traced() as memory:
        with pytest.raises(DecodeError, match=says):
            read_manifest(data)
        assert memory()[1] < 17 << 20  # the text itself


def test_as_many_leader_epochs_as_brokers_write_are_read(tmp_path: Path) -> None:
    directory = aivens(copy_of(MULTI), tmp_path)
    manifest = json.loads(min(directory.glob("*.rsm-manifest")).read_text())
    manifest["remoteLogSegmentMetadata"]["segmentLeaderEpochs"] = {str(n): n for n in range(50_000)}
    epochs = read_manifest(json.dumps(manifest).encode()).leader_epochs
    assert epochs is not None and len(epochs) == 50_000
