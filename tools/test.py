"""Prepare what the tests need (Java, npm packages, jars, wheels, a server), then become pytest: `make test`.

Everything fetched goes under `.venv`, `compiler/node_modules` or `.cache`, once. What cannot be had here is
named to `tests/conftest.py` by `KAFKA_SEGMENTS_LACKS`, which skips those tests with that reason, or fails
if `KAFKA_SEGMENTS_REQUIRE` asks for them. `--fast` leaves out what needs any of it, and what takes long.
`--browser` runs nothing but the tests in a browser, in their full form, and fails where they cannot run.
`--long` runs nothing but the tests that have a full form (marker `long`, `tests/forms.py`), in that form;
`tools/parts.py` calls it for a part of them.
`KAFKA_SEGMENTS_SEED` repeats the order of a run. Further arguments go to pytest.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import browser, extras, java  # noqa: E402  the root is no package


class NotHereError(Exception):
    """A kind of test cannot run on this machine; the message says what it lacks."""


FAST = (
    "not (spark or cluster or connector or oracle or broker or node or languages or s3 or browser"
    " or packaging or long)"
)
LONG = "long"
"""Which tests each form selects."""


def prepare_spark() -> None:
    """Find Java for Spark, or install it, and name it to the tests."""
    found = java.find() or java.install()
    if found is None:
        raise NotHereError(java.BY_HAND.splitlines()[0])
    os.environ["JAVA_HOME"] = str(java.spark_home(found))


def prepare_node() -> None:
    """Install the locked npm packages of the Kaitai compiler."""
    from compiler.toolchain import ensure_packages, find_toolchain

    ensure_packages(find_toolchain())


def prepare_languages() -> None:
    """Install the npm packages, and say which languages have no compiler or runtime here."""
    from tests.languages.toolchains import LANGUAGES

    prepare_node()
    for language in LANGUAGES:
        if reason := language.missing():
            print(f"languages tests: {language.title} cannot run here: {reason}", flush=True)


def prepare_oracle() -> None:
    """Fetch Kafka's jars for the Java programs that read with Kafka's own classes."""
    fetch_jars("oracle/pom.xml")
    fetch_jars("segment/pom.xml")
    fetch_jars("log/pom.xml")
    fetch_jars("invariant/pom.xml")


def prepare_broker() -> None:
    """Fetch the jars of a whole broker."""
    fetch_jars("recording/brokers/k4/pom.xml")


def prepare_connector() -> None:
    """Make the environment with the Spark whose `kafka` source is complete, and fetch the source's jars."""
    from tools import spark_versions

    fetch_jars("connector/pom.xml")
    spark_versions.python_of(spark_versions.CONNECTOR)


def fetch_jars(pom: str) -> None:
    """Fetch what a pom of the tests names."""
    from tests.oracle import jvm

    missing = jvm.missing_tools()
    if missing:
        raise NotHereError(missing)
    jvm.fetch_jars(ROOT / "tests" / pom)


def prepare_s3() -> None:
    """Build the S3 server that the tests of stores read from: `tests/io/server.toml` pins it."""
    from tests.io import server

    if server.binary().exists():
        return
    go = shutil.which("go")
    if go is None:
        raise NotHereError("no Go on the PATH, which builds the S3 server")
    folder = server.binary().parent
    # What Go downloads and compiles on the way goes again: only the program stays.
    caches = {"GOPATH": f"{folder}/path", "GOCACHE": f"{folder}/cache", "GOFLAGS": "-modcacherw"}
    try:
        command = [go, "install", server.module()]
        subprocess.run(command, env={**os.environ, **caches, "GOBIN": str(folder / "bin")}, check=True)
        (folder / "bin" / server.binary().name).rename(server.binary())
    finally:
        for name in ("path", "cache", "bin"):
            shutil.rmtree(folder / name, ignore_errors=True)


def prepare_browser() -> None:
    """Find Chromium, or install it."""
    if browser.chromium() is None:
        browser.install()
    if reason := browser.missing():
        raise NotHereError(reason)


PREPARE: dict[str, Callable[[], None]] = {
    "spark": prepare_spark,
    "node": prepare_node,
    "languages": prepare_languages,
    "s3": prepare_s3,
    "oracle": prepare_oracle,
    "broker": prepare_broker,
    "connector": prepare_connector,
    "packaging": extras.prepare,
    "browser": prepare_browser,
}


def main() -> None:
    """Prepare, say what is missing, and hand over to pytest."""
    forms = ("--fast", "--long", "--browser")
    arguments = [argument for argument in sys.argv[1:] if argument not in forms]
    fast, long, in_browser = (form in sys.argv[1:] for form in forms)
    lacks: dict[str, str] = {}
    for marker in () if fast else ("browser",) if in_browser else PREPARE:
        prepare = PREPARE[marker]
        started = time.monotonic()
        try:
            prepare()
        except Exception as error:
            kind = "" if isinstance(error, NotHereError) else f"{type(error).__name__}: "
            lacks[marker] = f"{kind}{error}".splitlines()[0]
        said = f"cannot run here: {lacks[marker]}" if marker in lacks else "ready"
        print(f"{marker} tests: {said} ({time.monotonic() - started:.1f} s)", flush=True)
    # Without bytecode kept, each process would compile the tests, whose assertions pytest rewrites.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["KAFKA_SEGMENTS_LACKS"] = json.dumps(lacks)
    # Groups start in the order of tests/conftest.py, not by their number of tests.
    # Four processes on two cores: those with Spark, stores and brokers wait for others half of their time.
    spread = ["-n", "4", "--dist", "loadgroup", "--no-loadscope-reorder"]
    # A part names each test as it ends, and at last those that took longest.
    told = ["-v", "--durations=60"] if long else ["-q"]
    command = [sys.executable, "-m", "pytest", *told, *spread]
    if seed := os.environ.get("KAFKA_SEGMENTS_SEED"):
        command.append(f"--randomly-seed={seed}")
    if fast or long or in_browser:
        command += ["-m", FAST if fast else LONG if long else "browser"]
    if long or in_browser:
        os.environ["KAFKA_SEGMENTS_LONG"] = "1"
    if in_browser:
        os.environ.setdefault("KAFKA_SEGMENTS_REQUIRE", "browser")
    os.execv(sys.executable, [*command, *arguments])


if __name__ == "__main__":
    main()
