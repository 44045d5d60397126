"""What callers want done with damage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from kafka_segments.entries import Damage
from kafka_segments.errors import KafkaFormatError, MissingCodecError, OptionError

__all__ = ["OnDamage", "check_on_damage", "dispose"]

OnDamage: TypeAlias = Literal["raise", "skip"] | Callable[[Damage], None]


def check_on_damage(on_damage: OnDamage) -> None:
    """Raise `OptionError` for anything else."""
    if on_damage not in ("raise", "skip") and not callable(on_damage):
        raise OptionError(f"on_damage must be 'raise', 'skip' or a callable, not {on_damage!r}")


def dispose(damage: Damage, error: KafkaFormatError, on_damage: OnDamage) -> None:
    """Raise the error, tell of the damage, or pass it over."""
    # A package that is not installed is no damage: skipping would lose sound data.
    if on_damage == "raise" or isinstance(error, MissingCodecError):
        raise error
    if callable(on_damage):
        on_damage(damage)
