"""Forms in which records are stored: format, codec, level and size of batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_segments.core.codecs import CODEC_NAMES, check_level
from kafka_segments.errors import OptionError

__all__ = ["Form", "is_possible", "iter_levels"]


class Form(NamedTuple):
    """Form in which records are stored.

    Attributes:
        magic: of the message format.
        compression: "none" or the name of a codec.
        level: of compression; None is Kafka's default.
        batch_size: bytes of a batch at most, as in `BatchOptions`; None keeps the batches as they are.
    """

    magic: int
    compression: str = "none"
    level: int | None = None
    batch_size: int | None = None

    @property
    def used_level(self) -> int | None:
        """The level that is passed to the codec; None without levels, and for gzip's default."""
        if self.compression in {"none", "snappy"} or (self.compression == "gzip" and self.level is None):
            return None
        return check_level(self.compression, self.level)


def is_possible(form: Form) -> bool:
    """Return whether Kafka has a form; zstd came with magic 2 (KIP-110)."""
    return form.magic >= 2 or form.compression != "zstd"


def iter_levels(compression: str) -> Iterator[tuple[str, int | None]]:
    """Iterate over the codec and the levels of a text such as `zstd:1,3,9`; a default level is None.

    Raises:
        OptionError: an unknown codec, or a level that is missing, no number, or out of its range.
    """
    name, colon, levels = compression.partition(":")
    if name == "none" and not colon:
        yield name, None
        return
    if name not in CODEC_NAMES:
        known = ", ".join(("none", *CODEC_NAMES))
        raise OptionError(f"compression {compression!r}: give one of {known}, and levels as in zstd:1,3,9")
    for level in levels.split(",") if colon else [""]:
        if level and not level.lstrip("-").isdecimal():
            raise OptionError(
                f"compression {compression!r}: {level!r} is not a level; levels are numbers, as in gzip:9"
            )
        if colon and not level:
            raise OptionError(f"compression {compression!r}: a level is missing; give them as in zstd:1,3,9")
        number = int(level) if level else None
        if check_level(name, number) == check_level(name, None):
            number = None
        yield name, number
