"""The arithmetic of `make bench-spark`: how goals are judged, what is missed, what /proc says."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.bench_spark import cache, corpus, day_of, usage
from tests.bench_spark.corpus import Corpus
from tests.bench_spark.judge import Figure, best, faster, judge, raw
from tests.bench_spark.runs import OURS, STUB, THEIRS, Measured, Read, first_words
from tests.io.pagecache import drop, pages_of
from tools import bench_spark

MILLION = Corpus("plain", Path("plain"), 1_000_000, 4)


def measured(side: str, wall: float = 0, **given: object) -> Measured:
    return Measured(Read(side, MILLION, "noop"), wall=wall, jvm=1, python=1, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("wall", "met"), [(0.5, True), (0.51, False)])
def test_a_ratio_is_judged_by_raw_figures(wall: float, met: bool) -> None:
    row = faster("x", measured(OURS, wall), measured(THEIRS, 1.0), 2.0, quick=False)
    assert (row["ours_mrps"], row["peer_mrps"], row["goal"], row["met"]) == (
        round(1 / wall, 3),
        1.0,
        2.0,
        met,
    )


def test_what_ours_cannot_do_yet_is_missed_and_said() -> None:
    failed = measured(OURS, error="OptionError: unknown option view; the options are path")
    row = faster("x", failed, measured(THEIRS, 1.0), 2.0, quick=True)
    assert (row["met"], row["ratio"]) == (False, None)
    assert row["note"].startswith("not yet: OptionError: unknown option view")
    assert raw(failed)["mrps"] is None


def test_a_quick_run_judges_no_rates() -> None:
    row = faster("x", measured(OURS, 0.1), measured(STUB, 1.0), 0.88, quick=True)
    assert (row["met"], row["ratio"]) == (None, 10.0)


@pytest.mark.parametrize(
    ("value", "ratio", "met"), [(3.0, 1.0, True), (4.0, 0.75, False), (-1.0, None, True), (None, None, False)]
)
def test_a_figure_may_be_at_most(value: float | None, ratio: float | None, met: bool) -> None:
    row = judge(Figure("x", "plain", value, "s", 3.0), quick=True)
    assert (row["goal"], row["limit"], row["ratio"], row["met"]) == (1, "<= 3 s", ratio, met)


def test_no_failure_is_allowed_where_none_is() -> None:
    assert judge(Figure("x", "lz4", 0, "", 0), quick=False)["met"] is True
    assert judge(Figure("x", "lz4", None, "", 0, "MemoryError"), quick=False)["met"] is False


def test_the_best_of_runs_is_one_that_went_through() -> None:
    runs = [measured(OURS, error="x"), measured(OURS, 3), measured(OURS, 2)]
    assert best(runs).wall == 2
    assert best(runs[:1]).error == "x"


def test_what_a_query_must_answer() -> None:
    assert Read(OURS, MILLION, "total").expected == 1_000_000 * corpus.LEN_VALUE
    assert Read(OURS, MILLION, "total", num_records=10).expected == 10 * corpus.LEN_VALUE
    assert Read(THEIRS, MILLION, "count").expected == 1_000_000
    assert Read(STUB, MILLION, "noop").expected is None


def test_values_are_json_of_150_bytes() -> None:
    values = corpus.record_batch(500)["value"].to_pylist()
    assert {len(value) for value in values} == {corpus.LEN_VALUE}
    assert all(value.startswith(b'{"order_id": "o-') and value.endswith(b'"}') for value in values)


def test_tiny_segments_have_six_kilobytes_and_their_time(tmp_path: Path) -> None:
    num_records = 2 * 6 * corpus.RECORDS_A_TINY
    made = corpus.made(Corpus("year", tmp_path / "year", num_records, 2))
    for directory in made.path.iterdir():
        logs = sorted(directory.glob("*.log"))
        assert [int(path.stem) for path in logs] == [33 * at for at in range(6)]
        assert {path.stat().st_size for path in logs} == {5936}
        assert len(list(directory.glob("*.timeindex"))) == 6
    found = day_of.measure(made, 0, 60_000)
    assert found["whole"] > 0 < found["alone"]


def test_the_line_that_names_the_error_is_told() -> None:
    text = "Traceback\n  File x\nkafka_segments.errors.OptionError: unknown option view\n\nJVM:\n  at x"
    assert first_words(text) == "kafka_segments.errors.OptionError: unknown option view"
    assert first_words("") == "says nothing"


@pytest.mark.skipif(not usage.PROC.exists(), reason="there is no /proc")
def test_a_childs_cpu_time_and_memory_are_found() -> None:
    # Named as the daemon of Spark's workers is; its child is what runs a task.
    worker = "import time; x = bytearray(64 << 20); t = time.process_time()\n"
    worker += "while time.process_time() - t < .2: 0\n"
    worker += "print('ready', flush=True); time.sleep(60)"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {worker!r}])"
    # Below a process of its own: this one may have others, such as JVMs of other tests.
    starter = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    daemon = [sys.executable, "-c", program, *usage.TASKS.split()]
    command = [sys.executable, "-c", starter, *daemon]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as above:
        try:
            before = usage.cpu(os.getpid(), above.pid)
            assert above.stdout is not None
            assert above.stdout.readline() == b"ready\n"
            with usage.watching(0.01, above.pid) as memory:
                time.sleep(0.3)
            used = usage.cpu(os.getpid(), above.pid).since(before)
        finally:
            os.killpg(above.pid, 9)
    (peak,) = memory.peaks.values()
    assert 64 < peak < 128
    assert memory.limits == {None}
    assert used.tasks >= 0.2
    assert (used.jvm, used.planning) == (0, 0)
    assert used.other > 0


def test_the_table_has_a_line_for_every_run_and_goal() -> None:
    rows = [faster("the goal", measured(OURS, 1), measured(THEIRS, 2), 3, quick=False)]
    rows += [raw(measured(OURS, 1)), raw(measured(THEIRS, error="went wrong"))]
    text = bench_spark.table(rows, "heading")
    assert "went wrong" in text
    assert next(line for line in text.splitlines() if "MISSED" in line).startswith("the goal ")
    assert text.endswith("0 met, 1 MISSED, 0 not judged")


@pytest.mark.skipif(sys.platform != "linux", reason="the page cache is Linux's")
def test_segments_are_held_in_the_cache_and_dropped_from_it(tmp_path: Path) -> None:
    path = tmp_path / "t-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(bytes(1 << 20))

    drop(path)
    if any(pages_of(path)):
        pytest.skip("this file system keeps its pages, whatever it is asked (tmpfs?)")
    with cache.held(Corpus("t", tmp_path, 1, 1)):
        assert sum(pages_of(path)) == (1 << 20) // 4096
        drop(path)
        assert sum(pages_of(path)) == (1 << 20) // 4096, "what is mapped stays"
    drop(path)
    assert sum(pages_of(path)) == 0
