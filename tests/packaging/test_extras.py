"""Each extra alone, on the oldest and the newest Python, does what README says of it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from tests.forms import pick
from tests.packaging.isolated import PYTHONS
from tools import extras

pytestmark = pytest.mark.packaging

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
SEGMENT = RECORDED / "kafka-4.3" / "clean" / "shapes-0" / "00000000000000000000.log"
PYTHONS_OF_EXTRAS = pick(PYTHONS[-1:], PYTHONS)
"""In the short form the newest Python alone, for which decoders are compiled once."""


def pairs(extra: str, pythons: list[ParameterSet]) -> list[ParameterSet]:
    """Parameters of a test: an extra with each Python."""
    return [
        pytest.param(extra, *python.values, id=f"{extra}-{python.id}", marks=python.marks)
        for python in pythons
    ]


CORE = """
import sys, inspect, pydoc
import kafka_segments
from kafka_segments import *
assert {"open_segment", "read_table"} <= {name for name, _ in inspect.getmembers(kafka_segments)}
assert "open_segment" in pydoc.render_doc(kafka_segments)
public = [name for name in dir(kafka_segments) if not name.startswith("__")]
assert set(public) == set(kafka_segments.__all__) - {"__version__"}, public
assert not hasattr(kafka_segments, "no_such_name")
with kafka_segments.open_segment(sys.argv[1]) as segment:
    print(sum(isinstance(event, kafka_segments.Record) for event in segment.iter_events()))
"""
WITHOUT_ARROW = """
import kafka_segments
for name in ("read_table", "open_writer", "SegmentWriter", "encode_records", "up_convert", "Retention"):
    try:
        getattr(kafka_segments, name)("x.log")
    except kafka_segments.errors.MissingExtraError as error:
        assert error.extra == "arrow" and "pip install 'kafka-segments[arrow]'" in str(error), error
    else:
        raise AssertionError(name)
print("each says what to install")
"""
ARROW = """
import sys, tempfile
import kafka_segments
table = kafka_segments.read_table(sys.argv[1])
with kafka_segments.open_segment(sys.argv[1]) as segment:
    assert sum(batch.num_rows for batch in segment.read_batches()) == table.num_rows
    assert segment.read_headers().num_rows > 0
rows = [{"timestamp": 1714000000000, "value": b"hello"}]
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/00000000000000000042.log"
    with kafka_segments.open_writer(path) as writer:
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            writer.write(rows, compression=codec)
        writer.write(rows, producer_id=7, producer_epoch=0, is_transactional=True)
        writer.write_marker("COMMIT", producer_id=7, producer_epoch=0, timestamp=1714000000005)
        writer.close()
    assert kafka_segments.read_table(path).column("offset").to_pylist() == [*range(42, 48)]
print(table.num_rows)
"""
CONSTRUCT = """
from kafka_segments_generated.construct.kafka_log_segment import KafkaLogSegment
content = {"base_timestamp": 0, "records": [{"body": {"key": b"k", "value": b"v"}}]}
built = KafkaLogSegment.build({"entries": [{"base_offset": 7, "body": {"magic": 2, "content": content}}]})
import kafka_segments
with kafka_segments.open_segment(built) as segment:
    print([event.key for event in segment.iter_events() if isinstance(event, kafka_segments.Record)])
"""
NUM_RECORDS = 24
PACKAGES = {
    "core": "crc32c",
    "arrow": "obstore.store, pyarrow",
    "completion": "shtab",
    "construct": "construct",
    "delta": "deltalake",
    "duckdb": "kafka_segments.duckdb, pytz",
    "iceberg": "pyiceberg.catalog.sql",
    "jit": "numba",
    "polars": "kafka_segments.polars",
    "report": "kafka_segments.report.page",
    "spark": "pyspark",
    "stores": "obstore.store",
}
"""What each extra is for."""
INGESTS = {"arrow": (), "delta": ("--table", "delta"), "iceberg": ("--table", "iceberg"), "stores": ()}
"""Words of `ingest` that an extra is enough for; with `spark` it has a test of its own."""


def test_each_extra_of_the_project_is_here() -> None:
    project = tomllib.loads((extras.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*extras.EXTRAS, "all"} == {"core", *project["optional-dependencies"]}
    assert set(extras.EXTRAS) == PACKAGES.keys()


@pytest.mark.parametrize("version", PYTHONS)
def test_the_core_alone(environments, version):
    run = environments("core", version)
    done = run("python", "-c", CORE, SEGMENT)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{NUM_RECORDS}\n", "")
    done = run("python", "-c", WITHOUT_ARROW)
    assert (done.returncode, done.stdout) == (0, "each says what to install\n"), done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("extra", "version"), [*pairs("arrow", PYTHONS_OF_EXTRAS), *pairs("spark", pick([], PYTHONS))]
)
def test_arrow_reads_and_writes(environments, extra, version):
    done = environments(extra, version)("python", "-c", ARROW, SEGMENT)
    assert (done.returncode, done.stdout) == (0, f"{NUM_RECORDS}\n"), done.stderr


@pytest.mark.long
@pytest.mark.parametrize("version", PYTHONS_OF_EXTRAS)
@pytest.mark.parametrize("extra", ["construct", "arrow"])
def test_construct_builds(environments, extra, version):
    done = environments(extra, version)("python", "-c", CONSTRUCT)
    assert (done.returncode, done.stdout) == (0, "[b'k']\n"), done.stderr


@pytest.mark.long
@pytest.mark.parametrize("version", PYTHONS_OF_EXTRAS)
def test_construct_alone_brings_no_arrow(environments, version):
    done = environments("construct", version)("python", "-c", WITHOUT_ARROW)
    assert done.returncode == 0, done.stderr


@pytest.mark.long(short=False)
@pytest.mark.parametrize(
    ("extra", "version"), [one for extra in extras.EXTRAS for one in pairs(extra, PYTHONS)]
)
def test_an_extra_brings_what_it_is_for(environments, extra, version):
    done = environments(extra, version)("python", "-c", f"import kafka_segments, {PACKAGES[extra]}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long(short=False)
@pytest.mark.parametrize(("extra", "version"), [one for extra in INGESTS for one in pairs(extra, PYTHONS)])
def test_an_extra_ingests(environments, extra, version, tmp_path):
    run = environments(extra, version)
    words = ("--engine", "local", *INGESTS[extra])
    done = run("kafka-segments", "ingest", SEGMENT.parent, tmp_path / "out", *words)
    assert done.returncode == 0, done.stderr[-3000:]
    done = run("kafka-segments", "audit", tmp_path / "out", SEGMENT.parent)
    assert (done.returncode, f" {NUM_RECORDS} " in done.stdout) == (0, True), done.stderr[-3000:]


@pytest.mark.long(short=False)
@pytest.mark.parametrize("version", PYTHONS)
def test_a_report_is_made_with_its_extra_alone(environments, version, tmp_path):
    run = environments("report", version)
    done = run("kafka-segments", "report", SEGMENT.parent, "-o", tmp_path / "page.html")
    # The first call in an environment says that it compiles decoders.
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "compiling decoders" not in line] == []
    assert "<svg" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.spark
@pytest.mark.long(short=False)  # test_guides_with_a_wheel.py reads with Spark in one with all extras
@pytest.mark.parametrize("version", PYTHONS)
def test_spark_alone_ingests(environments, version, tmp_path):
    """The workers are started as `python3` of the PATH, which is the environment's."""
    run, log_dir = environments("spark", version), RECORDED / "kafka-4.3" / "clean"
    done = run("kafka-segments", "ingest", log_dir, tmp_path / "out", network=True, cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr[-3000:]
    assert list((tmp_path / "out").rglob("*.parquet"))
