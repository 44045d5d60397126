"""Handling of damage as the caller wants it."""

from __future__ import annotations

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.on_damage import OnDamage
from kafka_segments.errors import KafkaFormatError, MissingCodecError

__all__ = ["handle_damage"]


def handle_damage(damage: Damage, error: KafkaFormatError, on_damage: OnDamage) -> None:
    """Raise the error, pass the damage to the callback, or ignore it."""
    # A package that is not installed is not damage: skipping would lose sound data.
    if on_damage == "raise" or isinstance(error, MissingCodecError):
        raise error
    if callable(on_damage):
        on_damage(damage)
