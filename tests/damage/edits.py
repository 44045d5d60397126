"""Damage as data: the few ways in which a copy of a recorded segment is broken.

An edit is a table in `cases.toml` with one verb. Positions are bytes in the file as it stands when the
edit is applied; edits are applied in order. Nothing here comes from our decoder: positions are written by
hand beside the case, and only `seal` (a right checksum over wrong bytes) computes something.
"""

from __future__ import annotations

import zlib
from typing import Any

import crc32c

# The judge of these tests knows the layout by heart on purpose: it must not share code with what it judges.
V2_CRC, V2_COVERED = 17, 21
LEGACY_CRC, LEGACY_COVERED = 12, 16
LOG_OVERHEAD, LENGTH, MAGIC = 12, 8, 16


def apply(data: bytes, edits: list[dict[str, Any]]) -> bytes:
    """Return `data` with every edit applied."""
    buffer = bytearray(data)
    for edit in edits:
        (verb,) = edit.keys() & VERBS.keys()
        VERBS[verb](buffer, edit)
    return bytes(buffer)


def _flip(buffer: bytearray, edit: dict[str, Any]) -> None:
    """One bit of one byte, the commonest damage of a disk."""
    buffer[edit["flip"]] ^= 1 << edit.get("bit", 0)


def _put(buffer: bytearray, edit: dict[str, Any]) -> None:
    """Bytes written over what stands there."""
    new = bytes.fromhex(edit["hex"]) * edit.get("times", 1)
    assert edit["put"] + len(new) <= len(buffer)
    buffer[edit["put"] : edit["put"] + len(new)] = new


def _cut(buffer: bytearray, edit: dict[str, Any]) -> None:
    """The file ends here."""
    assert edit["cut"] < len(buffer)
    del buffer[edit["cut"] :]


def _keep(buffer: bytearray, edit: dict[str, Any]) -> None:
    """The first bytes are lost: a file that begins in the middle of an entry."""
    del buffer[: edit["keep"]]


def _append(buffer: bytearray, edit: dict[str, Any]) -> None:
    """Bytes after the end."""
    buffer += bytes.fromhex(edit["append"]) * edit.get("times", 1)


def _insert(buffer: bytearray, edit: dict[str, Any]) -> None:
    """Bytes between what stands before and after a position."""
    buffer[edit["insert"] : edit["insert"]] = bytes.fromhex(edit["hex"]) * edit.get("times", 1)


def _remove(buffer: bytearray, edit: dict[str, Any]) -> None:
    """Bytes taken out of the middle."""
    del buffer[edit["remove"] : edit["remove"] + edit["size"]]


def _length(buffer: bytearray, edit: dict[str, Any]) -> None:
    """The length field of the entry at a position, to fit what was inserted or removed in it."""
    at = edit["length"] + LENGTH
    buffer[at : at + 4] = edit["value"].to_bytes(4, "big", signed=True)


def _seal(buffer: bytearray, edit: dict[str, Any]) -> None:
    """A right checksum for the entry at a position, so that the damage reaches the inner parsers."""
    at = edit["seal"]
    end = at + LOG_OVERHEAD + int.from_bytes(buffer[at + LENGTH : at + LENGTH + 4], "big")
    if buffer[at + MAGIC] < 2:
        crc = zlib.crc32(buffer[at + LEGACY_COVERED : end])
        buffer[at + LEGACY_CRC : at + LEGACY_CRC + 4] = crc.to_bytes(4, "big")
    else:
        crc = crc32c.crc32c(bytes(buffer[at + V2_COVERED : end]))
        buffer[at + V2_CRC : at + V2_CRC + 4] = crc.to_bytes(4, "big")


VERBS = {
    "flip": _flip,
    "put": _put,
    "cut": _cut,
    "keep": _keep,
    "append": _append,
    "insert": _insert,
    "remove": _remove,
    "length": _length,
    "seal": _seal,
}
