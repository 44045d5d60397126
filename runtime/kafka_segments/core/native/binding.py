"""Import of llvmlite, which loads machine code; an import error counts as a missing package."""

from __future__ import annotations

from kafka_segments.errors import MissingExtraError

try:
    import llvmlite
    from llvmlite import binding as llvm
except Exception as error:  # its library does not fit this machine: OSError, RuntimeError, AttributeError
    raise MissingExtraError(
        f"reading into Arrow needs llvmlite, which cannot be loaded here ({error}): "
        "pip install --force-reinstall 'kafka-segments[arrow,jit]'",
        extra="jit",
    ) from error

__all__ = ["llvm", "llvmlite"]
