"""File `meta.properties`: whose log directory it is in, by cluster, node and id of the directory."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_segments.errors import CorruptIndexError

__all__ = ["META_PROPERTIES", "read_meta_properties"]

META_PROPERTIES = "meta.properties"
"""Name of the file."""
_KEYS = {"0": ("broker.id",), "1": ("node.id", "cluster.id")}
"""Keys that each version must have (MetaProperties.fromProperties); before 0.10.1 there was no cluster id."""


def read_meta_properties(data: bytes) -> dict[str, str]:
    """Read a `meta.properties`: keys and values of a text in the format of java.util.Properties.

    Raises:
        CorruptIndexError: it is no text, has an unknown version, or lacks a key (MetaProperties).
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise CorruptIndexError("this is no text") from None
    found = dict(_pairs(text))
    keys = _KEYS.get(found.get("version", ""))
    if keys is None:
        raise CorruptIndexError(f"version {found.get('version', 'missing')}; 0 and 1 are known")
    for key in keys:
        if not found.get(key):
            raise CorruptIndexError(f"there is no {key}")
    return found


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and stripped[0] not in "#!":
            key, _equals, value = stripped.replace("\\", "").partition("=")
            yield key.strip(), value.strip()
