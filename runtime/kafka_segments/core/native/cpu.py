"""LLVM, which loads machine code, and the features of this CPU; `target` has those for compiling."""

from __future__ import annotations

from functools import cache

from kafka_segments.errors import MissingExtraError

try:
    from llvmlite import binding as llvm
except Exception as error:  # its library does not fit this machine: OSError, RuntimeError, AttributeError
    raise MissingExtraError(
        f"reading into Arrow needs llvmlite, which cannot be loaded here ({error}): "
        "pip install --force-reinstall 'kafka-segments[arrow,jit]'",
        extra="jit",
    ) from error

__all__ = ["has", "has_crc32c", "identity", "llvm"]


@cache
def _features() -> dict[str, bool]:
    try:
        return dict(llvm.get_host_cpu_features())
    except RuntimeError:  # LLVM does not know them for this CPU; numba then uses none either
        return {}


def has(*features: str) -> bool:
    """Whether this CPU has all features, by LLVM's names."""
    return all(_features().get(feature) for feature in features)


def has_crc32c() -> bool:
    """Whether decoders can compute CRC-32C by folding (x86 with SSE 4.2 and PCLMULQDQ)."""
    return has("sse4.2", "pclmul", "64bit")


@cache
def identity() -> str:
    """Identity of the CPU model: machine code runs on all CPUs with the same one."""
    present = ",".join(sorted(name for name, is_there in _features().items() if is_there))
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {present}"
