"""What a function may call, by the names in its code."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType

__all__ = ["global_names", "reachable"]


def global_names(code: CodeType) -> set[str]:
    """The global names that code uses, those of functions inside it included."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= global_names(constant)
    return names


def reachable(function: FunctionType, seen: set[FunctionType] | None = None) -> Iterator[FunctionType]:
    """The function and all that it may call, each once."""
    seen = set() if seen is None else seen
    if function in seen:
        return
    seen.add(function)
    yield function
    for name in global_names(function.__code__):
        called = function.__globals__.get(name)
        if isinstance(called, FunctionType):
            yield from reachable(called, seen)
