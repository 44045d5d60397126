"""How each language's classes are compiled, with what, and how the program over them is started."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler.toolchain import FOLDER
from tests.oracle import jvm

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "languages"
VARIABLE = "KAITAI_RUNTIMES"
"""It names the folder with the runtimes that are on no registry, one folder a language."""
CACHES = {
    "go": {
        "GOPATH": str(CACHE / "go"),
        "GOCACHE": str(CACHE / "go-build"),
        "GOFLAGS": "-mod=mod -modcacherw",
    },
    "rust": {"CARGO_HOME": str(CACHE / "cargo"), "RUSTFLAGS": "-Awarnings"},
}
"""Variables with which tools keep what they fetch in the clone."""


class BuildError(Exception):
    """A compiler refused; the message has what it said."""


@dataclass(frozen=True)
class Language:
    """One language of the Kaitai compiler.

    Attributes:
        name: that of the compiler.
        title: as people write it.
        tools: programs that it needs.
        source: where its runtime comes from.
        build: takes the folder of the classes and one to work in; returns the command, for files.
        is_checked: whether the compiler puts the schemas' checks (`valid`) into the classes.
    """

    name: str
    title: str
    tools: tuple[str, ...]
    source: str
    build: Callable[[Path, Path], list[str]]
    is_checked: bool = True

    def is_asked_for(self) -> bool:
        """Whether its runtime is on a registry, or in a folder that was named."""
        return self.source != VARIABLE or bool(os.environ.get(VARIABLE))

    def missing(self) -> str | None:
        """Say what this machine lacks, or None."""
        if not self.is_asked_for():
            return f"{VARIABLE} names no folder with its runtime, which is on no registry"
        absent = [tool for tool in self.tools if shutil.which(tool) is None]
        return f"not on the PATH: {', '.join(absent)}" if absent else None


def runtime(name: str) -> Path:
    """Folder of a language's runtime.

    Raises:
        BuildError: it is not there.
    """
    found = Path(os.environ[VARIABLE], name)
    if not found.is_dir():
        raise BuildError(f"{VARIABLE} names a folder without runtime: {found} is no directory")
    return found


def run(command: Sequence[str | Path], cwd: Path, **environment: str) -> None:
    """Run a compiler.

    Raises:
        BuildError: it refuses.
    """
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True
    )
    if done.returncode:
        raise BuildError(f"{command[0]}: {(done.stdout + done.stderr)[-2000:]}")


def _javascript(classes: Path, _work: Path) -> list[str]:
    return ["node", str(HERE / "javascript" / "read.js"), str(classes), str(FOLDER / "node_modules")]


def _java(classes: Path, work: Path) -> list[str]:
    jars = jvm.fetch_jars(HERE / "java" / "pom.xml")
    sources = [*classes.rglob("*.java"), HERE / "java" / "Read.java"]
    run(["javac", "-nowarn", "-encoding", "UTF-8", "-cp", f"{jars}/*", "-d", work, *sources], work)
    return ["java", *jvm.JVM_OPTIONS, "-cp", f"{work}{os.pathsep}{jars}/*", "Read"]


def _go(classes: Path, work: Path) -> list[str]:
    shutil.copytree(classes / "kafka", work / "kafka")
    for name in ("main.go", "go.mod"):
        shutil.copy(HERE / "go" / name, work)
    run(["go", "build", "-o", work / "read", "."], work, **CACHES["go"])
    return [str(work / "read")]


def _cpp(standard: str) -> Callable[[Path, Path], list[str]]:
    def build(classes: Path, work: Path) -> list[str]:
        folder = runtime("cpp_stl")
        flags = [f"-std=c++{standard}", "-w", "-O0", "-fwrapv", "-DKS_STR_ENCODING_NONE"]
        sources = [HERE / "cpp_stl" / "read.cpp", folder / "kaitai/kaitaistream.cpp", *classes.glob("*.cpp")]
        run(["g++", *flags, f"-I{folder}", f"-I{classes}", *sources, "-o", work / "read"], work)
        return [str(work / "read")]

    return build


def _csharp(classes: Path, work: Path) -> list[str]:
    sources = [*classes.glob("*.cs"), *runtime("csharp").glob("*.cs"), HERE / "csharp" / "Read.cs"]
    run(["mcs", "-warn:0", f"-out:{work / 'read.exe'}", *sources], work)
    return ["mono", str(work / "read.exe")]


def _ruby(classes: Path, work: Path) -> list[str]:
    for each in classes.glob("*.rb"):
        run(["ruby", "-I", runtime("ruby") / "lib", "-I", classes, "-e", f"require '{each.stem}'"], work)
    return ["ruby", "-I", str(runtime("ruby") / "lib"), "-I", str(classes), str(HERE / "ruby" / "read.rb")]


def _lua(classes: Path, _work: Path) -> list[str]:
    return ["lua5.4", str(HERE / "lua" / "read.lua"), str(classes), str(runtime("lua"))]


def _rust(classes: Path, work: Path) -> list[str]:
    (work / "kafka/src").mkdir(parents=True)
    (work / "src").mkdir()
    for each in classes.glob("*.rs"):
        shutil.copy(each, work / "kafka/src")
    modules = "".join(f"pub mod {each.stem};\n" for each in sorted(classes.glob("*.rs")))
    (work / "kafka/src/lib.rs").write_text(modules)
    shutil.copy(HERE / "rust" / "main.rs", work / "src")
    package = '[package]\nname = "{}"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n'
    needed = f'kaitai = {{ path = "{runtime("rust")}" }}\n'
    (work / "kafka/Cargo.toml").write_text(package.format("kafka") + needed)
    (work / "Cargo.toml").write_text(package.format("read") + 'kafka = { path = "kafka" }\n' + needed)
    caches = {"CARGO_TARGET_DIR": str(work / "target")}
    run(["cargo", "build", "--quiet", "--release"], work, **CACHES["rust"], **caches)
    return [str(work / "target/release/read")]


def _nim(classes: Path, work: Path) -> list[str]:
    paths = [f"--path:{runtime('nim')}", f"--path:{classes}"]
    # Offsets wrap; all other checks of Nim stay.
    flags = ["--hints:off", "--warnings:off", "--overflowChecks:off", f"--nimcache:{work / 'cache'}"]
    run(["nim", "compile", *flags, *paths, f"--out:{work / 'read'}", HERE / "nim" / "read.nim"], work)
    return [str(work / "read")]


LANGUAGES = (
    Language("javascript", "JavaScript", ("node",), "npm", _javascript),
    Language("java", "Java", ("javac", "mvn"), "Maven Central", _java),
    Language("go", "Go", ("go",), "Go module proxy", _go),
    Language("cpp_stl_98", "C++98", ("g++",), VARIABLE, _cpp("98")),
    Language("cpp_stl_11", "C++11", ("g++",), VARIABLE, _cpp("11")),
    Language("csharp", "C#", ("mcs", "mono"), VARIABLE, _csharp),
    Language("ruby", "Ruby", ("ruby",), VARIABLE, _ruby),
    Language("lua", "Lua", ("lua5.4",), VARIABLE, _lua),
    Language("rust", "Rust", ("cargo",), VARIABLE, _rust),
    Language("nim", "Nim", ("nim",), VARIABLE, _nim, is_checked=False),
)
