"""A file cut into splits, each read as a Spark task does; and what a tier notes of its files."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import checks, inputs, parts
from tests.fuzz.anatomy import dissect
from tests.made.edits import edited
from tests.numbered import MEMORY
from tests.query import splits

from kafka_segments import Batch, Record, open_segment
from kafka_segments.core import formats
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.columnar.arrow_schema import NONE
from kafka_segments.errors import KafkaFormatError, ReplicaMismatchError, UnknownFormatError
from kafka_segments.log.findings import Findings, Kind
from kafka_segments.log.model import Split, StoredSegment
from kafka_segments.log.tiers import read_manifest
from kafka_segments.query.read import batch_views, replica_comparison
from kafka_segments.query.read.split_reader import Reading

MANIFEST = {
    "version": "1",
    "chunkIndex": {
        "type": "variable",
        "originalChunkSize": 100,
        "originalFileSize": 1000,
        "transformedChunks": "AAAA",
    },
    "segmentIndexes": {"offset": {"position": 0, "size": 1}, "timestamp": None},
    "compression": True,
    "remoteLogSegmentMetadata": {
        "startOffset": 0,
        "endOffset": 1000,
        "segmentLeaderEpochs": {"0": 100, "1": 200},
    },
}
VALUES: list[Any] = [None, True, -1, 1 << 63, 7, 0.5, "", "1", "key:c2VjcmV0", [], {}, {"dataKey": "a:b"}]
BOUND = Reading(splits.COLUMNS, max_decompressed=checks.MAX_DECOMPRESSED)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _file(data: bytes, base_offset: int, copy: str = "topic-3") -> Path:
    """The segment under its name, and no other."""
    folder = _folder() / copy
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / f"{base_offset:020}.log"
    path.write_bytes(data)
    return path


def split(dice: Random) -> tuple[str, bool | None]:
    """Wherever a file is cut, and whatever hints say, records, batches and control records come once."""
    made = inputs.segment(dice)
    data = parts.longer(dice, made.data)
    try:
        with open_segment(data) as segment:
            entries = parts.slowly(segment, data)[0]
        path = _file(data, max(entries[0].batch.base_offset or 0, 0) if entries else 0)
        return _cut(dice, path, data), made.is_sealed
    except UnknownFormatError as error:
        return type(error).__name__, made.is_sealed


@dataclass
class Seen:
    """What the splits of a file showed, all together."""

    told: Findings = field(default_factory=Findings)
    rows: Counter[str] = field(default_factory=Counter)
    positions: Counter[int] = field(default_factory=Counter)
    controls: Counter[int] = field(default_factory=Counter)

    def records(self, one: Split) -> None:
        """Read the records of a split."""
        for batch in splits.read_split(one, Places(), BOUND, self.told):
            self.rows.update(map(repr, splits.rows([batch])))

    def views(self, one: Split) -> None:
        """Read all else that there is to be read of it."""
        for batch in batch_views.read_batches(one, Places(), Findings()):
            self.positions.update(batch.column("position").to_pylist())
        for batch in batch_views.read_control(one, Places(), BOUND, Findings()):
            self.controls.update(batch.column("offset").to_pylist())
        told, num_rows = Findings(), 0
        for batch in splits.read_split(one, Places(), replace(BOUND, is_best=True), told):
            batch.validate(full=True)
            num_rows += batch.num_rows
        # Headers count the rows where nothing is amiss in them.
        assert told.findings or batch_views.count_rows(one, Places(), (0, None)) in (None, num_rows)


def _cut(dice: Random, path: Path, data: bytes) -> str:
    with open_segment(path, max_decompressed=checks.MAX_DECOMPRESSED) as segment:
        entries, between, places = parts.slowly(segment, data)
        events = segment.iter_events(on_damage="skip")
        controls = [one.offset for one in events if isinstance(one, Record) and one.control is not None]
    stored = splits.stored(path, is_newest=dice.randrange(2) == 0)
    is_log, seen, has_views = parts.is_ascending(entries), Seen(), dice.randrange(3) == 0
    other = _copy(dice, path, data)
    inner = [cut for cut in parts.cuts(dice, entries) if cut is not None and cut > stored.base_offset]
    for start, end in pairwise([stored.base_offset, *inner, None]):
        assert start is not None
        one = Split("topic", 3, start, end, stored, others=(other,), cleaned_up_to=1 << 62)
        if has_views:
            seen.views(one)
            _compare(one, is_same=Path(other.file.path).read_bytes() == data)
        seen.records(_hinted(dice, one, entries, len(data)) if is_log else one)
    # Records may have other offsets than their headers say; what then falls is left out, and told.
    is_falling = any("follow greater ones" in note.detail for note in seen.told.of(Kind.NOTE))
    is_sound_log = is_log and all((one.batch.base_offset or 0) >= 0 for one in entries)
    # A wrong hint may lead to an entry inside of damage, that who comes from in front of it does not look at.
    losses = [
        one
        for one in seen.told.of(Kind.LOST)
        if not (between and "are stored here, below its base" in one.detail)
    ]
    assert is_falling or not is_sound_log or not losses
    assert stored.is_newest or not seen.told.of(Kind.PENDING)
    assert all(count == 1 for count in seen.positions.values())
    if not is_log or (between and (inner or len(places) > len(between))):
        # Where a range begins is found by headers, which may lead into what the whole has as damage.
        return "damaged" if is_log else "no log"
    wrong = {damage.position for damage in (*seen.told.of(Kind.DAMAGE), *seen.told.of(Kind.PENDING))}
    assert wrong <= {place[0] for place in places}
    rows = [row for one in entries if one.is_honest for row in one.rows if not _is_told(seen, row[0])]
    assert is_falling or Counter(repr(_row(row)) for row in rows) <= seen.rows
    assert seen.rows <= Counter(repr(_row(row)) for one in entries for row in one.rows)
    if has_views and not between:
        # What has negative offsets alone is left out, and told.
        reaching = (one for one in entries if max(one.batch.base_offset or 0, one.last_offset) >= 0)
        shown = {one.head.position for one in reaching}
        assert seen.positions.keys() == shown
        whole = Counter(offset for offset in controls if offset >= 0)
        assert seen.controls == whole or not all(one.is_honest for one in entries)
    return "sound"


def _is_told(seen: Seen, offset: int) -> bool:
    """Whether an offset was told as lost."""
    if offset < 0:
        return any("offsets cannot be negative" in one.detail for one in seen.told.of(Kind.LOST))
    return any(one.first_offset <= offset <= one.last_offset for one in seen.told.of(Kind.LOST))


def parts_of(data: bytes, batch: Batch) -> tuple[bytes, bytes, bytes]:
    """What is before a batch, the batch, and what is behind it."""
    start, end = batch.position, batch.end_position
    return data[:start], data[start:end], data[end:]


def _copy(dice: Random, path: Path, data: bytes) -> StoredSegment:
    """Another copy, which may be damaged, or have other headers, or another batch under a right checksum."""
    with open_segment(data) as segment:
        batches = [one for one in segment.iter_entries("skip") if isinstance(one, Batch)]
    kind = dice.randrange(4)
    if kind in (0, 3) and batches:
        batch = dice.choice(batches)
        before, one, behind = parts_of(data, batch)
        anatomy = dissect(one)
        if kind == 0 or anatomy is None:
            data = before + edited(dice, one + behind)
        else:
            data = before + inputs.sealed(dice, anatomy, edited(dice, one, anatomy.fields))[0] + behind
    elif kind == 1:
        data = edited(dice, data)
    return splits.stored(_file(data, int(path.stem), "copy"))


def _compare(one: Split, *, is_same: bool) -> None:
    """Copies that are the same do not differ; others may."""
    found = list(replica_comparison.find_mismatches([one], Places()))
    assert not is_same or not any(isinstance(error, ReplicaMismatchError) for error in found)


def _hinted(dice: Random, one: Split, entries: list[parts.Entry], size: int) -> Split:
    """Where a range may begin and end, right or wrong."""
    position = dice.choice([0, *(entry.head.position for entry in entries)])
    end_position = dice.choice((None, 0, dice.randrange(size + 1), 2 * size))
    return replace(one, position=position, end_position=end_position)


def _row(row: parts.Row) -> Any:
    """As `splits.rows` has it."""
    offset, timestamp, *known, headers = row[: len(splits.COLUMNS)]
    in_arrow = None if timestamp == NONE else timestamp
    return (offset, in_arrow, *known, [{"key": key, "value": value} for key, value in headers])


def manifest(dice: Random) -> tuple[str, None]:
    """A manifest with other values in it, or other bytes."""
    value: Any = json.loads(json.dumps(MANIFEST))
    for _ in range(dice.randrange(3)):
        place = value
        while True:
            name = dice.choice(sorted(place))
            if not (isinstance(place[name], dict) and place[name]) or dice.randrange(4) == 0:
                break
            place = place[name]
        if dice.randrange(4):
            place[name] = json.loads(json.dumps(dice.choice(VALUES)))
        else:
            place[dice.choice(("encryption", "x", "2", name))] = place.pop(name)
    data = json.dumps(value).encode()
    try:
        found = read_manifest(edited(dice, data) if dice.randrange(3) == 0 else data)
    except KafkaFormatError as error:
        return type(error).__name__, None
    assert found.size >= 0
    assert all(position >= 0 and size >= 0 for position, size in found.indexes.values())
    return "read", None


def read_chunk_sizes(data: bytes) -> tuple[int, ...]:
    """As `layout` does; the same without bytes behind them, and no fewer bytes than they need."""
    sizes = formats.read_chunk_sizes(data)
    assert len(sizes) <= len(data)
    assert all(size >= 0 for size in sizes)
    return sizes
