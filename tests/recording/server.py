"""Java servers of a recording: started on loopback ports, waited for, stopped by their own process ids."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests import work
from tests.oracle import jvm

HERE = Path(__file__).resolve().parent


class RecordingError(Exception):
    """A server or a client did not do what the recording needs."""


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on right now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def wait_until(what: str, condition: Callable[[], bool], seconds: float = work.HANGS) -> None:
    """Poll a condition; RecordingError if it does not come true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RecordingError(f"waited {seconds} s for {what}")
        time.sleep(0.2)


class Server:
    """One Java process that announces in its log when it is ready."""

    def __init__(
        self, name: str, command: Sequence[str], environment: dict[str, str], log: Path, ready: str
    ) -> None:
        self.name = name
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            wait_until(f"{name} to start", lambda: self._is_ready(ready))
        except BaseException:
            self.kill()
            raise

    def _is_ready(self, ready: str) -> bool:
        text = self.log.read_text(errors="replace")
        if self._process.poll() is not None:
            raise RecordingError(f"{self.name} ended:\n{text[-3000:]}")
        return ready in text

    def stop(self) -> None:
        """End it as an operator would: SIGTERM, and wait for the clean shutdown."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(work.HANGS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RecordingError(f"{self.name} did not stop cleanly") from None

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process has not ended yet."""
        return self._process.poll() is None


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Stop a server cleanly at the end of a block, kill it if the block failed; leave an ended one alone."""
    try:
        yield server
    except BaseException:
        if server.running:
            server.kill()
        raise
    if server.running:
        server.stop()


class Kit:
    """The jars of one Kafka release with the Java programs of ours compiled against them."""

    def __init__(self, release: str, *programs: str) -> None:
        self.release = release
        self.jars = jvm.fetch_jars(HERE / "brokers" / release / "pom.xml")
        sources = sorted(source for folder in programs for source in (HERE / "java" / folder).glob("*.java"))
        self.classes = jvm.compile_java(sources, self.jars)

    def command(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """Command and environment for a Java main class with its arguments."""
        return jvm.java_command([self.classes, self.jars], *arguments)

    def run(self, *arguments: str) -> str:
        """Run a Java main class to its end and return what it printed; RecordingError if it failed."""
        command, environment = self.command(*arguments)
        result = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
        )
        if result.returncode:
            raise RecordingError(f"{' '.join(arguments)}:\n{result.stdout[-2000:]}\n{result.stderr[-3000:]}")
        return result.stdout
