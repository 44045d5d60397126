"""Arguments of DumpLogSegments, as joptsimple 5.0.4 parses them: `--files a,b`, `--files=a`, `-files a`.

Values are converted when they are needed, as in the tool: an invalid number fails at the first file that
needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from kafka_segments.errors import OptionError
from kafka_segments.like_kafka.lenient_entries import HIGHEST_INT
from kafka_segments.like_kafka.log_lines import Printed
from kafka_segments.like_kafka.message_lines import DECODERS, MESSAGE_PARSERS, Decoder
from kafka_segments.query.options import did_you_mean

__all__ = ["REFUSED_DECODER", "ToolOptions", "parse"]

_PACKAGE = "org.apache.kafka.tools.api"
_MAX_MESSAGE_SIZE = 5 << 20


class _Takes(Enum):
    NOTHING, VALUE, PERHAPS_A_VALUE = range(3)


REFUSED_DECODER = "remote-log-metadata-decoder"
"""An option that is refused: the tool prints Java objects of `__remote_log_metadata` then."""

_OPTIONS = {
    "help": _Takes.NOTHING,
    "version": _Takes.NOTHING,
    "print-data-log": _Takes.NOTHING,
    "verify-index-only": _Takes.NOTHING,
    "index-sanity-check": _Takes.NOTHING,
    "files": _Takes.VALUE,
    "max-message-size": _Takes.VALUE,
    "max-bytes": _Takes.VALUE,
    "deep-iteration": _Takes.NOTHING,
    "value-decoder-class": _Takes.PERHAPS_A_VALUE,
    "key-decoder-class": _Takes.PERHAPS_A_VALUE,
    "skip-record-metadata": _Takes.NOTHING,
    REFUSED_DECODER: _Takes.NOTHING,
    **dict.fromkeys(MESSAGE_PARSERS, _Takes.NOTHING),
}


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """What was given: for each option its values as text, none for one that takes no value.

    Properties raise `OptionError` where the tool would end with an exception.
    """

    given: dict[str, list[str]] = field(default_factory=dict)

    def has(self, *names: str) -> bool:
        """Whether one of some options was given."""
        return any(name in self.given for name in names)

    @property
    def files(self) -> list[str]:
        """The files, as they are separated by commas (String.split drops empty ones at the end)."""
        given = self._value("files", "")
        parts = given.split(",")
        while len(parts) > 1 and not parts[-1]:
            parts.pop()
        return [] if given and not any(parts) else parts

    @property
    def max_message_size(self) -> int:
        """Bytes that are looked at for the batch of an index entry."""
        return self._integer("max-message-size", _MAX_MESSAGE_SIZE)

    @property
    def printed(self) -> Printed:
        """What is printed of logs."""
        parse = next((parse for name, parse in MESSAGE_PARSERS.items() if self.has(name)), None)
        names = "key-decoder-class", "value-decoder-class"
        has_contents = parse is not None or self.has("print-data-log", *names)
        return Printed(
            has_records=has_contents or self.has("deep-iteration"),
            has_metadata=not self.has("skip-record-metadata"),
            has_contents=has_contents,
            texts=parse or (self._decoder(names[0]), self._decoder(names[1])),
            max_bytes=self._integer("max-bytes", HIGHEST_INT),
        )

    def _value(self, name: str, default: str) -> str:
        values = self.given.get(name, [])
        if len(values) > 1:
            raise OptionError(f"--{name} is given {len(values)} times; give it once")
        return values[0] if values else default

    def _integer(self, name: str, default: int) -> int:
        text = self._value(name, str(default))
        if not re.fullmatch(r"[+-]?[0-9]+", text) or not -HIGHEST_INT - 1 <= int(text) <= HIGHEST_INT:
            raise OptionError(f"--{name} {text!r} is not a 32-bit integer")
        return int(text)

    def _decoder(self, name: str) -> Decoder:
        text = self._value(name, f"{_PACKAGE}.StringDecoder")
        package, _, simple_name = text.rpartition(".")
        if package != _PACKAGE or simple_name not in DECODERS:
            names = ", ".join(f"{_PACKAGE}.{one}" for one in DECODERS)
            raise OptionError(
                f"--{name} {text!r}: only these are supported here: {names}; dump --format jsonl prints "
                "keys and values of any kind in base64"
            )
        return DECODERS[simple_name]


def parse(arguments: Sequence[str]) -> ToolOptions:
    """Parse the tool's arguments; those that are no options are ignored, as there.

    Raises:
        OptionError: an unknown option, or one without the value that it takes.
    """
    options = ToolOptions()
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            break
        if not _looks_like_an_option(word):
            continue
        name, equals, value = word.removeprefix("-").removeprefix("-").partition("=")
        if name not in _OPTIONS:
            hint = did_you_mean(f"--{name}", [f"--{one}" for one in _OPTIONS])
            raise OptionError(f"{word.partition('=')[0]!r} is not an option of kafka-dump-log{hint}")
        options.given.setdefault(name, []).extend(_values(name, value if equals else None, words))
    return options


def _looks_like_an_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _values(name: str, value: str | None, words: list[str]) -> Iterator[str]:
    """The value of an option: after its `=`, or the next word, which is then removed."""
    takes = _OPTIONS[name]
    if takes is _Takes.NOTHING:
        return
    if value is not None:
        yield value
    elif takes is _Takes.VALUE and not words:
        raise OptionError(f"--{name} needs a value")
    elif words and (takes is _Takes.VALUE or not _looks_like_an_option(words[0])):
        yield words.pop(0)
