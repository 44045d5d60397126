"""Kafka's classes as a judge: one Java process (`tests/oracle/java/Judge.java`), asked over pipes."""

from __future__ import annotations

import json
import struct
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tests.oracle import jvm

ORACLE = Path(jvm.__file__).resolve().parent
SIZE = struct.Struct(">i")


class Judge:
    """The process; it lives as long as its `with` block."""

    def __enter__(self) -> Judge:
        jars = jvm.fetch_jars(ORACLE / "pom.xml")
        classes = jvm.compile_java(sorted((ORACLE / "java").glob("*.java")), jars)
        command, environment = jvm.java_command([classes, jars], *jvm.QUIET, "Judge")
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
        assert kind is not None or process.returncode == 0

    def answers(self, cases: Sequence[bytes]) -> Iterator[dict[str, Any]]:
        """What Kafka says of each, as `Judge.java` describes it, while later ones are still being sent."""
        sending, receiving = self._process.stdin, self._process.stdout
        assert sending is not None and receiving is not None
        writer = threading.Thread(target=_send, args=(sending, cases), daemon=True)
        writer.start()
        for _ in cases:
            (size,) = SIZE.unpack(_receive(receiving, SIZE.size))
            yield json.loads(_receive(receiving, size))
        writer.join()

    def answer(self, case: bytes) -> dict[str, Any]:
        """What Kafka says of one."""
        (found,) = self.answers([case])
        return found


def _send(pipe: IO[bytes], cases: Iterable[bytes]) -> None:
    for case in cases:
        pipe.write(SIZE.pack(len(case)) + case)
    pipe.flush()


def _receive(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise RuntimeError("the Java process has ended; what it said is on standard error")
    return data
