"""Java for the tests: jars from Maven Central into the project's cache, programs compiled and run with them.

Everything lands under `.cache/` at the project root, which git ignores. A folder's name carries a digest of
what it was made from, so that a changed pom or source makes a new one and nothing stale is ever used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
FETCH = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
# Small and quick to start.
JVM_OPTIONS = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8")
# Nothing of slf4j-simple but errors.
QUIET = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=error",)


class ToolError(Exception):
    """Maven or the Java compiler failed; the message holds what it said."""


def missing_tools() -> str | None:
    """Say what this machine lacks to run Java programs of ours, or None if it lacks nothing."""
    absent = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if not absent:
        return None
    return f"not on the PATH: {', '.join(absent)} (install a JDK >= 17 and Maven)"


def fetch_jars(pom: Path) -> Path:
    """Folder with the jars of a pom's dependencies, fetched on the first call.

    Raises:
        ToolError: Maven could not fetch them.
    """
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    target = CACHE / "jars" / f"{pom.parent.name}-{digest}"
    command = ["mvn", "-q", "-B", "-Dstyle.color=never", "-f", str(pom), FETCH]
    return _build(target, lambda folder: _run([*command, f"-DoutputDirectory={folder}"]))


def compile_java(sources: Sequence[Path], jars: Path) -> Path:
    """Folder with the classes of Java sources, compiled against a folder of jars on the first call.

    Raises:
        ToolError: they do not compile.
    """
    digest = hashlib.sha256(jars.name.encode())
    for source in sources:
        digest.update(source.name.encode() + source.read_bytes())
    target = CACHE / "classes" / f"{jars.name}-{digest.hexdigest()[:12]}"
    command = ["javac", "-nowarn", "-XDsuppressNotes", "-encoding", "UTF-8", "-cp", f"{jars}/*"]
    return _build(target, lambda folder: _run([*command, "-d", str(folder), *map(str, sources)]))


def java_command(classpath: Sequence[Path], *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Command and environment that run Java with folders of classes and of jars on its class path."""
    entries = [f"{folder}/*" if next(folder.glob("*.jar"), None) else str(folder) for folder in classpath]
    environment = dict(os.environ, CLASSPATH=os.pathsep.join(entries))
    return ["java", *JVM_OPTIONS, *arguments], environment


def _run(command: Sequence[str]) -> None:
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if result.returncode:
        raise ToolError(f"{command[0]} failed with status {result.returncode}:\n{result.stdout.strip()}")


def _build(target: Path, make: Callable[[Path], None]) -> Path:
    """Fill a folder once; it appears under its name only when it is whole."""
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as scratch:
        folder = Path(scratch) / "new"
        folder.mkdir()
        make(folder)
        try:
            folder.rename(target)
        except OSError:  # somebody else was quicker
            if not target.is_dir():
                raise
    return target
