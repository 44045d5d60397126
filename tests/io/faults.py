"""A proxy before a store that counts what is asked, and answers some of it as a bad day would."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Asked", "Fault", "Proxy", "cut", "lost", "refused", "running", "stalled", "waited"]

_STEP = 64 << 10


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: what it was for, and how many bytes of a body it asked for (0: all, or none)."""

    method: str
    path: str
    first: int | None
    length: int


Fault = Callable[["_Handler", Asked], bool]
"""Deals with a request; True if it has answered it."""


@dataclass
class Proxy:
    """What the tests see: where it listens, what was asked, and what to do to the next requests.

    `faults` are asked in turn for each request that `concerns` is true of; one that returns True is used up.
    """

    port: int
    asked: list[Asked] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    concerns: Callable[[Asked], bool] = lambda asked: True
    before: Callable[[Asked], None] = lambda asked: None
    released: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        """For a client's `endpoint`."""
        return f"127.0.0.1:{self.port}"

    def of(self, method: str) -> list[Asked]:
        """The requests with one method."""
        return [asked for asked in self.asked if asked.method == method]

    def take(self, asked: Asked) -> Fault | None:
        """The next fault, if there is one and it concerns this request."""
        self.before(asked)
        with self.lock:
            self.asked.append(asked)
            return self.faults.pop(0) if self.faults and self.concerns(asked) else None


def refused(status: int, code: str, headers: dict[str, str] | None = None) -> Fault:
    """An error of S3."""

    def answer(handler: _Handler, asked: Asked) -> bool:
        message = f"<Error><Code>{code}</Code><Message>so it is</Message></Error>"
        body = b"" if asked.method == "HEAD" else message.encode()
        handler.send_response(status)
        for name, value in {"Content-Type": "application/xml", **(headers or {})}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        return True

    return answer


def cut(after: int, *, stalls: bool = False) -> Fault:
    """The connection breaks when so many bytes of the body have been sent, or stalls first."""

    def answer(handler: _Handler, asked: Asked) -> bool:
        status, headers, body = handler.ask()
        handler.begin(status, headers)
        handler.wfile.write(body[:after])
        handler.wfile.flush()
        if stalls:
            handler.proxy.released.wait()
        handler.close_connection = True
        return True

    return answer


def lost() -> Fault:
    """The store does what it is asked to do, and the connection breaks before its answer."""

    def answer(handler: _Handler, asked: Asked) -> bool:
        handler.ask()
        handler.close_connection = True
        return True

    return answer


def waited(seconds: float) -> Fault:
    """The answer comes late."""

    def answer(handler: _Handler, asked: Asked) -> bool:
        handler.proxy.released.wait(seconds)
        return False

    return answer


def stalled(after: int) -> Fault:
    """Nothing more comes after so many bytes of the body, until `released` is set."""
    return cut(after, stalls=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    proxy: Proxy
    upstream: int
    _link: http.client.HTTPConnection | None = None
    _sent: bytes | None = None

    def _serve(self) -> None:
        first, length = None, 0
        span = self.headers.get("Range", "")
        if span.startswith("bytes="):
            start, _dash, end = span.removeprefix("bytes=").partition("-")
            first, length = int(start), int(end) - int(start) + 1
        size = int(self.headers.get("Content-Length", 0))
        self._sent = self.rfile.read(size) if size else None
        asked = Asked(self.command, self.path, first, length)
        fault = self.proxy.take(asked)
        if fault is not None and fault(self, asked):
            return
        status, headers, body = self.ask()
        self.begin(status, headers)
        self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815

    def ask(self) -> tuple[int, list[tuple[str, str]], bytes]:
        """Ask the true store. The host stays as the client has signed it."""
        if self._link is None:
            self._link = http.client.HTTPConnection("127.0.0.1", self.upstream)
        self._link.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            self._link.putheader(name, value)
        self._link.endheaders(self._sent)
        reply = self._link.getresponse()
        return reply.status, reply.getheaders(), reply.read()

    def begin(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Send on the store's status and headers."""
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        if self._link is not None:
            self._link.close()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is told."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up; that is what some of this is for."""


@contextlib.contextmanager
def running(upstream: int) -> Iterator[Proxy]:
    """A proxy before the store on a port of this machine."""
    handler = type("Handler", (_Handler,), {"upstream": upstream})
    server = _Server(("127.0.0.1", 0), handler)
    proxy = handler.proxy = Proxy(server.server_address[1])  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
