"""Segments compressed anew: Kafka's classes read the same records, and only the compression changes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests import forms
from tests.conversion.compare import recorded, stored, values
from tests.made.build import batch, message, record
from tests.made.samples import in_every_run
from tests.oracle.run import oracle

from kafka_segments import Batch
from kafka_segments.cli.main import main
from kafka_segments.core.codecs import compress, decompress
from kafka_segments.errors import DecompressionError, EncodeError, OptionError
from kafka_segments.write.recompression import recompress

CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
RECORDS = [record(number, b"k", b"value" * 9, ((b"h", None),)) for number in range(9)]
LEN_HEADER = 61
NOT_OF_THE_RECORDS = ("path", "position", "size", "crc", "compression")


def payload(entry: bytes, codec: str | None) -> bytes:
    """The records of a batch of magic 2, as bytes."""
    data = entry[LEN_HEADER:]
    return data if codec == "none" else decompress(codec or "", data)


def header(one: Batch) -> dict[str, Any]:
    """What stays in a header."""
    changing = ("position", "size", "crc", "compression", "compression_id", "previous_offset")
    return {name: value for name, value in asdict(one).items() if name not in changing}


def files() -> dict[str, bytes]:
    """Recorded segments: of every sort some, in the full form all."""
    return {name: data for name, data in recorded().items() if forms.IS_FULL or name in in_every_run()}


@pytest.mark.long
@pytest.mark.oracle
@pytest.mark.parametrize("codec", CODECS)
def test_kafka_reads_the_same_records(tmp_path: Path, codec: str) -> None:
    given: list[Path] = []
    for number, data in enumerate(files().values()):
        is_old = any(one.batch.magic < 2 for one in stored(data)[:1])
        if codec == "zstd" and is_old:
            continue
        before, after = tmp_path / f"{number}-before.log", tmp_path / f"{number}-after.log"
        before.write_bytes(data)
        after.write_bytes(recompress(data, codec, on_damage="skip").to_bytes())
        given += [before, after]
    done = oracle([path.name for path in given], cwd=tmp_path)
    lines: dict[str, list[dict[str, Any]]] = {path.name: [] for path in given}
    num_records = 0
    for text in done.stdout.splitlines():
        line = json.loads(text)
        lines[line["path"]].append({key: line[key] for key in line if key not in NOT_OF_THE_RECORDS})
        num_records += line["type"] == "record"
    for number in sorted({name.split("-")[0] for name in lines}, key=int):
        before, after = (_records(lines[f"{number}-{which}.log"]) for which in ("before", "after"))
        assert before == after
    assert num_records > 2000


def _records(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records with what their batches say; a wrapper that became messages has no batch of its own."""
    if any(line["type"] == "batch" and line["magic"] < 2 for line in lines):
        return [line for line in lines if line["type"] == "record"]
    return lines


@pytest.mark.parametrize("codec", CODECS)
def test_the_bytes_of_records_and_all_other_fields_stay(codec: str) -> None:
    num_batches = 0
    for data in files().values():
        before = [one for one in stored(data) if one.batch.magic == 2]
        made = stored(recompress(b"".join(one.data for one in before), codec).to_bytes())
        assert [header(one.batch) for one in made] == [header(one.batch) for one in before]
        for old, new in zip(before, made, strict=True):
            if old.batch.is_control or not old.batch.num_records:
                assert new.data == old.data
                continue
            assert new.batch.compression == ("none" if codec == "uncompressed" else codec)
            assert payload(new.data, new.batch.compression) == payload(old.data, old.batch.compression)
            num_batches += 1
    assert num_batches > 200


def test_producer_is_a_copy_and_none_is_uncompressed() -> None:
    for data in files().values():
        sound = b"".join(one.data for one in stored(data))
        assert recompress(data, "producer", on_damage="skip").to_bytes() == sound
    assert recompress(sound, "none").to_bytes() == recompress(sound, "uncompressed").to_bytes()


def test_a_level_compresses_anew_what_has_the_codec() -> None:
    squeezed = compress("zstd", b"".join(RECORDS), level=1)
    data = batch(5, RECORDS, payload=squeezed, attributes=4, last_offset_delta=8, count=9)
    assert recompress(data, "zstd").to_bytes() == data
    made = stored(recompress(data, "zstd", level=19).to_bytes())
    assert made[0].data[LEN_HEADER:] == compress("zstd", b"".join(RECORDS), level=19)


def test_wrappers_stay_wrappers_and_messages_messages() -> None:
    inner = b"".join(message(offset, b"v" * 50, magic=1) for offset in range(3))
    wrapper = message(2, compress("gzip", inner), magic=1, attributes=1)
    data = message(7, b"alone", magic=1) + wrapper
    made = recompress(data, "lz4")
    old, new = values(data), values(made.to_bytes())
    assert [row.get("compression") for row in new if "compression" in row] == ["none", "lz4"]
    assert [row for row in new if "key" in row] == [row for row in old if "key" in row]
    assert (made.tally.num_untouched, made.tally.num_rewritten) == (1, 1)
    plain = stored(recompress(data, "none").to_bytes())
    assert [one.batch.last_offset for one in plain] == [7, 0, 1, 2]
    with pytest.raises(EncodeError, match="zstd cannot be in a wrapper of magic 1"):
        recompress(data, "zstd").to_bytes()


def test_what_does_not_decompress_is_damage() -> None:
    bad = batch(1, payload=b"no gzip", attributes=1, count=2, last_offset_delta=1)
    data = batch(0) + bad + batch(3)
    found = []
    made = recompress(data, "lz4", on_damage=found.append)
    assert [one.batch.base_offset for one in stored(made.to_bytes())] == [0, 3]
    assert [(one.position, one.end_position) for one in found] == [(len(batch(0)), len(batch(0) + bad))]
    assert (made.tally.num_damaged, made.tally.num_dropped, made.tally.num_rewritten) == (1, 1, 2)
    with pytest.raises(DecompressionError):
        recompress(data, "lz4").to_bytes()


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_wrapper_is_held_to_the_bound_that_was_given(codec: str) -> None:
    wrapper = message(0, compress("gzip", message(0, bytes(50_000))), attributes=1)
    found = []
    assert recompress(wrapper, codec, on_damage=found.append, max_decompressed=1000).to_bytes() == b""
    assert [type(one.error) for one in found] == [DecompressionError]
    assert recompress(wrapper, codec, max_decompressed=60_000).to_bytes() != b""


@pytest.mark.parametrize(
    ("codec", "level", "words"),
    [
        ("brotli", None, "give one of producer, uncompressed, none, gzip, snappy, lz4, zstd"),
        ("none", 3, "has no level"),
        ("snappy", 3, "snappy has no levels"),
        ("zstd", 99, "zstd takes -131072 to 22"),
    ],
)
def test_codecs_and_levels_that_kafka_does_not_have(codec: str, level: int | None, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        recompress(b"", codec, level=level)


def test_the_command_prints_bytes_and_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("new.log").write_bytes(batch(0, RECORDS))
    assert main(["convert", "--codec", "zstd:19", "new.log", "made.log", "--report", "jsonl"]) == 0
    made = recompress(batch(0, RECORDS), "zstd", level=19).to_bytes()
    assert Path("made.log").read_bytes() == made
    line = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert (line["type"], line["codec"], line["level"]) == ("recompression", "zstd", 19)
    assert (line["num_bytes_before"], line["num_bytes_after"]) == (len(batch(0, RECORDS)), len(made))
    assert line["compress_seconds"] >= 0
    assert main(["convert", "--codec", "gzip", "new.log", "again.log"]) == 0
    assert "s CPU to decompress" in capfd.readouterr().out
    for wrong, words in (
        (["--codec", "zstd:x"], "give a level as a number"),
        (["--codec", "gzip", "--batch-size", "5"], "--batch-size is for --to-magic"),
        (["--codec", "gzip", "--to-magic", "1"], "not allowed with argument"),
        ([], "one of the arguments --to-magic --codec is required"),
    ):
        assert main(["convert", *wrong, "new.log", "other.log"]) == 2
        assert words in capfd.readouterr().err
    assert not Path("other.log").exists()
