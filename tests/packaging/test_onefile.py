"""kafka-segments.pyz, in empty environments without a network: it reads, writes nothing, names its needs."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.folders import files_in
from tests.forms import pick
from tests.house.commands import blocks
from tests.packaging.isolated import ISOLATION, PYTHONS
from tools import extras, onefile
from tools.onefile_strip import stripped

from kafka_segments.cli.main import main

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "vectors" / "recorded"
ORACLE = ROOT / "tests" / "vectors" / "oracle"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
WATCHED = """
import os, runpy, sys
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink", "os.truncate", "os.chmod")
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)) and (arguments[2] or 0) & WRITES:
        raise AssertionError((event, arguments))
    if event in CHANGES or event.startswith("tempfile."):
        raise AssertionError((event, arguments))
sys.addaudithook(watch)
"""
RUN = """
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file; wheels are fetched once."""
    return onefile.build(tmp_path_factory.mktemp("onefile") / "kafka-segments.pyz")


@pytest.fixture
def run(pyz: Path, tmp_path: Path) -> Run:
    """A function that runs the file, or code in its place, with nothing in the environment and no network."""
    folder = tmp_path / "empty"
    folder.mkdir()

    def run(
        *words: str | Path, version: tuple[int, int] | None = None, code: str | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        python = sys.executable if version is None else extras.pythons()[version]
        # `-S -E`: a Python of a virtual environment without its packages.
        begin = [os.path.realpath(python), "-E", "-s", *(["-c", code] if code else [])]
        command = [*ISOLATION, *begin, str(pyz), *map(str, words)]
        environment = {"HOME": "/nonexistent", "PATH": "", "TMPDIR": str(folder), **variables}
        command[0] = shutil.which(command[0]) or command[0]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)

    return run


@pytest.mark.long
@pytest.mark.parametrize("version", pick(PYTHONS[-1:], PYTHONS))
def test_dump_prints_what_kafka_reads(run: Run, version: tuple[int, int]) -> None:
    for codec in CODECS:
        name = f"kafka-4.3/clean/codec-{codec}-0/{0:020}.log"
        done = run("dump", "--format", "jsonl", RECORDED / name, version=version)
        expected = (ORACLE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        printed = [json.loads(line) | {"path": name} for line in done.stdout.splitlines()]
        assert (done.returncode, printed) == (0, list(map(json.loads, expected))), done.stderr


@pytest.mark.long
@pytest.mark.parametrize("version", pick(PYTHONS[-1:], PYTHONS))
def test_other_verbs_of_the_core(run: Run, version: tuple[int, int], tmp_path: Path) -> None:
    done = run("ls", "--headers", "--format", "jsonl", RECORDED / "kafka-2.8" / "clean", version=version)
    total = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, total["type"], total["num_old_segments"] > 0) == (0, "total", True), done.stderr
    done = run("aborted", RECORDED / "kafka-4.3" / "clean" / "transactions-0", version=version)
    assert done.returncode == 0, done.stderr
    source = RECORDED / "kafka-4.3" / "clean" / "codec-none-0" / f"{0:020}.log"
    done = run("convert", source, tmp_path / "made.log", "--codec", "zstd:19", version=version)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "made.log").stat().st_size < source.stat().st_size
    assert "kafka-segments completion" in run("completion", "--help", version=version).stdout


DAMAGED = "orders-3"
SAME = (
    "ls --headers --format jsonl {logs}",
    "ls --format csv {damaged}",
    "verify --format jsonl {logs}",
    "verify --format jsonl {damaged}",
    "find --text value --format jsonl {logs}",
    "find --regex v.*1 {damaged}",
    "cat --print key --base64 {logs}",
    "dump --format jsonl {damaged}",
    "dump --like-kafka --files {segment},{index} --print-data-log",
    "aborted --format jsonl {logs}",
    "plan --format jsonl {logs}",
    "salvage --dry-run {damaged}",
    "schemas list",
)
WRITING = (
    "salvage {damaged} {to}",
    "slice {logs}/multi-0 {to} --offsets 20:60",
    "schemas export {to}",
    "schemas export --webide {to} {segment}",
    "schemas export --gallery {to}",
)


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """Recorded logs, and a directory with a partition of which bytes are wrong and the end is cut off."""
    clean = RECORDED / "kafka-4.3" / "clean"
    segment = clean / "multi-0" / f"{0:020}.log"
    damaged = tmp_path / "disk" / DAMAGED
    shutil.copytree(clean / "codec-zstd-0", damaged)
    log = damaged / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data[:-5])
    index = segment.with_suffix(".index")
    return {"logs": str(clean), "damaged": str(damaged.parent), "segment": str(segment), "index": str(index)}


@pytest.mark.parametrize("line", SAME, ids=lambda line: " ".join(line.split()[:3]))
def test_it_prints_what_the_installed_command_prints(
    line: str, run: Run, places: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    words = line.format(**places).split()
    status = main(words)
    expected = capfd.readouterr().out
    done = run(*words)
    # Without compiled decoders all batches are verified, else those that may hold what is looked for; a time
    # stands in each manifest.
    differing = r'"num_verified":[0-9]+|"made": "[^"]+"'
    found, expected = (re.sub(differing, "", text) for text in (done.stdout, expected))
    assert (done.returncode, found) == (status, expected), done.stderr
    assert expected


@pytest.mark.parametrize("line", WRITING, ids=lambda line: " ".join(line.split()[:2]))
def test_it_writes_what_the_installed_command_writes(
    line: str, run: Run, places: dict[str, str], tmp_path: Path
) -> None:
    folders = [tmp_path / name / "orders-3" for name in ("here", "there")]
    for folder in folders:
        folder.parent.mkdir()
    status = main(line.format(**places, to=folders[0]).split())
    done = run(*line.format(**places, to=folders[1]).split())
    assert done.returncode == status, done.stderr
    made, expected = (files_in(folder, "manifest.json", "meta.properties") for folder in reversed(folders))
    assert made == expected
    assert expected


def test_the_lines_of_the_page_run(run: Run) -> None:
    page = ROOT / "docs" / "command-line.md"
    (code,) = [one for one in blocks(page) if one.startswith("python3 kafka-segments.pyz")]
    clean = RECORDED / "kafka-4.3" / "clean"
    places = {"/var/lib/kafka/data": clean, "/var/lib/kafka/data/orders-3": clean / "multi-0"}
    for line in code.splitlines():
        done = run(*(places.get(word, word) for word in line.split()[2:]))
        assert done.returncode == 0, done.stderr


def test_nothing_is_written_anywhere(run: Run, tmp_path: Path) -> None:
    source = RECORDED / "kafka-4.3" / "clean" / "codec-zstd-0"
    for words in (("ls", source), ("dump", source), ("plan", source)):
        done = run(*words, code=WATCHED + RUN)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert list((tmp_path / "empty").iterdir()) == []


def test_without_memory_for_modules_a_temporary_file_is_used(run: Run, tmp_path: Path) -> None:
    source = RECORDED / "kafka-4.3" / "clean" / "codec-zstd-0"
    code = "import os, runpy, sys\ndel os.memfd_create\n" + RUN
    done = run("ls", source, code=code)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "empty").iterdir()) == []
    done = run("ls", source, code=code, KAFKA_SEGMENTS_TMPDIR="/nonexistent")
    assert done.returncode == 2
    assert "KAFKA_SEGMENTS_TMPDIR may name a folder" in done.stderr


def test_processes_that_it_starts_find_its_modules(run: Run) -> None:
    """Python starts them without running the file again."""
    code = (
        "import multiprocessing, runpy, sys\n"
        "def main():\n"
        "    sys.path.insert(0, sys.argv[1])\n"
        "    from importlib import import_module\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        (name,) = pool.map(import_module('kafka_segments.core.codecs').codec_named, ['zstd'])\n"
        "    print(name.name)\n"
        "main()\n"
    )
    assert run(code=code).stdout == "zstd\n", run(code=code).stderr


def test_another_python_or_machine_is_told_which_are_needed(run: Run) -> None:
    begin = "import runpy, sys\n"
    old = run("ls", "x", code=begin + "sys.version_info = (3, 9, 18, 'final', 0)\n" + RUN)
    assert old.returncode == 2
    needed = "It needs CPython 3.11, 3.12, 3.13, 3.14 on Linux with glibc, x86_64 or aarch64"
    assert (
        f"kafka-segments.pyz: this is Python 3.9 ({os.path.realpath(sys.executable)}). {needed}" in old.stderr
    )
    found = run(
        "ls", "x", code=begin + "sys.version_info = (3, 15, 0, 'final', 0)\n" + RUN, PATH="/usr/bin:/bin"
    )
    assert needed in found.stderr
    machine = (
        "import importlib.machinery as m\nm.EXTENSION_SUFFIXES[0] = '.cpython-311-riscv64-linux-gnu.so'\n"
    )
    other = run("ls", "x", code=begin + machine + RUN)
    assert other.returncode == 2
    assert f"this Python is one for cpython-311-riscv64-linux-gnu. {needed}" in other.stderr


def test_old_pythons_can_read_the_message() -> None:
    source = (ROOT / "tools" / "onefile_start.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 4))
    assert source.isascii()
    if two := extras.interpreter((2, 7)):
        code = "import sys; compile(sys.stdin.read(), 'x', 'exec')"
        subprocess.run([two, "-c", code], input=source, text=True, check=True)


def members(pyz: Path) -> Iterator[zipfile.ZipInfo]:
    with zipfile.ZipFile(pyz) as archive:
        yield from archive.infolist()


def test_the_archive_has_every_variant_licences_and_no_times(pyz: Path) -> None:
    natives: dict[str, set[str]] = {}
    for info in members(pyz):
        assert info.date_time == (1980, 1, 1, 0, 0, 0)
        if info.filename.startswith("natives/"):
            _, tag, name = info.filename.split("/")
            natives.setdefault(tag, set()).add(name)
    assert sorted(natives) == sorted(
        f"cpython-{major}{minor}-{machine}-linux-gnu"
        for major, minor in onefile.PYTHONS
        for machine in onefile.MACHINES
    )
    assert len({frozenset(names) for names in natives.values()}) == 1
    licences = {info.filename.split("/")[0] for info in members(pyz) if "LICEN" in info.filename.upper()}
    assert {one.partition("-")[0] for one in licences if ".dist-info" in one} >= {
        "crc32c",
        "cramjam",
        "kafka_segments",
        "lz4",
        "msgspec",
        "python_snappy",
        "zstandard",
    }


def test_of_machine_code_only_what_is_loaded_is_kept(pyz: Path) -> None:
    with zipfile.ZipFile(pyz) as archive:
        names = [one for one in archive.namelist() if one.startswith("natives/")]
        libraries = {name: archive.read(name) for name in names}
    assert [name for name, data in libraries.items() if stripped(data) != data] == []
    assert pyz.stat().st_size < 30 << 20


@pytest.mark.long(short=False)
def test_the_same_sources_give_the_same_bytes(pyz: Path, tmp_path: Path) -> None:
    assert onefile.build(tmp_path / "again.pyz").read_bytes() == pyz.read_bytes()


@pytest.mark.long(short=False)
@pytest.mark.skipif(
    shutil.which("debootstrap") is None or os.geteuid() != 0, reason="debootstrap, by root, makes the system"
)
def test_in_a_bare_system(pyz: Path, tmp_path: Path) -> None:
    """A Debian with Python and nothing else: no /proc, no network, a root that cannot be written."""
    system = tmp_path / "system"
    subprocess.run(
        ["debootstrap", "--variant=minbase", "--include=python3", "bookworm", str(system)], check=True
    )
    shutil.copy(pyz, system / "kafka-segments.pyz")
    shutil.copytree(RECORDED / "kafka-4.3" / "clean", system / "logs")
    for words, said in (("ls /logs", "codec-zstd-0"), ("dump /logs/codec-zstd-0", "zstd")):
        command = ["chroot", str(system), "/usr/bin/env", "-i", "PATH=/usr/bin", "/kafka-segments.pyz"]
        done = subprocess.run(["unshare", "--net", *command, *words.split()], capture_output=True, text=True)
        assert (done.returncode, said in done.stdout) == (0, True), done.stderr
