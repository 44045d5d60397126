r"""Escaping and masking of text from files, names and stores before it is shown.

A terminal obeys control characters, a log has one line for each message, and a reader of either may not be
allowed to know a credential. So `shown` is applied to all text that is shown; `KafkaFormatError.__str__`,
`loggers.get_logger` and `cli.console` call it.
"""

from __future__ import annotations

import re

__all__ = ["escape", "escape_json", "mask_secrets", "shown"]


def shown(text: str) -> str:
    """Return `text` with secrets masked and unprintable characters escaped."""
    return escape(mask_secrets(text))


def escape(text: str) -> str:
    r"""Escape unprintable characters of `text`, as `\n`, `\x1b`, `\u202e`.

    These are control characters, also those above 127, line and paragraph separators, and marks that change
    the direction of writing. Escapes that are in `text` already stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(_escape(character) for character in text)


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    if "\udc80" <= character <= "\udcff":  # a byte that is not UTF-8, as `surrogateescape` represents it
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def escape_json(text: str) -> str:
    r"""Escape unprintable characters of JSON, as `\u202e`; the value stays the same."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escape_in_json(one) for one in text)


def _escape_in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


_MASK = "***"
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(://?)([^/\s'\"<>][^\s'\"<>]*)")
_AUTHORITY = re.compile(r"[^/?#]*")
_PORT = re.compile(r"(?:[^:]*|\[[^\]]*\])(?::\d*)?:?")  # a colon ends it in messages
_QUERY = re.compile(r"([?&][A-Za-z0-9_.-]+=)[^&\s'\"]+")
_SETTING = re.compile(
    r"((?:secret|password|token|access\.key|account\.key|credential|signature)[A-Za-z0-9_.-]*=)[^\s&'\"]+",
    re.IGNORECASE,
)
_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})  # CONTAINER@ACCOUNT is not secret


def mask_secrets(text: str) -> str:
    """Replace credentials in `text` with `***`.

    These are users and passwords in addresses, values in their queries, and settings of keys.

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
        return match[0]  # a path without an authority
    authority = _AUTHORITY.match(rest)
    assert authority is not None  # it may be empty
    user, at, _host = authority[0].rpartition("@")
    if at and not (scheme.lower() in _CONTAINERS and ":" not in user):
        rest = f"{_MASK}{rest[len(user) :]}"
    elif not at and not _PORT.fullmatch(authority[0]):
        # Not a port: a key that has a slash in it or is not followed by a bucket.
        rest = _MASK + (rest[rest.index("@") :] if "@" in rest else rest[len(authority[0]) :])
    return scheme + slashes + _QUERY.sub(rf"\1{_MASK}", rest)
