"""All functions that become machine code, and the key under which each is looked for: a program, too.

`python -m tests.native.keyed` prints the keys. Nothing is compiled: looking into the cache ends it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tools.compiled_functions import FACTORIES

from kafka_segments.core.native import engine, jit


class _AskedError(Exception):
    """The key that was asked for."""


def key_of(factory: Callable[..., Any]) -> str:
    """The key of a factory with all of its options on."""

    def asked(_folder: object, key: str, _make: object) -> bytes:
        raise _AskedError(key)

    options = dict.fromkeys(inspect.signature(factory).parameters, True)
    before, jit._kept_or_compiled = jit._kept_or_compiled, asked
    try:
        engine.load_decoder(factory, **options)
    except _AskedError as error:
        return str(error)
    finally:
        jit._kept_or_compiled = before
    raise AssertionError("it is loaded already")


def keys() -> dict[str, str]:
    """The keys of all."""
    return {f"{factory.__module__}.{factory.__name__}": key_of(factory) for factory in FACTORIES}


if __name__ == "__main__":
    for name, key in keys().items():
        print(name, key)
