"""The error tree: its shape, and that errors survive pickling whole, as Spark needs."""

from __future__ import annotations

import copy
import errno
import inspect
import multiprocessing
import pickle

import pytest

from kafka_segments import errors
from kafka_segments.errors import (
    AccountError,
    ChecksumMismatchError,
    ConflictError,
    CorruptBatchError,
    CorruptIndexError,
    DataLossError,
    DecodeError,
    DecompressionError,
    EncodeError,
    ExpiredOffsetsError,
    KafkaFormatError,
    LengthMismatchError,
    LogChangedError,
    MachineCodeError,
    MissingCodecError,
    MissingExtraError,
    OptionError,
    OutputError,
    ReadError,
    RecordTooLargeError,
    RecreatedTopicError,
    ReplicaMismatchError,
    SegmentOrderError,
    StoreError,
    TimestampRangeError,
    TransactionInDoubtError,
    TruncatedError,
    TruncatedLogError,
    UndecidedRunError,
    UnknownFormatError,
    UnsupportedMagicError,
)

# Class -> its bases, and attributes of its own with values as the runtime gives them.
TREE: dict[type[KafkaFormatError], tuple[tuple[type, ...], dict[str, object]]] = {
    KafkaFormatError: ((Exception,), {}),
    DecodeError: ((KafkaFormatError, ValueError), {}),
    TruncatedError: ((DecodeError, EOFError), {"needed": 133, "available": 20}),
    CorruptBatchError: ((DecodeError,), {}),
    CorruptIndexError: ((DecodeError,), {}),
    TransactionInDoubtError: ((DecodeError,), {"producer_id": 1 << 62}),
    ChecksumMismatchError: ((CorruptBatchError,), {"stored": 0xFFFFFFFF, "computed": 0}),
    SegmentOrderError: ((DecodeError,), {}),
    LengthMismatchError: ((CorruptBatchError,), {}),
    UnsupportedMagicError: ((DecodeError,), {"magic": -1}),
    UnknownFormatError: ((DecodeError,), {"format": "Redpanda"}),
    DecompressionError: ((DecodeError,), {"codec": "zstd"}),
    ReadError: ((KafkaFormatError, OSError), {"errno": errno.EIO}),
    StoreError: ((KafkaFormatError, OSError), {"errno": errno.EACCES}),
    EncodeError: ((KafkaFormatError, ValueError), {}),
    TimestampRangeError: ((KafkaFormatError, OverflowError), {"offset": 5, "timestamp": 2**62}),
    OutputError: ((KafkaFormatError, OSError), {}),
    ConflictError: ((OutputError,), {}),
    UndecidedRunError: ((OutputError,), {}),
    AccountError: ((KafkaFormatError,), {}),
    LogChangedError: ((KafkaFormatError,), {"topic": "t", "partition": 0, "parting_offset": 5}),
    TruncatedLogError: ((LogChangedError,), {"topic": "t", "partition": 0, "parting_offset": 5}),
    RecreatedTopicError: ((LogChangedError,), {"topic": "t", "partition": 0, "parting_offset": 0}),
    ExpiredOffsetsError: (
        (LogChangedError,),
        {"topic": "t", "partition": 0, "first_offset": 5, "last_offset": 2**62},
    ),
    MissingCodecError: ((KafkaFormatError, ImportError), {"codec": "lz4"}),
    MissingExtraError: ((KafkaFormatError, ImportError), {"extra": "arrow"}),
    MachineCodeError: ((KafkaFormatError, ImportError), {}),
    OptionError: ((KafkaFormatError, ValueError), {}),
    DataLossError: (
        (KafkaFormatError,),
        {"topic": "t", "partition": 0, "first_offset": 5, "last_offset": 2**62},
    ),
    RecordTooLargeError: (
        (KafkaFormatError, ValueError),
        {"topic": "t", "partition": 0, "offset": 5, "size": 2**31},
    ),
    ReplicaMismatchError: ((DecodeError,), {"offset": 5, "other_path": "u-0/0.log", "other_position": 7}),
}


def test_the_tree_is_whole_and_exported() -> None:
    classes = {cls for _, cls in inspect.getmembers(errors, inspect.isclass)}
    defined = {cls for cls in classes if cls.__module__ == errors.__name__ and issubclass(cls, Exception)}
    assert defined == set(TREE)
    assert sorted(errors.__all__) == sorted(cls.__name__ for cls in TREE)


@pytest.mark.parametrize("cls", TREE)
def test_bases(cls) -> None:
    assert cls.__bases__ == TREE[cls][0]
    assert cls.__doc__


@pytest.mark.parametrize("cls", TREE)
def test_attributes_are_none_until_given(cls) -> None:
    error = cls("what is wrong")
    for name in ("position", "path", *TREE[cls][1]):
        assert getattr(error, name) is None


def make(cls: type[KafkaFormatError]) -> KafkaFormatError:
    return cls("what is wrong", position=42, path="t-0/0.log", **TREE[cls][1])


def check(error: KafkaFormatError, cls: type[KafkaFormatError]) -> None:
    assert type(error) is cls
    assert error.detail == "what is wrong"
    assert error.args == ("what is wrong",)
    assert (error.position, error.path) == (42, "t-0/0.log")
    assert {name: getattr(error, name) for name in TREE[cls][1]} == TREE[cls][1]
    assert str(error) == "t-0/0.log, position 42: what is wrong"


@pytest.mark.parametrize("cls", TREE)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_with_every_attribute(cls, protocol) -> None:
    error = make(cls)
    check(error, cls)
    check(pickle.loads(pickle.dumps(error, protocol)), cls)
    # Once more: what came out of a pickle must go into one.
    check(pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(error, protocol)), protocol)), cls)
    check(copy.copy(error), cls)
    check(copy.deepcopy(error), cls)


def test_text_names_only_what_is_known() -> None:
    assert str(DecodeError("bad")) == "bad"
    assert str(DecodeError("bad", position=0)) == "position 0: bad"
    assert str(DecodeError("bad", path="a.log")) == "a.log: bad"
    assert str(ReadError("bad", path="a.log", errno=errno.EIO)) == "a.log: bad"


def test_an_attribute_set_later_is_pickled_too() -> None:
    error = DecodeError("bad")
    error.position, error.path = 7, "b.log"
    assert str(pickle.loads(pickle.dumps(error))) == "b.log, position 7: bad"


@pytest.mark.parametrize(
    "cls, remedy",
    [
        (TruncatedError, EOFError),
        (TruncatedError, ValueError),
        (ReadError, OSError),
        (MissingCodecError, ImportError),
        (OptionError, ValueError),
    ],
)
def test_caught_as_what_python_code_expects(cls, remedy) -> None:
    with pytest.raises(remedy):
        raise make(cls)
    with pytest.raises(KafkaFormatError):
        raise make(cls)


def _raise(cls: type[KafkaFormatError]) -> None:
    raise make(cls)


def test_crosses_a_process_boundary() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for cls in (ReadError, MissingCodecError, ChecksumMismatchError):
            with pytest.raises(cls) as caught:
                pool.apply(_raise, (cls,))
            check(caught.value, cls)


def test_context_makes_another_error_of_the_same_class() -> None:
    error = DecompressionError("no", codec="zstd", position=7)
    named = error.with_context(" (topic t)", path="a.log", topic="t")
    assert (str(error), error.path) == ("position 7: no", None)
    again = pickle.loads(pickle.dumps(named))
    assert (type(again), str(again)) == (DecompressionError, "a.log, position 7: no (topic t)")
    assert (again.codec, again.topic) == ("zstd", "t")
