"""`schemas export --webide`: what is in the folder of a user's files, under which names, cut where."""

from __future__ import annotations

import gzip
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.made.build import patched

import kafka_segments
from kafka_segments.cli import webide_export
from kafka_segments.cli.exported_files import read_webide_files
from kafka_segments.cli.main import main

ROOT = Path(__file__).parents[2]
CLEAN = ROOT / "tests/vectors/recorded/kafka-4.3/clean"
FIRST = f"{0:020}.log"


def export(*given: Path | str, into: str = "made") -> int:
    """The exit status of the command."""
    return main(["schemas", "export", "--webide", into, *map(str, given)])


def entries_of(path: Path) -> list[kafka_segments.Batch]:
    """The entries of a sound file."""
    with kafka_segments.open_segment(path) as segment:
        return [entry for entry in segment.iter_entries() if isinstance(entry, kafka_segments.Batch)]


def own(folder: Path) -> set[str]:
    """The files that are not of the bundle."""
    return {path.name for path in folder.iterdir()} - read_webide_files().keys()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_files_it_is_the_bundle(here: Path) -> None:
    assert export() == 0
    for name, content in read_webide_files().items():
        assert (here / "made" / name).read_bytes() == content
        assert (ROOT / "generated" / "webide" / name).read_bytes() == content


def test_a_segment_comes_with_what_is_beside_it(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = CLEAN / "transactions-0"
    given = source / f"{7:020}.log"
    assert export(given, CLEAN / "append-time-0" / FIRST) == 0
    made = here / "made"
    stem = f"transactions-0-{7:020}"
    beside = {f"{stem}{suffix}" for suffix in (".index", ".timeindex", ".txnindex", ".snapshot")}
    in_partition = {
        f"{name}-{file}"
        for name in ("transactions-0", "append-time-0")
        for file in webide_export._IN_PARTITION
    }
    in_log = {f"clean-{name}" for name in webide_export._IN_LOG_DIRECTORY}
    other = f"append-time-0-{0:020}"
    logs = {f"{stem}.log", f"{stem}-plain.log", f"{other}.log", f"{other}-plain.log"}
    assert own(made) == beside | in_partition | in_log | logs | {f"{other}.index", f"{other}.timeindex"}
    assert (made / f"{stem}.log").read_bytes() == given.read_bytes()
    assert (made / f"{stem}.txnindex").read_bytes() == given.with_suffix(".txnindex").read_bytes()
    out = capfd.readouterr().out
    readme = (made / "README.md").read_text(encoding="utf-8")
    for name in own(made):
        assert f"{name}: " in out
        assert f"| `{name}` | {(made / name).stat().st_size} |" in readme
    assert readme.index("## Your files") < readme.index("## Upload in this order")


def test_plain_copies_have_the_same_records(here: Path) -> None:
    assert export(CLEAN / "transactions-0" / FIRST) == 0
    original, plain = (here / "made" / f"transactions-0-{0:020}{suffix}" for suffix in (".log", "-plain.log"))
    assert (
        {batch.compression for batch in entries_of(plain)}
        == {"none"}
        != {batch.compression for batch in entries_of(original)}
    )
    rows = []
    for path in (original, plain):
        with kafka_segments.open_segment(path) as segment:
            records = [event for event in segment.iter_events() if isinstance(event, kafka_segments.Record)]
        rows.append([(one.offset, one.timestamp, one.key, one.value, one.sequence) for one in records])
    assert rows[0] == rows[1] != []


def test_the_same_name_twice_and_names_that_are_no_topics(here: Path) -> None:
    folders = [here / top / "orders-0" for top in ("one", "two")] + [here / "<b>&\n'x`|"]
    for folder in folders:
        folder.mkdir(parents=True)
        shutil.copy(CLEAN / "multi-0" / FIRST, folder)
    long_name = here / f"{'t' * 249}-0"
    long_name.mkdir()
    shutil.copy(CLEAN / "multi-0" / FIRST, long_name)
    assert export(*(folder / FIRST for folder in [*folders, long_name])) == 0
    assert own(here / "made") == {
        f"orders-0-{0:020}.log",
        f"orders-0-{0:020}-2.log",
        f"_b____x__-{0:020}.log",
        f"{'t' * 198}-0-{0:020}.log",
    }
    readme = (here / "made" / "README.md").read_text(encoding="utf-8")
    assert "<b>" not in readme.partition("## Your files")[2].partition("## Upload")[0]


def test_cut_where_an_entry_ends(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(webide_export, "MAX_LEN_PIECE", 2000)
    segment = CLEAN / "multi-0" / FIRST
    ends = [entry.end_position for entry in entries_of(segment)]
    assert export(segment, CLEAN / "shapes-0" / FIRST) == 0
    made = here / "made" / f"multi-0-{0:020}.log"
    cut = made.stat().st_size
    assert cut == max(end for end in ends if end <= 2000) < segment.stat().st_size
    out = capfd.readouterr().out
    offset = entries_of(made)[-1].last_offset
    assert f"cut: the first {cut} of {ends[-1]} bytes, up to offset {offset}" in out
    assert "cut inside bytes 0 to 18284; cut: the first 2000 of 18534 bytes" in out
    assert (here / "made" / f"shapes-0-{0:020}.log").stat().st_size == 2000


def test_indexes_are_cut_to_whole_entries_and_other_files_left_out(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(webide_export, "MAX_LEN_PIECE", 100)
    base = CLEAN / "transactions-0" / f"{7:020}"
    assert (
        export(base.with_suffix(".timeindex"), base.with_suffix(".txnindex"), base.with_suffix(".snapshot"))
        == 0
    )
    out = capfd.readouterr().out
    assert "cut: the first 96 of 108 bytes" in out
    assert "cut: the first 68 of 170 bytes" in out
    assert "left out: 0 bytes of" in out and "102 bytes exceed the 100 that can be exported" in out
    assert own(here / "made") == {f"transactions-0-{7:020}.timeindex", f"transactions-0-{7:020}.txnindex"}


def test_damage_is_said_and_is_the_status(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = here / "orders-0"
    folder.mkdir()
    content = (CLEAN / "multi-0" / FIRST).read_bytes()
    (folder / FIRST).write_bytes(patched(content, 70, b"\xff\xfe\xfd"))
    assert export("orders-0") == 1
    assert "damage in bytes 0 to " in capfd.readouterr().out
    assert "the checksum of the batch is wrong" in (here / "made" / "README.md").read_text(encoding="utf-8")
    assert (here / "made" / f"orders-0-{0:020}.log").read_bytes() == (folder / FIRST).read_bytes()


def test_padding_alone_and_empty_files(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = here / "orders-0"
    folder.mkdir()
    (folder / FIRST).write_bytes(bytes(3 << 20))
    (folder / f"{9:020}.log").touch()
    assert export("orders-0") == 0
    assert (here / "made" / f"orders-0-{0:020}.log").stat().st_size == 1 << 20
    out = capfd.readouterr().out
    assert "cut: the first 1048576 of 3145728 bytes" in out
    assert "the file is empty" in out


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("notes.txt", b"no segment at all, but a text of some length, which is no log", "not a log of Kafka"),
        ("meta.properties", b"version=1\n", "the broker's properties"),
        ("orders.log.gz", gzip.compress(bytes(100), mtime=0), "compressed by gzip"),
    ],
)
def test_other_files_are_refused(
    here: Path, name: str, content: bytes, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (here / name).write_bytes(content)
    assert export(name) == 2
    assert words in capfd.readouterr().err
    assert not (here / "made").exists()


@pytest.mark.parametrize("given", ["none.log", "-", "s3a://bucket/orders-0", "empty"])
def test_what_cannot_be_exported(here: Path, given: str, capfd: pytest.CaptureFixture[str]) -> None:
    (here / "empty").mkdir()
    assert export(given) == 2
    assert given in capfd.readouterr().err
    assert not (here / "made").exists()


def test_files_are_for_this_export_alone(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schemas", "export", "other", str(CLEAN / "multi-0" / FIRST)]) == 2
    assert "--webide" in capfd.readouterr().err


def test_all_files_together_are_bounded(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webide_export, "MAX_LEN_ALL", 20_000)
    assert export(CLEAN / "multi-0" / FIRST) == 0
    assert export(CLEAN / "multi-0" / FIRST, CLEAN / "shapes-0" / FIRST, into="more") == 2
    assert not (here / "more").exists()


def test_the_command_of_the_page(here: Path) -> None:
    page = (ROOT / "docs" / "webide.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^```sh\n(.+)\n```", page, re.MULTILINE)
    program, *arguments = shlex.split(command)
    shutil.copytree(CLEAN / "multi-0", here / "logs" / "orders-0")
    assert program == "kafka-segments" and main(arguments) == 0
    assert f"orders-0-{0:020}.log" in own(here / "look-inside")
