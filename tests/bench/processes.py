"""Figures of whole processes: start, first decode, streaming, memory, threads. Each is measured from
outside."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.bench import ours, programs
from tests.bench.corpora import CODECS, HUGE, Corpus, cut
from tests.bench.cpu import num_cores
from tests.bench.decoders import is_there

IMPORT = "import time; t = time.perf_counter(); import kafka_segments; print(time.perf_counter() - t)"

LIST = """
import contextlib, io, json, sys
from kafka_segments.cli.main import main
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())) as out:
    assert main(["ls", "--format", "jsonl", sys.argv[1]]) == 0
    *_, total = out.buffer.getvalue().splitlines()
print(json.dumps({"num_segments": json.loads(total)["num_segments"]}))
"""
NUM_PARTITIONS = NUM_SEGMENTS_EACH = 100
TIME_INDEX_ENTRY = struct.Struct(">qi")  # a timestamp, and an offset relative to the segment's
LEN_SEGMENT = 8 << 10  # bytes at most: `ls` reads the same of any
VERIFIED = {
    "json170": "verify-json170",
    "lz4": "verify-lz4",
    "zstd": "verify-zstd",
    "snappy": "verify-snappy",
    "gzip": "verify-gzip",
}
"""Names of the figures of `verify`, by corpus."""
THREADS = {
    "two-threads": ("threads", "json170", "two threads against one"),
    "two-threads-views": ("threads_views", "json170", "two threads against one, views"),
    "two-threads-zstd": ("threads", "zstd", "two threads against one"),
    "read-table-threads": ("tables", "encode170", "read_table of 8 files, two threads against one"),
}
"""Figures of threads: what `once` does, with which corpus, and a title."""


@dataclasses.dataclass(frozen=True)
class Figure:
    """One figure by itself: its value in a unit, or why there is none; and the least that it could be."""

    name: str
    title: str
    corpus: str
    unit: str
    value: float | None = None
    num_bytes: int = 0
    seconds: float | None = None
    passes: int = 0
    note: str = ""
    failed: bool = False
    floor: float | None = None


class ProcessError(Exception):
    """A process failed or read something else than it should; the message says what."""


def run(words: list[str], **variables: str) -> tuple[float, dict[str, Any], str]:
    """Run a command: wall seconds, what it printed as JSON, and its words on standard error."""
    started = time.perf_counter()
    environment = {**os.environ, **variables}
    done = subprocess.run(words, cwd=programs.ROOT, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        raise ProcessError(programs.first_line(done.stderr[-300:]))
    answer = json.loads(done.stdout)
    return seconds, answer if isinstance(answer, dict) else {"value": answer}, done.stderr.strip()


def once(what: str, corpus: Corpus, **variables: str) -> tuple[float, dict[str, Any], str]:
    """Run a measurement of ours in a new process and see that it read every record."""
    words = [sys.executable, "-m", "tests.bench.once", what, str(corpus.path)]
    seconds, answer, said = run(words, **variables)
    check_records(answer, corpus)
    return seconds, answer, said


def check_records(answer: Mapping[str, Any], corpus: Corpus) -> None:
    """Compare what was read with what there is."""
    for key, there in (("records", corpus.num_records), ("batches", corpus.num_batches)):
        if answer.get(key, there) != there:
            raise ProcessError(f"read {answer[key]} {key} of {there}")


def whole_processes(corpus: Corpus, rounds: int) -> Iterator[Figure]:
    """A file to Arrow in a new process, wall time; the peers' processes in the same rounds."""
    path = str(corpus.path)
    java, rust = programs.java(), programs.rust("kafka-protocol")
    commands: dict[str, list[str] | programs.Missing] = {
        "whole-process": [sys.executable, "-m", "tests.bench.once", "stream", path],
        "whole-process-table": [sys.executable, "-m", "tests.bench.once", "table", path],
        "whole-process-rust": rust
        if isinstance(rust, programs.Missing)
        else [*rust.command, "once", "decode", path],
        "whole-process-java": java
        if isinstance(java, programs.Missing)
        else [*java.command, "Peer", "once", "views", "true", path],
    }
    titles = {
        "whole-process": "whole process, file to arrow batches",
        "whole-process-table": "whole process, file to one table",
        "whole-process-rust": "whole process, Rust kafka-protocol",
        "whole-process-java": "whole process, Java MemoryRecords",
    }
    best: dict[str, float] = {}
    notes = {name: words.reason for name, words in commands.items() if isinstance(words, programs.Missing)}
    failed = set()
    for _ in range(rounds):
        for name, words in commands.items():
            if isinstance(words, programs.Missing) or name in failed:
                continue
            try:
                seconds, answer, _ = run(words)
                check_records(answer, corpus)
            except ProcessError as error:
                notes[name] = str(error)
                failed.add(name)
                best.pop(name, None)
                continue
            best[name] = min(seconds, best.get(name, seconds))
    for name, title in titles.items():
        value, bad = best.get(name), name in failed
        note = notes.get(name, "")
        yield Figure(name, title, corpus.name, "s", value, corpus.num_bytes, value, rounds, note, bad)


def threads(corpora: Mapping[str, Corpus]) -> Iterator[Figure]:
    """How much faster two threads are than one."""
    for name, (what, key, title) in THREADS.items():
        corpus = corpora[key]
        figure = Figure(name, title, corpus.name, "x", num_bytes=corpus.num_bytes)
        if num_cores() < 2:
            yield dataclasses.replace(figure, note="cannot run here: one core only")
            continue
        _, answer, _ = once(what, corpus)
        note = f"one thread {answer['one']:.3f} s, two {answer['two']:.3f} s"
        if "limit_one" in answer:
            limit = answer["limit_one"] / answer["limit_two"]
            note += f"; limit: {limit:.2f} x for zlib.crc32 in the cache"
        value = answer["one"] / answer["two"]
        yield dataclasses.replace(figure, value=value, seconds=answer["two"], passes=5, note=note)


def headers_only(corpus: Corpus) -> Figure:
    """Headers of all batches, file in the page cache."""
    corpus.path.read_bytes()
    _, answer, _ = once("headers", corpus)
    title, seconds = "batch headers only", answer["seconds"]
    note = f"{answer['batches']} batches; a plain read of the pages that they are on: {answer['floor']:.3f} s"
    figure = Figure("headers-only", title, corpus.name, "s", seconds, corpus.num_bytes, seconds, 5, note)
    return dataclasses.replace(figure, floor=answer["floor"])


def streamed_memory(corpus: Corpus) -> Figure:
    """Peak of resident memory while a large segment streams through, over that after the import."""
    seconds, answer, _ = once("memory", corpus)
    note = f"{answer['before']:.0f} MiB after the import, {answer['peak']:.0f} MiB at most"
    value = answer["peak"] - answer["before"]
    return Figure(
        "streamed-memory",
        "peak memory of streaming",
        corpus.name,
        "MiB",
        value,
        corpus.num_bytes,
        seconds,
        1,
        note,
    )


def like_kafka(corpus: Corpus, rounds: int) -> Figure:
    """How much faster `dump --like-kafka --print-data-log` is than Kafka's tool; best of pairs, wall time."""
    title = "dump --like-kafka against kafka-dump-log"
    figure = Figure("like-kafka", title, corpus.name, "x", num_bytes=corpus.num_bytes, passes=rounds)
    tool = programs.kafka_tool()
    if isinstance(tool, programs.Missing):
        return dataclasses.replace(figure, note=tool.reason)
    own = [sys.executable, "-m", "kafka_segments", "dump", "--like-kafka"]
    with tempfile.TemporaryDirectory(dir=programs.BUILD) as folder:
        log = Path(folder) / "0.log"  # the tool wants an offset in the name
        log.symlink_to(corpus.path.resolve())
        arguments = ["--files", str(log), "--print-data-log"]
        commands = [[*own, *arguments], [*tool.command, *arguments]]
        if digest_of(commands[0]) != digest_of(commands[1]):
            raise ProcessError("the two print different bytes")
        pairs = [[seconds_of(words) for words in commands] for _ in range(rounds)]
    ours_best, tool_best = (min(times) for times in zip(*pairs, strict=True))
    note = f"{tool_best:.2f} s for the tool"
    return dataclasses.replace(figure, value=tool_best / ours_best, seconds=ours_best, note=note)


def digest_of(words: list[str]) -> str:
    """SHA-256 of what a command prints."""
    digest = hashlib.sha256()
    with subprocess.Popen(
        words, cwd=programs.ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        while piece := process.stdout.read(1 << 20):
            digest.update(piece)
    if process.returncode:
        raise ProcessError(f"{words[0]} ended with {process.returncode}")
    return digest.hexdigest()


def seconds_of(words: list[str]) -> float:
    """Wall seconds of a command whose output goes nowhere."""
    started = time.perf_counter()
    subprocess.run(words, cwd=programs.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def import_time(rounds: int) -> Figure:
    """`import kafka_segments` in a new process, without that process' own start."""
    seconds = min(run([sys.executable, "-c", IMPORT])[1]["value"] for _ in range(rounds))
    return Figure("import", "import kafka_segments", "", "s", seconds, 0, seconds, rounds)


def listing(corpus: Corpus, rounds: int) -> Figure:
    """`kafka-segments ls` of a log directory in a new process, wall time, files in the page cache."""
    with tempfile.TemporaryDirectory(dir=programs.BUILD) as folder:
        write_log_directory(Path(folder), cut(corpus.path.read_bytes()[: 1 << 20], LEN_SEGMENT))
        times = []
        for _ in range(rounds):
            seconds, answer, _ = run([sys.executable, "-c", LIST, folder])
            if answer["num_segments"] != NUM_PARTITIONS * NUM_SEGMENTS_EACH:
                raise ProcessError(f"listed {answer['num_segments']} segments")
            times.append(seconds)
    best = min(times)
    return Figure("ls", "ls of 10,000 segments", corpus.name, "s", best, 0, best, rounds)


def write_log_directory(folder: Path, segment: bytes) -> None:
    """Write partitions with the same segment under many names, each with indexes."""
    for partition in range(NUM_PARTITIONS):
        directory = folder / f"orders-{partition}"
        directory.mkdir()
        for number in range(NUM_SEGMENTS_EACH):
            stem = f"{number * 1000:020}"
            (directory / f"{stem}.log").write_bytes(segment)
            (directory / f"{stem}.index").write_bytes(b"")
            (directory / f"{stem}.timeindex").write_bytes(TIME_INDEX_ENTRY.pack(1_700_000_000_000, 0))


def first_decode(corpus: Corpus, rounds: int) -> Iterator[Figure]:
    """The first arrow batch in a new process, wall time: nothing compiled yet, then all compiled."""
    cold, warm, words = [], [], ""
    for _ in range(max(1, rounds // 2)):
        with tempfile.TemporaryDirectory(dir=programs.BUILD) as folder:
            seconds, _, words = once("first", corpus, **{ours.CACHE_VARIABLE: folder})
            words = words.replace(folder, "...")
            cold.append(seconds)
            warm += [once("first", corpus, **{ours.CACHE_VARIABLE: folder})[0] for _ in range(2)]
    note = f"says: {words!r}" if words else "says nothing on standard error"
    for kind, times, note_of in (("warm", warm, ""), ("cold", cold, note)):
        title, best = f"first decode, {kind} kernel cache", min(times)
        name = f"first-decode-{kind}"
        yield Figure(name, title, corpus.name, "s", best, 0, best, len(times), note_of)


def first_decode_of_the_wheel(corpus: Corpus, rounds: int) -> Figure:
    """The first arrow batch in a new process with the wheel of `make wheels` and an empty home, wall time."""
    figure = Figure("first-decode-wheel", "first decode, wheel, empty home", corpus.name, "s", passes=rounds)
    wheels = sorted((programs.ROOT / "dist").glob(f"*linux*_{platform.machine()}.whl"))
    if not wheels:
        return dataclasses.replace(figure, note="not in dist/ (make wheels): a wheel for this machine")
    with tempfile.TemporaryDirectory(dir=programs.BUILD) as folder:
        with zipfile.ZipFile(wheels[-1]) as wheel:
            wheel.extractall(Path(folder) / "wheel")
        times = []
        for number in range(rounds):
            home = Path(folder) / f"home-{number}"
            home.mkdir()
            places = {"HOME": str(home), ours.CACHE_VARIABLE: str(home), "PYTHONPATH": f"{folder}/wheel"}
            seconds, _, words = once("first", corpus, **places)
            times.append(seconds)
    note = f"{wheels[-1].name}; says: {words!r}" if words else wheels[-1].name
    return dataclasses.replace(figure, value=min(times), seconds=min(times), note=note)


def frames(corpora: Mapping[str, Corpus]) -> Iterator[Figure]:
    """Queries of polars, compared with reading everything; see `frames`."""
    corpus, large, kib = corpora[HUGE], corpora["encode170-1mib"], corpora["kib"]
    if not is_there("polars"):
        yield Figure("polars", "polars", corpus.name, "x", note="not installed: polars")
        return
    paths = [str(one.path) for one in (corpus, kib, large)]
    words = ["tests.bench.frames", *paths, str(large.num_records)]
    seconds, answer, _ = run([sys.executable, "-m", *words, str(programs.BUILD)])
    check_records(answer, corpus)
    found = {
        "polars-one-column": (corpus, "polars: the key of eight columns, against all", "all", "one_column"),
        "polars-views": (kib, "polars: the source against copied columns", "copies", "views"),
        "polars-count": (large, "polars: records counted, against all read", "large_all", "count"),
        "polars-one-percent": (corpus, "polars: 1 % by time, of the time for all", "all", "one_percent"),
    }
    for name, (of, title, other, part) in found.items():
        ratio = answer[other] / answer[part]
        value, unit = (1 / ratio, "") if part == "one_percent" else (ratio, "x")
        note = f"CPU: {answer[other]:.3f} s, this {answer[part]:.3f} s"
        yield Figure(name, title, of.name, unit, value, of.num_bytes, seconds, 3, note)


def verification(corpora: Mapping[str, Corpus]) -> Iterator[Figure]:
    """`verify` beside reading with checksums alone, or decompression alone; see `verifying`."""
    for name, key in VERIFIED.items():
        corpus, floor = corpora[name], "decompression" if name in CODECS else "checksum"
        seconds, answer, _ = run([sys.executable, "-m", "tests.bench.verifying", str(corpus.path)])
        check_records(answer, corpus)
        works = {key: "verify"} | ({} if name in CODECS else {"verify-json170-headers": "headers"})
        for figure_name, work in works.items():
            title = f"verify{' --skip contents' if work == 'headers' else ''} against {floor} alone"
            note = f"CPU: {floor} alone {answer[floor]:.3f} s, this {answer[work]:.3f} s"
            value = answer[floor] / answer[work]
            figure = Figure(figure_name, title, name, "x", value, corpus.num_bytes, note=note)
            yield dataclasses.replace(figure, seconds=seconds, passes=7)


def salvaging(corpus: Corpus) -> Figure:
    """How `salvage` compares with cp on the same disk; see `salvaging`."""
    words = [sys.executable, "-m", "tests.bench.salvaging", str(corpus.path), str(programs.BUILD)]
    seconds, answer, _ = run(words)
    note = f"wall: cp and fsync {answer['cp']:.2f} s, salvage {answer['salvage']:.2f} s"
    value = answer["cp"] / answer["salvage"]
    title = "salvage beside cp on the same disk"
    return Figure("salvage", title, corpus.name, "x", value, corpus.num_bytes, seconds, 5, note)


def attempt(name: str, work: Callable[[], Iterator[Figure] | Figure]) -> list[Figure]:
    """What a measurement gives; where it fails, one figure that says so."""
    try:
        made = work()
        return [made] if isinstance(made, Figure) else list(made)
    except (ProcessError, OSError, ValueError, KeyError) as error:
        return [Figure(name, name, "", "", note=f"{type(error).__name__}: {error}", failed=True)]


def measure(corpora: Mapping[str, Corpus], rounds: int) -> list[Figure]:
    """All of them."""
    corpus, huge = corpora["json170"], corpora[HUGE]
    figures = attempt("two-threads", lambda: threads(corpora))
    figures += attempt("whole-process", lambda: whole_processes(corpus, rounds))
    figures += attempt("headers-only", lambda: headers_only(huge))
    figures += attempt("streamed-memory", lambda: streamed_memory(huge))
    figures += attempt("like-kafka", lambda: like_kafka(corpus, rounds))
    figures += attempt("verify", lambda: verification(corpora))
    figures += attempt("salvage", lambda: salvaging(corpus))
    figures += attempt("import", lambda: import_time(rounds))
    figures += attempt("ls", lambda: listing(corpus, rounds))
    figures += attempt("polars", lambda: frames(corpora))
    figures += attempt("first-decode-wheel", lambda: first_decode_of_the_wheel(corpus, rounds))
    return figures + attempt("first-decode", lambda: first_decode(corpus, rounds))


def use_kernels_of_our_own() -> None:
    """Keep what is compiled during the run beside the corpora, not in the user's cache."""
    folder = programs.BUILD / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ[ours.CACHE_VARIABLE] = str(Path(folder))
