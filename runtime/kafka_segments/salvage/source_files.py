"""Source files of a partition, which copy of it is trusted how far, and the SHA-256 of files."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.errors import OptionError, ReadError
from kafka_segments.log.model import PartitionCopy, PartitionLog, StoredSegment
from kafka_segments.log.opening import open_stored
from kafka_segments.log.replicas import resolve

__all__ = ["Digest", "Digests", "RankedCopies", "RankedCopy", "SourceFile", "SourceFiles", "rank_copies"]

_MAX_OPEN = 8
_LEN_HASHED = 4 << 20  # bytes, at once
_NUM_WAITING = 2  # windows that are hashed while the next one is read


@dataclass(slots=True)
class SourceFile:
    """A file with batches of the partition.

    Attributes:
        number: in the order of copies and base offsets.
        copy: number of its copy, by trust.
        segment: the file.
        whole_reason: why nothing of it is used; empty if it is.
        is_lawful: whether a broker would not use it either, so that nothing is lost with it.
        is_unopened: whether it could not be opened.
        shows_cleaner: whether offsets are missing in or between sound batches, as after the log cleaner.
        end_of_sound: where its last stretch ends, if nothing but padding follows that; None otherwise.
        is_empty: whether there is nothing but padding in it.
        last_offset: greatest one of its sound batches; None without any.
        refused_end: the offset after those that its entries had which are put aside; 0 for none.
        losses: first and last offset of gaps that the log cleaner has not left; at most 1,000.
    """

    number: int
    copy: int
    segment: StoredSegment
    whole_reason: str = ""
    is_lawful: bool = False
    is_unopened: bool = False
    shows_cleaner: bool = False
    end_of_sound: int | None = None
    is_empty: bool = False
    last_offset: int | None = None
    refused_end: int = 0
    losses: list[tuple[int, int]] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Path or address."""
        return self.segment.path

    @property
    def quarantine_name(self) -> str:
        """Name of the file in the quarantine that has what was not used of it."""
        return f"{self.number}-{self.segment.file.name}"


@dataclass(frozen=True, slots=True)
class RankedCopy:
    """A copy of a partition, with the offset up to which it belongs to the log.

    Attributes:
        copy: the copy.
        limit: its records from there on are not part of the log.
        reason: why, for people; empty if the whole copy is part of it.
    """

    copy: PartitionCopy
    limit: int = NO_END
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RankedCopies:
    """All copies of a partition, the most trusted first, and the log that they make."""

    log: PartitionLog
    copies: tuple[RankedCopy, ...]


def rank_copies(places: Places, copies: list[PartitionCopy]) -> RankedCopies:
    """Order the copies of one partition by trust; see `replicas.resolve`.

    A copy that contradicts better ones, so that nothing else decides, is not used at all.

    Raises:
        OptionError: they are of two topics with one name.
        ReadError: a directory or file cannot be opened.
    """
    log, left, unused = _agreeing(places, copies)
    if len(unused) > len(left):
        other_log, others, rest = _agreeing(places, [one.copy for one in unused])
        if len(others) > len(left):  # the majority wins
            why = "it contradicts the majority of the copies"
            unused = [*rest, *(RankedCopy(one, -1, why) for one in left)]
            log, left = other_log, others
    reasons = {one.path: one.detail for one in log.findings if one.kind.name == "DIVERGED"}
    limits = dict(log.limits) or {one.path: NO_END for one in left}
    by_path = {one.path: one for one in left}
    ranked = []
    for path in [*limits, *(path for path in by_path if path not in limits)]:
        reason = reasons.get(path, "")
        ranked.append(RankedCopy(by_path[path], limits.get(path, -1) if reason else NO_END, reason))
    return RankedCopies(log, (*ranked, *unused))


def _agreeing(
    places: Places, copies: list[PartitionCopy]
) -> tuple[PartitionLog, list[PartitionCopy], list[RankedCopy]]:
    """Return the log of the best copy and those that agree with it, these, and the others."""
    left, unused = list(copies), list[RankedCopy]()
    while True:
        try:
            (log,) = resolve(places, left, is_strict=False)
            return log, left, unused
        except OptionError as error:
            at_fault = next((one for one in left if _is_below(error.path, one.path)), None)
            ids = {one.topic_id for one in left} - {None}
            if at_fault is None or len(left) == 1 or len(ids) > 1:
                raise
            left.remove(at_fault)
            unused.append(RankedCopy(at_fault, -1, f"it contradicts a better copy: {error.detail}"))


def _is_below(path: str | None, directory: str) -> bool:
    return path is not None and (path == directory or path.startswith(f"{directory.rstrip('/')}/"))


@dataclass
class SourceFiles:
    """Files by number, opened on demand; a few stay open.

    Args:
        places: opens them.
    """

    places: Places
    files: list[SourceFile] = field(default_factory=list)
    _open: dict[int, Source] = field(default_factory=dict)

    def add(
        self, copy: int, segment: StoredSegment, whole_reason: str = "", *, is_lawful: bool = False
    ) -> SourceFile:
        """Add a file."""
        file = SourceFile(len(self.files), copy, segment, whole_reason, is_lawful)
        self.files.append(file)
        return file

    def __getitem__(self, number: int) -> SourceFile:
        return self.files[number]

    def __iter__(self) -> Iterator[SourceFile]:
        return iter(self.files)

    def has_lost(self, start: int, end: int) -> bool:
        """Return whether a file shows that offsets from `start` up to `end` were lost, and not cleaned."""
        return any(first < end and last >= start for one in self.files for first, last in one.losses)

    def source(self, number: int) -> Source:
        """Return a file, open; it stays so until some others were asked for.

        Raises:
            ReadError: it cannot be opened.
        """
        source = self._open.pop(number, None)
        if source is None:
            source = open_stored(self.places, self.files[number].segment)
            while len(self._open) >= _MAX_OPEN:
                self._open.pop(next(iter(self._open))).close()
        self._open[number] = source  # the last one asked for is closed last
        return source

    def close(self) -> None:
        """Close all files; idempotent."""
        while self._open:
            self._open.popitem()[1].close()


class Digest:
    """SHA-256 of bytes that come one after the other, computed in a pool of one thread."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool, self._digest = pool, hashlib.sha256()
        self._waiting: deque[Future[None]] = deque()

    def add(self, data: bytes | memoryview) -> None:
        """Hash the next bytes, which stay as they are; wait while too many are not hashed yet."""
        if len(self._waiting) == _NUM_WAITING:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(self._digest.update, data))

    def end(self) -> Future[str | None]:
        """Return the digest in hexadecimal digits."""
        return self._pool.submit(self._digest.hexdigest)


class Digests:
    """A thread that hashes beside the copying; a context manager, which ends it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "sha256")
        self._is_over = threading.Event()

    def __enter__(self) -> Digests:
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._pool.shutdown(cancel_futures=True)

    def begin(self) -> Digest:
        """Return the digest of bytes that are still to come."""
        return Digest(self._pool)

    def of(self, opener: Callable[[], Source]) -> Future[str | None]:
        """Hash a file that a function opens, and that is closed afterwards.

        Returns:
            The digest in hexadecimal digits; None if not every byte can be read.
        """
        return self._pool.submit(self._digest, opener)

    def _digest(self, opener: Callable[[], Source]) -> str | None:
        digest = hashlib.sha256()
        try:
            with closing(opener()) as source:
                for position in range(0, source.size, _LEN_HASHED):
                    if self._is_over.is_set():
                        return None
                    digest.update(source.read(position, min(_LEN_HASHED, source.size - position)))
        except ReadError:
            return None
        return digest.hexdigest()
