"""`kafka-segments dump`: the bytes of its lines, its options, its exit statuses, its words for people."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.io.test_storage import break_blocks
from tests.made.build import batch, control, message, patched, record
from tests.python import environment, run_python
from tests.segment.test_segment import redpanda

from kafka_segments.cli.main import main
from kafka_segments.core.segment.segment import fast_rows
from kafka_segments.errors.escaping import escape

NAME = "00000000000000000000.log"
BATCHES = [batch(offset, [record(0), record(1)]) for offset in (0, 2, 4, 6)]
SIZE = len(BATCHES[0])
DAMAGED = patched(b"".join(BATCHES), SIZE + 70, b"\xff")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Dump:
    """Runs the command in this process."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self.status = -1
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> list[dict[str, Any]]:
        """The objects on standard output."""
        self.status = main(["dump", "--format", "jsonl", *arguments])
        self.out, self.err = self._capfd.readouterr()
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def dump(capfd: pytest.CaptureFixture[str]) -> Dump:
    return Dump(capfd)


def write(data: bytes, name: str = NAME) -> str:
    Path(name).write_bytes(data)
    return name


def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    variables = environment(**options.pop("environment", {}))
    command = [sys.executable, "-m", "kafka_segments.cli.main", *arguments]
    return subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, **options)


def short(objects: list[dict[str, Any]]) -> Iterator[str]:
    for line in objects:
        if line["type"] == "record":
            yield str(line["offset"])
        else:
            yield f"{line['type']} {line['position']}"


def test_the_bytes_of_batch_and_record_lines(dump: Dump) -> None:
    headers = ((b"trace", None), (b"\xff", b""))
    data = batch(0, [record(0, None, b"hello", headers), record(1, b"", None, timestamp_delta=1)])
    dump(write(data))
    crc = int.from_bytes(data[17:21], "big")
    assert dump.out == (
        f'{{"type":"batch","path":"{NAME}","position":0,"size":{len(data)},"magic":2,"base_offset":0,"last_offset":1,'
        f'"partition_leader_epoch":0,"crc":{crc},"crc_valid":true,"compression":"none","timestamp_type":"CreateTime",'
        '"is_transactional":false,"is_control":false,"delete_horizon_ms":null,"base_timestamp":1700000000000,'
        '"max_timestamp":1700000000000,"producer_id":-1,"producer_epoch":-1,"base_sequence":-1,"last_sequence":-1,'
        '"num_records":2}\n'
        f'{{"type":"record","path":"{NAME}","position":0,"offset":0,"timestamp":1700000000000,"timestamp_type":"CreateTime",'
        '"sequence":-1,"key":null,"value":"aGVsbG8=","headers":[{"key":"dHJhY2U=","value":null},'
        '{"key":"/w==","value":""}],"control":null}\n'
        f'{{"type":"record","path":"{NAME}","position":0,"offset":1,"timestamp":1700000000001,"timestamp_type":"CreateTime",'
        '"sequence":-1,"key":"","value":null,"headers":[],"control":null}\n'
    )
    assert (dump.status, dump.err) == (0, "")


def test_the_bytes_of_control_records(dump: Dump) -> None:
    dump(write(control(0, (b"\0\0\0\1", b"\0\0\0\0\0\0"), (b"\0\0\1\x51", None), (b"", b""))))
    controls = [line[line.index('"control":') :] for line in dump.out.splitlines()[1:]]
    assert controls == [
        '"control":{"type":"COMMIT","type_id":1,"version":0,"value":{"coordinator_epoch":0}}}',
        '"control":{"type":"UNKNOWN","type_id":337,"version":0,"value":null}}',
        '"control":{"type":"INVALID","type_id":null,"version":null,"value":null}}',
    ]


def test_the_bytes_of_error_and_padding_lines(dump: Dump) -> None:
    dump(write(DAMAGED + bytes(100)))
    crc = int.from_bytes(DAMAGED[SIZE + 17 : SIZE + 21], "big")
    lines = [line for line in dump.out.splitlines() if '"error"' in line or "padding" in line]
    detail = json.loads(lines[0])["detail"]
    assert detail.startswith(f"stored 0x{crc:08x}, computed 0x")
    assert lines == [
        f'{{"type":"error","path":"{NAME}","position":{SIZE},"end_position":{2 * SIZE},'
        f'"error":"ChecksumMismatchError","detail":"{detail}","first_lost_offset":2,"last_lost_offset":3}}',
        f'{{"type":"padding","path":"{NAME}","position":{4 * SIZE},"end_position":{4 * SIZE + 100}}}',
    ]
    assert dump.status == 1
    assert f"{NAME}, position {SIZE} to {2 * SIZE}: the checksum of the batch is wrong: stored 0x" in dump.err
    assert "offsets lost: 2 to 3" in dump.err


def test_headers_only(dump: Dump) -> None:
    lines = dump(write(b"".join(BATCHES) + message(8) + message(9, b"?", attributes=1)), "--headers-only")
    assert [line["type"] for line in lines] == ["batch"] * 6
    assert {line["crc_valid"] for line in lines} == {None}
    assert [line["base_offset"] for line in lines] == [0, 2, 4, 6, None, None]
    assert [line["num_records"] for line in lines] == [2, 2, 2, 2, None, None]
    assert dump.status == 0
    assert dump.err.count("--headers-only does not verify checksums") == 1


def test_headers_only_leaves_payloads_alone(dump: Dump, monkeypatch: pytest.MonkeyPatch) -> None:
    name = write(b"".join(batch(offset, [record(0, None, bytes(20_000))]) for offset in range(5)))
    calls = break_blocks(monkeypatch)
    assert len(dump(name, "--headers-only")) == 5
    assert sum(size for position, size in calls if position > 0) <= 5 * 4096


def test_no_crc(dump: Dump) -> None:
    lines = dump(write(patched(b"".join(BATCHES), 17, b"\0\0\0\0")), "--no-crc")
    assert list(short(lines))[:3] == ["batch 0", "0", "1"]
    assert {line["crc_valid"] for line in lines if line["type"] == "batch"} == {None}
    assert dump.status == 0


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ("3:5", [f"batch {SIZE}", "3", f"batch {2 * SIZE}", "4"]),
        ("6:", [f"batch {3 * SIZE}", "6", "7"]),
        (":1", ["batch 0", "0"]),
        ("4:4", []),
        ("100:", []),
        (":", [*["batch 0", "0", "1"], *(f"batch {SIZE}", "2", "3"), f"batch {2 * SIZE}", "4", "5"]),
    ],
)
def test_offsets(dump: Dump, offsets: str, expected: list[str]) -> None:
    lines = dump(write(b"".join(BATCHES)), "--offsets", offsets)
    assert list(short(lines))[: max(len(expected), 0 if offsets == ":" else 99)] == expected
    assert dump.status == 0
    is_beyond = "nothing is printed: --offsets 100: selects none of the files' offsets 0 to 7" in dump.err
    assert is_beyond if offsets == "100:" else dump.err == ""


def test_damage_outside_the_range_does_not_count(dump: Dump) -> None:
    name = write(DAMAGED + b"torn")
    assert list(short(dump(name, "--offsets", "4:6"))) == [f"batch {2 * SIZE}", "4", "5"]
    assert (dump.status, dump.err) == (0, "")
    assert list(short(dump(name, "--offsets", "1:3"))) == ["batch 0", "1", f"batch {SIZE}", f"error {SIZE}"]
    assert dump.status == 1
    assert list(short(dump(name, "--offsets", "50:"))) == [f"error {4 * SIZE}"]


def test_damage_of_records_shows_their_batch_once(dump: Dump) -> None:
    wrong = batch(2, [record(0), record(1)], count=3, last_offset_delta=9)
    name = write(BATCHES[0] + wrong + batch(20))
    assert list(short(dump(name, "--offsets", "2:20"))) == [f"batch {SIZE}", "2", "3", f"error {SIZE}"]
    assert list(short(dump(name, "--offsets", "5:7"))) == [f"batch {SIZE}", f"error {SIZE}"]
    assert list(short(dump(name, "--offsets", "20:"))) == [f"batch {SIZE + len(wrong)}", "20"]
    assert dump.status == 0


def test_offsets_with_headers_only_and_old_entries(dump: Dump) -> None:
    name = write(b"".join(BATCHES))
    assert list(short(dump(name, "--offsets", "3:5", "--headers-only"))) == [
        f"batch {SIZE}",
        f"batch {2 * SIZE}",
    ]
    name = write(message(0) + message(5, b"?", attributes=1) + message(6))
    assert list(short(dump(name, "--offsets", "6:"))) == [f"batch {len(message(0) + message(5, b'?'))}", "6"]
    assert dump.status == 0
    lines = dump(name, "--offsets", "3:6")
    assert [line["type"] for line in lines] == ["batch", "error"]
    assert dump.status == 1


@pytest.mark.parametrize(
    "offsets", ["5", "a:b", "1:2:3", "", "5:4", "1.5:", pytest.param("9" * 5000 + ":", id="5000 digits")]
)
def test_offsets_that_are_none(dump: Dump, offsets: str) -> None:
    assert dump(write(BATCHES[0]), f"--offsets={offsets}") == []
    assert dump.status == 2
    assert "--offsets" in dump.err


def test_an_empty_batch_holds_no_offset(dump: Dump) -> None:
    emptied = batch(2, [], last_offset_delta=1)
    path = write(BATCHES[0] + emptied + BATCHES[2])
    for options in [[], ["--headers-only"]]:
        lines = dump(path, "--offsets", "1:5", *options)
        assert [line["base_offset"] for line in lines if line["type"] == "batch"] == [0, 4]


def test_who_may_still_be_writing(dump: Dump) -> None:
    """An entry that is cut off by the end of the file; not one that is followed by a sound batch."""
    writing = "a broker may still be writing here"
    dump(write(BATCHES[0] + BATCHES[1][:-1]))
    assert "the batch is cut off" in dump.err and writing in dump.err
    reaches_too_far = patched(BATCHES[1], 8, struct.pack(">i", 1 << 20))
    dump(write(BATCHES[0] + reaches_too_far + BATCHES[2]))
    assert "the batch is cut off" in dump.err and writing not in dump.err


def test_several_files_and_those_that_cannot_be_opened(dump: Dump, folder: Path) -> None:
    write(BATCHES[0], "a.log")
    write(redpanda(0), "redpanda.log")
    write(BATCHES[1], "b.log")
    (folder / "dir").mkdir()
    lines = dump("a.log", "absent.log", "dir", "redpanda.log", "b.log")
    assert [line["path"] for line in lines if line["type"] == "batch"] == ["a.log", "b.log"]
    assert dump.status == 2
    absent, directory, foreign = dump.err.splitlines()
    assert absent == "kafka-segments: absent.log: cannot open: No such file or directory; check the path"
    assert directory == (
        "kafka-segments: dir: no segments here: no .log files named by 20 digits, and no TOPIC-PARTITION "
        "directories with some; give a broker's log directory (log.dirs in its configuration), or one of "
        "its partitions"
    )
    assert "redpanda.log" in foreign and "Redpanda" in foreign


def test_a_file_that_is_no_segment(dump: Dump) -> None:
    lines = dump(write(b"This is a text, and none of Kafka's.\n" * 9, "README"))
    assert lines == []
    assert "README: this is not a log of Kafka" in dump.err
    assert dump.status == 2
    lines = dump(write(b"This is a text, and none of Kafka's.\n" * 9))
    assert [line["error"] for line in lines] == ["TruncatedError"]
    assert f"{NAME}: this does not look like a Kafka segment" in dump.err
    assert dump.status == 1
    dump(write(b"", "empty"), write(bytes(100), "zeros"))
    assert (dump.status, dump.err) == (0, "")


def test_an_unreadable_place(dump: Dump, monkeypatch: pytest.MonkeyPatch) -> None:
    large = [batch(offset, [record(0, None, b"x" * 9000)]) for offset in range(3)]
    name = write(b"".join(large))
    break_blocks(monkeypatch, 3)
    lines = dump(name)
    size = len(large[0])
    assert list(short(lines)) == ["batch 0", "0", f"error {size}", f"batch {2 * size}", "2"]
    assert lines[2]["error"] == "ReadError" and "Errno 5" in lines[2]["detail"]
    assert dump.status == 1


def test_standard_input(dump: Dump) -> None:
    with start("dump", "-", "--format", "jsonl", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        out, _ = process.communicate(DAMAGED)
    assert process.returncode == 1
    assert list(short([json.loads(line) for line in out.splitlines()])) == list(short(dump(write(DAMAGED))))
    assert json.loads(out.splitlines()[0])["path"] == "-"


def test_names_that_are_no_utf8(dump: Dump) -> None:
    name = os.fsdecode(b"caf\xe9-\xc3\xbc\n.log")
    lines = dump(write(DAMAGED, name))
    assert lines[0]["path"] == name
    assert '"path":"caf\\udce9-ü\\n.log"' in dump.out
    assert "caf\\xe9-ü\\n.log, position" in dump.err


def test_a_closed_pipe_ends_quietly() -> None:
    fast_rows()  # compiled now if it never was: a new process would say so
    name = write(b"".join(batch(offset, [record(0, None, b"x" * 1000)]) for offset in range(2000)))
    with start("dump", name, "--format", "jsonl", stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_no_standard_output() -> None:
    name = write(BATCHES[0])
    code = (
        "import sys\nfrom kafka_segments.cli.main import main\n"
        "sys.stdout = None\nsys.exit(main(['dump', sys.argv[1]]))"
    )
    done = run_python("-c", code, name, status=3)
    assert "no standard output" in done.stderr


def test_an_interrupt() -> None:
    code = (
        "import os, signal, sys\nfrom kafka_segments.cli import dump, main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job ignores it
        "dump._Dump._tell_damage = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(main.main(['dump', sys.argv[1]]))"
    )
    done = run_python("-c", code, write(DAMAGED), status=128 + signal.SIGINT)
    assert done.stderr == "kafka-segments: interrupted\n"
    assert done.stdout.startswith("batch at 0")


def test_text_is_for_people(capfd: pytest.CaptureFixture[str]) -> None:
    data = batch(
        5,
        [record(0, b"k", 'grün \x1b[31m<b>"\\'.encode() + b"\xff\n", ((b"h", None),)), record(1, None, b"")],
        attributes=0x10,
        producer_id=7,
        producer_epoch=1,
        base_sequence=3,
    )
    marker = control(7, (b"\0\0\0\1", b"\0\0\0\0\0\7"), base_timestamp=1 << 62, max_timestamp=-1)
    status = main(
        ["dump", write(data + marker + message(9, b"?", attributes=3) + DAMAGED[SIZE : 2 * SIZE] + bytes(30))]
    )
    out, _ = capfd.readouterr()
    lines = out.splitlines()
    assert status == 1
    assert lines[0].startswith("batch at 0: offsets 5 to 6, 2 records, ")
    assert "producer 7 epoch 1, sequences 3 to 4, transactional" in lines[0]
    assert lines[1] == (
        '    5 2023-11-14T22:13:20.000Z  key="k"  '
        r'value="grün \x1b[31m<b>\"\\\xff\n"  "h": null'
    )
    assert lines[2] == '    6 2023-11-14T22:13:20.000Z  key=null  value=""'
    assert lines[4].startswith(f'    7 {1 << 62} ms  COMMIT {{"coordinator_epoch": 7}}')
    assert "offsets ? to 9, ? records" in lines[5] and "lz4" in lines[5]
    assert lines[6].startswith("DAMAGE at ") and "lz4 payload does not decompress" in lines[6]
    assert lines[7].endswith("WRONG CHECKSUM")
    assert lines[8].startswith("DAMAGE at ") and "offsets lost: 8 and above; take" in lines[8]
    assert lines[9].startswith("padding at ")
    assert "\x1b" not in out


def test_escaping() -> None:
    assert escape("plain ü") == "plain ü"
    assert escape("a\tb\x00\x7f\u202e\ud800\udcff&") == r"a\tb\x00\x7f\u202e\ud800\xff&"


def test_standard_error_may_be_anything(dump: Dump, monkeypatch: pytest.MonkeyPatch) -> None:
    name = write(DAMAGED, "ü.log")
    for stderr in (None, io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="ascii"), Closed()):
        monkeypatch.setattr(sys, "stderr", stderr)
        assert main(["dump", name]) == 1


class Closed(io.StringIO):
    def write(self, text: str, /) -> int:
        raise OSError(errno.EPIPE, "Broken pipe")


def test_help_version_and_wrong_usage(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: kafka-segments" in capfd.readouterr().err
    assert main(["--version"]) == 0
    assert capfd.readouterr().out.startswith("kafka-segments 0.")
    assert main(["dump", "--help"]) == 0
    assert "--headers-only" in capfd.readouterr().out
    for wrong in (["dump"], ["dump", "--format", "xml", "a"], ["frobnicate"], ["--nonsense"]):
        assert main(wrong) == 2
        assert "usage: kafka-segments" in capfd.readouterr().err


def test_offsets_of_a_batch_whose_last_offset_delta_is_too_low(dump: Dump) -> None:
    path = write(batch(10, [record(0), record(1), record(2)], last_offset_delta=0))
    assert [line.get("offset", line["type"]) for line in dump(path, "--offsets", "11:12")] == ["batch", 11]
