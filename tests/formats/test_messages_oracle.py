"""Kafka's own reader over wrappers of every sort: the rules for offsets and times of old messages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.codegen.vectors import VECTORS
from tests.made import recorded
from tests.made.build import batch, message
from tests.made.recorded import TYPES
from tests.oracle import run
from tests.segment.test_unwrapping import CODECS, odd, usual, wrapper

from kafka_segments import Damage, Record, open_segment

pytestmark = pytest.mark.oracle

APPEND = 8


def rules() -> dict[str, bytes]:
    """Name of a rule to a segment that shows it."""
    old = [message(at, b"%d" % at, magic=0) for at in (3, 8)]
    new = [message(at, b"%d" % at, time=50 + at) for at in (0, 5)]
    brokers = [message(at, b"%d" % at, time=50 + at, attributes=APPEND) for at in (0, 5)]
    names = ["renumbered_by_cleaning", "absolute_offsets", "time_of_the_broker", "wrapper_of_old_librdkafka"]
    vectors = {name: (VECTORS / "kafka_log_segment" / f"{name}.bin").read_bytes() for name in names}
    mixed = message(0, magic=0) + message(1) + batch(2) + message(3) + message(4, magic=0) + batch(5)
    return vectors | {
        "magic 0 has absolute offsets": wrapper(8, old, magic=0),
        "magic 1 has relative ones, renumbered by cleaning": wrapper(8, new),
        "a wrapper of old librdkafka": wrapper(0, new),
        "the wrapper's time under LogAppendTime": wrapper(8, new, attributes=APPEND, time=99),
        "the same as a 2.8 broker writes it": wrapper(8, brokers, attributes=APPEND, time=99),
        "a broker's time inside only": wrapper(8, brokers, time=99),
        "magic 1 in a wrapper of magic 0": wrapper(8, new, magic=0),
        "magic 0 in a wrapper of magic 1": wrapper(8, old),
        "magic 0 in a wrapper with a broker's time": wrapper(8, old, attributes=APPEND, time=99),
        "a tail that is cut": wrapper(8, [*new, message(9)[:-1]]),
        "a tail that is cut in its offset": wrapper(8, [*new, b"\0\0\0"]),
        "mixed magics": mixed + wrapper(6, new) + wrapper(9, old, magic=0) + batch(10),
        "every codec": b"".join(usual(90 * at, 9, codec=codec) for at, codec in enumerate(CODECS)),
    }  # fmt: skip


def test_kafka_gives_the_same_offsets_and_times(tmp_path: Path) -> None:
    cases = rules() | odd()
    names = list(cases)
    for index, name in enumerate(names):
        (tmp_path / f"{index}.log").write_bytes(cases[name])
    result = run.oracle([f"{index}.log" for index in range(len(names))], out=tmp_path, cwd=tmp_path)
    complaints = dict(re.findall(r"^(\d+)\.log, position \d+: (.*)$", result.stderr, re.MULTILINE))
    for index, name in enumerate(names):
        with open_segment(cases[name]) as segment:
            events = list(segment.iter_events(on_damage="skip"))
        ours = [one for one in events if isinstance(one, Record)]
        lines = (tmp_path / f"{index}.log.jsonl").read_text(encoding="utf-8").splitlines()
        if str(index) in complaints:
            assert any(isinstance(one, Damage) for one in events), (name, complaints[str(index)])
            assert name not in rules()
            continue
        if name == "a wrong checksum":
            continue  # Kafka does not look while it iterates; we leave that message out
        assert [
            (row.offset, row.timestamp, row.timestamp_type, row.value) for row in recorded.rows_of(lines)
        ] == [(one.offset, one.timestamp, TYPES[one.timestamp_type], one.value) for one in ours], name
    assert len(complaints) >= 6
