"""Compression and decompression of payloads, with one module for each codec.

A module `codecs.<name>` has one `CODEC`, and is imported for the first payload of its kind, so that other
payloads do not need its package. Errors of libraries become a `DecompressionError` here only.

Codecs accept what Kafka's own reader accepts (`org.apache.kafka.common.compress`, 4.3.1), with the same
result; the modules name the differences. The bound on the output is ours: Kafka's consumer has none.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

from kafka_segments.core.codecs.bounds import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.errors import DecompressionError, MissingCodecError, OptionError

__all__ = [
    "CODEC_NAMES",
    "DEFAULT_MAX_DECOMPRESSED",
    "Codec",
    "check_level",
    "codec_named",
    "compress",
    "decompress",
]

# Remedies by Kafka's name (CompressionType), for a codec whose module cannot be imported.
_REMEDIES = {
    "gzip": "use a Python built with zlib",
    "snappy": "pip install python-snappy",
    "lz4": "pip install lz4",
    "zstd": "pip install zstandard",
}

CODEC_NAMES = tuple(_REMEDIES)
"""Kafka's names of the codecs, in the order of their ids 1 to 4."""

# CompressionType: Kafka's levels (Deflater, LZ4Constants, ZSTD_minCLevel to ZSTD_maxCLevel) and default.
_LEVELS = {"gzip": (range(1, 10), -1), "lz4": (range(1, 18), 9), "zstd": (range(-(1 << 17), 23), 3)}


class Codec(Protocol):
    """Interface of `CODEC` in a codec's module.

    A module whose codec differs in magic 0 also has `CODEC_MAGIC_0`.
    """

    @property
    def name(self) -> str:
        """Kafka's name."""
        raise NotImplementedError

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Errors of the library for invalid bytes."""
        raise NotImplementedError

    def decompress(self, data: memoryview, max_size: int) -> bytes:
        """Decompress `data` to at most `max_size` bytes; raise `DecompressionError` or one of `errors`."""
        raise NotImplementedError

    def compress(self, data: memoryview, level: int) -> bytes:
        """Compress `data` as Kafka's writers do, with one of Kafka's levels."""
        raise NotImplementedError


def codec_named(name: str, magic: int = 2) -> Codec:
    """Return a codec of `CODEC_NAMES`, for batches or messages of a magic.

    Raises:
        DecompressionError: an unknown codec.
        MissingCodecError: its package is not installed.
    """
    if name not in _REMEDIES:
        known = ", ".join(CODEC_NAMES)
        raise DecompressionError(f"unknown compression codec {name!r}; Kafka has {known}", codec=name)
    try:
        module = import_module(f"{__name__}.{name}")
    except ImportError as error:
        message = f"{name} cannot be used here ({error}): {_REMEDIES[name]}"
        raise MissingCodecError(message, codec=name) from error
    codec: Codec = module.CODEC
    if magic == 0:
        codec = getattr(module, "CODEC_MAGIC_0", codec)
    return codec


def decompress(
    codec: str, data: bytes | memoryview, *, max_size: int = DEFAULT_MAX_DECOMPRESSED, magic: int = 2
) -> bytes:
    """Decompress one payload: the records part of a v2 batch, or the value of a legacy wrapper.

    Args:
        codec: Kafka's name, one of `CODEC_NAMES`.
        data: the payload, contiguous; a `memoryview` is not copied.
        max_size: most bytes of the result; no more than these, one block and the join are allocated.
        magic: of the batch or message: LZ4 headers of magic 0 have a wrong checksum (KAFKA-3160).

    Raises:
        DecompressionError: the bytes are invalid, or decompress to more than `max_size`.
        MissingCodecError: the codec's package is not installed.

    Example:
        >>> import zlib
        >>> deflater = zlib.compressobj(wbits=31)
        >>> decompress("gzip", deflater.compress(b"records") + deflater.flush())
        b'records'
    """
    hook = codec_named(codec, magic)
    try:
        return hook.decompress(memoryview(data), max_size)
    except hook.errors as error:
        # python-snappy's errors are empty; the text is in their cause.
        reason = str(error) or str(error.__cause__ or "") or type(error).__name__
        raise DecompressionError(f"{codec} payload does not decompress: {reason}", codec=codec) from error


def check_level(codec: str, level: int | None) -> int:
    """Return the checked level of compression; None is Kafka's default.

    Raises:
        OptionError: an unknown codec, one without levels, or a level out of its range (CompressionType).
    """
    if codec not in _REMEDIES:
        detail = f"compression is {codec!r}; it must be none, {', '.join(CODEC_NAMES)}"
        raise OptionError(detail, rule="unknown_compression")
    if codec not in _LEVELS:
        if level is not None:
            detail = f"compression_level is {level}, but {codec} has no levels"
            raise OptionError(detail, rule="compression_level")
        return 0
    levels, default = _LEVELS[codec]
    if level is None or level == default:
        return default
    if level not in levels:
        detail = f"compression_level is {level}; {codec} takes {levels[0]} to {levels[-1]}"
        raise OptionError(detail, rule="compression_level")
    return level


def compress(codec: str, data: bytes | memoryview, *, level: int | None = None, magic: int = 2) -> bytes:
    """Compress one payload: the records part of a v2 batch, or the value of a legacy wrapper.

    Args:
        codec: Kafka's name, one of `CODEC_NAMES`.
        data: the payload, contiguous.
        level: as Kafka's `compression.<codec>.level`; None is Kafka's default.
        magic: of the batch or message: LZ4 headers of magic 0 have a wrong checksum (KAFKA-3160).

    Raises:
        OptionError: an unknown codec or level.
        MissingCodecError: the codec's package is not installed.

    Example:
        >>> decompress("gzip", compress("gzip", b"records", level=9))
        b'records'
    """
    checked = check_level(codec, level)
    return codec_named(codec, magic).compress(memoryview(data), checked)
