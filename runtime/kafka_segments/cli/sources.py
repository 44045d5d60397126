"""What is named on the command line: files, patterns of paths, and directories with segments."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence

from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.formats.file_names import is_address
from kafka_segments.log.log_dir import list_partitions

__all__ = ["files_of", "matches_of"]


def matches_of(given: str) -> list[str]:
    """The paths that a pattern stands for, by name; what exists under its own name is no pattern.

    Raises:
        OptionError: nothing matches, or it is an address.
    """
    if is_address(given):
        raise OptionError(
            "only files of this machine are read here; `kafka-segments plan` and the Spark source read "
            "stores, and in Python open_segment(Places().open(ADDRESS))",
            path=given,
        )
    if given == "-" or os.path.lexists(given) or not glob.has_magic(given):
        return [given]
    found = sorted(glob.glob(given))
    if not found:
        raise OptionError("no file matches this pattern", path=given)
    return found


def files_of(given: Sequence[str]) -> Iterator[tuple[str, bool] | KafkaFormatError]:
    """The files to read, in order: of a directory its segments, partition by partition.

    Yields:
        A path, and whether it was found in a directory; or what is wrong with one that was given.
    """
    for one in given:
        try:
            for path in matches_of(one):
                if not os.path.isdir(path):
                    yield path, False
                    continue
                for partition in list_partitions([path]):
                    yield from ((segment.path, True) for segment in partition.live)
        except KafkaFormatError as error:
            yield error
