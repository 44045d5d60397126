"""Decoders of messages in `dump --like-kafka`: they print what Kafka's tool prints of internal topics."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests import forms
from tests.like_kafka.kafka_tool import kafka, ours
from tests.made.build import batch, record
from tests.python import run_python
from tests.recording.sets import RECORDED

from kafka_segments import Record, open_segment
from kafka_segments.like_kafka.message_lines import MAX_LEN_MESSAGE, json_text

pytestmark = pytest.mark.oracle

ROOT = Path(__file__).resolve().parents[2]
DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
    "__share_group_state": "--share-group-state-decoder",
}
Pair = tuple[bytes | None, bytes | None]


def logs_of(topic: str) -> list[Path]:
    found = [*RECORDED.rglob(f"{topic}-*/*.log"), *RECORDED.rglob(f"{topic}-*/*.checkpoint")]
    return sorted(path for path in found if path.stat().st_size)


def test_recorded_topics() -> None:
    runs = [
        ["--files", path.relative_to(RECORDED).as_posix(), option]
        for topic, option in DECODERS.items()
        for path in logs_of(topic)
    ]
    assert len(runs) >= 13
    for run, expected in zip(runs, kafka(runs, RECORDED), strict=True):
        found = ours(run, RECORDED)
        assert (found.out, found.status) == (expected.out, expected.status), run


def pairs_of(topic: str) -> list[Pair]:
    """Keys and values of all records of a topic, each once."""
    found: dict[Pair, None] = {}
    for path in logs_of(topic):
        with open_segment(path) as segment:
            records = (one for one in segment.iter_events() if isinstance(one, Record))
            found.update(dict.fromkeys((one.key, one.value) for one in records if one.control is None))
    return list(found)


def changed(dice: random.Random, data: bytes) -> bytes:
    """The same with one thing wrong, or as it is."""
    kind, at = dice.randrange(5), dice.randrange(len(data) + 1)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + dice.randbytes(dice.randrange(4)) + data[at:]
    if kind == 2 and at < len(data):
        return (
            data[:at]
            + bytes([dice.choice([0, 1, 2, 127, 128, 255, data[at] ^ 1 << dice.randrange(8)])])
            + data[at + 1 :]
        )
    return data


@pytest.mark.long
@pytest.mark.parametrize("topic", DECODERS)
def test_damaged_messages(topic: str, tmp_path: Path) -> None:
    """Records of a topic with bytes that are changed, under right checksums."""
    dice = random.Random(topic)
    pairs = pairs_of(topic)
    rows = []
    for number in range(forms.pick(300, 8_000)):
        key, value = dice.choice(pairs)
        keys = b"" if key is None else key if dice.random() < 0.7 else changed(dice, key)
        rows.append(record(number, keys, None if value is None else changed(dice, value)))
    (tmp_path / "0.log").write_bytes(batch(0, rows))
    run = ["--files", "0.log", DECODERS[topic], "--skip-record-metadata"]
    (expected,) = kafka([run], tmp_path)
    found = ours(run, tmp_path)
    pairs_of_lines = zip(found.out.split(b"\n"), expected.out.split(b"\n"), strict=True)
    assert [pair for pair in pairs_of_lines if pair[0] != pair[1]] == []
    assert found.status == expected.status == 0


def test_a_missing_key_ends_the_output(tmp_path: Path) -> None:
    (tmp_path / "0.log").write_bytes(batch(0, [record(0, None, b"v")]))
    run = ["--files", "0.log", "--offsets-decoder"]
    (expected,) = kafka([run], tmp_path)
    found = ours(run, tmp_path)
    assert (found.out, found.status) == (expected.out, expected.status) and found.status == 1
    assert "no key" in found.err


def test_long_messages_are_refused(tmp_path: Path) -> None:
    value = bytes(MAX_LEN_MESSAGE + 1)
    (tmp_path / "0.log").write_bytes(batch(0, [record(0, b"", value)]))
    found = ours(["--files", "0.log", "--cluster-metadata-decoder"], tmp_path)
    assert found.status == 1 and f"{MAX_LEN_MESSAGE}" in found.err


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0"), (1e7, "1.0E7"), (1048576.5, "1048576.5"), (12345678.9, "1.23456789E7"), (1e-4, "1.0E-4")],
)
def test_numbers_are_written_as_by_java(value: float, text: str) -> None:
    assert json_text({"a": [value, None, True]}) == f'{{"a":[{text},null,true]}}'


def test_the_definitions_are_those_in_the_jars() -> None:
    run_python(ROOT / "tools" / "kafka_messages.py", "--check", cwd=ROOT)
