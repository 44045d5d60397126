"""Files in log directories that are skipped, as a broker does when it starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kafka_segments.core.formats.file_names import (
    LEFT_ALONE,
    SEGMENT_NAME,
    WHY_LEFT_ALONE,
    parse_directory_name,
)
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.errors import ReadError

__all__ = [
    "BAD_NAMES",
    "NO_SEGMENT",
    "PUT_ASIDE",
    "WITH_MORE",
    "SkipCollector",
    "SkippedFiles",
    "log_skipped",
    "num_unlisted",
]

_log = get_logger(__name__)

_NUM_NAMED = 3  # paths of a kind in the message; the others are counted
_SUFFIXES = {
    ".deleted": "a broker will delete it (.deleted), at the latest when it starts",
    ".cleaned": "unfinished work of the log cleaner (.cleaned), which a broker deletes when it starts",
    ".swap": "finished work of the log cleaner (.swap), which a broker swaps in when it starts, in place of "
    "the segments that it was made from (or deletes, if a .cleaned file begins at its offset or below)",
}
NO_SEGMENT = "it has no segment"
WITH_MORE = "a segment's name with more text after it: to read it, decompress or rename it"
_NOT_A_SEGMENT = "not the name of a segment"
_NO_OFFSET = "its name does not begin with an offset"
BAD_NAMES = (_NOT_A_SEGMENT, _NO_OFFSET)
"""Reasons for which a broker does not start."""
PUT_ASIDE = (*WHY_LEFT_ALONE.values(), *_SUFFIXES.values())
"""Reasons of what a broker has put aside, or was about to take in."""
_NUMBERED = (".log", ".index", ".timeindex", ".txnindex", ".swap", ".cleaned")
_unlisted: list[str] = []
_ABOUT_TO_BE_DELETED = (WHY_LEFT_ALONE["-delete"], _SUFFIXES[".deleted"])


@dataclass(frozen=True, slots=True)
class SkippedFiles:
    """Files or directories that are skipped for the same reason.

    Attributes:
        paths: in the order in which they were found.
        why: for people.
        error: of a directory that cannot be listed.
    """

    paths: tuple[str, ...]
    why: str
    error: ReadError | None = None

    def __str__(self) -> str:
        num_more = len(self.paths) - _NUM_NAMED
        more = f" and {num_more} more" if num_more > 0 else ""
        return f"{', '.join(self.paths[:_NUM_NAMED])}{more}: {self.why}; left out"


class SkipCollector:
    """Collector of skipped files."""

    def __init__(self) -> None:
        self._paths: dict[str, dict[str, None]] = {}
        self._unlisted: list[SkippedFiles] = []

    @property
    def found(self) -> list[SkippedFiles]:
        """The skipped files, by reason."""
        return [*self._unlisted, *(SkippedFiles(tuple(paths), why) for why, paths in self._paths.items())]

    def unlisted(self, path: str, error: ReadError) -> None:
        """Add a directory that cannot be listed; the rest is done without it."""
        _unlisted.append(path)
        self._unlisted.append(SkippedFiles((path,), f"it cannot be listed: {error.detail}", error))

    def add(self, path: str, why: str) -> None:
        """Add a file or directory; duplicates count once."""
        self._paths.setdefault(why, {})[path] = None

    def directory(self, entry: FileEntry, inside: str) -> None:
        """Add a directory without a partition's name; `inside`: words for the segments in it."""
        name, _, rest = entry.name.rpartition(".")
        is_aside = parse_directory_name(name) is not None
        suffix = next((one for one in LEFT_ALONE if rest.endswith(one) and is_aside), None)
        unnamed = f"its name is not TOPIC-PARTITION{inside}"
        self.add(entry.path, unnamed if suffix is None else WHY_LEFT_ALONE[suffix])

    def files(self, entries: Iterable[FileEntry]) -> None:
        """Add the files of a partition's directory that a broker ignores, deletes, or has yet to swap in."""
        for entry in entries:
            before, ending, _after = entry.name.partition(".log.")
            suffix = next((one for one in _SUFFIXES if entry.name.endswith(one)), None)
            if not _has_offset(entry.name):
                is_log = entry.name.endswith(".log")
                self.add(entry.path, _NOT_A_SEGMENT if is_log else _NO_OFFSET)
            elif suffix is not None:
                self.add(entry.path, _SUFFIXES[suffix])
            elif entry.name.endswith(".log") and not SEGMENT_NAME.fullmatch(entry.name):
                self.add(entry.path, _NOT_A_SEGMENT)
            elif ending and SEGMENT_NAME.fullmatch(f"{before}.log"):
                self.add(entry.path, WITH_MORE)


def _has_offset(name: str) -> bool:
    """Return whether a name has an offset, where a broker looks for one (LogFileUtils.offsetFromFile)."""
    stem = name.partition(".")[0]
    is_asked = name.endswith(_NUMBERED) or (name.endswith(".snapshot") and name[0].isdigit())
    return not is_asked or (stem.isascii() and stem.isdigit() and int(stem[:20]) <= MAX_LONG)


def num_unlisted() -> int:
    """Return how many directories this process could not list up to now."""
    return len(_unlisted)


def log_skipped(found: Iterable[SkippedFiles], *, is_all: bool) -> None:
    """Log skipped files as one warning.

    Args:
        found: by reason.
        is_all: include files about to be deleted, of which a running broker always has some.
    """
    named = [str(one) for one in found if is_all or one.why not in _ABOUT_TO_BE_DELETED]
    if named:
        _log.warning("%s", "; ".join(named))
