"""The machine code that a wheel carries: a shared library of all generated decoders, encoders and loops.

Strategy: `make wheels` compiles every function with every choice of options (`tools/machine_code`), for
x86-64 in three levels of the CPU, the best of which is chosen here, and for aarch64. The library has the
digest of the sources that it was made from; with others it is refused, as it would write to wrong places.

`KAFKA_SEGMENTS_MACHINE_CODE` is the path of another library, or `jit`: compile here, whatever the wheel has.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from kafka_segments.errors import MachineCodeError

__all__ = [
    "LEVELS",
    "MANIFEST",
    "VARIABLE",
    "address_of",
    "digest",
    "digest_file",
    "file_name",
    "has_crc32c",
    "is_there",
    "level_of",
    "symbol_of",
]

VARIABLE = "KAFKA_SEGMENTS_MACHINE_CODE"
MANIFEST = "kafka_segments_manifest"
"""Symbol of a text in JSON: the digest of the sources, their names, and whether CRC-32C is folded."""

LEVELS: dict[str, dict[str, frozenset[str]]] = {
    "x86_64": {
        "v4": frozenset({"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "vpclmulqdq"}),
        "v3": frozenset(
            {"abm", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "pclmulqdq", "popcnt", "sse4_2"}
        ),
        "v1": frozenset(),
    },
    "aarch64": {"v8": frozenset()},
}
"""By machine: levels, the best first, with the features that one has beside those of the next.

Features are named as in /proc/cpuinfo. The levels v1, v3 and v4 are those of the psABI for x86-64, v3 with
PCLMULQDQ and v4 with VPCLMULQDQ, by which checksums are folded; CPUs that have the levels have these too.
"""

_FOLDER = "machine_code"
_LEN_CPUINFO = 16 << 10  # the first CPU's lines; the file has as many of them as there are CPUs


def file_name(machine: str, level: str) -> str:
    """Name of a library within the wheel's folder."""
    return f"{machine}-{level}.so"


def digest_file(path: Path) -> Path:
    """The file with the SHA-256 of a library, of which a damaged one would end the process when loaded."""
    return path.with_name(f"{path.name}.sha256")


def symbol_of(factory: Callable[..., Any], options: dict[str, bool]) -> str:
    """Symbol of the function that `factory(**options)` returns."""
    chosen = "".join(str(int(options[name])) for name in sorted(options))
    return ".".join(filter(None, (factory.__module__, factory.__name__, chosen)))


def address_of(factory: Callable[..., Any], options: dict[str, bool]) -> int | None:
    """Address of the function that `factory(**options)` returns.

    Returns:
        None if there is no library, or it has no such function, as of a schema of one's own.

    Raises:
        MachineCodeError: the library cannot be loaded, or was made from other sources.
    """
    loaded = _loaded()
    if loaded is None:
        return None
    try:
        function = getattr(loaded[0], symbol_of(factory, options))
    except AttributeError:
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


def is_there() -> bool:
    """Whether there is a library for this machine; it is not loaded."""
    return _path() is not None


def has_crc32c() -> bool | None:
    """Whether the library computes CRC-32C by folding; None if there is no library."""
    loaded = _loaded()
    return None if loaded is None else bool(loaded[1]["has_crc32c"])


def digest(sources: Iterable[str]) -> str:
    """Digest of source files of this package and of the generated one.

    Args:
        sources: their names, such as `kafka_segments/core/native/kernels.py`.
    """
    whole = hashlib.sha256()
    for name in sources:
        content = _source(name)
        whole.update(b"%d:%b" % (len(content), content))
    return whole.hexdigest()


def _source(name: str) -> bytes:
    """Content of a source file, on the disk or in an archive."""
    package, _, rest = name.partition("/")
    module: Any = importlib.import_module(package)
    path = os.path.join(module.__path__[0], *rest.split("/"))
    content: bytes = module.__spec__.loader.get_data(path)
    return content


@cache
def _loaded() -> tuple[ctypes.CDLL, dict[str, Any]] | None:
    """The library and its manifest, if there is one for this machine."""
    path = _path()
    if path is None:
        return None
    try:
        _verify(path)
        library = ctypes.CDLL(str(path))
        start = ctypes.addressof(ctypes.c_char.in_dll(library, MANIFEST))
        manifest: dict[str, Any] = json.loads(ctypes.string_at(start))
    except (OSError, ValueError) as error:  # ValueError: or without a manifest
        raise MachineCodeError(
            f"the machine code cannot be loaded: {error}: {_HOW}", path=str(path)
        ) from error
    try:
        is_same = digest(manifest["sources"]) == manifest["digest"]
    except OSError:  # a source is missing
        is_same = False
    if not is_same:
        detail = f"the machine code was made from sources other than the installed ones: {_HOW}"
        raise MachineCodeError(detail, path=str(path))
    return library, manifest


def _verify(path: Path) -> None:
    """Compare a library with the digest beside it."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    expected = digest_file(path).read_text("ascii").strip()
    if found != expected:
        detail = f"the machine code is damaged: its digest is {found}, not {expected}: {_HOW}"
        raise MachineCodeError(detail, path=str(path))


_HOW = (
    f"install kafka-segments again, or, with the extra jit and changed sources, set {VARIABLE}=jit to "
    "compile here"
)


def _path() -> Path | None:
    """The library to load: the chosen one, or that of the wheel for this CPU."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return None if chosen == "jit" else Path(chosen)
    machine = platform.machine()
    folder = Path(__file__).parent / _FOLDER
    if sys.platform != "linux" or machine not in LEVELS or not folder.is_dir():
        return None
    return folder / file_name(machine, level_of(machine))


def level_of(machine: str) -> str:
    """Return the best level that this CPU has."""
    levels = LEVELS[machine]
    features = _features() if len(levels) > 1 else frozenset[str]()
    needed = frozenset[str]()
    best = ""
    for level in reversed(levels):
        needed |= levels[level]
        if needed <= features:
            best = level
    return best


@cache
def _features() -> frozenset[str]:
    """Features of the first CPU, as Linux names them; none without /proc."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            text = file.read(_LEN_CPUINFO)
    except OSError:
        return frozenset()
    lines = (line.partition(":") for line in text.splitlines())
    return next(
        (frozenset(value.split()) for name, _, value in lines if name.strip() == "flags"), frozenset()
    )
