"""Kafka's own conversions and cleaning: one Java process a release, asked over pipes."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from tests.oracle import jvm

HERE = Path(__file__).resolve().parent / "java"

DELETE, RETAIN_EMPTY, DELETE_EMPTY = range(3)
"""Ordinals of Kafka's BatchRetention."""


class KafkaError(Exception):
    """Kafka threw; the message has the exception's class and words."""


@dataclass(frozen=True)
class Decisions:
    """What a cleaner decides: each batch's retention, whether it ends nothing, and offsets that stay."""

    batches: Sequence[tuple[int, bool]]
    retained: frozenset[int]
    current_time: int = 1_800_000_000_000
    delete_retention_ms: int = 86_400_000

    def encoded(self) -> bytes:
        """As `Decisions.java` reads it."""
        out = struct.pack(">qqi", self.current_time, self.delete_retention_ms, len(self.batches))
        out += b"".join(struct.pack(">b?", *decision) for decision in self.batches)
        return out + struct.pack(f">i{len(self.retained)}q", len(self.retained), *sorted(self.retained))


class Kafka:
    """The classes of one release: "39" (3.9.2) or "43" (4.3.1)."""

    def __init__(self, release: str) -> None:
        folder = HERE / f"k{release}"
        jars = jvm.fetch_jars(folder / "pom.xml")
        classes = jvm.compile_java([*sorted(HERE.glob("*.java")), *folder.glob("*.java")], jars)
        command, environment = jvm.java_command([classes, jars], *jvm.QUIET, f"Kafka{release}")
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.release = release

    def __enter__(self) -> Kafka:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait()

    def down_convert(self, data: bytes, magic: int, first_offset: int = 0) -> bytes:
        """`MemoryRecords.downConvert`."""
        return self._ask(b"D", struct.pack(">bq", magic, first_offset), data)

    def up_convert(
        self,
        data: bytes,
        *,
        magic: int = 2,
        next_offset: int = 0,
        timestamp_type: str = "CreateTime",
        now: int = 0,
        leader_epoch: int = 0,
    ) -> bytes:
        """`LogValidator.validateMessagesAndAssignOffsets`, compression kept."""
        name = timestamp_type.encode()
        arguments = struct.pack(">bqH", magic, next_offset, len(name)) + name
        return self._ask(b"U", arguments + struct.pack(">qi", now, leader_epoch), data)

    def filter(self, data: bytes, decisions: Decisions) -> bytes:
        """`MemoryRecords.filterTo`."""
        return self._ask(b"F", decisions.encoded(), data)

    def _ask(self, operation: bytes, arguments: bytes, data: bytes) -> bytes:
        question, answer = self._process.stdin, self._process.stdout
        assert question is not None and answer is not None
        question.write(operation + arguments + struct.pack(">i", len(data)) + data)
        question.flush()
        status, size = struct.unpack(">bi", _read(answer, 5))
        found = _read(answer, size)
        if status:
            raise KafkaError(found.decode())
        return found


def _read(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise RuntimeError("Kafka's process has ended")
    return data


def joined(pieces: Iterable[bytes | memoryview]) -> bytes:
    """What a conversion yields, in one."""
    return b"".join(pieces)
