r"""Text from files, names and stores, made fit to be shown: no control characters, no keys of stores.

A terminal obeys control characters, a log has one line for each message, and either may be read by people who
may not know a key. So whatever is shown goes through `shown`; `KafkaFormatError.__str__`,
`loggers.get_logger` and `console` do that for everybody else.
"""

from __future__ import annotations

import re

__all__ = ["escape", "escape_json", "mask_secrets", "shown"]


def shown(text: str) -> str:
    """`text` as it may be shown to people: secrets masked, what is not printable escaped."""
    return escape(mask_secrets(text))


def escape(text: str) -> str:
    r"""`text` with everything that is not printable as `\n`, `\x1b`, `\u202e`.

    Control characters, also those above 127, line and paragraph separators, marks that turn the direction of
    writing. What is escaped already stays as it is.
    """
    if text.isprintable():
        return text
    return "".join(_escape(character) for character in text)


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    if "\udc80" <= character <= "\udcff":  # a byte that is no UTF-8, as `surrogateescape` carries it
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def escape_json(text: str) -> str:
    r"""JSON with the same characters as `\u202e`, which is the same value."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escape_in_json(one) for one in text)


def _escape_in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


_MASK = "***"
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(://?)([^/\s'\"<>][^\s'\"<>]*)")
_AUTHORITY = re.compile(r"[^/?#]*")
_PORT = re.compile(r"(?:[^:]*|\[[^\]]*\])(?::\d*)?")
_QUERY = re.compile(r"([?&][A-Za-z0-9_.-]+=)[^&\s'\"]+")
_SETTING = re.compile(
    r"((?:secret|password|token|access\.key|account\.key|credential|signature)[A-Za-z0-9_.-]*=)[^\s&'\"]+",
    re.IGNORECASE,
)
_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})  # CONTAINER@ACCOUNT is no secret


def mask_secrets(text: str) -> str:
    """`text` with `***` for users and passwords in addresses, values in their queries, and settings of keys.

    Example:
        >>> mask_secrets("s3a://AKIA:wJalr@bucket/logs: no such bucket")
        's3a://***@bucket/logs: no such bucket'
    """
    if ":/" in text:
        text = _ADDRESS.sub(_mask_address, text)
    return _SETTING.sub(rf"\1{_MASK}", text) if "=" in text else text


def _mask_address(match: re.Match[str]) -> str:
    scheme, slashes, rest = match.groups()
    if scheme.lower() == "file" and slashes == ":/":
        return match[0]  # no authority, just a path
    authority = _AUTHORITY.match(rest)
    assert authority is not None  # it may be empty
    user, at, _host = authority[0].rpartition("@")
    if at and not (scheme.lower() in _CONTAINERS and ":" not in user):
        rest = f"{_MASK}{rest[len(user) :]}"
    elif not at and not _PORT.fullmatch(authority[0]):
        # No port: a key, with a slash in it, or no bucket behind it.
        rest = _MASK + (rest[rest.index("@") :] if "@" in rest else rest[len(authority[0]) :])
    return scheme + slashes + _QUERY.sub(rf"\1{_MASK}", rest)
