"""Recorded topics as Kafka's own consumer reads them, of a broker on copies of their directories.

What consumers were given is recorded (tests/vectors/connector), and test_account.py holds runs against that;
here brokers start, and runs read their directories while they have them open.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.harness import ISOLATIONS
from tests.connector import served
from tests.ingest.consumed_tables import of
from tests.ingest.consumer import JavaConsumer, consuming
from tests.ingest.ingested import Run, parquet_rows
from tests.recording.sets import RECORDED

pytestmark = [pytest.mark.broker, pytest.mark.long(short=False)]


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
    with served.serving(name, tmp_path / "node") as bootstrap:
        every = consumer.read(bootstrap, "read_uncommitted", keys)
        for isolation in ISOLATIONS:
            found = consumer.read(bootstrap, isolation, keys)
            for source in (RECORDED / name, tmp_path / "node" / "data"):
                out = tmp_path / f"{isolation}.{source.name}"
                words = (
                    "--subscribe",
                    ",".join(sorted({topic for topic, _ in keys})),
                    "--isolation",
                    isolation,
                )
                status, table, err = ingest(source, out, *words, "-o", "endingOffsets=log-end")
                assert status == 0, err
                rows = parquet_rows(out)
                for key in keys:
                    line = {title: int(number) for title, number in table[key].items()}
                    end = line["end offset"]
                    # The broker may have written more to its own topics since.
                    given = [row for row in of(found.rows, key) if row.offset < end]
                    below = [row for row in of(every.rows, key) if row.offset < end]
                    assert of(rows, key) == given
                    assert (line["records"], line["aborted"]) == (len(given), len(below) - len(given))
                    assert end == found.bounds[key][1] or key[0].startswith("__")
                status, audited, err = audit(out, source)
                assert status == 0, err
                assert [audited[key]["control"] for key in keys] == [table[key]["control"] for key in keys]
