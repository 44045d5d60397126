"""The distributions, installed where nothing else is: an empty environment, no Node, no Java, no network.

The wheels of the core dependencies are downloaded once, by hash, into `.cache/wheels` (`tools/test.py`); the
install itself and every command run here in a network namespace of their own, which has no interface that is
up. Where the kernel does not let us make one, proxies and an index that lead nowhere take its place, and the
test's id says so.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.packaging.isolated import BY, ISOLATION, Run

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "vectors" / "recorded"
ORACLE = ROOT / "tests" / "vectors" / "oracle"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="session")
def installed(environments: Callable[..., Run]) -> Run:
    """Runs a program of an environment that holds the wheel and its core dependencies, nothing else."""
    return environments("core", sys.version_info[:2])


def members(wheel: Path) -> dict[str, bytes]:
    """A wheel's files, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_from_the_sdist_equals_the_wheel_from_the_tree(distributions: Path) -> None:
    (from_sdist,), (direct,) = distributions.glob("*.whl"), (distributions / "direct").glob("*.whl")
    assert members(from_sdist) == members(direct)


def test_the_wheel_holds_both_packages_the_shim_and_the_licence(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    names = set(members(wheel))
    tree = {
        path.relative_to(ROOT / root).as_posix()
        for root in ("runtime", "generated")
        for path in (ROOT / root).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        if not path.is_relative_to(ROOT / "generated" / "webide")
    }
    exported = {"kafka_segments/schemas/ksc.js"}
    for folder, root in (("schemas", ROOT / "schemas"), ("webide", ROOT / "generated" / "webide")):
        found = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        exported |= {f"kafka_segments/{folder}/{name}" for name in found}
    assert {name for name in names if ".dist-info/" not in name} == tree | exported
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert {"pyspark_kafka_segments.py", "kafka_segments/py.typed"} <= tree
    assert {"kafka_segments_generated/py.typed", "kafka_segments_generated/kaitai/kafka_record.pyi"} <= tree


def test_the_metadata_names_licence_pythons_and_extras(installed: Run) -> None:
    code = (
        "from importlib.metadata import metadata as m; d = m('kafka-segments');"
        "print(d['License-Expression'], d['Requires-Python'], sorted(d.get_all('Provides-Extra')))"
    )
    said = installed("python", "-c", code).stdout
    extras = ["all", "arrow", "completion", "construct", "delta", "duckdb", "iceberg", "jit", "polars"]
    extras += ["report", "spark", "stores"]
    assert said == f"Apache-2.0 >=3.11 {extras}\n"


def test_the_schemas_come_along(installed: Run, tmp_path: Path) -> None:
    done = installed("kafka-segments", "schemas", "export", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "out").glob("*.ksy")} == {
        path.name for path in (ROOT / "schemas").glob("*.ksy")
    }


def test_the_description_leads_to_nothing_that_only_a_clone_has(installed: Run) -> None:
    code = "from importlib.metadata import metadata as m; print(m('kafka-segments').get_payload())"
    description = installed("python", "-c", code).stdout
    assert "Reads what a Kafka broker leaves on disk" in description
    assert "](" not in description


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("network", [BY])
def test_dump_equals_the_oracle_without_node_java_and_network(
    installed: Run, codec: str, network: str
) -> None:
    name = f"kafka-4.3/clean/codec-{codec}-0/00000000000000000000.log"
    done = installed("kafka-segments", "dump", name, "--format", "jsonl", cwd=RECORDED)
    assert (done.returncode, done.stderr) == (0, "")
    expected = (ORACLE / f"{name}.jsonl").read_text(encoding="utf-8")
    assert f'"compression":"{codec}"' in expected, "the recorded file is not what this test is for"
    assert done.stdout == expected


def test_the_environment_is_as_empty_as_it_claims(installed: Run) -> None:
    code = (
        "import importlib.util, shutil, socket\n"
        "print([name for name in ('java', 'node', 'npm') if shutil.which(name)])\n"
        "wanted = 'numba', 'pyarrow', 'pyspark', 'pandas', 'numpy', 'tqdm'\n"
        "print([name for name in wanted if importlib.util.find_spec(name)])\n"
        "print(sorted(name for _, name in socket.if_nameindex()))\n"
    )
    lines = installed("python", "-c", code).stdout.splitlines()
    assert lines[:2] == ["[]", "[]"]
    if ISOLATION:
        assert lines[2] == "['lo']"


MISSING: Sequence[tuple[str, str, str]] = [
    ("arrow", "read_table", "kafka_segments.read_table('x.log')"),
    ("arrow", "the arrow module", "import kafka_segments.core.segment.table"),
    ("duckdb", "relations", "from kafka_segments.duckdb import relation"),
    ("polars", "lazy frames", "from kafka_segments.polars import scan_segments"),
    ("spark", "the data source", "from kafka_segments.spark import KafkaSegmentsDataSource"),
]


@pytest.mark.parametrize(("extra", "what", "code"), MISSING, ids=[what for _, what, _ in MISSING])
def test_what_an_extra_would_have_done_says_how_to_install_it(
    installed: Run, extra: str, what: str, code: str
) -> None:
    script = (
        f"import kafka_segments\ntry:\n    {code}\nexcept kafka_segments.errors.MissingExtraError as error:\n"
    )
    done = installed("python", "-c", script + "    print(error.extra, '|', error)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{extra} | ")
    assert f"pip install 'kafka-segments[{extra}]'" in done.stdout


def test_ingest_without_arrow_says_how_to_install_it(installed: Run, tmp_path: Path) -> None:
    done = installed("kafka-segments", "ingest", RECORDED / "kafka-4.3" / "clean", tmp_path / "out")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "pip install 'kafka-segments[arrow]'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_importing_the_package_and_the_shim_needs_no_extra(installed: Run) -> None:
    # Spark imports every pyspark_* module to find data sources: one that raises hides all the others.
    done = installed("python", "-c", "import kafka_segments, pyspark_kafka_segments")
    assert (done.returncode, done.stderr) == (0, "")
