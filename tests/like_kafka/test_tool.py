"""`dump --like-kafka` prints what Kafka's DumpLogSegments prints: recorded files, damaged ones, arguments."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests import forms
from tests.forgotten import forget
from tests.like_kafka.kafka_tool import Ran, kafka, ours
from tests.made.build import batch, control, message, patched, record
from tests.made.encoder import Message, Wrapper
from tests.made.samples import in_every_run
from tests.mutations import cases
from tests.recording.sets import RECORDED

from kafka_segments.core.segment.records import batch_records
from kafka_segments.errors import MissingExtraError
from kafka_segments.like_kafka.tool_options import REFUSED_DECODER

pytestmark = pytest.mark.oracle

SUFFIXES = {".log", ".checkpoint", ".index", ".timeindex", ".txnindex", ".snapshot"}
OPTIONS: list[list[str]] = [
    ["--print-data-log"],
    [],
    ["--deep-iteration"],
    ["--print-data-log", "--skip-record-metadata"],
    ["--deep-iteration", "--skip-record-metadata"],
    ["--index-sanity-check"],
    ["--verify-index-only", "--print-data-log", "--max-bytes", "1000"],
    ["--max-message-size", "200"],
]
DECODER = "kafka_segments.core.segment.columnar.record_objects"
COMPILING = "kafka-segments: compiling decoders"
"""What is said once on each machine, in whatever run comes first."""


def compare(runs: Sequence[Sequence[str]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Ran]:
    """What Kafka's tool printed, which ours printed too, with and without the compiled decoder of records.

    Where Java's memory was not enough for a length that a damaged message claims, ours goes on.
    """
    answers = asked(runs, folder)
    monkeypatch.setattr(f"{DECODER}._FEW", 0)
    for many in (0, 1 << 40):
        monkeypatch.setattr(batch_records, "_MANY", many)
        for run, expected in zip(runs, answers, strict=True):
            if "OutOfMemoryError" in expected.err:
                continue
            found = ours(run, folder)
            assert (found.out, found.status) == (expected.out, expected.status), (run, many, found.err)
            if expected.status == 0 and not run[1].endswith(".snapshot"):
                lines = found.err.splitlines(keepends=True)
                assert "".join(one for one in lines if not one.startswith(COMPILING)) == expected.err, run
    return answers


def asked(runs: Sequence[Sequence[str]], folder: Path) -> list[Ran]:
    """What Kafka's tool prints; it cuts off a part of an entry at the end of an index, which is put back."""
    before = {path: path.read_bytes() for path in folder.rglob("*index")}
    answers = kafka(runs, folder)
    for path, data in before.items():
        if path.read_bytes() != data:
            path.write_bytes(data)
    return answers


def recorded_files() -> list[str]:
    found = (path for path in sorted(RECORDED.rglob("*")) if path.suffix in SUFFIXES)
    names = [path.relative_to(RECORDED).as_posix() for path in found]
    return forms.pick(
        [name for name in names if name in in_every_run() or name.endswith("index")][::3], names
    )


@pytest.mark.long
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_recorded_files(options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    files = recorded_files()
    if options != OPTIONS[0]:
        files = forms.pick(files[::8], files)
    answers = compare([["--files", name, *options] for name in files], RECORDED, monkeypatch)
    assert sum(len(answer.out) for answer in answers) > 1000


@pytest.mark.long
def test_every_other_file_of_a_log_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its checkpoints and its metadata are no files of the tool's; several files are one run."""
    files = [path for path in sorted(RECORDED.rglob("*")) if path.is_file() and path.suffix not in SUFFIXES]
    names = [path.relative_to(RECORDED).as_posix() for path in files]
    log = "kafka-4.3/clean/shapes-0/00000000000000000000.log"
    answers = compare([["--files", ",".join([*names[::20], log])]], RECORDED, monkeypatch)
    assert "Ignoring unknown file" in answers[0].err


@pytest.mark.long
def test_damaged_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = forms.pick(200, 6_000)
    seed = f"like kafka, {forms.pick('short', random.randrange(1 << 30))}"
    runs = []
    for number in range(count):
        (tmp_path / f"{number}.log").write_bytes(cases.case(f"{seed}, {number}").data)
        runs.append(["--files", f"{number}.log", *OPTIONS[number % 10 if number % 10 < 5 else 0]])
    answers = compare(runs, tmp_path, monkeypatch)
    assert {answer.status for answer in answers} == {0, 1}, seed


@pytest.mark.long
def test_damaged_indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit is wrong, zeros follow, the end is missing: in an index, a snapshot, or a log."""
    dice = random.Random("indexes")
    partitions = sorted(path for path in RECORDED.rglob("*-0") if list(path.glob("*.timeindex")))
    runs: list[list[str]] = []
    for number in range(forms.pick(25, 500)):
        source, folder = dice.choice(partitions), tmp_path / str(number)
        folder.mkdir()
        for path in sorted(source.iterdir()):
            if path.suffix not in SUFFIXES:
                continue
            (folder / path.name).write_bytes(damaged(dice, path.read_bytes()))
            options = dice.choice([[], ["--index-sanity-check"], ["--verify-index-only"]])
            runs.append(["--files", f"{number}/{path.name}", *options])
    compare(runs, tmp_path, monkeypatch)


def damaged(dice: random.Random, data: bytes) -> bytes:
    kind = dice.randrange(6)
    if kind == 0 and data:
        place = dice.randrange(len(data))
        return patched(data, place, bytes([data[place] ^ 1 << dice.randrange(8)]))
    if kind == 1:
        return data + bytes(8 * dice.randrange(1, 3000))
    return data[: dice.randrange(len(data) + 1)] if kind == 2 else data


PLAIN = batch(0, [record(0, b"k", b"v"), record(1)])
HEADERS = batch(2, [record(0, None, b"", headers=((b"a", None), (b"\xff\xed\xa0\x80", b"")))])


def leader_change(version: int, voters: bytes) -> bytes:
    value = version.to_bytes(2, "big", signed=True) + b"\0\0\0\1" + voters + b"\x01\0"
    return control(0, (b"\0\0\0\2", value))


MADE = {
    "nothing": b"",
    "seventeen zeros": PLAIN + bytes(17),
    "eighteen zeros": PLAIN + bytes(18),
    "the last record has bytes after it": batch(
        0, [record(0), record(1)], payload=record(0) + record(1) + b"x"
    ),
    "the second record is cut off": batch(0, [record(0), record(1)], payload=record(0) + record(1)[:-1]),
    "no records, and bytes": batch(0, [], payload=b"xyz") + PLAIN,
    "a negative count": batch(0, count=-1) + PLAIN,
    "magic 3": batch(0, magic=3) + PLAIN,
    "magic -1": patched(PLAIN, 16, b"\xff") + PLAIN,
    "codec 5": batch(0, attributes=5) + PLAIN,
    "a wrong checksum between": PLAIN + patched(HEADERS, 40, b"\x55") + PLAIN,
    "a batch shorter than its header": patched(PLAIN[:40], 8, (28).to_bytes(4, "big")) + PLAIN,
    "a delete horizon, and a producer": batch(
        7, attributes=0x50, producer_id=9, producer_epoch=1, base_sequence=2**31 - 1, last_offset_delta=1
    ),
    "headers": HEADERS,
    "bytes that are no UTF-8": batch(0, [record(0, b"\xc3\x28", b"\xed\xa0\x80\xf0\x90\x80"), record(1)]),
    "an unknown control record": control(0, (b"\0\0\1\x51", b"")),
    "one of a negative version": control(0, (b"\xc7\x82\x3e\x87", b"")),
    "a marker": control(0, (b"\0\0\0\1", b"\0\0\0\0\0\7"), (b"\0\0\0\0", b"\0\3\0\0\0\7")) + PLAIN,
    "a marker that is cut off": control(0, (b"\0\0\0\1", b"\0\0")) + PLAIN,
    "a control record without a key": PLAIN + control(0, (None, b"")),
    "leader change 0": leader_change(0, b"\x02\0\0\0\1\0"),
    "leader change 1, without voters": leader_change(1, b"\x01"),
    "leader change 1, of zeros": leader_change(1, b"\x02\0\0\0\1" + bytes(17)),
    "leader change 1": leader_change(1, b"\x02\0\0\0\1" + bytes(range(1, 17)) + b"\0"),
    "leader change 9": leader_change(9, b"\x02\0\0\0\1\0"),
    "leader change -1": leader_change(-1, b"\x02\0\0\0\1\0"),
    "a version of KRaft": control(0, (b"\0\0\0\5", b"\0\x80\0\1\0")),
    "voters with odd names": control(
        0,
        (
            b"\0\0\0\6",
            b"\0\0\x02\0\0\0\1" + bytes(16) + b'\x02\x05"\x1f\\/\x03\xc3\xa9\x23\x85\0\0\0\0\1\0\0\0',
        ),
    ),
    "a message whose value is cut off": patched(message(3, b"abc"), 12 + 22, (9).to_bytes(4, "big")),
    "a message with nothing but its header": patched(message(3)[:26], 8, (14).to_bytes(4, "big")) + PLAIN,
    "old messages": message(0, b"a", magic=0) + message(1, None) + Wrapper(messages=(Message(),)).encode(),
}


@pytest.mark.parametrize("options", [[], ["--deep-iteration"], ["--print-data-log"]], ids=" ".join)
def test_made_logs(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    for number, data in enumerate(MADE.values()):
        (tmp_path / f"{number}.log").write_bytes(data)
        runs.append(["--files", f"{number}.log", *options])
    assert {answer.status for answer in compare(runs, tmp_path, monkeypatch)} == {0, 1}


@pytest.mark.long
def test_batches_that_span_arrow_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rows, large ones, markers, and batches without records between them; damage in the middle."""
    dice = random.Random("large")
    pieces, offset = [], 0
    for number in range(forms.pick(40, 600)):
        count = dice.choice([0, 1, 3, 900])
        rows = [
            record(delta, dice.choice([None, b"k" * 90]), b"v" * dice.randrange(300))
            for delta in range(count)
        ]
        pieces.append(batch(offset, rows, last_offset_delta=max(count - 1, 0)))
        offset += count + dice.choice([0, 0, 5])
        if number % 7 == 0:
            pieces.append(control(offset, (b"\0\0\0\1", b"\0\0\0\0\0\7")))
            offset += 1
    one = batch(offset, [record(delta, None, b"v" * 700) for delta in range(forms.pick(5_000, 70_000))])
    pieces += [one, PLAIN]
    sound = b"".join(pieces)
    (tmp_path / "0.log").write_bytes(sound)
    (tmp_path / "1.log").write_bytes(patched(sound, len(sound) // 9, b"\xff\x01"))
    (tmp_path / "2.log").write_bytes(b"".join([*pieces[:-2], one[:-4], PLAIN]))
    trailing = batch(offset, [record(0), record(1)], payload=record(0) + record(1) + b"x")
    (tmp_path / "3.log").write_bytes(b"".join([*pieces[:30], trailing, *pieces[30:]]))
    runs = [
        ["--files", f"{number}.log", *options]
        for number in range(4)
        for options in forms.pick(OPTIONS[:2], OPTIONS[:5])
    ]
    compare(runs, tmp_path, monkeypatch)


ARGUMENTS: list[list[str]] = [
    ["--files=0.log"],
    ["-files", "0.log"],
    ["--files", "0.log,,"],
    ["--files", "0.log,1.log", "ignored", "--print-data-log=x"],
    ["--files", "./0.log"],
    ["--files", "sub//0.log/"],
    ["--files", "0.log", "--files", "1.log"],
    ["--files"],
    ["--files", ","],
    ["--files="],
    ["--file", "0.log"],
    ["-f", "0.log"],
    ["--print-data-log"],
    ["--", "--files", "0.log"],
    ["--files", "0.log", "--", "--nonsense"],
    ["--files", "0.log", "--max-bytes", "-1"],
    ["--files", "0.log", "--max-bytes", "+70"],
    ["--files", "0.log", "--max-bytes", "many"],
    ["--files", "0.log", "--max-bytes=2147483648"],
    ["--files", "0.log", "--value-decoder-class", "--key-decoder-class"],
    ["--files", "long.log", "--value-decoder-class", "org.apache.kafka.tools.api.LongDecoder"],
    ["--files", "long.log", "--key-decoder-class=org.apache.kafka.tools.api.IntegerDecoder"],
    ["--files", "0.log", "--value-decoder-class", "org.apache.kafka.tools.api.LongDecoder"],
    ["--files", "0.log", "--value-decoder-class", "kafka.serializer.StringDecoder"],
    ["--files", "absent.log,0.log"],
    ["--files", "absent.txnindex,0.log"],
    ["--files", "absent.snapshot"],
    ["--files", "0.index"],
    ["--files", "named.log"],
    ["--files", "name"],
    ["--files", "0.txt,0.log"],
    ["--files", "bootstrap.checkpoint"],
    ["--files", "00000000000000000012-0000000007.checkpoint"],
    ["--files", "12-7.checkpoint"],
    ["--files", "0.log", "--version"],
    [],
]


@pytest.mark.parametrize("given", [pytest.param(one, id=" ".join(one) or "none") for one in ARGUMENTS])
def test_arguments(given: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, answers = answered(tmp_path_factory)
    expected, found = answers[ARGUMENTS.index(given)], ours(given, folder)
    assert (found.out, found.status) == (expected.out, expected.status), found.err
    assert bool(found.err) == bool(expected.err), (found.err, expected.err)


_answered: list[tuple[Path, list[Ran]]] = []


def answered(factory: pytest.TempPathFactory) -> tuple[Path, list[Ran]]:
    """Files, and what Kafka's tool prints for all of the arguments, which is asked for once."""
    if not _answered:
        folder = factory.mktemp("arguments")
        (folder / "sub").mkdir()
        for name in ("0.log", "1.log", "sub/0.log", "named.log", "bootstrap.checkpoint"):
            (folder / name).write_bytes(PLAIN)
        (folder / "long.log").write_bytes(batch(0, [record(0, b"\xff\0\0\1", b"\x80" + bytes(8))]))
        (folder / "00000000000000000012-0000000007.checkpoint").write_bytes(PLAIN)
        # An index that is absent the tool makes, so it runs on a copy of the folder.
        _answered.append((folder, kafka(ARGUMENTS, copied(folder))))
    return _answered[0]


def copied(folder: Path) -> Path:
    return Path(shutil.copytree(folder, folder.with_name(f"{folder.name}-copy")))


def test_nothing_is_written_beside_a_log(tmp_path: Path) -> None:
    """Kafka's tool makes the index of a time index where it is missing; ours never does."""
    (tmp_path / "0.log").write_bytes(PLAIN)
    (tmp_path / "0.timeindex").write_bytes(bytes(12))
    before = sorted(path.name for path in tmp_path.iterdir())
    assert ours(["--files", "0.timeindex,0.log"], tmp_path).status == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_without_arrow_it_says_so_and_prints_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "0.log").write_bytes(PLAIN + HEADERS)
    run = ["--files", "0.log", "--print-data-log"]
    monkeypatch.setattr(batch_records, "_MANY", 0)
    monkeypatch.setattr(f"{DECODER}._FEW", 0)
    expected = ours(run, tmp_path)
    hide(monkeypatch)
    found = ours(run, tmp_path)
    assert (found.out, found.status) == (expected.out, 0)
    assert found.err.count("records are decoded one by one") == 1


def hide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package that needs Arrow be imported as where Arrow is not installed."""

    class Finder:
        @staticmethod
        def find_spec(name: str, _path: object = None, _target: object = None) -> None:
            if name == DECODER:
                raise MissingExtraError("Arrow data need pyarrow", extra="arrow")

    forget(monkeypatch, [DECODER])
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])


def test_options_that_are_refused_name_the_alternative(tmp_path: Path) -> None:
    found = ours(["--files", "0.log", f"--{REFUSED_DECODER}"], tmp_path)
    assert (found.status, found.out) == (2, b"")
    assert f"--{REFUSED_DECODER} is not supported here" in found.err and "--format jsonl" in found.err
    found = ours(["--files", "0.log", "--value-decoder-class", "org.example.Mine"], tmp_path)
    assert (found.status, found.out) == (1, b"Dumping 0.log\n")
    assert "org.apache.kafka.tools.api.StringDecoder" in found.err


def test_a_full_disk_and_a_closed_pipe(tmp_path: Path) -> None:
    (tmp_path / "0.log").write_bytes(PLAIN * 2000)
    command = [
        sys.executable,
        "-m",
        "kafka_segments",
        "dump",
        "--like-kafka",
        "--files",
        "0.log",
        "--deep-iteration",
    ]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 3 and "standard output cannot be written" in ended.stderr
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(7) == b"Dumping"
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 0)
