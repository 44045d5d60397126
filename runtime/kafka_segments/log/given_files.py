"""What files say together that were given one by one: the gaps between segments of one partition.

Strategy: files of one directory are a partition's. If all of its segments were given, everything that
`continuity` knows is looked at; else what lies between two that follow on each other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from kafka_segments.errors import KafkaFormatError, OptionError, SegmentOrderError, raise_unless_file_at_fault
from kafka_segments.formats.entries import Damage
from kafka_segments.formats.file_names import with_ends
from kafka_segments.io.filesystems import Places
from kafka_segments.log.log_dir import PartitionDir, SegmentFile, group_files, list_partitions
from kafka_segments.log.partition import Partition
from kafka_segments.segment.continuity import Noted
from kafka_segments.segment.misplaced_batches import MisplacedBatches
from kafka_segments.segment.scan.entry_scan import first_offset_in_name
from kafka_segments.segment.segment import open_segment

__all__ = ["gaps_between"]


Seen = Mapping[str, MisplacedBatches]
"""What was seen of files when they were read, by their paths."""


def gaps_between(paths: Iterable[str], seen: Seen) -> Iterator[Damage]:
    """Find gaps between segments that were given by their paths; see `continuity.find_gaps`.

    A directory that cannot be listed is passed over: whoever reads its files tells why.
    """
    by_directory: dict[str, set[str]] = {}
    for path in paths:
        if first_offset_in_name(path) is not None and path.endswith(".log"):
            by_directory.setdefault(os.path.dirname(path), set()).add(os.path.basename(path))
    for directory, names in by_directory.items():
        try:
            yield from _gaps_in(_listed(directory), names, seen)
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)


def _gaps_in(directory: PartitionDir, names: set[str], seen: Seen) -> Iterator[Damage]:
    live = directory.segments
    if len(names) == 1 and not directory.topic:
        return
    if all(os.path.basename(file.path) in names for file in live):
        yield from _gaps(directory, seen)
        return
    noted = Noted(cleaned_up_to=directory.noted.cleaned_up_to)
    run: list[SegmentFile] = []
    for file in [*live, None]:
        if file is not None and os.path.basename(file.path) in names:
            run.append(file)
            continue
        if len(run) > 1:
            yield from _gaps(replace(directory, segments=tuple(run), noted=noted), seen)
        run = []


def _gaps(directory: PartitionDir, seen: Seen) -> Iterator[Damage]:
    with Partition(directory, partial(open_segment, only_files=True)) as partition:
        gaps = partition.gaps
    yield from gaps
    astray = {gap.path for gap in gaps if isinstance(gap.error, SegmentOrderError)}
    for file, end in with_ends(directory.segments):
        stray = seen.get(os.path.normpath(file.path), MisplacedBatches()).damage(file.path, file.size, end)
        if stray is not None and file.path not in astray:
            yield stray


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
