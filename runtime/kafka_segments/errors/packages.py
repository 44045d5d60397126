"""Packages of extras: whether they are installed, and importing them when they are first used."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kafka_segments.errors import MissingExtraError

__all__ = ["LazyPackage", "check_packages"]


def check_packages(packages: Iterable[str], need: str, extra: str, purpose: str = "") -> None:
    """Check that packages are installed, without importing them.

    Args:
        packages: their names, as they are imported.
        need: what needs them, with its verb: "Arrow data need".
        extra: the extra that installs them.
        purpose: what follows their name in the message.

    Raises:
        MissingExtraError: one of them is not.
    """
    for package in packages:
        try:
            is_there = find_spec(package) is not None
        except ValueError:  # something is under this name in sys.modules that is not a module
            is_there = False
        if not is_there:
            raise MissingExtraError(
                f"{need} {package}{purpose}: pip install 'kafka-segments[{extra}]'", extra=extra
            )


class LazyPackage:
    """A package that is imported when something of it is first used.

    Args:
        name: of the package.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value
