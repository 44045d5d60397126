"""A directory that a command creates with all its files, or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kafka_segments.cli import console
from kafka_segments.cli.text import counted
from kafka_segments.core.io.outputs import (
    check_replaceable,
    discard_directory,
    hidden_sibling,
    make_directories,
    path_of,
    publish_directory,
)
from kafka_segments.write.log_writer import write_beside

__all__ = ["write_export"]


def write_export(directory: str, files: Mapping[str, bytes]) -> None:
    """Write files to a directory, which must be new or empty.

    Args:
        directory: to create; the one that it is in must exist.
        files: contents by name; a name may have folders (`a/b.txt`).

    Raises:
        OptionError: the directory exists and is not empty.
        OutputError: the disk is full, or fails; nothing is left then.
    """
    path = path_of(directory).rstrip(os.sep) or os.sep
    destination = check_replaceable(path)
    hidden = hidden_sibling(destination)
    try:
        make_directories(hidden)
        for name, content in files.items():
            make_directories(os.path.join(hidden, os.path.dirname(name)))
            write_beside(hidden, path, name, content)
        publish_directory(hidden, destination, path)
        console.say(f"{directory}: {counted(len(files), 'file')} written")
    except BaseException:
        discard_directory(hidden)
        raise
