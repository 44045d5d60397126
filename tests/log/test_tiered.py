"""Tiered segments are found, opened and read as the broker had them, or refused by name."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.log.memory import MemoryPlaces
from tests.log.tiers import TOPIC_ID, aivens, bounds, copy_of, epochs_up_to, kafkas

from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.beside.index_files import read_leader_epochs, read_producer_snapshot
from kafka_segments.errors import OptionError, ReadError
from kafka_segments.log.discovery import FileOptions, discover
from kafka_segments.log.log_end import find_end
from kafka_segments.log.model import PartitionCopy, StoredSegment
from kafka_segments.log.opening import ZSTD_CHUNKS, open_beside, open_file, open_segment_of, open_stored
from kafka_segments.log.replicas import resolve

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded" / "kafka-4.3"
MULTI = RECORDED / "before-cleaning" / "compact-multi-0"
BOTH = pytest.mark.parametrize("make", [kafkas, aivens])

Make = Callable[..., Path]


def find(*paths: object, **options: Any) -> list[PartitionCopy]:
    return discover(Places(), map(str, paths), FileOptions(**options))


def read(places: Places, segment: StoredSegment) -> bytes:
    source = open_stored(places, segment)
    try:
        return bytes(source.read(0, source.size))
    finally:
        source.close()


@BOTH
@pytest.mark.parametrize(
    "name", ["before-cleaning/compact-multi-0", "clean/transactions-0", "clean/deleted-head-0"]
)
def test_a_tier_has_what_the_broker_had(tmp_path: Path, make: Make, name: str) -> None:
    original = copy_of(RECORDED / name)
    directory = make(original, tmp_path)
    (copy,) = find(tmp_path)
    assert (copy.topic, copy.partition, copy.topic_id) == (original.topic, original.partition, TOPIC_ID)
    assert (copy.path, copy.is_tiered, copy.findings) == (str(directory), True, ())
    assert len(copy.segments) == len(original.segments) - 1 > 0
    ends = [one.end_offset for one in copy.segments]
    assert ends == ([None] * len(ends) if make is kafkas else [end for _, end in bounds(original)])
    assert sum(one.form == "plain" for one in copy.segments) == (len(ends) if make is kafkas else 0)
    for stored, one in zip(copy.segments, original.segments, strict=False):
        plain = Path(one.file.path)
        assert stored.base_offset == one.base_offset
        assert stored.size == one.file.size
        assert read(Places(), stored) == plain.read_bytes()
        assert find_end(Places(), stored).end_offset == find_end(Places(), one).end_offset
        for suffix in ("index", "timeindex", "txnindex"):
            source = open_beside(Places(), stored, suffix)
            path = plain.with_suffix(f".{suffix}")
            if source is None:
                assert not path.exists() or path.stat().st_size == 0
            else:
                assert bytes(source.read(0, source.size)) == path.read_bytes()
        end = read_producer_snapshot(open_file(Places(), stored.beside["end-snapshot"]))
        assert end == read_producer_snapshot(plain.parent / f"{one.end_offset:020}.snapshot")
        epochs = read_leader_epochs(open_file(Places(), stored.beside["leader-epoch-checkpoint"]))
        assert one.end_offset is not None
        assert list(epochs) == epochs_up_to(original, -1, one.end_offset)
        start = one.base_offset if make is aivens else -1
        assert stored.leader_epochs == tuple(epochs_up_to(original, start, one.end_offset))


def test_the_next_segments_snapshot_is_that_of_the_ones_end(tmp_path: Path) -> None:
    original = copy_of(MULTI)
    aivens(original, tmp_path)
    (copy,) = find(tmp_path)
    for before, segment in zip(copy.segments, copy.segments[1:], strict=False):
        assert segment.beside["snapshot"] == before.beside["end-snapshot"]
        snapshot = read_producer_snapshot(open_file(Places(), segment.beside["snapshot"]))
        assert snapshot == read_producer_snapshot(MULTI / f"{segment.base_offset:020}.snapshot")
    assert "snapshot" not in copy.segments[0].beside


@BOTH
def test_a_tier_and_a_broker_make_one_log(tmp_path: Path, make: Make) -> None:
    original = copy_of(MULTI)
    make(original, tmp_path / "tier")
    local = tmp_path / "broker" / "compact-multi-0"
    shutil.copytree(MULTI, local)
    for base, _ in bounds(original)[:-1]:  # a broker deletes what was uploaded
        for path in local.glob(f"{base:020}.*"):
            path.unlink()
    (local / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
    (log,) = resolve(Places(), find(tmp_path / "tier", tmp_path / "broker"))
    assert [(piece.start, piece.end) for piece in log.pieces] == [
        (one.base_offset, one.end_offset) for one in original.segments
    ]
    where = ["tier" if "/tier/" in piece.segment.file.path else "broker" for piece in log.pieces]
    assert where == ["tier"] * (len(where) - 2) + ["broker"] * 2
    assert [bool(piece.others) for piece in log.pieces] == [False] * (len(where) - 2) + [True, False]
    assert log.leader_epochs == original.leader_epochs
    (local / "partition.metadata").write_text("version: 0\ntopic_id: MWJ6FHTfRYy67jzwZdeqSQ")
    with pytest.raises(OptionError, match="two topics of one name"):
        resolve(Places(), find(tmp_path / "tier", tmp_path / "broker"))


@BOTH
def test_where_a_tier_may_be_given(tmp_path: Path, make: Make) -> None:
    directory = make(copy_of(MULTI), tmp_path / "prefix")
    log = sorted(directory.glob("*.log"))[1]
    whole = find(directory)[0].segments
    given = [tmp_path / "prefix", directory, tmp_path / "prefix" / "*", directory / "*.log"]
    if make is aivens:
        given += [directory.parent]
    for path in given:
        assert [copy.segments for copy in find(path)] == [whole], path
    assert find(tmp_path, recursive=True)[0].segments == whole
    for path in (log, log.with_suffix(".rsm-manifest") if make is aivens else log):
        (copy,) = find(path)
        assert [one.file.path for one in copy.segments] == [str(log)]
    with pytest.raises(OptionError, match="no segments here"):
        find(tmp_path)


@BOTH
def test_file_options_choose_segments_of_tiers_too(tmp_path: Path, make: Make) -> None:
    directory = make(copy_of(MULTI), tmp_path)
    for path in directory.glob("*.log"):
        os.utime(path, (100, 100))
    newest = max(directory.glob("*.log"))
    os.utime(newest, (200, 200))
    (copy,) = find(tmp_path, modified_after=150 * 10**9)
    assert [one.file.path for one in copy.segments] == [str(newest)]
    assert {one.detail for one in copy.findings} == {"modifiedAfter"}
    (copy,) = find(tmp_path, path_glob_filter="0000000000000000000*.log")
    assert all(one.base_offset < 10 for one in copy.segments)


@pytest.mark.parametrize(
    ("make", "gone", "why"),
    [
        (kafkas, "snapshot", "there is no .snapshot"),
        (kafkas, "leader_epoch_checkpoint", "there is no .leader_epoch_checkpoint"),
        (aivens, "rsm-manifest", "there is no .rsm-manifest"),
        (aivens, "log", "there is no .log"),
    ],
)
def test_uploads_that_were_not_completed(tmp_path: Path, make: Make, gone: str, why: str) -> None:
    directory = make(copy_of(MULTI), tmp_path)
    first = min(directory.glob(f"*.{gone}"))
    first.unlink()
    (copy,) = find(tmp_path)
    assert copy.segments[0].base_offset > 0
    (left,) = copy.findings
    assert (left.first_offset, left.last_offset) == (0, None)
    assert why in left.detail


@BOTH
def test_an_upload_that_was_repeated_counts_once(tmp_path: Path, make: Make) -> None:
    original = copy_of(MULTI)
    make(original, tmp_path)
    make(original, tmp_path, first_id=100)
    (copy,) = find(tmp_path)
    assert len(copy.segments) == 2 * (len(original.segments) - 1)
    (log,) = resolve(Places(), [copy])
    expected: list[tuple[int, int | None]] = [*bounds(original)]
    if make is kafkas:  # what has no end noted goes on to the file's end
        expected[-1] = expected[-1][0], None
    assert [(piece.start, piece.end) for piece in log.pieces] == expected
    assert all(len(piece.others) == 1 for piece in log.pieces)


def test_a_tiers_segment_of_a_history_that_was_left(tmp_path: Path) -> None:
    """A leader that was cut back had uploaded more than the log has."""
    original = copy_of(MULTI)
    directory = aivens(original, tmp_path)
    (base, end), *_ = bounds(original)
    manifest_path = min(directory.glob("*.rsm-manifest"))
    cut = base + 10
    for path in directory.glob("*.rsm-manifest"):
        manifest = json.loads(path.read_text())
        manifest["remoteLogSegmentMetadata"]["segmentLeaderEpochs"] = (
            {"0": base} if path == manifest_path else {"0": base, "1": cut}
        )
        path.write_text(json.dumps(manifest))
    (log,) = resolve(Places(), find(tmp_path))
    assert (log.pieces[0].start, log.pieces[0].end) == (base, cut)
    assert [(one.first_offset, one.last_offset) for one in log.findings] == [(cut, end - 1)]


def test_a_tiers_segments_behind_a_network_are_asked_for_at_once(tmp_path: Path) -> None:
    directory = aivens(copy_of(MULTI), tmp_path)
    files = {f"s3a://b/{path.relative_to(tmp_path)}": path.read_bytes() for path in directory.iterdir()}
    places = MemoryPlaces(files)
    (copy,) = discover(places, ["s3a://b"])
    (local,) = find(tmp_path)
    assert [read(places, one) for one in copy.segments] == [read(Places(), one) for one in local.segments]
    num_opened = sum(word == "open" and path.endswith(".rsm-manifest") for word, path in places.asked)
    assert num_opened == len(copy.segments)


@pytest.mark.parametrize("len_chunk", [1, 7, 61, 1000, 4096, 1 << 20])
def test_chunks_of_all_sizes(tmp_path: Path, len_chunk: int) -> None:
    original = copy_of(RECORDED / "clean" / "transactions-0")
    aivens(original, tmp_path, len_chunk=len_chunk)
    (copy,) = find(tmp_path)
    for stored, one in zip(copy.segments, original.segments, strict=False):
        assert stored.form == ZSTD_CHUNKS
        with open_segment_of(Places(), stored) as segment:
            found = [entry for entry in segment.iter_entries() if isinstance(entry, Batch)]
        with open_segment_of(Places(), one) as segment:
            expected = [entry for entry in segment.iter_entries() if isinstance(entry, Batch)]
        assert [(batch.position, batch.crc) for batch in found] == [
            (batch.position, batch.crc) for batch in expected
        ]


def test_what_is_stored_as_it_was_is_read_as_it_is(tmp_path: Path) -> None:
    aivens(copy_of(MULTI), tmp_path, compression=False)
    (copy,) = find(tmp_path)
    assert {segment.form for segment in copy.segments} == {"plain"}
    assert {segment.chunks for segment in copy.segments} == {None}
    assert read(Places(), copy.segments[0]) == (MULTI / f"{0:020}.log").read_bytes()


@given(data=st.data())
def test_any_part_of_a_segment_in_chunks(data: st.DataObject) -> None:
    stored, plain, source = in_memory(100)
    position = data.draw(st.integers(0, len(plain)))
    size = data.draw(st.integers(0, len(plain) - position))
    assert source.size == len(plain) == stored.size
    assert bytes(source.read(position, size)) == plain[position : position + size]
    assert (
        bytes(source.window(position, size, memoryview(bytearray(size)))) == plain[position : position + size]
    )


@lru_cache
def chunked_files(len_chunk: int) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        directory = aivens(copy_of(MULTI), Path(name), len_chunk=len_chunk)
        return {f"m:/{path.relative_to(name)}": path.read_bytes() for path in directory.iterdir()}


def in_memory(
    len_chunk: int, edit: Callable[[dict[str, Any]], object] | None = None, cut: int = 0
) -> tuple[StoredSegment, bytes, Source]:
    """A segment in chunks, its bytes, and the opened source."""
    files = dict(chunked_files(len_chunk))
    for path, data in files.items():
        if path.endswith("manifest") and edit is not None:
            manifest = json.loads(data)
            edit(manifest)
            files[path] = json.dumps(manifest).encode()
        if path.endswith(".log") and cut:
            files[path] = data[:-cut]
    places = MemoryPlaces(files)
    (copy,) = discover(places, [f"m:/compact-multi-{TOPIC_ID}"])
    stored = copy.segments[0]
    return stored, (MULTI / f"{0:020}.log").read_bytes(), open_stored(places, stored)


def test_threads_share_a_segment_in_chunks() -> None:
    _, plain, source = in_memory(100)
    wrong: list[int] = []

    def work(step: int) -> None:
        for at in range(0, len(plain) - 50, step):
            if bytes(source.read(at, 50)) != plain[at : at + 50]:
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(step,)) for step in (31, 97, 211)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_chunk_that_is_damaged_is_like_a_bad_sector(tmp_path: Path) -> None:
    directory = aivens(copy_of(RECORDED / "clean" / "multi-0"), tmp_path, len_chunk=1000)
    path = min(directory.glob("*.log"))
    (copy,) = find(tmp_path)
    stored = copy.segments[0]
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(
        ReadError, match=r"chunk \d+, stored at position \d+: zstd payload does not decompress"
    ) as error:
        read(Places(), stored)
    assert error.value.position is not None
    assert error.value.position % 1000 == 0
    with open_segment_of(Places(), stored) as segment:
        entries = list(segment.iter_entries(on_damage="skip"))
    (damage,) = [entry for entry in entries if isinstance(entry, Damage)]
    assert damage.position < error.value.position + 1000
    assert damage.end_position > error.value.position
    sound = [entry for entry in entries if isinstance(entry, Batch)]
    assert sound[0].position == 0
    assert sound[-1].end_position == stored.size
