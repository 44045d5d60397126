"""The option `on_damage`: what to do with damage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import OptionError

__all__ = ["OnDamage", "check_on_damage"]

OnDamage = Literal["raise", "skip"] | Callable[[Damage], None]
"""What to do with damage: raise its error, yield it and continue, or call this function and continue."""


def check_on_damage(on_damage: OnDamage) -> None:
    """Raise `OptionError` if it is not "raise", "skip" or a function."""
    if on_damage not in ("raise", "skip") and not callable(on_damage):
        raise OptionError(f"on_damage is {on_damage!r}; give 'raise', 'skip' or a function")
