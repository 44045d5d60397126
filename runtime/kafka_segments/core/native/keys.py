"""Cache keys of machine code: digests of everything that it depends on.

numba compiles into machine code the functions that a function calls, and the values of globals (positions in
arrays, limits, sizes). Code with other values would write to other positions, so the digest has all of them,
as loaded in this process: files on the disk may already be of a later version. Of this package, which
compiles the code, the digest has the source texts.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from types import CodeType, FunctionType, ModuleType
from typing import Any

from kafka_segments.core.native import cpu

__all__ = ["digest", "global_names", "is_unchanged"]

_PLAIN = (bool, int, float, str, bytes, type(None))
_OWN = "kafka_segments.core.native"
# Settings of numba that do not change machine code, or are overridden in `compiling`.
_OF_NO_CONSEQUENCE = (
    "NUMBA_CACHE_DIR",
    "NUMBA_COLOR_SCHEME",
    "NUMBA_DISABLE_JIT",
    "NUMBA_DISABLE_PERFORMANCE_WARNINGS",
    "NUMBA_NUM_THREADS",
    "NUMBA_THREADING_LAYER",
    "NUMBA_THREADING_LAYER_PRIORITY",
)
_SETTINGS_FILE = ".numba_config.yaml"  # read by numba from the working directory


def digest(factory: Callable[..., Any], options: dict[str, bool]) -> str:
    """Digest of everything that the machine code of `factory(**options)` depends on.

    Raises:
        NotImplementedError: it uses a value of an unsupported type.
    """
    parts = [
        *_Walk().of(factory, "factory"),
        f"options {sorted(options.items())}",
        f"versions {_versions()}",
        f"settings {_settings()}",
        f"cpu {cpu.identity()}",
        f"compiler {_TEXTS}",
    ]
    whole = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        whole.update(b"%d:%b" % (len(encoded), encoded))
    return whole.hexdigest()[:32]


def is_unchanged() -> bool:
    """Whether this package's files on the disk are unchanged since the process started.

    Its modules are loaded late, so that an upgrade of a running process could mix two versions.
    """
    return _texts() == _TEXTS


def global_names(code: CodeType) -> set[str]:
    """Global names that code uses, also in nested functions."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= global_names(constant)
    return names


class _Walk:
    """Describes a function and everything that it uses, each function once."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def of(self, value: Any, name: str) -> Iterator[str]:
        """Yield descriptions of a value and its parts, in a stable order."""
        wrapped = getattr(value, "__wrapped__", value)
        if isinstance(wrapped, FunctionType):
            yield from self._of_function(wrapped, name)
        elif isinstance(value, CodeType):
            yield f"{name} code {_code(value)}"
            for at, constant in enumerate(value.co_consts):
                yield from self.of(constant, f"{name}.{at}")
        elif type(value) in _PLAIN:
            yield f"{name} {type(value).__name__} {value!r}"
        elif isinstance(value, (tuple, list)):
            yield f"{name} {type(value).__name__} {len(value)}"
            for at, item in enumerate(value):
                yield from self.of(item, f"{name}.{at}")
        elif isinstance(value, ModuleType):
            yield f"{name} module {value.__name__}"
        else:
            raise NotImplementedError(
                f"{name} is of {type(value)}: say in {__name__} what of it is in machine code"
            )

    def _of_function(self, function: FunctionType, name: str) -> Iterator[str]:
        is_new = function not in self._numbers
        number = self._numbers.setdefault(function, len(self._numbers))
        yield f"{name} function {number} {function.__module__}.{function.__name__}"
        if not is_new:
            return
        yield from self.of(function.__code__, name)
        yield from self.of([function.__defaults__, function.__kwdefaults__], f"{name} defaults")
        for cell in function.__closure__ or ():
            yield from self.of(cell.cell_contents, f"{name} closure")
        names = sorted(global_names(function.__code__))
        for used in names:
            if used not in function.__globals__:
                continue  # a builtin, or the name of an attribute
            value = function.__globals__[used]
            yield from self.of(value, used)
            if (
                isinstance(value, ModuleType)
                and value.__name__.partition(".")[0] not in sys.stdlib_module_names
            ):
                for attribute in names:
                    if hasattr(value, attribute):
                        yield from self.of(getattr(value, attribute), f"{used}.{attribute}")


def _code(code: CodeType) -> str:
    """Description of code without line numbers."""
    signature = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return f"{code.co_name} {signature} {names} {code.co_code.hex()} {code.co_exceptiontable.hex()}"


def _versions() -> list[str]:
    return [
        sys.modules["kafka_segments"].__version__,
        *(_version(package) for package in ("numba", "llvmlite", "numpy")),
        sys.implementation.cache_tag or sys.version,
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # a package on the path without metadata
        return str(getattr(importlib.import_module(package), "__version__", ""))


def _settings() -> list[tuple[str, str]]:
    """Settings in the environment that change machine code."""
    found = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("NUMBA_") and name not in _OF_NO_CONSEQUENCE
    }
    found["KAFKA_SEGMENTS_CHECK_BOUNDS"] = os.environ.get("KAFKA_SEGMENTS_CHECK_BOUNDS", "")
    with suppress(OSError):
        status = os.stat(_SETTINGS_FILE)
        found[_SETTINGS_FILE] = f"{status.st_size} {status.st_mtime_ns}"
    return sorted(found.items())


def _texts() -> str:
    """Digest of the source texts of this package's modules, on the disk or in an archive."""
    whole = hashlib.sha256()
    for found in sorted(pkgutil.iter_modules(sys.modules[_OWN].__path__), key=lambda found: found.name):
        spec = importlib.util.find_spec(f"{_OWN}.{found.name}")
        loader: Any = spec.loader if spec else None
        content = loader.get_data(spec.origin) if spec and spec.origin else b""
        whole.update(b"%b %d:%b" % (found.name.encode("ascii"), len(content), content))
    return whole.hexdigest()


_TEXTS = _texts()
