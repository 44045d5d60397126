"""Rules of Kafka for what may be written: the errors for breaking them. `refusals.toml` has the rules.

The rules are those of a broker for its clients (LogValidator, UnifiedLog, ProducerAppendInfo) and of Kafka's
own builder (MemoryRecordsBuilder), as far as they apply without a broker. Each has a test of its name.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pkgutil import get_data
from typing import NamedTuple

from kafka_segments.errors import EncodeError, OptionError

__all__ = ["Refusal", "all_refusals", "refused", "refused_option"]


class Refusal(NamedTuple):
    """The exception of Kafka, the class that throws it, and the reason in a few words."""

    exception: str
    source: str
    reason: str


@cache
def all_refusals() -> dict[str, Refusal]:
    """Return the rules of `refusals.toml` by name, the `rule` of errors."""
    data = tomllib.loads((get_data("kafka_segments.write", "refusals.toml") or b"").decode())
    return {name: Refusal(*words) for name, words in data.items()}


def refused(rule: str, found: str, *, offset: int | None = None, row: int | None = None) -> EncodeError:
    """Build the error for data that break a rule.

    Args:
        rule: a name in `refusals.toml`.
        found: the finding, in words.
        offset: of the record or batch.
        row: the record's number in the data.
    """
    place = ", ".join(
        f"{name} {value}" for name, value in (("offset", offset), ("row", row)) if value is not None
    )
    detail = f"{place}: {found}" if place else found
    return EncodeError(f"{detail} ({all_refusals()[rule].reason})", rule=rule, offset=offset, row=row)


def refused_option(rule: str, found: str) -> OptionError:
    """Build the error for options that break a rule."""
    return OptionError(f"{found} ({all_refusals()[rule].reason})", rule=rule)
