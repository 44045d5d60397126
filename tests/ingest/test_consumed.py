"""Recorded topics as Kafka's own consumer reads them, of a broker on copies of their directories.

What consumers were given is recorded (tests/vectors/connector), and test_account.py holds runs against that;
here brokers start, and runs read their directories while they have them open.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.harness import ISOLATIONS
from tests.connector import served
from tests.ingest.consumed_tables import of
from tests.ingest.consumer import Consumed, JavaConsumer, consuming
from tests.ingest.ingested import COUNTS, OFFSETS, Run, parquet_rows
from tests.recording.sets import RECORDED
from tests.spark.kafka_rows import EXTREME, Row

pytestmark = [pytest.mark.broker, pytest.mark.long(short=False)]

CHECKED = [*OFFSETS, *COUNTS]
EXTREME_COLUMNS = "offset,timestamp_ms,timestamp_type,key,value,headers"


@pytest.fixture(scope="module")
def consumer() -> Iterator[JavaConsumer]:
    """Kafka's consumer."""
    with consuming() as found:
        yield found


@pytest.mark.parametrize("name", served.served_sets())
def test_rows_are_those_of_a_consumer(
    ingest: Run, audit: Run, consumer: JavaConsumer, tmp_path: Path, name: str
) -> None:
    keys = [(topic, number) for topic, numbers in served.partitions(name).items() for number in numbers]
    words = ["--subscribe", ",".join(sorted({topic for topic, _ in keys})), "-o", "endingOffsets=log-end"]
    words += ["-o", f"columns={EXTREME_COLUMNS}"] if name == EXTREME else []
    node = tmp_path / "node"
    with served.serving(name, node) as bootstrap:
        # Nothing else says why what the cleaner emptied is empty; the broker has begun another one.
        for path in (RECORDED / name).glob("cleaner-offset-checkpoint"):
            shutil.copyfile(path, node / "data" / path.name)
        every = consumer.read(bootstrap, "read_uncommitted", keys)
        for isolation in ISOLATIONS:
            found = consumer.read(bootstrap, isolation, keys)
            for source in (RECORDED / name, node / "data"):
                out = tmp_path / f"{isolation}.{source.name}"
                status, table, err = ingest(source, out, *words, "--isolation", isolation)
                assert status == 0, err
                status, audited, err = audit(out, source)
                assert status == 0, err
                rows = parquet_rows(out)
                for key in keys:
                    line = table.get(key, audited[key])  # there is none without anything new
                    check(line, key, rows, found, every)
                    assert {one: audited[key][one] for one in CHECKED} == {one: line[one] for one in CHECKED}


def check(
    line: dict[str, str], key: tuple[str, int], rows: list[Row], found: Consumed, every: Consumed
) -> None:
    """Check one partition; a broker may have written more to topics of its own meanwhile."""
    end = int(line["end offset"])
    assert end == found.bounds[key][1] or key[0].startswith("__")
    given = [row for row in of(found.rows, key) if row.offset < end]
    below = [row for row in of(every.rows, key) if row.offset < end]
    assert of(rows, key) == given
    assert (int(line["records"]), int(line["aborted"])) == (len(given), len(below) - len(given))
