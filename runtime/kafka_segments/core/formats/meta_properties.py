"""The `meta.properties` of a log directory, which names its owner; in the format of java.util.Properties."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kafka_segments.errors import DecodeError

__all__ = ["MAX_LEN_META_PROPERTIES", "MetaProperties", "read_meta_properties"]

MAX_LEN_META_PROPERTIES = 1 << 20
"""Bytes that a `meta.properties` may have here."""

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_PAIR = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_INT = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_UUID = re.compile(r"[A-Za-z0-9_-]{22}(==)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """What a `meta.properties` says.

    Attributes:
        version: 0 (ZooKeeper) or 1 (KRaft).
        cluster_id: `cluster.id`; None before Kafka 0.10.1.
        node_id: `node.id`, in version 0 `broker.id`; None before a broker has one.
        directory_id: `directory.id`; None before Kafka 3.7.
    """

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None


def read_meta_properties(data: bytes, *, of_node: bool = False) -> MetaProperties:
    """Read a `meta.properties`, by the rules of Kafka's `MetaProperties.Builder`.

    Args:
        data: its content.
        of_node: a broker of Kafka 4 starts on it, which needs a `node.id` or `broker.id` in any version.

    Raises:
        DecodeError: more than `MAX_LEN_META_PROPERTIES` bytes, an unknown version, an invalid id, or in
            version 1 no `node.id` or `cluster.id`.

    Example:
        >>> read_meta_properties(b"version=0\\nbroker.id = 7\\n")
        MetaProperties(version=0, cluster_id=None, node_id=7, directory_id=None)
    """
    if len(data) > MAX_LEN_META_PROPERTIES:
        raise DecodeError(f"it has more than the {MAX_LEN_META_PROPERTIES} bytes that are read")
    found = dict(_pairs(data))
    version = found.get("version", "0")
    if version not in {"0", "1"}:
        raise DecodeError(f"version {version!r:.40} is unknown; only 0 and 1 are known")
    node_id = _integer(found, "broker.id" if version == "0" else "node.id")
    cluster_id, directory_id = found.get("cluster.id"), found.get("directory.id")
    if of_node and node_id is None:
        raise DecodeError("node.id is missing" if data.strip() else "it is empty")
    if version == "1" and (node_id is None or cluster_id is None):
        raise DecodeError(f"{'node.id' if node_id is None else 'cluster.id'} is missing")
    if directory_id is not None and not _UUID.fullmatch(directory_id):
        raise DecodeError(f"directory.id is {directory_id!r:.40}, which is not a UUID in base64url")
    return MetaProperties(int(version), cluster_id, node_id, directory_id)


def _integer(found: dict[str, str], key: str) -> int | None:
    text = found.get(key)
    if text is not None and not _INT.fullmatch(text):
        raise DecodeError(f"{key} is {text!r:.40}, which is not a number")
    return None if text is None else int(text)


def _pairs(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield keys and values of a text, as java.util.Properties.load reads it."""
    for line in _logical_lines(data.decode("latin-1")):
        match = _PAIR.fullmatch(line)
        assert match is not None  # every text matches
        yield _unescaped(match[1]), _unescaped(match[2])


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments; a line that ends with a backslash goes on in the next one."""
    begun: str | None = None
    for line in _LINE_END.split(text):
        stripped = line.lstrip(_BLANKS)
        if begun is None and (not stripped or stripped[0] in "#!"):
            continue
        stripped = (begun or "") + stripped
        begun = None
        if (len(stripped) - len(stripped.rstrip("\\"))) % 2:
            begun = stripped[:-1]
        else:
            yield stripped
    if begun is not None:
        yield begun


def _unescaped(text: str) -> str:
    """Replace escapes; a backslash in front of any other character is dropped."""

    def replaced(match: re.Match[str]) -> str:
        if match[1] is not None:
            return chr(int(match[1], 16))
        if match[2] == "u":
            raise DecodeError(f"{text!r:.40} has \\u that is not followed by four digits")
        return _CONTROLS.get(match[2], match[2])

    return _ESCAPE.sub(replaced, text)
