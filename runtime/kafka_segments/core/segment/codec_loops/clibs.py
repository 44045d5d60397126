"""C functions in the wheels of the codecs' packages.

The extension modules of lz4, zstandard and deflate export the functions of the libraries that they contain.
They are called by address, without importing the modules.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
from pathlib import Path
from typing import Any

__all__ = ["INT", "SIZE", "VOID", "Held", "find_address", "find_function", "find_library"]

VOID, SIZE, INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


def find_library(package: str, module: str) -> ctypes.CDLL | None:
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


def find_function(library: ctypes.CDLL | None, name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of a library; None if it is not exported."""
    try:
        return ctypes.CFUNCTYPE(result, *arguments)((name, library)) if library else None
    except AttributeError:
        return None


def find_address(library: ctypes.CDLL | None, name: str) -> int:
    """Return the address of a function of a library; 0 if it is not exported."""
    if library is None or not hasattr(library, name):
        return 0
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


class Held:
    """A library's context, freed when it is no longer referenced."""

    def __init__(self, context: int, free: Any) -> None:
        self.context = context
        self._free = free

    def __del__(self) -> None:
        if hasattr(self, "_free"):  # else Ctrl-C came before it was made
            self._free(self.context)
