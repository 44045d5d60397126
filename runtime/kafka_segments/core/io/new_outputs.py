"""New files and directories, written whole: they get their names when all of them is on the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

from kafka_segments.core.io.outputs import (
    OutputFile,
    discard_directory,
    hidden_sibling,
    make_directory,
    output_errors,
    publish_directory,
    publish_files,
    sync_directory,
)

__all__ = ["new_directory", "new_file", "write_beside"]


@contextmanager
def new_file(destination: str, named: str, *, replaces: bool = False) -> Iterator[OutputFile]:
    """Yield a hidden file beside a destination, which gets its name when all of it is on the disk.

    Args:
        destination: without links; nothing is there, unless `replaces` is set.
        named: path for errors.
        replaces: put it in the place of the file that is there: readers see the one or the other.

    Raises:
        OutputError: the disk is full, or fails, or the destination exists meanwhile; nothing is left then.
    """
    output = OutputFile(hidden_sibling(destination), named)
    try:
        yield output
        output.finish()
        if replaces:
            with output_errors(named):
                os.replace(output.path, destination)
                sync_directory(os.path.dirname(destination) or ".")
        else:
            publish_files([(output.path, destination)])
    finally:
        output.discard()


@contextmanager
def new_directory(destination: str, named: str) -> Iterator[str]:
    """Yield a hidden directory beside a destination, which gets its name when all of it is on the disk.

    Args:
        destination: without links.
        named: path for errors.

    Raises:
        OutputError: the disk is full, or fails; nothing is left then.
    """
    hidden = hidden_sibling(destination)
    make_directory(hidden, named)
    try:
        yield hidden
        _sync_tree(hidden, named)
        publish_directory(hidden, destination, named)
    except BaseException:
        discard_directory(hidden)
        raise


def _sync_tree(path: str, named: str) -> None:
    """Fsync all files below a directory, and the directories.

    At the end this takes a fraction of the time that an fsync after each file takes: the first ones put the
    journal of the file system on the disk for all.
    """
    for folder, _folders, names in os.walk(path, topdown=False):
        for name in [*names, ""]:
            one = os.path.join(folder, name)
            with output_errors(os.path.join(named, os.path.relpath(one, path))):
                sync_directory(one)


def write_beside(directory: str, named: str, name: str, content: bytes, *, syncs: bool = True) -> None:
    """Write a file into a directory, and fsync it; `named` is the directory for errors.

    Raises:
        OutputError: the disk is full, or fails.
    """
    with closing(OutputFile(os.path.join(directory, name), os.path.join(named, name))) as file:
        file.write(content)
        if syncs:
            file.finish()
