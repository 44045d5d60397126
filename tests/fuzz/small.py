"""Messages in damaged wrappers, found in both ways; and names of directories."""

from __future__ import annotations

from random import Random

from tests.fuzz import inputs
from tests.ways import compiled, interpreted

from kafka_segments.core.formats import file_names
from kafka_segments.core.segment.scan import nested_messages

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
