"""Catalogue of the checks: each with its id, what it finds, and what to do about it.

`checks.toml` has them; docs/verify-reference.md has a table that is made of it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pkgutil import get_data

from kafka_segments.errors import OptionError
from kafka_segments.log.findings import Kind

__all__ = ["CHECKS", "GROUPS", "CheckRow", "chosen_checks"]


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A check of the catalogue.

    Attributes:
        id: as `--checks` and `--skip` take it, and as findings have it.
        group: a name for several checks, which `--checks` and `--skip` take too.
        finds: what is wrong, in a few words.
        remedy: what to do.
        kind: of its findings.
    """

    id: str
    group: str
    finds: str
    remedy: str
    kind: Kind = Kind.DAMAGE


_DATA = tomllib.loads((get_data("kafka_segments.verify", "checks.toml") or b"").decode())


def _rows() -> Iterable[CheckRow]:
    remedies = _DATA["remedies"]
    for group, table in _DATA["groups"].items():
        for check, (finds, remedy, *kind) in table["checks"].items():
            kind_of = Kind[kind[0] if kind else table["kind"]]
            yield CheckRow(check, group, finds, remedies.get(remedy, remedy), kind_of)


CHECKS: dict[str, CheckRow] = {row.id: row for row in _rows()}
"""All checks, by id."""

GROUPS: dict[str, tuple[str, ...]] = {
    group: tuple(row.id for row in CHECKS.values() if row.group == group) for group in _DATA["groups"]
}
"""Ids of the checks of each group."""


def chosen_checks(only: Iterable[str], skip: Iterable[str] = ()) -> frozenset[str]:
    """Return the ids of the chosen checks.

    Args:
        only: ids and groups; all checks if there are none.
        skip: likewise, of checks that are left out.

    Raises:
        OptionError: an unknown name, or no check is left.
    """
    wanted = frozenset(one for name in only for one in _ids_of(name)) or frozenset(CHECKS)
    left = wanted - {one for name in skip for one in _ids_of(name)}
    if not left:
        raise OptionError("no check is left: give --checks more, or --skip fewer")
    return left


def _ids_of(name: str) -> tuple[str, ...]:
    if name in GROUPS:
        return GROUPS[name]
    if name in CHECKS:
        return (name,)
    raise OptionError(
        f"there is no check {name!r}; the groups are {', '.join(GROUPS)}, the checks {', '.join(CHECKS)}"
    )
