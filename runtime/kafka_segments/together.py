"""What files say together that were given one by one: the gaps between segments of one partition.

Strategy: files of one directory are a partition's. If all of its segments were given, everything that
`continuity` knows is looked at; else what lies between two that follow on each other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kafka_segments.continuity import Noted
from kafka_segments.entries import Damage
from kafka_segments.errors import KafkaFormatError, OptionError, pass_over
from kafka_segments.framing import first_offset_in_name
from kafka_segments.logdir import PartitionDir, SegmentFile, group_files, list_partitions
from kafka_segments.partition import Partition
from kafka_segments.places import Places
from kafka_segments.segment import open_segment

__all__ = ["gaps_between"]


def gaps_between(paths: Iterable[str]) -> Iterator[Damage]:
    """Find gaps between segments that were given by their paths; see `continuity.find_gaps`.

    A directory that cannot be listed is passed over: whoever reads its files tells why.
    """
    by_directory: dict[str, set[str]] = {}
    for path in paths:
        if first_offset_in_name(path) is not None and path.endswith(".log"):
            by_directory.setdefault(os.path.dirname(path), set()).add(os.path.basename(path))
    for directory, names in by_directory.items():
        try:
            yield from _gaps_in(_listed(directory), names)
        except KafkaFormatError as error:
            pass_over(error)


def _gaps_in(directory: PartitionDir, names: set[str]) -> Iterator[Damage]:
    live = directory.segments
    if len(names) == 1 and not directory.topic:
        return
    if all(os.path.basename(file.path) in names for file in live):
        yield from _gaps(directory)
        return
    noted = Noted(cleaned_up_to=directory.noted.cleaned_up_to)
    run: list[SegmentFile] = []
    for file in [*live, None]:
        if file is not None and os.path.basename(file.path) in names:
            run.append(file)
            continue
        if len(run) > 1:
            yield from _gaps(replace(directory, segments=tuple(run), noted=noted))
        run = []


def _gaps(directory: PartitionDir) -> Sequence[Damage]:
    with Partition(directory, open_segment) as partition:
        return partition.gaps


def _listed(path: str) -> PartitionDir:
    """All segments in a directory; nothing is noted of one that is not named as a partition's."""
    try:
        (found,) = list_partitions([path or "."])
        return replace(found, segments=found.live)
    except OptionError:
        groups = group_files(Places().entries(path or "."))
        logs = [(group, group.files["log"]) for group in groups]
        files = tuple(
            SegmentFile(os.path.join(path, log.name), group.base_offset, log.size, group.end is None)
            for group, log in logs
        )
        return PartitionDir(path, "", -1, files, None, files)
