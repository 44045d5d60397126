"""Invariant: any bytes either parse or raise KaitaiStructError or EOFError, quickly and without much memory.

That is meant of whatever a class reads when it is made. Instances are read on demand; those that make text or
numbers of bytes may raise UnicodeDecodeError or ValueError, as the schemas say.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from hypothesis import strategies as st
from kaitaistruct import KaitaiStream, KaitaiStruct, KaitaiStructError
from tests import work
from tests.codegen.trees import python_class
from tests.codegen.vectors import STEMS, all_vectors
from tests.python import traced

VECTORS = {stem: [vector for vector in all_vectors() if vector.schema == stem] for stem in STEMS}
LONGS = st.integers(-(2**63), 2**63 - 1)
PARAMS: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "kafka_record": st.tuples(
        st.booleans(), st.sampled_from([0, 1, 2**31 - 1]), LONGS, st.integers(-1, 2), *[LONGS] * 6
    ),
    "kafka_record_v3": st.tuples(
        st.booleans(),
        st.booleans(),
        st.sampled_from([0, 1, 2**31 - 1]),
        LONGS,
        st.integers(-1, 2),
        *[LONGS] * 6,
    ),
    "kafka_record_batch_v2": st.tuples(LONGS),
    "kafka_record_batch_v3": st.tuples(LONGS),
    "kafka_record_batch_v3_metadata_first": st.tuples(LONGS),
    "kafka_message_legacy": st.tuples(LONGS),
    "kafka_control_record_value": st.tuples(st.integers(-1, 8)),
}
# More than any legitimate parse of a few hundred bytes needs, and far less than what the lies below claim.
BOUND = 4 << 20


def parse(stem: str, params: tuple[Any, ...], data: bytes) -> KaitaiStruct | None:
    """The parsed object, ``None`` if the bytes were refused; anything else that is raised is the failure."""
    try:
        return python_class(stem)(*params, KaitaiStream(BytesIO(data)))
    except (KaitaiStructError, EOFError):
        return None


def visit(found: Any) -> None:
    """Ask for every instance below an object."""
    if isinstance(found, list):
        for part in found:
            visit(part)
    if not isinstance(found, KaitaiStruct):
        return
    names = [name for name in vars(found) if not name.startswith("_")]
    names += [name for name, part in vars(type(found)).items() if isinstance(part, property)]
    for name in names:
        try:
            part = getattr(found, name)
        except (KaitaiStructError, EOFError, UnicodeDecodeError, ValueError):
            continue
        visit(part)


def replaced(name: str, position: int, new: str) -> bytes:
    """A vector's bytes with some of them overwritten."""
    stem, _, vector = name.partition("/")
    data = bytearray(next(found for found in VECTORS[stem] if found.name == vector).file.read_bytes())
    patch = bytes.fromhex(new)
    data[position : position + len(patch)] = patch
    return bytes(data)


BASE = (0,) * 8  # offset, timestamp type, timestamps, the producer's
RECORD = (False, 2**31 - 1, *BASE)  # no control record, and a limit of headers that is none
HUGE_INT = "7fffffff"
HUGE_VARINT = "feffffff0f"  # 2^31 - 1
HUGE_UNSIGNED = "ffffffff07"  # 2^31 - 1
LIES: dict[str, tuple[str, tuple[Any, ...], Callable[[], bytes]]] = {
    "records of a batch": (
        "kafka_record_batch_v2", (0,), lambda: replaced("kafka_record_batch_v2/worked_example", 45, HUGE_INT)
    ),
    "records of a batch of magic 3": (
        "kafka_record_batch_v3", (0,), lambda: replaced("kafka_record_batch_v3/worked_example", 25, HUGE_INT)
    ),
    "records of a batch with metadata first": (
        "kafka_record_batch_v3_metadata_first",
        (0,),
        lambda: replaced("kafka_record_batch_v3_metadata_first/two_records", 25, HUGE_INT),
    ),
    "size of an entry": (
        "kafka_log_segment", (), lambda: replaced("kafka_log_segment/snapshot", 8, HUGE_INT)
    ),
    "size of a record": ("kafka_record", RECORD, lambda: bytes.fromhex(HUGE_VARINT + "00000001010000")),
    "headers of a record": ("kafka_record", RECORD, lambda: bytes.fromhex("140000000101" + HUGE_VARINT)),
    "key of a record": ("kafka_record", RECORD, lambda: bytes.fromhex("14000000" + HUGE_VARINT + "0101")),
    "bytes behind a record": (
        "kafka_record", RECORD, lambda: bytes.fromhex("80808001" + "000000010100") + bytes((1 << 20) - 6)
    ),
    "key of a header": ("kafka_record_header", (), lambda: bytes.fromhex(HUGE_VARINT + "00")),
    "key of a message": (
        "kafka_message_legacy", (0,), lambda: replaced("kafka_message_legacy/magic_0", 6, HUGE_INT)
    ),
    "voters": ("kafka_control_record_value", (2,), lambda: bytes.fromhex("000000000001" + HUGE_UNSIGNED)),
    "tagged fields": ("kafka_tagged_fields", (), lambda: bytes.fromhex(HUGE_UNSIGNED + "00" * 100)),
    "size of a tagged field": ("kafka_tagged_fields", (), lambda: bytes.fromhex("0100" + HUGE_UNSIGNED)),
    "size of a 0.7 message": (
        "kafka_message_0_7", (), lambda: replaced("kafka_message_0_7/magic_0", 0, HUGE_INT)
    ),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_count_or_size_is_found_out_quickly(lie: str) -> None:
    stem, params, make = LIES[lie]
    data = make()
    with work.at_most(100_000), traced() as memory:
        found = parse(stem, params, data)
        visit(found)
        peak = memory()[1]
    # A batch's header is sound, its records are read on demand; a segment shows the rest as `partial`.
    assert (found is None) == ("batch" not in stem and stem != "kafka_log_segment")
    assert peak < BOUND


def test_more_headers_than_the_reader_is_prepared_for_are_not_read() -> None:
    """A million of them, all there: two bytes each, and hundreds of bytes each once they are objects."""
    count, content = "80897a", bytes(2_000_000)  # 10^6
    body = bytes.fromhex("0000000101" + count) + content
    data = bytes.fromhex("9092f401") + body  # 2000008
    with traced() as memory:
        found = parse("kafka_record", (False, 999_999, *BASE), data)
        peak = memory()[1]
    assert found is not None
    assert found.body.num_headers.value == 1_000_000
    assert found.body.has_too_many_headers
    assert found.body.headers is None
    assert found._io.is_eof()
    assert peak < BOUND
