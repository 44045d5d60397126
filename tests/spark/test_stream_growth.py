"""Whatever grows when, and wherever a query is restarted: its batches have each record of a read once."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forms import examples
from tests.made.directories import ABORT, COMMIT, append, data, marker, transactional
from tests.spark.test_reader import read

pytest.importorskip("pyspark.sql.streaming.datasource", reason="streams need Spark 4.2 or newer")

from tests.spark.streamed import Streamed, offsets_of

steps = st.one_of(
    st.tuples(st.sampled_from(["plain", "open", "roll"]), st.integers(0, 2), st.integers(1, 4)),
    st.tuples(st.sampled_from(["commit", "abort"]), st.integers(0, 2), st.just(0)),
    st.tuples(
        st.sampled_from(["batch", "batch", "again", "restart", "available now"]),
        st.just(0),
        st.integers(1, 9),
    ),
)


class Growing:
    """Three partitions, of which the first is there from the start, and a producer for each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ends = [0, 0, 0]
        self.open = [False, False, False]
        self.grow("plain", 0, 1)

    def grow(self, kind: str, partition: int, size: int) -> None:
        """Append a batch, or the marker of an open transaction."""
        at = self.ends[partition]
        values = [b"%d" % number for number in range(size)]
        if kind in ("commit", "abort"):
            if not self.open[partition]:
                return
            entry, size = marker(at, 7, COMMIT if kind == "commit" else ABORT), 1
            self.open[partition] = False
        elif kind == "open":
            entry = transactional(at, 7, *values)
            self.open[partition] = True
        else:
            entry = data(at, *values)
        append(self.root / f"t-{partition}", entry, base_offset=at if kind == "roll" else None)
        self.ends[partition] += size


@settings(examples(settings(), 25, 1500), deadline=None)
@pytest.mark.long
@given(
    actions=st.lists(steps, max_size=25),
    isolation=st.sampled_from(["read_uncommitted", "read_committed"]),
)
def test_each_record_once(actions: list[tuple[str, int, int]], isolation: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logs = Growing(Path(folder))
        streamed, rows = Streamed(folder, isolationLevel=isolation), []
        for kind, partition, size in actions:
            if kind == "batch":
                rows += streamed.batch() or []
            elif kind == "restart":
                streamed.restart(maxOffsetsPerTrigger=str(size))
            elif kind == "available now":
                streamed.reader.prepareForTriggerAvailableNow()
                rows += streamed.rest()
                streamed.restart()
            elif kind == "again":
                if streamed.plan():
                    first = streamed.read()
                    logs.grow("plain", partition, size)
                    streamed.restart()
                    assert streamed.read() == first
                    rows += first
            else:
                logs.grow(kind, partition, size)
        rows += streamed.rest()
        assert offsets_of(rows) == offsets_of(read(folder, isolationLevel=isolation))
        assert len(rows) == len({(row["partition"], row["offset"]) for row in rows})
