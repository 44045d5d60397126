"""CPU features that numba compiles for: those of this CPU, unless numba's settings override them.

Imported only for compiling. Compiling an instruction that numba considers missing ends the process, so
numba's own list is used: it disables AVX on some virtual machines, and `NUMBA_CPU_NAME`, `NUMBA_CPU_FEATURES`
and `NUMBA_ENABLE_AVX` change it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba.core import config
from numba.core.registry import cpu_target

__all__ = ["has", "has_crc32c", "settings"]


@cache
def _features() -> frozenset[str]:
    """LLVM's names of the features, from numba's form `+sse2,-avx`."""
    context: Any = cpu_target.target_context
    _triple, _name, features = context.codegen().magic_tuple()
    return frozenset(feature[1:] for feature in features.split(",") if feature.startswith("+"))


def has(*features: str) -> bool:
    """Whether code may use all features, by LLVM's names."""
    return _features().issuperset(features)


def has_crc32c() -> bool:
    """Whether CRC-32C can be folded (x86 with SSE 4.2 and PCLMULQDQ)."""
    return has("sse4.2", "pclmul", "64bit")


@contextmanager
def settings(**values: int | None) -> Iterator[None]:
    """Change numba's settings within the context."""
    current: Any = config  # set when it is imported
    before = {name: getattr(current, name) for name in values if hasattr(current, name)}
    for name, old in before.items():
        value = values[name]
        setattr(current, name, value if value is None or old is None else type(old)(value))
    try:
        yield
    finally:
        for name, old in before.items():
            setattr(current, name, old)
