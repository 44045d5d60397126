"""Messages of Kafka's internal topics, and `meta.properties`."""

from __future__ import annotations

from functools import cache
from random import Random

from tests.like_kafka.test_message_decoders import DECODERS, pairs_of
from tests.made.edits import edited
from tests.recording.sets import RECORDED

from kafka_segments.core.formats import read_meta_properties
from kafka_segments.errors import DecodeError
from kafka_segments.like_kafka.message_lines import MESSAGE_PARSERS

TEXT = b"version=1\nnode.id=7\r\n# comment\ncluster.id=a\\:b\\\n  c\ndirectory.id=\\u0041\n"
PIECES = (b"\\", b"\\u00", b"\\u0041", b"\r", b"\n", b"=", b":", b" ", b"\t", b"#", b"\0", b"\xff", b"-7")


@cache
def _pairs() -> tuple[tuple[str, bytes | None, bytes | None], ...]:
    """The keys and values of recorded topics, each with the option of its decoder."""
    return tuple((option, *pair) for topic, option in DECODERS.items() for pair in pairs_of(topic))


def messages(dice: Random) -> tuple[str, None]:
    """A key and a value have each a text, or the text of Kafka's exception."""
    option, key, value = dice.choice(_pairs())
    if dice.randrange(20) == 0:
        option = dice.choice([*DECODERS.values()])
    number = dice.randrange(3)
    if key and number == 0:
        key = edited(dice, key)
    if value and number:
        value = dice.choice((None, b"")) if dice.randrange(20) == 0 else edited(dice, value)
    try:
        texts = MESSAGE_PARSERS[option.lstrip("-")](dice.randrange(1 << 40), key, value)
    except DecodeError as error:
        return type(error).__name__, None
    assert all(text is None or text.isprintable() or "\n" not in text for text in texts)
    is_error = any(text is not None and text.startswith(("Error", "Unknown")) for text in texts)
    return "refused" if is_error else "read", None


@cache
def _properties() -> tuple[bytes, ...]:
    return TEXT, *(path.read_bytes() for path in sorted(RECORDED.glob("*/*/meta.properties")))


def meta_properties(dice: Random) -> tuple[str, None]:
    """A version that is known, or what is wrong."""
    data = dice.choice(_properties())
    for _ in range(dice.randrange(4)):
        at = dice.randrange(len(data) + 1)
        data = data[:at] + dice.choice(PIECES) + data[at + dice.randrange(2) :]
    if dice.randrange(4) == 0:
        data = edited(dice, data)
    try:
        found = read_meta_properties(data)
    except DecodeError as error:
        return type(error).__name__, None
    assert found.version in {0, 1}
    return f"version {found.version}", None
