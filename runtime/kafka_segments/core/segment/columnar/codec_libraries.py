"""C functions in the extension modules of the codecs' packages, without importing these."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["VOID", "Held", "address_in", "function_in", "library_of"]

VOID = ctypes.c_void_p


class Held:
    """A library's context, freed when it is no longer referenced."""

    def __init__(self, context: int, free: Any) -> None:
        self.context = context
        self._free = free

    def __del__(self) -> None:
        if hasattr(self, "_free"):  # else Ctrl-C came before it was made
            self._free(self.context)


@cache
def library_of(package: str, module: str) -> ctypes.CDLL | None:
    """Load the C library in a wheel's extension module, without importing the module.

    Args:
        package: its name; it may be an extension module itself (deflate before 0.8).
        module: name of the extension module in it.
    """
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    folders = spec.submodule_search_locations or []
    paths = [Path(folder) / f"{module}{suffix}" for folder in folders for suffix in suffixes]
    if spec.origin and spec.origin.endswith(suffixes):
        paths.append(Path(spec.origin))
    try:
        return next((ctypes.CDLL(str(path)) for path in paths if path.is_file()), None)
    except OSError:
        return None


def function_in(library: ctypes.CDLL | None, name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of a library; None if it is not exported."""
    try:
        return ctypes.CFUNCTYPE(result, *arguments)((name, library)) if library else None
    except AttributeError:
        return None


def address_in(library: ctypes.CDLL | None, name: str) -> int:
    """Return the address of a function of a library; 0 if it is not exported."""
    if library is None or not hasattr(library, name):
        return 0
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
