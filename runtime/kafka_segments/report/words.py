"""Numbers, sizes, times and bytes in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = [
    "bytes_words",
    "content_words",
    "duration_words",
    "hex_lines",
    "number_words",
    "plural",
    "time_words",
    "unit_of",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_DURATIONS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))
_BYTES_IN_A_LINE = 8  # a phone has room for them


def number_words(number: int | None) -> str:
    """Return a number with commas; a dash for None."""
    return "-" if number is None else f"{number:,}"


def plural(number: int, noun: str) -> str:
    """Return a number with its noun: `1 batch`, `2 batches`."""
    ending = "es" if noun.endswith(("ch", "x", "s")) else "s"
    noun = f"{noun[:-1]}ies" if number != 1 and noun.endswith("y") else noun + ending * (number != 1)
    return f"{number:,} {noun}"


def unit_of(highest: int) -> tuple[int, str]:
    """Return the bytes and the name of the unit in which sizes up to `highest` are easy to read."""
    power = 0
    while power + 1 < len(_UNITS) and highest >= 1 << (10 * (power + 1)):
        power += 1
    return 1 << (10 * power), _UNITS[power]


def bytes_words(size: int | float) -> str:
    """Return a size with its unit."""
    divisor, unit = unit_of(int(size))
    return f"{size:,.0f} {unit}" if divisor == 1 else f"{size / divisor:,.1f} {unit}"


def time_words(milliseconds: int | None) -> str:
    """Return a time in UTC, as ISO 8601 with a blank; a dash for none, a number after the year 9999."""
    if milliseconds is None or milliseconds < 0:
        return "-"
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return f"{milliseconds} ms"
    text = moment.strftime("%Y-%m-%d %H:%M:%S")
    thousandths = milliseconds % 1000
    return f"{text}.{thousandths:03}" if thousandths else text


def duration_words(milliseconds: int | None) -> str:
    """Return a duration in one unit; a dash for None."""
    if milliseconds is None:
        return "-"
    for size, unit in _DURATIONS:
        if milliseconds >= size:
            number = milliseconds / size
            return f"{number:,.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"
    return f"{milliseconds} ms"


def content_words(data: bytes | None, length: int) -> str:
    """Return a key or a value as text, with the bytes that it has if it was cut.

    Bytes that are not UTF-8 are shown as escapes.
    """
    if data is None:
        return "null"
    text = data.decode("utf-8", "backslashreplace")
    return text if length <= len(data) else f"{text}... ({length:,} bytes)"


def hex_lines(data: bytes, position: int) -> str:
    """Return bytes as lines: position, hexadecimal, and as ASCII."""
    lines, width = [], len(str(position + len(data)))
    for start in range(0, len(data), _BYTES_IN_A_LINE):
        part = data[start : start + _BYTES_IN_A_LINE]
        ascii_text = "".join(
            chr(one) if chr(one).isascii() and chr(one).isprintable() else "." for one in part
        )
        lines.append(f"{position + start:>{width}}  {part.hex(' '):<23}  {ascii_text}")
    return "\n".join(lines)
