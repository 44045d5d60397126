"""Times of small segments one after the other; and names of directories."""

from __future__ import annotations

from itertools import accumulate, pairwise
from random import Random

from tests.fuzz import inputs, parts, seeds
from tests.fuzz.guard import GUARD
from tests.made.edits import edited
from tests.ways import compiled, interpreted

from kafka_segments import Batch, open_segment
from kafka_segments.core.formats import file_names
from kafka_segments.core.segment.columnar.small_segments import (
    SmallTimes,
    read_times,
)
from kafka_segments.core.segment.scan import nested_messages
from kafka_segments.errors import UnknownFormatError

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


def _segment(dice: Random) -> bytes:
    """Batches that follow each other without a gap, edited or not."""
    plain = [one.data for one in seeds.entries() if not one.codec and one.content == 1]
    chosen = [plain[dice.randrange(len(plain))] for _ in range(1 + dice.randrange(3))]
    if dice.randrange(8) == 0:
        chosen.append(dice.choice(seeds.entries()).data)
    offset = dice.choice((0, 5, 1 << 40))
    out = b""
    for data in chosen:
        with open_segment(data) as segment:
            (batch,) = (one for one in segment.iter_entries("skip") if isinstance(one, Batch))
        out += offset.to_bytes(8, "big") + data[8:]
        offset += 1 + max(batch.last_offset - (batch.base_offset or 0), 0)
    return edited(dice, out, others=plain) if dice.randrange(3) == 0 else out


def times(dice: Random) -> tuple[str, None]:
    """Times of segments read in one pass are those of each one alone."""
    chosen = [_segment(dice) if dice.randrange(4) else _any(dice) for _ in range(1 + dice.randrange(5))]
    chosen = [data for data in chosen if data]
    joined, ends = memoryview(GUARD.place(b"".join(chosen))), list(accumulate(map(len, chosen)))
    found = read_times(joined, ends)
    is_before_whole = True
    for data, one in zip(chosen, found, strict=True):
        entries, is_sound = _entries(data)
        # The end of one may be a batch together with the beginning of the next, which is in neither then.
        assert (one is not None) == is_sound or (is_sound and not is_before_whole)
        if one is not None:
            _check_times(one, entries)
        is_before_whole = one is not None
    return ("refused", "some", "all")[any(found) + all(found)], None


def _any(dice: Random) -> bytes:
    return parts.longer(dice, inputs.segment(dice).data)


def _entries(data: bytes) -> tuple[list[parts.Entry], bool]:
    """Entries by the slow way, and whether they are all that is there, batches with ascending offsets."""
    try:
        with open_segment(data) as segment:
            entries, between, _places = parts.slowly(segment, data)
    except UnknownFormatError:
        return [], False
    heads = [one.head for one in entries]
    is_whole = bool(heads) and heads[-1].end_position == len(data)  # a tail that is cut off is no damage
    is_sound = is_whole and not between and all(one.magic >= 2 for one in heads)
    is_sound = is_sound and all(one.highest_offset <= parts.last_offset(one) for one in heads)
    return entries, is_sound and all(
        (parts.first_offset(after) or 0) > parts.last_offset(one) for one, after in pairwise(heads)
    )


def _check_times(found: SmallTimes, entries: list[parts.Entry]) -> None:
    heads, own = [one.head for one in entries], slice(found.start, found.end)
    assert found.first_offset == heads[0].base_offset
    assert list(found.last_offsets[own]) == [parts.last_offset(one) for one in heads]
    assert list(found.latest[own]) == list(accumulate((one.max_timestamp for one in heads), max))
    assert found.has_append_time == any(one.timestamp_type == "LogAppendTime" for one in heads)


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
