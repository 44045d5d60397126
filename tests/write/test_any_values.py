"""Whatever is given to what writes, it is written and can be read again, or an error of ours says what is
wrong with it; and of an error nothing is left.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import forms
from tests.made.shapes import QUICK
from tests.write import anything
from tests.write.anything import CONTROL, EMPTY, FILES, MANY, OF_A_MARKER, ONE, mostly, some

import kafka_segments
from kafka_segments.errors import KafkaFormatError

NAME = "00000000000000000000.log"
TIMESTAMP = mostly(0, 5, -1)
NEEDED = {"base_offset": mostly(0, 4), "last_offset": mostly(4, 9)}

CALLS: dict[str, st.SearchStrategy[Callable[[], Any]]] = {
    "encode_records": st.builds(
        lambda data, options: lambda: kafka_segments.encode_records(data, **options),
        anything.data(),
        some(MANY),
    ),
    "iter_encoded": st.builds(
        lambda data, options: lambda: b"".join(kafka_segments.iter_encoded(data, **options)),
        anything.data(),
        some(MANY),
    ),
    "predicted_size": st.builds(
        lambda data, options: lambda: kafka_segments.predicted_size(data, **options),
        anything.data(),
        some(MANY),
    ),
    "encode_batch": st.builds(
        lambda data, options: lambda: kafka_segments.encode_batch(data, **options), anything.data(), some(ONE)
    ),
    "encode_empty_batch": st.builds(
        lambda options: lambda: kafka_segments.encode_empty_batch(**options), some(EMPTY | NEEDED, NEEDED)
    ),
    "encode_control": st.builds(
        lambda records, options: lambda: kafka_segments.encode_control(records, **options),
        anything.controls(),
        some(CONTROL | {"timestamp": TIMESTAMP, "base_offset": mostly(0, 3)}, ["timestamp"], OF_A_MARKER),
    ),
}


def is_ours(call: Callable[[], Any]) -> Any:
    """What a call returns, None for an error of ours; what else it raises goes through."""
    try:
        return call()
    except KafkaFormatError as error:
        str(error)  # it can be printed, whatever was given
        return None


def check_sound(source: Any) -> None:
    """Nothing but batches and records."""
    with kafka_segments.open_segment(source) as segment:
        found = Counter(type(event).__name__ for event in segment.iter_events(on_damage="skip"))
    assert not found.keys() - {"Batch", "Record"}, found


@pytest.mark.long
@pytest.mark.parametrize("name", CALLS)
def test_bytes_from_anything(name: str) -> None:
    written: Counter[bool] = Counter()

    @forms.examples(QUICK, 400, 5_000)
    @given(CALLS[name])
    def check(call: Callable[[], Any]) -> None:
        made = is_ours(call)
        written[made is not None] += 1
        if isinstance(made, bytes):
            check_sound(made)

    check()
    # Enough gets through that what was written is looked at, and enough does not.
    assert min(written[True], written[False]) >= forms.pick(20, 200), written


Step = tuple[str, tuple[Any, ...], dict[str, Any]]
SOUND = kafka_segments.encode_records([{"value": b"v"}], base_offset=3)


def steps() -> st.SearchStrategy[Step]:
    """Calls of a writer's methods."""
    marker = {"producer_id": mostly(1), "producer_epoch": mostly(0), "timestamp": TIMESTAMP}
    optional = {"coordinator_epoch": mostly(0), "partition_leader_epoch": mostly(None, 3)}
    return st.one_of(
        st.tuples(st.just("write"), st.tuples(anything.data()), some(MANY)),
        st.tuples(
            st.just("write_control"),
            st.tuples(anything.controls()),
            some(CONTROL | {"timestamp": TIMESTAMP}, ["timestamp"], OF_A_MARKER),
        ),
        st.tuples(
            st.just("write_marker"), st.tuples(mostly("COMMIT", "ABORT")), some(marker | optional, marker)
        ),
        st.tuples(st.just("write_empty_batch"), st.just(()), some(EMPTY | NEEDED, NEEDED)),
        st.tuples(st.just("append"), st.tuples(mostly(SOUND, SOUND + SOUND)), st.just({})),
    )


def write(opened: Any, path: Path, options: dict[str, Any], calls: list[Step]) -> Any:
    """What a writer has written, None for an error of ours."""
    writer = is_ours(lambda: opened(path, **options))
    if writer is None:
        return None
    for method, arguments, keywords in calls:
        is_ours(lambda: getattr(writer, method)(*arguments, **keywords))  # noqa: B023 (called at once)
    return is_ours(writer.close)


@pytest.mark.long
@pytest.mark.parametrize("opened", [kafka_segments.open_writer, kafka_segments.open_partition_writer])
def test_files_from_anything(opened: Any) -> None:
    written: Counter[bool] = Counter()

    @forms.examples(QUICK, 120, 3_000)
    @given(some(FILES), st.lists(steps(), max_size=4))
    def check(options: dict[str, Any], calls: list[Step]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = write(opened, Path(folder) / NAME, options, calls)
            written[done is not None] += 1
            names = [path.name for path in Path(folder).iterdir()]
            assert not [name for name in names if name.startswith(".")], names
            assert (done is None) == (not names)
            for path in () if done is None else done.paths:
                check_sound(path)

    check()
    assert min(written[True], written[False]) >= forms.pick(20, 200), written


@pytest.mark.parametrize("opened", [kafka_segments.open_writer, kafka_segments.open_partition_writer])
def test_no_path_from_anything(opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of any kind; those that are some are in a directory of their own."""
    monkeypatch.chdir(tmp_path)
    for path in [*anything.NUMBERS, *anything.ODD]:
        with suppress(KafkaFormatError):
            opened(path).abort()
    assert list(tmp_path.iterdir()) == []
