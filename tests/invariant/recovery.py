"""What Kafka makes of damaged directories when a broker starts: see java/Recovery.java.

`EXAMPLES` has one directory for each kind of damage, made of the recorded partition `multi-0`: 206 records in
the segments 0 (0 to 124) and 125 (125 to 205).
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.made.partitions import recorded
from tests.made.sound_batches import sound_batches
from tests.oracle.jvm import compile_java, fetch_jars, java_command

HERE = Path(__file__).resolve().parent
FIRST, LAST = f"{0:020d}", f"{125:020d}"
END = 206

Files = dict[str, bytes]


@dataclass(frozen=True)
class Recovered:
    """A log as a broker holds it after its start.

    Attributes:
        log_start: its log start offset.
        log_end: its log end offset.
        segments: base offset and bytes of each.
        offsets: what a consumer is given who starts at the beginning.
        stops: why that ends before the log's end; empty if it does not.
        error: the broker does not take the directory; the rest is empty then.
    """

    log_start: int = 0
    log_end: int = 0
    segments: tuple[tuple[int, int], ...] = ()
    offsets: tuple[int, ...] = ()
    stops: str = ""
    error: str = ""

    def __str__(self) -> str:
        if self.error:
            return f"refuses to load it: {self.error}"
        kept = ", ".join(str(base) for base, _size in self.segments)
        read = spans(self.offsets) or "nothing"
        stops = f", then {self.stops}" if self.stops else ""
        return f"segments {kept}; end {self.log_end}; a consumer gets {read}{stops}"


def spans(offsets: Sequence[int]) -> str:
    """Offsets as ranges, for people."""
    found: list[list[int]] = []
    for offset in offsets:
        if found and found[-1][1] == offset - 1:
            found[-1][1] = offset
        else:
            found.append([offset, offset])
    return ", ".join(f"{first} to {last}" if first < last else f"{first}" for first, last in found)


def recover(folders: Sequence[tuple[Path, bool, int, int]]) -> list[Recovered]:
    """What Kafka makes of partitions' directories, which it changes.

    Args:
        folders: directory, whether the shutdown was clean, recovery point, log start offset.
    """
    jars = fetch_jars(HERE / "pom.xml")
    classes = compile_java(sorted((HERE / "java").glob("*.java")), jars)
    command, environment = java_command(
        [classes, jars], "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "Recovery"
    )
    lines = "".join(
        f"{path}\t{'clean' if is_clean else 'unclean'}\t{point}\t{start}\n"
        for path, is_clean, point, start in folders
    )
    result = subprocess.run(
        command, input=lines, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    answers = result.stdout.splitlines()
    assert len(answers) == len(folders), result.stderr
    return [_recovered(answer) for answer in answers]


def _recovered(answer: str) -> Recovered:
    if answer.startswith("error;"):
        _error, name, message = answer.split(";", 2)
        return Recovered(error=f"{name}: {message}")
    start, end, segments, offsets, stops = answer.split(";", 4)
    pairs = (segment.split(":") for segment in segments.split(",") if segment)
    return Recovered(
        int(start),
        int(end),
        tuple((int(base), int(size)) for base, size in pairs),
        tuple(map(int, filter(None, offsets.split(",")))),
        stops,
    )


def _edited(change: Callable[[Files], None]) -> Files:
    files = dict(recorded("clean/multi-0").files)
    change(files)
    return files


def _flipped(files: Files, name: str, batch: int, offset: int) -> None:
    data = bytearray(files[name])
    data[sound_batches(files[name])[batch].position + offset] ^= 1
    files[name] = bytes(data)


def _log(number: str) -> str:
    return f"{number}.log"


def _take(files: Files, number: str) -> None:
    for name in [name for name in files if name.startswith(number) and not name.endswith(".snapshot")]:
        del files[name]


def _swap(files: Files) -> None:
    files[_log(FIRST)], files[_log(LAST)] = files[_log(LAST)], files[_log(FIRST)]


def _rename(files: Files) -> None:
    files[f"{100:020d}.log"] = files.pop(_log(LAST))


def _set(name: str, change: Callable[[bytes], bytes]) -> Callable[[Files], None]:
    def edit(files: Files) -> None:
        files[name] = change(files[name])

    return edit


def _without(suffix: str) -> Callable[[Files], None]:
    def edit(files: Files) -> None:
        for name in [name for name in files if name.endswith(suffix)]:
            del files[name]

    return edit


def _emptied(suffix: str) -> Callable[[Files], None]:
    def edit(files: Files) -> None:
        files.update({name: b"" for name in files if name.endswith(suffix)})

    return edit


def _set_aside(suffix: str) -> Callable[[Files], None]:
    def edit(files: Files) -> None:
        files[f"{_log(LAST)}.{suffix}"] = files.pop(_log(LAST))

    return edit


def _swap_of_both(files: Files) -> None:
    files[f"{_log(FIRST)}.swap"] = files[_log(FIRST)] + files[_log(LAST)]


def _swap_beside_cleaned(number: int) -> Callable[[Files], None]:
    def edit(files: Files) -> None:
        _set_aside("swap")(files)
        files[f"{number:020d}.log.cleaned"] = b""

    return edit


def _double(files: Files) -> None:
    files[f"{50:020d}.log"] = files[_log(FIRST)]


def _overlap(files: Files) -> None:
    last = files[_log(LAST)]
    files[_log(FIRST)] += last[: sound_batches(last)[0].end]


def _without_second(data: bytes) -> bytes:
    second = sound_batches(data)[1]
    return data[: second.position] + data[second.end :]


def _without_batches(data: bytes, keep: int) -> bytes:
    return data[: sound_batches(data)[keep].position]


EXAMPLES: Mapping[str, Callable[[Files], None]] = {
    "nothing": lambda _files: None,
    "a byte of a record of 0.log is changed": lambda files: _flipped(files, _log(FIRST), 1, 70),
    "a byte of a record of 125.log is changed": lambda files: _flipped(files, _log(LAST), 1, 70),
    "a base offset in 0.log is changed": lambda files: _flipped(files, _log(FIRST), 1, 5),
    "the two .log files are swapped": _swap,
    "125.log is called 100.log": _rename,
    "0.log is empty": _set(_log(FIRST), lambda _data: b""),
    "125.log is empty": _set(_log(LAST), lambda _data: b""),
    "0.log is zeros": _set(_log(FIRST), lambda data: bytes(len(data))),
    "125.log is zeros": _set(_log(LAST), lambda data: bytes(len(data))),
    "0.log is cut in a batch": _set(_log(FIRST), lambda data: data[: len(data) - 50]),
    "125.log is cut in a batch": _set(_log(LAST), lambda data: data[: len(data) - 50]),
    "0.log is cut between two batches": _set(_log(FIRST), lambda data: _without_batches(data, 1)),
    "125.log is cut between two batches": _set(_log(LAST), lambda data: _without_batches(data, 1)),
    "0.log lacks its first batch": _set(_log(FIRST), lambda data: data[sound_batches(data)[0].end :]),
    "0.log lacks a batch": _set(_log(FIRST), _without_second),
    "0.log is gone, with its indexes": lambda files: _take(files, FIRST),
    "125.log is gone, with its indexes": lambda files: _take(files, LAST),
    "125.log is gone, its indexes are there": _without(_log(LAST)),
    "125.log is called 125.log.deleted": _set_aside("deleted"),
    "125.log is called 125.log.cleaned": _set_aside("cleaned"),
    "125.log is called 125.log.swap": _set_aside("swap"),
    "125.log is called 125.log.swap, and an empty 125.log.cleaned is there": _swap_beside_cleaned(125),
    "125.log is called 125.log.swap, and an empty 126.log.cleaned is there": _swap_beside_cleaned(126),
    "0.log.swap holds what 0.log and 125.log hold, too": _swap_of_both,
    "0.log is there again as 50.log": _double,
    "0.log ends with 125.log's first batch": _overlap,
    "0.log ends with its first batch once more": _set(
        _log(FIRST), lambda data: data + data[: sound_batches(data)[0].end]
    ),
    "100 bytes of garbage end 0.log": _set(_log(FIRST), lambda data: data + b"\x55" * 100),
    "100 bytes of garbage end 125.log": _set(_log(LAST), lambda data: data + b"\x55" * 100),
    "100 zeros end 0.log": _set(_log(FIRST), lambda data: data + bytes(100)),
    "100 zeros end 125.log": _set(_log(LAST), lambda data: data + bytes(100)),
    "the .index files are gone": _without(".index"),
    "a byte of 0.index is changed": _set(f"{FIRST}.index", lambda data: b"\xff" + data[1:]),
    "the .timeindex files are empty": _emptied(".timeindex"),
    "the .snapshot files are gone": _without(".snapshot"),
    "leader-epoch-checkpoint is gone": _without("leader-epoch-checkpoint"),
}
"""A directory for each kind of damage; each is a change of the files of `multi-0`."""


def files_of(example: str) -> Files:
    """The files of an example."""
    return _edited(EXAMPLES[example])


def write_copies(folder: Path) -> list[tuple[Path, bool, int, int]]:
    """All examples, each for a clean shutdown and for one that was not, as `recover` takes them."""
    copies = []
    for number, example in enumerate(EXAMPLES):
        for is_clean in (True, False):
            path = folder / f"{number}-{is_clean}" / "multi-0"
            path.mkdir(parents=True)
            for name, data in files_of(example).items():
                (path / name).write_bytes(data)
            copies.append((path, is_clean, END if is_clean else 0, 0))
    return copies
