"""Files of this machine, mounted ones too."""

from __future__ import annotations

import os
import stat

from kafka_segments.errors import ReadError
from kafka_segments.places.model import Entry
from kafka_segments.storage import Source, open_source

__all__ = ["LocalFiles"]


class LocalFiles:
    """See `FileSystem`."""

    def entries(self, directory: str) -> list[Entry]:
        """What is in a directory, by name; what vanishes meanwhile is not."""
        try:
            with os.scandir(directory) as found:
                names = sorted(entry.name for entry in found)
        except OSError as error:
            raise _cannot_list(directory, error) from error
        entries = (self.entry(os.path.join(directory, name)) for name in names)
        return [entry for entry in entries if entry is not None]

    def entry(self, path: str) -> Entry | None:
        """One file or directory; None if it does not exist."""
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _cannot_list(path, error) from error
        is_directory = stat.S_ISDIR(status.st_mode)
        size = 0 if is_directory else status.st_size
        identity = f"{status.st_dev}:{status.st_ino}"
        name = os.path.basename(os.path.normpath(path))
        return Entry(path, name, is_directory, size, status.st_mtime_ns, identity)

    def open(self, path: str) -> Source:
        """Open a file for reading."""
        return open_source(path)


def _cannot_list(path: str, error: OSError) -> ReadError:
    is_missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
    remedy = "check the path" if is_missing else "is it readable for this user?"
    return ReadError(f"{error.strerror or error}: {remedy}", errno=error.errno, path=path)
