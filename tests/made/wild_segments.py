"""Segments with payloads from the wild: between two sound entries, one in question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.made.build import batch, message, record
from tests.made.codecs import IDS
from tests.made.wild_payloads import WILD, Wild

NUM_INNER = 40
BASE = 10
BEHIND = BASE + NUM_INNER
HALF = "lz4: content in two frames"


class Case(NamedTuple):
    """One payload in one sort of entry."""

    name: str
    wild: Wild
    magic: int
    data: bytes

    @property
    def is_taken(self) -> bool:
        return self.magic in self.wild.taken

    @property
    def offsets(self) -> list[int]:
        """Of the records that are to be delivered."""
        inside = range(BASE, BEHIND) if self.is_taken else ()
        return [0, *inside, BEHIND]


def value(at: int) -> bytes:
    """Some that compress well, some that do not, and all together more than a block of 64 KiB."""
    return b"value %d " % at * (at * 20) + bytes(at * 37 % 251 for at in range(at, at + 50))


def entry(wild: Wild, magic: int) -> bytes:
    """The entry in question, with a right checksum."""
    codec = IDS[wild.codec]
    if magic == 2:
        content = b"".join(record(at, b"key", value(at)) for at in range(NUM_INNER))
        last = NUM_INNER - 1
        payload = wild.write(content)
        return batch(BASE, payload=payload, count=NUM_INNER, last_offset_delta=last, attributes=codec)
    first = BASE if magic == 0 else 0
    content = b"".join(message(first + at, value(at), magic=magic) for at in range(NUM_INNER))
    return message(BEHIND - 1, wild.write(content), magic=magic, attributes=codec)


def cases() -> Iterator[Case]:
    """Every payload in every sort of entry."""
    for name, wild in WILD.items():
        for magic in (0, 1, 2):
            if name == HALF and magic < 2:
                continue  # what is lost there, nobody can notice
            data = message(0, magic=magic) if magic < 2 else batch(0)
            behind = message(BEHIND, magic=magic) if magic < 2 else batch(BEHIND)
            yield Case(f"{name}, magic {magic}", wild, magic, data + entry(wild, magic) + behind)
