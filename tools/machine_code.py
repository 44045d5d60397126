"""Build the shared library of all compiled functions, for one machine and level of its CPU.

Strategy: numba compiles each function to LLVM's language, for the level's features, whatever CPU this is.
LLVM makes one object file of all, and LLD (of the package ziglang) a library without a dependency: what it
needs of the C library (memcpy, pread) is in every process. The same sources give the same bytes.

    python tools/machine_code.py FOLDER [MACHINE-LEVEL ...]
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kafka_segments.core.native.library import LEVELS, MANIFEST, digest, digest_file, file_name, symbol_of

__all__ = ["TARGETS", "build"]

# LLVM's names of CPU features, where Linux has others.
_LLVM_NAMES = {
    "abm": "lzcnt",
    "bmi1": "bmi",
    "pclmulqdq": "pclmul",
    "sse4_2": "sse4.2",
}
_CPUS = {"v1": "x86-64", "v3": "x86-64-v3", "v4": "x86-64-v4", "v8": "generic"}
_EMULATIONS = {"x86_64": "elf_x86_64", "aarch64": "aarch64linux"}
TARGETS = tuple(f"{machine}-{level}" for machine, levels in LEVELS.items() for level in levels)


def features_of(machine: str, level: str) -> str:
    """The features of a level in LLVM's words, such as `+avx2,+bmi`."""
    names = list(LEVELS[machine])
    known = frozenset[str]().union(*(LEVELS[machine][name] for name in names[names.index(level) :]))
    found = sorted(_LLVM_NAMES.get(name, name) for name in known)
    return ",".join(f"+{name}" for name in (["64bit", *found] if found else found))


def build(folder: Path, target: str, only: str = "") -> Path:
    """Build a library in a process of its own, whose numba compiles for the target.

    Args:
        folder: where it goes.
        target: one of `TARGETS`.
        only: a regular expression; functions of which it does not match the symbol are left out.
    """
    machine, _, level = target.partition("-")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {
        "NUMBA_CPU_NAME": _CPUS[level],
        "NUMBA_CPU_FEATURES": features_of(machine, level),
        "KAFKA_SEGMENTS_MACHINE_CODE": "jit",
        "KAFKA_SEGMENTS_CHECK_BOUNDS": "",
        "PYTHONHASHSEED": "0",
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(machine, level)
    unfinished = path.with_suffix(f".{os.getpid()}")
    command = [sys.executable, __file__, "--one", str(unfinished), target, only]
    subprocess.run(command, env=environment, check=True)
    digest_file(path).write_text(f"{hashlib.sha256(unfinished.read_bytes()).hexdigest()}\n", encoding="ascii")
    unfinished.replace(path)
    return path


def _build_here(path: Path, target: str, only: str) -> None:
    from llvmlite import binding as llvm

    machine, _, level = target.partition("-")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = f"{machine}-unknown-linux-gnu"
    made = llvm.Target.from_triple(triple).create_target_machine(
        cpu=_CPUS[level], features=features_of(machine, level), opt=3, reloc="pic", codemodel="small"
    )
    head = f'target datalayout = "{made.target_data}"\ntarget triple = "{triple}"\n'
    whole = llvm.parse_assembly(head + _manifest())
    for module in _modules(head, re.compile(only)):
        whole.link_in(module)
    whole.verify()
    with tempfile.TemporaryDirectory() as temporary:
        code = Path(temporary) / "code.o"
        code.write_bytes(made.emit_object(whole))
        _link(code, path, machine)


def _modules(head: str, only: re.Pattern[str]) -> Any:
    """Yield a module for each function, with its entry point under its symbol and all else inside."""
    from llvmlite import binding as llvm
    from tools.compiled_functions import functions

    from kafka_segments.core.native.compiling import compiled
    from kafka_segments.core.native.engine import parameters_of

    for factory, options in functions():
        if not only.search(symbol_of(factory, options)):
            continue
        with compiled(factory, options, parameters_of(factory, options)) as found:
            entry, text = found.fndesc.llvm_func_name, found.library.get_llvm_str()
        module = llvm.parse_assembly(head + re.sub(r"^target .*\n", "", text, flags=re.MULTILINE))
        for value in (*module.functions, *module.global_variables):
            if value.name == entry:
                value.name = symbol_of(factory, options)
            elif not value.is_declaration:
                value.linkage = "internal"
        yield module


def _manifest() -> str:
    from tools.compiled_functions import sources

    from kafka_segments.core.native.target import has_crc32c

    names = sources()
    told = {"sources": names, "digest": digest(names), "has_crc32c": has_crc32c()}
    data = json.dumps(told, sort_keys=True).encode("ascii") + b"\0"
    text = "".join(f"\\{byte:02x}" for byte in data)
    return f'@{MANIFEST} = constant [{len(data)} x i8] c"{text}"\n'


def _link(code: Path, path: Path, machine: str) -> None:
    command = [
        *(sys.executable, "-m", "ziglang", "ld.lld", "-m", _EMULATIONS[machine]),
        *("-shared", "--strip-all", "--gc-sections", "--build-id=none", "--hash-style=gnu"),
        *("-z", "relro", "-z", "now", "-z", "noexecstack", "-soname=kafka_segments"),
        *("-o", str(path), str(code)),
    ]
    subprocess.run(command, check=True)


def main() -> None:
    """Build the libraries that are named, or all."""
    arguments = sys.argv[1:]
    if arguments[0] == "--one":
        _build_here(Path(arguments[1]), *arguments[2:])
        return
    for target in arguments[1:] or TARGETS:
        path = build(Path(arguments[0]), target)
        print(f"{path}: {path.stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    main()
