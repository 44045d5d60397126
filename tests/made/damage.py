"""What can happen to a log directory: each kind is a function of the directory and a random generator.

A kind that a directory does not offer (two segments to be swapped where there is one) does nothing and
returns False.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import wraps

from tests.made.log_directory import BESIDE, SPECIALS, Directory, base_of
from tests.made.sound_batches import sound_batches

Mutation = Callable[[Directory, random.Random], bool]

KINDS: dict[str, Mutation] = {}
"""All kinds by name."""


def _kind(mutation: Mutation) -> Mutation:
    KINDS[mutation.__name__] = mutation
    return mutation


def _of_bytes(change: Callable[[bytes, random.Random], bytes]) -> Mutation:
    """A kind that changes the bytes of a segment."""

    @wraps(change)
    def mutation(directory: Directory, rng: random.Random) -> bool:
        name = _any_log(directory, rng)
        if name is not None:
            directory.files[name] = change(directory.files[name], rng)
        return name is not None

    return _kind(mutation)


def _any_log(directory: Directory, rng: random.Random, *, least: int = 1) -> str | None:
    plain = (name for name in directory.logs if name not in directory.specials)
    names = [name for name in plain if len(directory.files[name]) >= least]
    return rng.choice(names) if names else None


def _any_beside(directory: Directory, rng: random.Random) -> str | None:
    names = sorted(name for name in directory.files if name.endswith(BESIDE))
    return rng.choice(names) if names else None


def _flipped(data: bytes, position: int, rng: random.Random) -> bytes:
    return data[:position] + bytes([data[position] ^ 1 << rng.randrange(8)]) + data[position + 1 :]


def _take(directory: Directory, name: str, suffixes: tuple[str, ...]) -> None:
    """Take the files of a segment away."""
    for suffix in suffixes:
        directory.files.pop(f"{base_of(name):020d}{suffix}", None)


@_kind
def nothing(_directory: Directory, _rng: random.Random) -> bool:
    """Leave everything as it is: nothing may be named then."""
    return True


@_of_bytes
def flip(data: bytes, rng: random.Random) -> bytes:
    """Flip a bit of a segment."""
    return _flipped(data, rng.randrange(len(data)), rng)


@_kind
def flip_header(directory: Directory, rng: random.Random) -> bool:
    """Flip a bit of a batch's header."""
    name = _any_log(directory, rng, least=61)
    batches = [] if name is None else sound_batches(directory.files[name])
    if name is None or not batches:
        return False
    position = rng.choice(batches).position + rng.randrange(61)
    directory.files[name] = _flipped(directory.files[name], position, rng)
    return True


@_kind
def swap(directory: Directory, rng: random.Random) -> bool:
    """Give two segments each other's bytes."""
    if len(directory.logs) < 2:
        return False
    one, other = rng.sample(directory.logs, 2)
    files = directory.files
    files[one], files[other] = files[other], files[one]
    return True


@_kind
def rename(directory: Directory, rng: random.Random) -> bool:
    """Give a segment another base offset, with or without the files beside it."""
    name = _any_log(directory, rng)
    if name is None:
        return False
    base = base_of(name)
    new = rng.choice(
        (base + 1, base + 7, base - 1, base - 5, base // 2, base + 1000, base + (1 << 40), base * 2)
    )
    if new < 0 or f"{new:020d}.log" in directory.files:
        return False
    suffixes = (".log", *BESIDE) if rng.random() < 0.5 else (".log",)
    for suffix in suffixes:
        data = directory.files.pop(f"{base:020d}{suffix}", None)
        if data is not None:
            directory.files[f"{new:020d}{suffix}"] = data
    return True


@_of_bytes
def empty(_data: bytes, _rng: random.Random) -> bytes:
    """Leave no byte of a segment."""
    return b""


@_of_bytes
def zero(data: bytes, _rng: random.Random) -> bytes:
    """Make all bytes of a segment zeros."""
    return bytes(len(data))


@_of_bytes
def zero_part(data: bytes, rng: random.Random) -> bytes:
    """Make some bytes of a segment zeros: a page that was never written, or the end."""
    first = rng.randrange(len(data))
    behind = rng.choice((len(data), rng.randrange(first, len(data)) + 1))
    return data[:first] + bytes(behind - first) + data[behind:]


@_of_bytes
def cut(data: bytes, rng: random.Random) -> bytes:
    """Cut a segment at any byte."""
    return data[: rng.randrange(len(data))]


@_of_bytes
def cut_between(data: bytes, rng: random.Random) -> bytes:
    """Cut a segment between two batches."""
    batches = sound_batches(data)
    return data[: rng.choice(batches).position] if batches else b""


@_of_bytes
def cut_head(data: bytes, rng: random.Random) -> bytes:
    """Take the first batches of a segment away."""
    batches = sound_batches(data)
    return data[rng.choice(batches).end :] if batches else b""


@_of_bytes
def take_batch(data: bytes, rng: random.Random) -> bytes:
    """Take a batch out of a segment."""
    batches = sound_batches(data)
    if not batches:
        return b""
    one = rng.choice(batches)
    return data[: one.position] + data[one.end :]


@_kind
def double(directory: Directory, rng: random.Random) -> bool:
    """Copy a segment under another name."""
    name = _any_log(directory, rng)
    if name is None:
        return False
    base = base_of(name)
    new = max(0, rng.choice((base + 1, base - 1, base + 3, base + 500)))
    directory.files.setdefault(f"{new:020d}.log", directory.files[name])
    return True


@_kind
def overlap(directory: Directory, rng: random.Random) -> bool:
    """Append the first batches of a segment to the one before it."""
    if len(directory.logs) < 2:
        return False
    at = rng.randrange(len(directory.logs) - 1)
    one, other = directory.logs[at : at + 2]
    batches = sound_batches(directory.files[other])
    if not batches:
        return False
    directory.files[one] += directory.files[other][: rng.choice(batches).end]
    return True


@_of_bytes
def repeat(data: bytes, rng: random.Random) -> bytes:
    """Append a batch of a segment to it once more."""
    batches = sound_batches(data)
    if not batches:
        return data
    one = rng.choice(batches)
    return data + data[one.position : one.end]


@_kind
def remove(directory: Directory, rng: random.Random) -> bool:
    """Take a segment away, with or without the files beside it."""
    name = _any_log(directory, rng, least=0)
    if name is None or len(directory.logs) < 2:
        return False
    _take(directory, name, (".log", *BESIDE) if rng.random() < 0.5 else (".log",))
    return True


@_kind
def remove_last(directory: Directory, _rng: random.Random) -> bool:
    """Take the last segment away, with the files beside it."""
    if len(directory.logs) < 2:
        return False
    _take(directory, directory.logs[-1], (".log", *BESIDE))
    return True


@_kind
def set_aside(directory: Directory, rng: random.Random) -> bool:
    """Give a segment the name of one that the broker is deleting, cleaning or swapping."""
    name = _any_log(directory, rng)
    if name is None or len(directory.logs) < 2:
        return False
    directory.files[f"{name}.{rng.choice(('deleted', 'cleaned', 'swap'))}"] = directory.files.pop(name)
    return True


@_of_bytes
def garbage(data: bytes, rng: random.Random) -> bytes:
    """Append bytes that are no batch."""
    return data + rng.randbytes(rng.randint(1, 200))


@_of_bytes
def padding(data: bytes, rng: random.Random) -> bytes:
    """Append zeros, as `preallocate` leaves them."""
    return data + bytes(rng.randint(1, 300))


@_kind
def index_flip(directory: Directory, rng: random.Random) -> bool:
    """Flip a bit of a file beside a segment."""
    name = _any_beside(directory, rng)
    if name is None or not directory.files[name]:
        return False
    data = directory.files[name]
    directory.files[name] = _flipped(data, rng.randrange(len(data)), rng)
    return True


@_kind
def index_cut(directory: Directory, rng: random.Random) -> bool:
    """Cut a file beside a segment, or append zeros to it."""
    name = _any_beside(directory, rng)
    if name is None or not directory.files[name]:
        return False
    data = directory.files[name]
    directory.files[name] = data[: rng.randrange(len(data))] if rng.random() < 0.6 else data + bytes(24)
    return True


@_kind
def index_gone(directory: Directory, rng: random.Random) -> bool:
    """Take a file beside a segment away, or all of one kind."""
    name = _any_beside(directory, rng)
    if name is None:
        return False
    suffix = name[name.rindex(".") :]
    for other in list(directory.files):
        if other == name or (rng.random() < 0.5 and other.endswith(suffix)):
            del directory.files[other]
    return True


@_kind
def special(directory: Directory, rng: random.Random) -> bool:
    """Put something in a segment's place that is no file."""
    name = _any_log(directory, rng, least=0)
    if name is None:
        return False
    directory.files[name] = b""
    directory.specials[name] = rng.choice(list(SPECIALS))
    return True
