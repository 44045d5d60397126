"""Types of the Kaitai runtime 0.11, which is published without any: as much of it as we and readers need."""

from io import BytesIO as BytesIO
from types import TracebackType
from typing import Any, BinaryIO, Self

__version__: str
API_VERSION: tuple[int, int]

class KaitaiStruct:
    _io: KaitaiStream
    _parent: Any
    _root: Any
    def __init__(self, io: KaitaiStream) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def close(self) -> None: ...
    # For classes without parameters.
    @classmethod
    def from_file(cls, filename: str) -> Self: ...
    @classmethod
    def from_bytes(cls, buf: bytes) -> Self: ...
    @classmethod
    def from_io(cls, io: BinaryIO) -> Self: ...

class KaitaiStream:
    def __init__(self, io: BinaryIO) -> None: ...
    def close(self) -> None: ...
    def is_eof(self) -> bool: ...
    def seek(self, n: int) -> None: ...
    def pos(self) -> int: ...
    def size(self) -> int: ...

class KaitaiStructError(Exception):
    src_path: str | None

class EndOfStreamError(KaitaiStructError, EOFError):
    bytes_needed: int
    bytes_available: int

class NoTerminatorFoundError(EndOfStreamError): ...
class UndecidedEndiannessError(KaitaiStructError): ...

class ValidationFailedError(KaitaiStructError):
    io: KaitaiStream

class ValidationNotEqualError(ValidationFailedError):
    expected: Any
    actual: Any

class ValidationLessThanError(ValidationFailedError):
    min: Any
    actual: Any

class ValidationGreaterThanError(ValidationFailedError):
    max: Any
    actual: Any

class ValidationNotAnyOfError(ValidationFailedError):
    actual: Any

class ValidationNotInEnumError(ValidationFailedError):
    actual: Any

class ValidationExprError(ValidationFailedError):
    actual: Any
