"""A real S3 server, through a proxy that counts and hurts: the same records, bounded trouble, no secrets."""

from __future__ import annotations

import errno
import logging
import os
import pickle
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from tests import work
from tests.io import faults, server
from tests.io.conftest import BUCKET, RECORDED, settings_for
from tests.python import run_python

from kafka_segments import open_segment
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io import stored_files
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.readahead import LEN_PIECE
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.beside.index_files import read_offset_index
from kafka_segments.errors import ReadError, StoreError

pytestmark = pytest.mark.s3

SETS = sorted(path.relative_to(RECORDED).as_posix() for path in RECORDED.glob("kafka-*/*"))
LEN_LARGE = 50_000_000


@pytest.fixture(scope="module")
def large(store: server.Store) -> bytes:
    """An object of several pieces, no two of which are alike."""
    data = b"".join(number.to_bytes(8, "big") for number in range(LEN_LARGE // 8))
    (store.folder / "scratch" / "large").write_bytes(data)
    return data


def told_of(source: str | Source) -> tuple[list[str], pa.Table]:
    """Everything that reading says, with the path left out, and the records."""
    name = source if isinstance(source, str) else source.name
    with open_segment(source) as segment:
        events = [repr(event) for event in segment.iter_events(on_damage="skip")]
        damage: list[Damage] = []
        table = segment.read_batches(on_damage=damage.append).read_all()
    return [event.replace(name, "") for event in [*events, *map(repr, damage)]], table


@pytest.mark.parametrize("name", SETS)
def test_recorded_sets_read_the_same_from_s3(name: str, store: server.Store) -> None:
    places = Places(settings_for(f"127.0.0.1:{store.port}"))
    paths = sorted((RECORDED / name).rglob("*.log"))
    assert paths
    for path in paths:
        address = f"s3a://{BUCKET}/{path.relative_to(RECORDED).as_posix()}"
        source = places.open(address)
        assert (source.name, source.size) == (address, path.stat().st_size)
        assert told_of(source) == told_of(str(path))
        source.close()


def test_indexes_are_read_from_s3(places: Places, proxy: faults.Proxy) -> None:
    path = max(RECORDED.rglob("*.index"), key=lambda path: path.stat().st_size)
    source = places.open(f"s3a://{BUCKET}/{path.relative_to(RECORDED).as_posix()}")
    found, expected = read_offset_index(source), read_offset_index(path)
    assert (found.offsets, found.positions) == (expected.offsets, expected.positions)
    assert [asked.method for asked in proxy.asked] == ["HEAD", "GET"]


def test_a_listing_is_that_of_the_directory(places: Places) -> None:
    local = Places()
    for name in ["", *SETS[:2], "kafka-4.3/clean/shapes-0"]:
        found = places.entries(f"s3a://{BUCKET}/{name}")
        expected = local.entries(str(RECORDED / name))
        assert [(one.name, one.is_directory, one.size) for one in found] == [
            (one.name, one.is_directory, one.size) for one in expected
        ]
        assert [one.path for one in found] == [
            f"s3a://{BUCKET}/{name}/{one.name}".replace(f"{BUCKET}//", f"{BUCKET}/") for one in expected
        ]
        for one in found:
            again = places.entry(one.path)
            assert again is not None
            assert (again.path, again.is_directory, again.identity) == (
                one.path,
                one.is_directory,
                one.identity,
            )
            if not one.is_directory:
                source = places.open(one.path)
                assert (source.size, source.identity) == (one.size, one.identity)
                source.close()


def test_what_is_not_there_is_none_or_an_error(places: Places) -> None:
    missing = f"s3a://{BUCKET}/nothing/here"
    assert places.entry(missing) is None
    for ask in (places.entries, places.open):
        with pytest.raises(ReadError, match="does not exist") as caught:
            ask(missing)
        assert (caught.value.path, caught.value.errno) == (missing, errno.ENOENT)
    with pytest.raises(ReadError, match="directory"):
        places.open(f"s3a://{BUCKET}/kafka-4.3/")
    with pytest.raises(ReadError, match="does not exist"):
        places.open(f"s3a://{BUCKET}/kafka-4.3")


def test_many_objects_are_listed_page_by_page(
    store: server.Store, places: Places, proxy: faults.Proxy
) -> None:
    folder = store.folder / "scratch" / "many"
    folder.mkdir()
    for number in range(2500):
        (folder / f"{number:020}.log").touch()
    found = places.entries("s3a://scratch/many")
    assert [entry.name for entry in found] == [f"{number:020}.log" for number in range(2500)]
    assert [asked.method for asked in proxy.asked] == ["GET"] * 3


def test_a_name_that_no_path_can_have_is_an_error(store: server.Store, places: Places) -> None:
    folder = store.folder / "scratch" / "odd"
    folder.mkdir()
    (folder / "a\tb").touch()
    with pytest.raises(StoreError, match="scratch/odd: the store failed"):
        places.entries("s3a://scratch/odd")


def read_through(source: Source, data: bytes, step: int = 4 << 20) -> None:
    buffer = memoryview(bytearray(step))
    for position in range(0, len(data), step):
        size = min(step, len(data) - position)
        assert source.window(position, size, buffer) == data[position : position + size]


def test_requests_are_few(
    large: bytes,
    places: Places,
    proxy: faults.Proxy,
    tell: Callable[[str, Mapping[str, int]], None],
) -> None:
    source = places.open("s3a://scratch/large")
    source.read(0, 61)
    source.read(61, 100)
    assert [(asked.method, asked.length) for asked in proxy.asked] == [("HEAD", 0), ("GET", 64 << 10)]
    read_through(source, large)
    source.close()
    gets = proxy.of("GET")
    assert sum(asked.length for asked in gets) == LEN_LARGE  # each byte once
    assert len(gets) <= LEN_LARGE / LEN_PIECE + 4
    assert len(proxy.of("HEAD")) == 1  # to open it: each range says itself which object it is of
    title = "requests to a store"
    tell(title, {"for a look at a header": 2, "for 50 MB from front to back": len(proxy.asked)})


def test_a_hinted_end_bounds_what_is_got(large: bytes, places: Places, proxy: faults.Proxy) -> None:
    source = places.open("s3a://scratch/large", 10_000_000)
    read_through(source, large[:10_000_000])
    assert sum(asked.length for asked in proxy.of("GET")) == 10_000_000


def only_gets(asked: faults.Asked) -> bool:
    return asked.method == "GET" and asked.first is not None


@pytest.mark.parametrize("status", [503, 500])
def test_a_busy_store_is_asked_again(status: int, large: bytes, places: Places, proxy: faults.Proxy) -> None:
    proxy.concerns = only_gets
    proxy.faults = [faults.refused(status, "SlowDown")] * 7
    source = places.open("s3a://scratch/large")
    started = time.monotonic()
    assert source.read(8_000, 16) == large[8_000:8_016]
    assert len(proxy.of("GET")) == 8
    assert time.monotonic() - started > 0.3  # it backed off


def test_a_store_that_stays_busy_is_given_up(proxy: faults.Proxy, large: bytes) -> None:
    places = Places(settings_for(proxy.address), patience=4)
    source = places.open("s3a://scratch/large")
    proxy.faults = [faults.refused(503, "SlowDown")] * 100  # then it answers
    with pytest.raises(StoreError, match=r"503.* in 4 s|did not answer completely within 4 s") as caught:
        source.read(0, 16)
    assert caught.value.path == "s3a://scratch/large"


def test_a_busy_store_is_asked_again_for_listings_and_looks(places: Places, proxy: faults.Proxy) -> None:
    proxy.faults = [faults.refused(503, "SlowDown")] * 4
    assert places.entries(f"s3a://{BUCKET}")
    proxy.faults = [faults.refused(503, "SlowDown")] * 4
    assert places.entry(f"s3a://{BUCKET}/kafka-4.3") is not None


def test_cut_connections_are_read_on_from_where_they_broke(
    large: bytes, places: Places, proxy: faults.Proxy
) -> None:
    source = places.open("s3a://scratch/large")
    proxy.concerns = lambda asked: only_gets(asked) and asked.length > 1 << 20
    proxy.faults = [faults.cut(1 << 20)] * 14
    read_through(source, large)
    assert proxy.faults == []
    # What came was kept.
    starts = [asked.first for asked in proxy.of("GET")]
    assert len(set(starts)) == len(starts)
    assert sum(asked.length for asked in proxy.of("GET")) < 4 * LEN_LARGE


def test_a_slow_store_is_waited_for(large: bytes, places: Places, proxy: faults.Proxy) -> None:
    source = places.open("s3a://scratch/large")
    proxy.faults = [faults.waited(1.0)] * 4
    read_through(source, large)
    assert proxy.faults == []


def test_what_a_silent_connection_lacks_is_requested_again(
    large: bytes, places: Places, proxy: faults.Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_files, "_SILENCE", 2.0)
    source = places.open("s3a://scratch/large")
    proxy.concerns = lambda asked: only_gets(asked) and asked.length > 1 << 20
    proxy.faults = [faults.stalled(1 << 20)] * 2
    read_through(source, large)
    assert proxy.faults == []
    assert sum(asked.length for asked in proxy.of("GET")) < LEN_LARGE + 2 * LEN_PIECE


def test_a_stalled_connection_ends_in_time(large: bytes, proxy: faults.Proxy) -> None:
    source = Places(settings_for(proxy.address), patience=3).open("s3a://scratch/large")
    proxy.concerns = only_gets
    proxy.faults = [faults.stalled(1000)] * 10  # then it answers
    with pytest.raises(StoreError, match="did not answer completely within 3 s") as caught:
        source.read(0, 1 << 20)
    assert caught.value.errno == errno.ETIMEDOUT
    proxy.released.set()


@pytest.mark.parametrize("status", [400, 403])
def test_an_expired_token_ends_it_at_once(
    status: int, large: bytes, places: Places, proxy: faults.Proxy
) -> None:
    source = places.open("s3a://scratch/large")
    buffer = memoryview(bytearray(4 << 20))
    source.window(0, 4 << 20, buffer)
    num_asked = len(proxy.asked)
    proxy.faults = [faults.refused(status, "ExpiredToken")] * 1000
    with pytest.raises(StoreError, match=r"expired.*Renew the token") as caught:
        read_through(source, large)
    assert (caught.value.path, caught.value.errno) == ("s3a://scratch/large", errno.EACCES)
    assert len(proxy.asked) - num_asked <= 6
    for ask in (places.open, places.entries, places.entry):
        with pytest.raises(StoreError, match="Renew the token"):
            ask("s3a://scratch/large")


def test_trouble_of_the_store_is_never_damage(store: server.Store, proxy: faults.Proxy) -> None:
    path = max(RECORDED.rglob("*.log"), key=lambda path: path.stat().st_size)
    data = path.read_bytes()
    (store.folder / "scratch" / "repeated.log").write_bytes(data * (8_000_000 // len(data)))
    places = Places(settings_for(proxy.address), patience=work.HANGS)
    for read in (
        lambda segment: list(segment.iter_events(on_damage="skip")),
        lambda segment: segment.read_batches(on_damage="skip").read_all(),
        lambda segment: segment.read_headers(on_damage="skip"),
    ):
        proxy.faults = []
        source = places.open("s3a://scratch/repeated.log")
        with open_segment(source) as segment:
            proxy.faults = [faults.refused(403, "ExpiredToken")] * 1000
            with pytest.raises(StoreError, match="Renew the token"):
                read(segment)
        source.close()


@pytest.mark.parametrize("same_size", [True, False])
def test_an_object_that_is_overwritten_is_found_out(
    same_size: bool, store: server.Store, places: Places, proxy: faults.Proxy
) -> None:
    path = store.folder / "scratch" / "changing"
    path.write_bytes(b"a" * LEN_LARGE)
    os.utime(path, (1e9, 1e9))
    source = places.open("s3a://scratch/changing")
    buffer = memoryview(bytearray(4 << 20))
    assert source.window(0, 64 << 10, buffer) == b"a" * (64 << 10)
    after = path.with_name("new")
    after.write_bytes(b"b" * (LEN_LARGE if same_size else LEN_LARGE + 1))
    after.rename(path)
    with pytest.raises(StoreError, match="overwritten") as caught:
        source.window(64 << 10, 4 << 20, buffer)
    assert caught.value.errno == errno.ESTALE


def test_an_object_that_has_become_shorter_is_found_out(store: server.Store, places: Places) -> None:
    path = store.folder / "scratch" / "shorter"
    path.write_bytes(b"a" * 100_000)
    source = places.open("s3a://scratch/shorter")
    path.write_bytes(b"b" * 1_000)
    with pytest.raises(StoreError, match="overwritten"):
        source.read(0, 100_000)


def test_an_object_that_has_vanished_is_an_error(store: server.Store, places: Places) -> None:
    path = store.folder / "scratch" / "vanishing"
    path.write_bytes(b"a" * 100_000)
    source = places.open("s3a://scratch/vanishing")
    path.unlink()
    with pytest.raises(StoreError, match="does not exist") as caught:
        source.read(0, 100_000)
    assert caught.value.errno == errno.ENOENT


def wrong_ways(address: str) -> Iterator[tuple[Places, str]]:
    yield Places(settings_for(address, secret__key="canary-wrong-1"), patience=2), f"s3a://{BUCKET}"
    yield Places(settings_for(address, access__key="canary-wrong-2"), patience=2), f"s3a://{BUCKET}"
    yield Places(settings_for(address, session__token="canary-wrong-3"), patience=2), "s3a://none-such"
    yield Places(settings_for("127.0.0.1:1"), patience=2), f"s3a://{BUCKET}"


def test_no_secret_is_told(
    proxy: faults.Proxy, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    texts, num_errors = [], 0
    for places, address in wrong_ways(proxy.address):
        texts.append(repr(places) + repr(places.__class__) + str(places))
        for ask in (places.entries, places.entry, places.open):
            try:
                ask(f"{address}/kafka-4.3/none")
            except (ReadError, StoreError) as error:
                num_errors += 1
                texts.append("".join(traceback.format_exception(error)) + repr(error))
                texts.append(repr(pickle.dumps(error)))
    captured = capfd.readouterr()
    told = "".join([*texts, caplog.text, captured.out, captured.err])
    assert num_errors >= 9
    assert "canary" not in told


def test_keys_of_a_profile_are_used(
    store: server.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("boto3", reason="needs boto3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "keys").write_text(
        f"[default]\naws_access_key_id = {server.ACCESS_KEY}\naws_secret_access_key = {server.SECRET_KEY}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
    endpoint = {"fs.s3a.endpoint": f"http://127.0.0.1:{store.port}"}
    assert Places(endpoint).entries(f"s3a://{BUCKET}")
    monkeypatch.setenv("AWS_PROFILE", "another")
    region = {"fs.s3a.endpoint.region": "us-east-1"}  # another store than the one above, which is kept
    with pytest.raises(StoreError, match=r"no credentials were found.*another"):
        Places(endpoint | region).entries(f"s3a://{BUCKET}")


def test_places_travel_to_other_processes(store: server.Store) -> None:
    places = Places(settings_for(f"127.0.0.1:{store.port}"))
    places.entries(f"s3a://{BUCKET}")
    again = pickle.loads(pickle.dumps(places))
    assert [one.name for one in again.entries(f"s3a://{BUCKET}")]


def test_a_process_ends_whatever_is_under_way(large: bytes, proxy: faults.Proxy) -> None:
    """Read-ahead that nobody waits for any more does not keep a worker alive."""
    program = (
        "import pickle, sys; places = pickle.loads(sys.stdin.buffer.read());"
        "source = places.open('s3a://scratch/large'); buffer = memoryview(bytearray(4 << 20));"
        "source.window(0, 4 << 20, buffer); source.window(4 << 20, 1 << 20, buffer); print('read')"
    )
    proxy.concerns = lambda asked: (asked.first or 0) >= 2 * LEN_PIECE
    proxy.faults = [faults.stalled(1000)] * 1000  # for longer than anybody waits
    places = pickle.dumps(Places(settings_for(proxy.address), patience=10 * work.HANGS))
    done = run_python("-c", program, input=places, timeout=work.HANGS, text=False)
    assert done.stdout == b"read\n"


def test_the_server_is_the_pinned_one() -> None:
    told = subprocess.run([str(server.binary()), "--version"], capture_output=True, text=True).stdout
    assert "Version" in told
    assert Path(server.binary()).parent.name in server.module()
