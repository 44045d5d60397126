"""Small targets: messages in damaged wrappers, names, internal topics, entries in memory."""

from __future__ import annotations

from functools import cache
from random import Random

from tests.fuzz import inputs
from tests.fuzz.checks import MAX_DECOMPRESSED, word
from tests.like_kafka.test_message_decoders import DECODERS, pairs_of
from tests.made.edits import edited
from tests.recording.sets import RECORDED
from tests.ways import compiled, interpreted

from kafka_segments.core.codecs.bounds import other_bound
from kafka_segments.core.formats import file_names, read_meta_properties
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.segment.scan import nested_messages
from kafka_segments.errors import DecodeError
from kafka_segments.like_kafka.message_lines import MESSAGE_PARSERS
from kafka_segments.sizes.entry_pieces import EntryPiece, PieceReader

TOPIC_ID = "-" + "A" * 22
WORDS = (
    "topic",
    "a",
    "-",
    "-",
    "0",
    "7",
    "007",
    "4294967296",
    ".",
    "_",
    "/",
    "s3a:/",
    "AAAAAAAAAAAAAAAAAAAAAA",
    "\n",
)


def frames(dice: Random) -> tuple[str, None]:
    """Both ways find the same messages in a wrapper."""
    data = inputs.segment(dice).data
    plain: dict[int, int] = {}
    fast: dict[int, int] = {}
    with interpreted():
        end = nested_messages.sound_messages(data, 0, plain)
    with compiled():
        assert nested_messages.sound_messages(data, 0, fast) == end <= len(data)
    assert fast == plain
    return "messages" if plain else "none", None


def names(dice: Random) -> tuple[str, None]:
    """Parts of names are parts of them, and addresses and local paths are kept apart."""
    name, above = ("".join(dice.choices(WORDS, k=1 + dice.randrange(6))) for _ in "ab")
    if dice.randrange(2):
        name, above = (
            dice.choice(("topic-7", "7", "a-b", "topic")) + dice.choice(("", "-" + "A" * 22)),
            above + "-" + "A" * 22,
        )
    partition = file_names.parse_directory_name(name)
    assert partition is None or str(partition) == name
    topic = file_names.tiers_topic(above)
    assert topic is None or "-".join(topic) == above
    for owner, topic_id in file_names.tiered_names(name, topic):
        known = f"{owner}-{topic_id}"
        assert known == (name if topic is None else f"{topic[0]}-{name}-{topic[1]}")
    real = file_names.real_path(name)
    assert file_names.is_address(name) or real.startswith("/")
    assert "/" not in file_names.name_in(name)
    assert file_names.is_address(name) or file_names.above(name).startswith("/")
    assert name.startswith(file_names.directory_of(name)) or "/" not in name
    return ("partition" if partition else "another"), None


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


def entry_records(dice: Random, data: bytes) -> str:
    """Each entry comes once, in order, with the records that it has alone."""
    with other_bound(MAX_DECOMPRESSED):
        found = list(PieceReader(dice.choice((0, 100, 1 << 20))).pieces("log", data, 0))
        ends = [0]
        for piece in found:
            if isinstance(piece, EntryPiece):
                _check(piece, data, ends)
    return word([one for one in found if isinstance(one, Damage)])


def _check(piece: EntryPiece, data: bytes, ends: list[int]) -> None:
    assert piece.num_records.sum() == piece.records.num_rows
    columns, first = piece.records.columns, 0
    for column in columns.values():
        column.validate(full=True)
    for row, count in enumerate(piece.num_records.tolist()):
        start, end = (piece.table.value(row, name) for name in ("position", "end_position"))
        assert ends[-1] <= start
        ends.append(end)
        (alone,) = PieceReader(1 << 20).pieces("log", data[start:end], 0)
        assert isinstance(alone, EntryPiece)
        assert alone.num_records.tolist() == [count]
        for name, column in alone.records.columns.items():
            assert column.equals(columns[name].slice(first, count))
        first += count
