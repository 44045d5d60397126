"""The wheel with machine code, where numba is not: what it reads is what Kafka's classes read."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.packaging.isolated import PYTHONS, runner
from tools import extras

pytestmark = [pytest.mark.packaging, pytest.mark.long(short=False)]

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
SEGMENTS = [
    "kafka-0.9/clean/codec-gzip-0",
    "kafka-0.9/clean/codec-lz4-0",
    "kafka-0.9/clean/codec-snappy-0",
    "kafka-0.10.2/clean/codec-gzip-0",
    "kafka-0.10.2/clean/codec-lz4-0",
    "kafka-0.10.2/clean/codec-none-0",
    "kafka-0.10.2/clean/codec-snappy-0",
    *(f"kafka-4.3/clean/codec-{codec}-0" for codec in ("none", "gzip", "snappy", "lz4", "zstd")),
    "kafka-4.3/clean/transactions-0",
]
"""One for each codec and magic."""

READ = """
import importlib.util, json, sys
written = []
def note(event, arguments):
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & 3:
        written.append(str(arguments[0]))
    elif event in ("os.mkdir", "os.rename", "os.remove"):
        written.append(str(arguments[0]))
sys.addaudithook(note)
import kafka_segments
columns = ["offset", "timestamp", "key", "value", "headers"]
for path in sys.argv[1:]:
    table = kafka_segments.read_table(path, columns)
    numbers = table.column("timestamp").cast("int64").fill_null(-1)
    table = table.set_column(1, "timestamp", numbers)
    rows = [list(row.values()) for row in table.to_pylist()]
    print(json.dumps(rows, default=lambda data: data.hex()))
print([name for name in ("numba", "llvmlite") if importlib.util.find_spec(name)])
print(written)
"""


def oracle_rows(name: str) -> Iterator[list[Any]]:
    """Yield what Kafka's classes read, as `READ` prints it."""

    def data(text: str | None) -> str | None:
        return None if text is None else base64.b64decode(text).hex()

    path = VECTORS / "oracle" / name / "00000000000000000000.log.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["type"] == "record" and record["control"] is None:
            headers = [{"key": data(one["key"]), "value": data(one["value"])} for one in record["headers"]]
            key, value = data(record["key"]), data(record["value"])
            yield [record["offset"], record["timestamp"], key, value, headers]


@pytest.mark.parametrize("version", PYTHONS)
def test_it_reads_every_codec_and_magic_as_kafka_does(machine_wheel, version, tmp_path):
    extras.prepare()
    home = extras.environment(machine_wheel, "arrow", version)
    run = runner(home, tmp_path, tmp_path / "never-made")
    paths = [VECTORS / "recorded" / name / "00000000000000000000.log" for name in SEGMENTS]
    done = run("python", "-B", "-c", READ, *paths)
    assert (done.returncode, done.stderr) == (0, "")
    *tables, found, written = done.stdout.splitlines()
    assert (found, written) == ("[]", "[]")
    assert not (tmp_path / "never-made").exists()
    for name, table in zip(SEGMENTS, tables, strict=True):
        expected = list(oracle_rows(name))
        assert expected and json.loads(table) == expected, name
