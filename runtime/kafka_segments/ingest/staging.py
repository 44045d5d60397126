"""Directories in which runs write before they are committed, and what killed runs left there.

Strategy: `_kafka_segments/staging/NUMBER-RANDOM`, with the number of the run that this one continues. When
there is a run with a higher number, this one can no longer be committed: what it left may be removed.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterable
from contextlib import suppress

from kafka_segments.errors import OutputError
from kafka_segments.ingest.run_log import STATE_DIRECTORY, RunLog
from kafka_segments.io.outputs import sync_directory

__all__ = ["discard", "move_all", "new_run", "remove_all", "staging_of", "sweep", "sync_all"]

_STAGING = "staging"
_NAME = re.compile(r"([0-9]{20})-[0-9a-f]{32}")


def new_run(destination: str, number: int) -> str:
    """Create the directory of a new run; return the run's id.

    Args:
        destination: of the table, which is created too.
        number: of the run that it continues; 0 for the first one.

    Raises:
        OutputError: it cannot be created.
    """
    run_id = f"{number:020}-{uuid.uuid4().hex}"
    try:
        os.makedirs(RunLog(destination).directory, exist_ok=True)
        os.makedirs(staging_of(destination, run_id))
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror or error}", path=destination, errno=error.errno
        ) from error
    return run_id


def staging_of(destination: str, run_id: str) -> str:
    """Return the directory in which a run's files are until they are published."""
    return os.path.join(destination, STATE_DIRECTORY, _STAGING, run_id)


def discard(destination: str, run_id: str) -> None:
    """Remove what a run left, and the destination if nothing else is in it, without raising."""
    path = staging_of(destination, run_id)
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):  # not empty
        os.rmdir(os.path.dirname(path))
        os.rmdir(RunLog(destination).directory)
        os.rmdir(os.path.join(destination, STATE_DIRECTORY))
        os.rmdir(destination)


def sweep(destination: str, number: int) -> list[str]:
    """Remove the directories of runs that continue others than the newest one; return their paths.

    Args:
        destination: of the table.
        number: of the newest run.
    """
    directory = os.path.dirname(staging_of(destination, "any"))
    swept = []
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    for name in names:
        match = _NAME.fullmatch(name)
        if match and int(match[1]) < number:
            path = os.path.join(directory, name)
            shutil.rmtree(path, ignore_errors=True)
            if not os.path.lexists(path):
                swept.append(path)
    with suppress(OSError):  # not empty
        os.rmdir(directory)
    return swept


def sync_all(root: str) -> None:
    """Fsync all directories below one; files are fsynced where they are written.

    Raises:
        OutputError: the disk fails.
    """
    for directory, _, _ in os.walk(root):
        try:
            sync_directory(directory)
        except OSError as error:
            raise OutputError(f"{error.strerror or error}", path=directory, errno=error.errno) from error


def move_all(root: str, destination: str, paths: Iterable[str]) -> None:
    """Rename files that are not in their places yet.

    Raises:
        OutputError: one is in neither place, or cannot be renamed.
    """
    directories = set()
    for path in paths:
        source, target = os.path.join(root, path), os.path.join(destination, path)
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            try:
                os.rename(source, target)
            except FileNotFoundError:
                if not os.path.lexists(target):
                    raise
            directories.add(os.path.dirname(target))
        except OSError as error:
            raise OutputError(
                f"cannot be published: {error.strerror or error}", path=target, errno=error.errno
            ) from error
    _sync_upwards(directories, destination)


def remove_all(destination: str, paths: Iterable[str]) -> None:
    """Remove files that are there, and directories that are empty then.

    Raises:
        OutputError: one cannot be removed.
    """
    for path in paths:
        target = os.path.join(destination, path)
        try:
            with suppress(FileNotFoundError):
                os.unlink(target)
        except OSError as error:
            raise OutputError(
                f"cannot be removed: {error.strerror or error}", path=target, errno=error.errno
            ) from error
        directory = os.path.dirname(target)
        with suppress(OSError):  # not empty
            while directory != destination:
                os.rmdir(directory)
                directory = os.path.dirname(directory)


def _sync_upwards(directories: Iterable[str], top: str) -> None:
    """Fsync directories, and those above them up to one.

    Raises:
        OutputError: the disk fails.
    """
    found = set()
    for one in directories:
        directory = one
        while directory not in found:
            found.add(directory)
            if directory in (top, os.path.dirname(directory)):
                break
            directory = os.path.dirname(directory)
    for directory in sorted(found, reverse=True):
        try:
            sync_directory(directory)
        except OSError as error:
            raise OutputError(f"{error.strerror or error}", path=directory, errno=error.errno) from error
