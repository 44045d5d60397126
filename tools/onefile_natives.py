"""Machine code in kafka-segments.pyz: modules for the Python and the machine that run, loaded from memory.

A module of machine code has a stand-in of its name, which calls `load`: it works wherever the file is on
`sys.path`, also in processes that do not begin with `__main__`. Its code is copied to anonymous memory
(memfd_create) and loaded from there: nothing is written to a disk, which may be full, read-only or broken.
Only where that cannot be, as without /proc, it goes into a file that is removed as soon as it is loaded.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

__all__ = ["TAG", "NativeError", "is_supported", "load"]

VARIABLE = "KAFKA_SEGMENTS_TMPDIR"
TAG = EXTENSION_SUFFIXES[0].strip(".").rpartition(".")[0]  # such as cpython-311-x86_64-linux-gnu
FOLDER = "natives"
_kept: list[int] = []  # descriptors that stay open: the loader takes an equal path for the same library


class NativeError(ImportError):
    """A module of machine code cannot be loaded."""


def _read(name: str) -> bytes:
    archive = __spec__.loader
    path = os.path.join(os.path.dirname(__file__), FOLDER, TAG, f"{name}.so")
    return archive.get_data(path)  # type: ignore[union-attr, no-any-return]


def is_supported() -> bool:
    """Return whether the file has modules for this Python and machine."""
    try:
        _read("crc32c._crc32c")
    except OSError:
        return False
    return True


def load(name: str) -> None:
    """Load a module and put it in the place of its stand-in.

    Raises:
        NativeError: it cannot be loaded.
    """
    data = _read(name)
    try:
        module = _from_memory(name, data)
    except (OSError, AttributeError, ImportError) as error:
        module = _from_file(name, data, error)
    sys.modules[name] = module


def _from_memory(name: str, data: bytes) -> ModuleType:
    descriptor = os.memfd_create(name)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)
    _kept.append(descriptor)
    return _loaded(name, f"/proc/self/fd/{descriptor}")


def _from_file(name: str, data: bytes, why: Exception) -> ModuleType:
    folder = os.environ.get(VARIABLE)
    try:
        with tempfile.NamedTemporaryFile(prefix="kafka-segments-", suffix=".so", dir=folder) as file:
            file.write(data)
            file.flush()
            return _loaded(name, file.name)
    except (OSError, ImportError) as error:
        detail = (
            f"{name} cannot be loaded from memory ({why}) or from a temporary file ({error}); {VARIABLE} "
        )
        detail += "may name a folder for it that can be written and whose programs may run"
        raise NativeError(detail) from error


def _loaded(name: str, path: str) -> ModuleType:
    spec = spec_from_file_location(name, path, loader=ExtensionFileLoader(name, path))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
