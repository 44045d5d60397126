"""The peers that are not Python: Kafka's Java classes, compiled against the oracle's jars, and programs in
Rust and Go.

What a machine lacks is an answer here, not an error: a `Missing` with the reason, which the report then says.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.oracle import jvm

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "bench"
# A segment of 256 MiB in an array, and young objects beside it; of three collectors this was the quickest.
JVM_OPTIONS = ("-Xmx1536m", "-Xmn512m", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8", *jvm.QUIET)


@dataclasses.dataclass(frozen=True)
class Program:
    """The first words of a command, and which versions of what it runs."""

    command: tuple[str, ...]
    versions: str


@dataclasses.dataclass(frozen=True)
class Missing:
    """Why there is no such program on this machine."""

    reason: str


@cache
def java() -> Program | Missing:
    """`java` with Kafka's jars and the classes of `java/` on its class path."""
    if missing := jvm.missing_tools():
        return Missing(missing)
    try:
        jars = jvm.fetch_jars(ROOT / "tests" / "oracle" / "pom.xml")
        classes = jvm.compile_java(sorted((HERE / "java").glob("*.java")), jars)
    except jvm.ToolError as error:
        return Missing(first_line(str(error)))
    clients = next(jars.glob("kafka-clients-*.jar")).stem
    said = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr
    version = re.search(r'version "([^"]+)"', said)
    versions = f"{clients}, Java {version.group(1) if version else '?'}"
    return Program(("java", *JVM_OPTIONS, "-cp", f"{classes}{os.pathsep}{jars}/*"), versions)


@cache
def kafka_tool() -> Program | Missing:
    """`kafka-dump-log.sh` of Kafka 4.3.1: its class, with the heap that the script gives to tools."""
    if missing := jvm.missing_tools():
        return Missing(missing)
    try:
        jars = jvm.fetch_jars(ROOT / "tests" / "recording" / "brokers" / "k4" / "pom.xml")
    except jvm.ToolError as error:
        return Missing(first_line(str(error)))
    options = ("-Xmx256M", "-Dlog4j2.level=OFF", "-cp", f"{jars}/*")
    return Program(("java", *options, "org.apache.kafka.tools.DumpLogSegments"), "Kafka 4.3.1")


@cache
def rust(crate: str) -> Program | Missing:
    """The program of a package of `rust/`, named like the crate that it measures; cargo builds it."""
    lock = (HERE / "rust" / crate / "Cargo.lock").read_text(encoding="utf-8")
    version = re.search(rf'name = "{crate}"\nversion = "([^"]+)"', lock)

    def build(folder: Path) -> None:
        write_lock(folder, lock)
        # A crate may name a newer compiler than it needs; if it does need that, the build says so.
        run(folder, "cargo", "build", "--release", "--locked", "--ignore-rust-version", "--quiet")

    title = f"{crate} {version.group(1) if version else '?'}, Rust"
    return built(HERE / "rust", crate, "target/release/peers", build, title)


@cache
def go() -> Program | Missing:
    """The program of `go/`, built from the versions and hashes of its `go.mod` and `go.sum`."""
    version = re.search(r"franz-go v(\S+)", (HERE / "go" / "go.mod").read_text(encoding="utf-8"))

    def build(folder: Path) -> None:
        run(folder, "go", "build", "-mod=readonly", "-o", "peers", ".")

    return built(HERE / "go", ".", "peers", build, f"franz-go {version.group(1) if version else '?'}, Go")


def built(
    sources: Path, part: str, binary: str, build: Callable[[Path], None], versions: str
) -> Program | Missing:
    """A program, built once for each state of its sources.

    Args:
        sources: a folder, which is copied before anything is built in it.
        part: the part of it that the program is built in.
        binary: the program, relative to that.
        build: builds it there.
        versions: what it is.
    """
    files = sorted(path for path in sources.rglob("*") if path.is_file())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    copy = BUILD / sources.name / digest
    folder = copy / part
    if not (folder / binary).exists():
        shutil.copytree(sources, copy, dirs_exist_ok=True)
        try:
            build(folder)
        except FileNotFoundError as error:
            return Missing(f"not on the PATH: {error.filename}")
        except subprocess.CalledProcessError as error:
            return Missing(f"{error.cmd[0]}: {first_line(error.stderr)}")
    return Program((str(folder / binary),), versions)


def write_lock(folder: Path, lock: str) -> None:
    """Complete the lock: the registry that cargo itself uses here becomes the source of every package.

    The lock in the tree names versions and checksums but no address. Cargo takes it only with one, so it is
    asked for a lock of its own first, of which nothing but that address is kept.
    """
    target = folder / "Cargo.lock"
    target.unlink()
    run(folder, "cargo", "generate-lockfile", "--ignore-rust-version", "--quiet")
    source = re.search(r"^source = .*$", target.read_text(encoding="utf-8"), re.MULTILINE)
    if source is None:
        raise subprocess.CalledProcessError(1, ["cargo"], stderr="a lock without a registry")
    target.write_text(lock.replace("\nchecksum = ", f"\n{source.group(0)}\nchecksum = "), encoding="utf-8")


def run(folder: Path, *command: str) -> None:
    """Run a tool in a folder; its words are in the error if it fails."""
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


def first_line(text: str) -> str:
    """What a tool said, on one line that fits a table."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:2])[:200] if lines else "failed without a word"
