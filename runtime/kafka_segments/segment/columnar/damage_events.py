"""Damage, done with as the caller wants."""

from __future__ import annotations

from kafka_segments.errors import KafkaFormatError, MissingCodecError
from kafka_segments.formats.entries import Damage
from kafka_segments.formats.on_damage import OnDamage

__all__ = ["dispose"]


def dispose(damage: Damage, error: KafkaFormatError, on_damage: OnDamage) -> None:
    """Raise the error, tell of the damage, or pass it over."""
    # A package that is not installed is no damage: skipping would lose sound data.
    if on_damage == "raise" or isinstance(error, MissingCodecError):
        raise error
    if callable(on_damage):
        on_damage(damage)
