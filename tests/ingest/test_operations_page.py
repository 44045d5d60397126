"""Each command of docs/operations/pipeline.md and cluster.md is run; their tables name what there is."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from tests.ingest.ingested import parquet_rows
from tests.ingest.operations_page import PAGES, ROOT, Site, blocks, section
from tests.made import directories
from tests.made.directories import append, run_of
from tests.packaging.conftest import build
from tests.spark import kafka_rows

from kafka_segments import errors
from kafka_segments.cli import console
from kafka_segments.cli.main import main

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A machine with 9 records of `orders`, and 4 of `other`."""
    (tmp_path / "site").mkdir()
    found = Site(tmp_path / "site")
    append(found.logs / "orders-0", *run_of(0, 9))
    append(found.logs / "other-0", *run_of(0, 4))
    return found


def block(section: str, language: str, at: int = 0) -> str:
    return blocks()[section, language][at]


def done(site: Site, code: str, **more: str) -> subprocess.CompletedProcess[str]:
    found = site.run(code, **more)
    assert found.returncode == 0, found.stdout + found.stderr
    return found


def offsets(table: Path, topic: str) -> list[int]:
    return [row.offset for row in parquet_rows(table) if row.topic == topic]


def test_the_tests_know_all_code_of_the_page() -> None:
    found = {key: len(codes) for key, codes in blocks().items()}
    assert found == {
        ("One machine", "sh"): 1,
        ("One machine", "cron"): 1,
        ("One machine", "python"): 1,
        ("A cluster", "sh"): 2,
        ("A cluster", "python"): 1,
        ("A cluster", "json"): 2,
        ("Sizing", "sh"): 1,
        ("Monitoring", "yaml"): 1,
        ("Give a topic another table", "sh"): 1,
        ("Rewind to the log", "sh"): 1,
        ("Accept that offsets expired", "sh"): 1,
        ("Messages per minute", "python"): 1,
    }


def test_one_machine(site: Site) -> None:
    found = done(site, block("One machine", "sh"))
    assert "problems" in found.stdout
    assert offsets(site.table, "orders") == list(range(9))
    assert json.loads((site.state / "history.json").read_text())["totals"]["records"] == 13
    assert (site.metrics / "history.prom").read_text().endswith("# EOF\n")


def test_cron(site: Site) -> None:
    """As cron does it: NAME=VALUE, five fields, the rest to a shell; a percent sign would be a new line."""
    variables, commands = {}, []
    for line in site.here(block("One machine", "cron")).splitlines():
        if match := re.fullmatch(r"(\w+)=(.*)", line):
            variables[match[1]] = match[2]
            continue
        *fields, command = line.split(None, 5)
        assert [bool(re.fullmatch(r"\*|\d+", field)) for field in fields] == [True] * 5
        assert "%" not in command
        commands.append(command)
    assert variables == site.variables()
    assert len(commands) == 2
    for number, command in enumerate([commands[0], *commands], 1):
        append(site.logs / "orders-0", *run_of(9 * number, 9 * number + 9))
        done(site, command)
    assert offsets(site.table, "orders") == list(range(27))
    assert not re.search("error|Traceback", (site.state / "history.log").read_text())


def test_airflow(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    operators: list[dict[str, Any]] = []

    class Dag:
        def __init__(self, name: str, **options: Any) -> None:
            assert options["max_active_runs"] == 1
            assert options["catchup"] is False

        def __enter__(self) -> None: ...

        def __exit__(self, *_error: object) -> None: ...

    for name in ("airflow", "airflow.providers", "airflow.providers.standard"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name, cls in (
        ("airflow.sdk", {"DAG": Dag}),
        ("airflow.providers.standard.operators", {}),
        (
            "airflow.providers.standard.operators.bash",
            {"BashOperator": lambda **more: operators.append(more)},
        ),
    ):
        module = ModuleType(name)
        module.__dict__.update(cls)
        monkeypatch.setitem(sys.modules, name, module)
    exec(compile(site.here(block("One machine", "python")), str(PAGES[0]), "exec"), {})
    (operator,) = operators
    assert operator["env"] == {name: value for name, value in site.variables().items() if name != "METRICS"}
    found = site.run(operator["bash_command"], "bash", **operator["env"])
    assert found.returncode == 0, found.stderr
    assert offsets(site.table, "other") == list(range(4))


def on_the_cluster(site: Site, code: str) -> subprocess.CompletedProcess[str]:
    """Pack the environment from a wheel of this tree alone, write the job's file, and run a command.

    Packages of others are those of this Python; executors are processes with directories of their own.
    """
    build(ROOT, site.root / "dist", "--wheel")
    install, pack = block("A cluster", "sh").strip().splitlines()
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_FIND_LINKS": str(site.root / "dist")}
    done(site, f"{install}\n{pack}", **offline)
    (site.root / "ingest_job.py").write_text(block("A cluster", "python"))
    return done(
        site,
        code,
        MASTER="local-cluster[2,1,1024]",
        PYSPARK_PYTHON=sys.executable,
        SPARK_LOCAL_IP="127.0.0.1",
    )


def test_the_job_that_is_submitted(site: Site) -> None:
    pytest.importorskip("build.__main__", reason="needs the package build")
    command = 'PYTHONPATH=environment python3 ingest_job.py "$LOGS" "$TABLE" --engine local'
    on_the_cluster(site, command)
    assert offsets(site.table, "orders") == list(range(9))
    assert (site.root / "environment" / "kafka_segments" / "ingest").is_dir()


@pytest.mark.spark
@pytest.mark.long(short=False)
def test_spark_submit(site: Site) -> None:
    shutil.copytree(CLEAN / "multi-0", site.logs / "multi-0")
    on_the_cluster(site, block("A cluster", "sh", 1))
    report = json.loads((site.state / "history.json").read_text())
    assert (report["status"], report["totals"]["records"]) == (0, 13 + 206)
    assert report["seconds"]["engine_start"] > 0
    assert offsets(site.table, "orders") == list(range(9))


def emr_command(site: Site) -> list[str]:
    step = json.loads(block("A cluster", "json", 1))["HadoopJarStep"]
    assert step["Jar"] == "command-runner.jar"
    here = {
        "s3://bucket/environment.tar.gz#environment": "environment.tar.gz#environment",
        "s3://bucket/ingest_job.py": "ingest_job.py",
        "s3a://archive/logs": str(site.logs),
        "/mnt/lake/history": str(site.table),
    }
    words = [here.get(word, word) for word in step["Args"]]
    assert words[0] == "spark-submit"
    assert set(here.values()) <= set(words)
    return words


@pytest.mark.spark
@pytest.mark.long(short=False)
def test_emr(site: Site) -> None:
    program, *words = emr_command(site)
    quoted = " ".join(f"'{word}'" for word in words)
    on_the_cluster(site, f'PYTHONPATH=environment {program} --master "$MASTER" {quoted}')
    assert offsets(site.table, "orders") == list(range(9))


def test_databricks_and_emr_give_what_the_command_takes(site: Site) -> None:
    task = json.loads(block("A cluster", "json"))["tasks"][0]["spark_python_task"]
    words = [*task["parameters"], *emr_command(site)]
    assert words[:4] == ["/Volumes/raw/kafka/logs", "/Volumes/lake/kafka/history", "--engine", "spark"]
    assert main(["ingest", str(site.logs), str(site.table), *task["parameters"][2:-1], "local"]) == 0
    submit = block("A cluster", "sh", 1)
    options = [word for word in words if word.startswith("spark.") and "appMasterEnv" not in word]
    assert options == ["spark.executorEnv.PYTHONPATH=environment"]
    assert options[0] in submit


def test_topic_by_topic(site: Site) -> None:
    done(site, block("Sizing", "sh"), TOPICS="orders other")
    assert (offsets(site.table, "orders"), offsets(site.table, "other")) == ([*range(9)], [*range(4)])


def test_the_arithmetic_of_sizing() -> None:
    text = section("Sizing")
    read = 40e12
    lz4, plain = 75 * 2**20, 160 * 2**20
    assert (round(356 / 4.75), round(224 / 1.4)) == (75, 160)
    said = {
        f"{read / lz4 / 1e3:,.0f},000 core seconds = {read / lz4 / 3600:.0f} core hours",
        f"on 64 cores {read / lz4 / 3600 / 64:.1f} hours",
        f"Without compression, it takes {read / plain / 3600:.0f} core hours",
        f"64 cores read {64 * lz4 / 1e9:.1f} GB/s, {64 * lz4 * 8 / 1e9:.0f} Gbit/s",
        f"takes {read * 8 / 10e9 / 3600:.0f} hours",
        f"{read * 0.55 / 1e12:.0f} TB are written, by {read / 2**28 / 1e3:.0f},000 tasks",
        f"{round(read / 2**28, -3) * 0.35e3 / 1e6:.0f} MB",
        f"{round(read / 2**28, -3) * 1.6e3 / 1e6:.0f} MB".replace("238", "240"),
        f"{read / 2**30 / 1e3:.0f},000 segments",
        f"{64 * 300 / 1024:.0f} GiB",
        f"{read / 7 / 24 / 1e9:.0f} GB an hour, {round(read / 7 / 24 / 2**28, -1):.0f} tasks",
        f"{read / 7 / 24 / lz4 / 3600:.2f} core hours: {read / 7 / 24 / lz4 / 4 / 60:.0f} minutes",
    }
    assert {one for one in said if one not in text.replace("\n  ", " ")} == set()


def metric_names(site: Site) -> set[str]:
    """Names of the gauges of runs: one that takes much, with an open transaction; one that fails."""
    append(site.logs / "orders-0", directories.transactional(9, 7, b"a"))
    words = ["--engine", "local", "--isolation", "read_committed", "--metrics", str(site.metrics / "a.prom")]
    names = set()
    for source in (site.logs, site.logs / "none"):
        main(["ingest", str(source), str(site.table), *words])
        text = (site.metrics / "a.prom").read_text()
        names |= {one.name for one in text_string_to_metric_families(text)}
    return names


def test_alerts_and_the_table_name_the_gauges(site: Site) -> None:
    names = metric_names(site)
    text = section("Monitoring")
    rows = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert {f"kafka_segments_ingest_{name}" for name in listed} == names
    (group,) = yaml.safe_load(block("Monitoring", "yaml"))["groups"]
    used = {
        name for rule in group["rules"] for name in re.findall(r"kafka_segments_ingest_\w+", rule["expr"])
    }
    assert used <= names
    assert len(group["rules"]) >= 6


def test_the_errors_of_the_page_are_ours_with_their_statuses() -> None:
    text = section("When a run ends with an error").partition("\n### ")[0]
    rows = re.findall(r"^\| ((?:`\w+Error`(?:, )?)+), (\d) \|", text, re.MULTILINE)
    named = {name: int(status) for names, status in rows for name in re.findall(r"`(\w+)`", names)}
    assert {
        "TruncatedLogError",
        "RecreatedTopicError",
        "ExpiredOffsetsError",
        "ConflictError",
        "UndecidedRunError",
    } <= named.keys()
    found = {name: console.status_of(getattr(errors, name)("")) for name in named}
    assert found == named


def test_one_topic_goes_elsewhere(site: Site) -> None:
    ingest = ["ingest", "--engine", "local", str(site.logs), str(site.table)]
    assert main(ingest) == 0
    directories.segment_path(site.logs / "orders-0", 0).write_bytes(b"".join(run_of(0, 6, b"other")))
    append(site.logs / "other-0", *run_of(4, 7))
    assert main(ingest) == 2
    done(site, block("Give a topic another table", "sh"))
    assert (offsets(site.table, "orders"), offsets(site.table, "other")) == ([*range(9)], [*range(7)])
    assert offsets(Path(f"{site.table}-orders-2"), "orders") == list(range(6))


def test_rows_give_way_to_the_log(site: Site) -> None:
    ingest = ["ingest", "--engine", "local", str(site.logs), str(site.table)]
    assert main(ingest) == 0
    directories.segment_path(site.logs / "orders-0", 0).write_bytes(b"".join(run_of(0, 6, b"other")))
    assert main(ingest) == 2
    done(site, block("Rewind to the log", "sh"))
    assert offsets(site.table, "orders") == list(range(6))


def test_offsets_that_expired(site: Site) -> None:
    ingest = ["ingest", "--engine", "local", str(site.logs), str(site.table)]
    assert main(ingest) == 0
    append(site.logs / "orders-0", *run_of(15, 18), base_offset=15)
    directories.segment_path(site.logs / "orders-0", 0).unlink()
    directories.log_start(site.logs, "orders", 0, 15)
    assert main(ingest) == 2
    found = site.run(block("Accept that offsets expired", "sh"))
    assert found.returncode == 1, found.stderr
    assert offsets(site.table, "orders") == [*range(9), 15, 16, 17]
    assert main(ingest) == 0, "the next run goes on"


def test_messages_per_minute(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("matplotlib")
    shutil.copytree(CLEAN, site.logs, dirs_exist_ok=True)
    assert main(["ingest", "--engine", "local", str(site.logs), str(site.table)]) == 0
    for name, value in {**site.variables(), "MPLBACKEND": "Agg"}.items():
        monkeypatch.setenv(name, value)
    code, names = block("Messages per minute", "python"), dict[str, Any]()
    ast.parse(code)
    exec(compile(code, str(PAGES[0]), "exec"), names)
    to = 4_102_444_800_000_000  # microseconds
    rows = [row for row in parquet_rows(site.table) if 0 <= row.timestamp <= to]
    assert sum(row[2] for row in names["minutes"]) == len(rows)
    assert {row[0] for row in names["minutes"]} == {row.topic for row in rows}
    assert (site.state / "minutes.png").read_bytes()[:4] == b"\x89PNG"
    assert os.stat(site.state / "minutes.png").st_size > 10_000
