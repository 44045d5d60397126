"""The option `on_damage`: what to do with damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import KafkaFormatError, MissingCodecError, OptionError

__all__ = ["OnDamage", "check_on_damage", "handle_damage", "report_damage"]

OnDamage = Literal["raise", "skip"] | Callable[[Damage], None]
"""What to do with damage: raise its error, yield it and continue, or call this function and continue."""


def check_on_damage(on_damage: OnDamage) -> None:
    """Raise `OptionError` if it is not "raise", "skip" or a function."""
    if on_damage not in ("raise", "skip") and not callable(on_damage):
        raise OptionError(f"on_damage is {on_damage!r}; give 'raise', 'skip' or a function")


def handle_damage(damage: Damage, on_damage: OnDamage) -> Iterator[Damage]:
    """Handle damage as `on_damage` says; yield it if that is "skip"."""
    if callable(on_damage):
        on_damage(damage)
    elif on_damage == "skip":
        yield damage
    else:
        raise damage.error


def report_damage(damage: Damage, error: KafkaFormatError, on_damage: OnDamage) -> None:
    """Raise the error, pass the damage to the callback, or ignore it."""
    # A package that is not installed is not damage: skipping would lose sound data.
    if on_damage == "raise" or isinstance(error, MissingCodecError):
        raise error
    if callable(on_damage):
        on_damage(damage)
