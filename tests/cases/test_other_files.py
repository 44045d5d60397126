"""Files of other names and kinds, and two that cost too much: read, or named; what is wrong is found."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from pathlib import Path

import pytest
from tests import work
from tests.in_process import run_main
from tests.made.build import batch, message, record
from tests.python import run_python
from tests.verify.test_plants import verified

from kafka_segments.cli.main import main

VECTORS = Path(__file__).parents[1] / "vectors"
CASES = VECTORS / "cases"
MULTI = VECTORS / "recorded/kafka-4.3/clean/multi-0"
NAME = f"{0:020}.log"
OBJECT = f"{125:020}-fhYVRq1_QXyoRdHIdzGqVw.log"
LAYOUTS = ("orders-0", "orders-70H-x9TwTvGO9F0lqir87w/0")


@pytest.fixture
def tier() -> Path:
    """A segment of a tier without the files that belong beside it, in two places."""
    return CASES / "tier-object"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_object_of_a_tier_is_read_wherever_it_lies(
    tier: Path, layout: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(tier / layout / OBJECT)
    assert main(["dump", "--format", "jsonl", path]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert sum(line["type"] == "batch" for line in lines) == 17
    assert [line["offset"] for line in lines if line["type"] == "record"] == list(range(125, 206))
    assert main(["cat", "--template", "{offset}", path]) == 0
    assert capfd.readouterr().out.split() == [str(offset) for offset in range(125, 206)]
    assert main(["verify", path]) == 0
    assert "17 batches, 81 records" in capfd.readouterr().err
    assert main(["aborted", path]) == 2, "which needs the whole partition"


@pytest.mark.parametrize(("layout", "said"), [*zip(LAYOUTS, ("give the files' names", OBJECT), strict=True)])
@pytest.mark.parametrize("verb", ["ls", "verify", "dump"])
def test_a_folder_of_a_tier_is_not_passed_over_in_silence(
    tier: Path, layout: str, said: str, verb: str, capfd: pytest.CaptureFixture[str]
) -> None:
    main([verb, str(tier / layout)])
    err = capfd.readouterr().err
    assert said in err or "an upload that was not completed" in err


@pytest.mark.parametrize("verb", ["dump", "verify", "find", "cat"])
def test_a_tar_archive_is_named(verb: str, capfd: pytest.CaptureFixture[str]) -> None:
    more = ["--count"] if verb == "find" else []
    assert main([verb, *more, str(CASES / "archives" / "backup.tar")]) == 2
    said = capfd.readouterr()
    assert "this file is a tar archive, not a log; to read a log in it: tar -xf FILE" in said.err
    assert "up to -1" not in said.out + said.err


@pytest.mark.parametrize("place", ["gz", "gz/multi-0"])
@pytest.mark.parametrize("verb", ["ls", "verify", "dump"])
def test_compressed_segments_are_named(verb: str, place: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([verb, str(CASES / "archives" / place)]) == 2
    said = capfd.readouterr().err
    assert f"{0:020}.log.gz" in said
    assert f"{125:020}.log.gz" in said
    assert "decompress or rename it" in said


def test_a_file_of_another_name_may_begin_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(MULTI / f"{125:020}.log", tmp_path / "part.bin")
    assert main(["verify", str(tmp_path / "part.bin")]) == 0
    with (tmp_path / "part.bin").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert main(["verify", "-"]) == 0
    assert capfd.readouterr().out == ""


def test_damage_before_the_first_offset_loses_none_below_0(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "saved.log").write_bytes(b"\x07" * 100 + batch(0, [record()]))
    main(["dump", str(tmp_path / "saved.log")])
    said = capfd.readouterr()
    assert "DAMAGE" in said.out
    assert "up to -1" not in said.out + said.err


def findings_of(folder: Path, *entries: bytes, topic: str = "t") -> list[tuple[str, int | None]]:
    (folder / f"{topic}-0").mkdir()
    (folder / f"{topic}-0" / NAME).write_bytes(b"".join(entries))
    rows, _summary = verified(folder)
    return [(row[0], row[2]) for row in rows]


def test_a_control_batch_without_a_producer(tmp_path: Path) -> None:
    """Consumers skip it, and transactions do not know of it; only KRaft's metadata has such batches."""
    control = batch(1, [record(0, b"\0\0\0\x03", b"x")], attributes=0x20)
    plain = batch(0, [record()])
    assert findings_of(tmp_path, plain, control) == [("marker", len(plain))]
    (tmp_path / "kraft").mkdir()
    assert findings_of(tmp_path / "kraft", plain, control, topic="__cluster_metadata") == []


def test_offsets_that_no_index_can_name(tmp_path: Path) -> None:
    """LogSegment.canConvertToRelativeOffset: a broker divides such a segment when it starts."""
    far = (1 << 31) + 5
    found = findings_of(tmp_path, batch(0, [record()]), batch(far, [record()]), batch(far + 1, [record()]))
    assert ("segment-name", None) in found


@pytest.mark.parametrize("magic", [0, 1])
def test_a_set_that_is_cut_off_inside_its_wrapper(tmp_path: Path, magic: int) -> None:
    """Kafka's reader ends before the message that is not whole."""
    inner = b"".join(message(offset, b"v", magic=magic) for offset in range(3))

    def found(name: str, content: bytes) -> list[tuple[str, int | None]]:
        (tmp_path / name).mkdir()
        packed = gzip.compress(content, mtime=0)
        return findings_of(tmp_path / name, message(2, packed, magic=magic, attributes=1))

    assert found("whole", inner) == []
    assert ("records", 0) in found("cut", inner[:-4])


LIMITS = Path(__file__).parents[1] / "vectors" / "cases" / "limits"
PEAK = """
import sys
from kafka_segments.cli.main import main
from tests.python import peak
status = main(sys.argv[1:])
print(peak(), file=sys.stderr)
sys.exit(status)
"""


def test_a_message_of_millions_of_bytes_in_some_hundred(tmp_path: Path) -> None:
    """Many such batches took minutes; none of them is parsed."""
    data = (LIMITS / "consumer_offsets_10s.log").read_bytes()
    (tmp_path / NAME).write_bytes(data * 20)
    words = ["dump", "--like-kafka", "--offsets-decoder", "--files", str(tmp_path / NAME)]
    with work.at_most(100_000):
        status, _, error = run_main(words)
    assert (status, "than are read by default" in error) == (1, True)


def test_a_document_of_brackets_is_named_and_not_read(tmp_path: Path) -> None:
    path = shutil.copy(LIMITS / "json_bomb_1040MiB.log", tmp_path / NAME)
    done = run_python("-c", PEAK, "find", "--json", "$.a", path, status=1)
    assert "the JSON document has more than 524,288 values" in done.stdout
    assert int(done.stderr.splitlines()[-1]) < 400 << 20
