"""Global names in the code of a function."""

from __future__ import annotations

from types import CodeType

__all__ = ["global_names"]


def global_names(code: CodeType) -> set[str]:
    """The global names that code uses, those of functions inside it included."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= global_names(constant)
    return names
