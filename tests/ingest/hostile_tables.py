"""Tables whose files others have written: values changed by structure, links and pipes in a file's place.

A case is a number: the same number makes the same changes. `Guard` notes what the kernel sees of a folder
beside the table, of whatever library.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.folders import state_of
from tests.in_process import run_main
from tests.made.directories import append, run_of

VICTIM = "victim"
_IN_NONBLOCK, _ALL_EVENTS = 0o4000, 0xFFF
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def guarded(folder: Path) -> Iterator[list[str]]:
    """Note each file below a folder that is opened, read, written, renamed or removed (Linux: inotify)."""
    before, seen = state_of(folder), list[str]()
    descriptor = _libc.inotify_init1(_IN_NONBLOCK)
    try:
        for path in (folder, *(one for one in folder.rglob("*") if one.is_dir())):
            assert _libc.inotify_add_watch(descriptor, os.fsencode(path), _ALL_EVENTS) > 0
        yield seen
        try:
            events = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            events = b""
        while events:
            size = int.from_bytes(events[12:16], "little")
            seen.append(
                f"{int.from_bytes(events[4:8], 'little'):#x} {events[16 : 16 + size].rstrip(bytes(1))!r}"
            )
            events = events[16 + size :]
    finally:
        os.close(descriptor)
    if state_of(folder) != before:
        seen.append("another state")


def made(folder: Path, kind: str) -> Path:
    """Logs, a table of two runs with a damaged batch, and a folder beside it that is nobody's business."""
    logs, out, victim = folder / "logs", folder / "out", folder / VICTIM
    append(logs / "t-0", *run_of(0, 9), bytes([0, 0]) + b"\xff" * 60)
    append(logs / "u-3", *run_of(0, 4))
    for _ in range(2):
        status, _, error = ingest(folder, kind)
        assert status == 1, error
        append(logs / "u-3", *run_of(4, 9))
    for name in ("x.parquet", "inner/y.parquet", "topic=t/partition=0/z.parquet", f"{'0' * 20}-{'a' * 32}/t"):
        (victim / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(min(out.rglob("*.parquet")), victim / name)
    return out


def ingest(folder: Path, kind: str) -> tuple[int, str, str]:
    words = ["ingest", "--engine", "local", str(folder / "logs"), str(folder / "out"), "--table", kind]
    return run_main(words)


def verbs(folder: Path, kind: str) -> list[Callable[[], tuple[int, str, str]]]:
    """All that read a table."""
    out, local = str(folder / "out"), ["--engine", "local"]
    return [
        lambda: ingest(folder, kind),
        lambda: run_main(["compact", *local, out]),
        lambda: run_main(["rewind", *local, out, "t:all", "--to-offset", "5"]),
        lambda: run_main(["rewind", *local, out, "u:3", "--to-offset", "0"]),
        lambda: run_main(["audit", out, str(folder / "logs")]),
    ]


def values(folder: Path) -> list[Any]:
    """What stands in the place of another value."""
    victim = folder / VICTIM
    return [
        f"../{VICTIM}/x.parquet", f"topic=t/../../{VICTIM}/x.parquet", f"{victim}/x.parquet",
        f"file://{victim}/x.parquet", f"file:{victim}/x.parquet", f"%2e%2e/{VICTIM}/x.parquet",
        f"../{VICTIM}", f"../../{VICTIM}", f"../../../{VICTIM}/inner", "", ".", "..", "/", "a\0b", "\ud800",
        "'; --", "x" * 5000, f"{0:020}-{'a' * 32}", f"../../../{VICTIM}/{0:020}-{'a' * 32}", "parquet",
        "delta", "iceberg", "hour", "os.path.join", "RecursionError", -1, 0, 1, 2**31, 2**63 - 1, 2**63,
        -(2**63), 10**400, 1.5, 1e300, True, None, [], {}, [[]], [f"../{VICTIM}/x.parquet"], {"a": 1},
    ]  # fmt: skip


def spoil(folder: Path, case: int) -> str:
    """Change one to three things in a table; return what."""
    dice = random.Random(case)
    ways = dice.choices((_value, _value, _bytes, _link, _pipe, _catalog), k=dice.choice((1, 1, 2, 3)))
    return "; ".join(way(folder, dice) for way in ways)


def _texts(out: Path) -> list[Path]:
    found = [*out.rglob("*.json"), *out.rglob("*.crc")]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def _value(folder: Path, dice: random.Random) -> str:
    texts = _texts(folder / "out")
    path = dice.choice([*texts, *(one for one in texts if "runs" in one.parts)] or [folder / "none"])
    try:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
    except (OSError, ValueError, RecursionError):
        return "nothing"
    places = [place for line in lines for place in _places(line)]
    if not places:
        return "nothing"
    inside, key = dice.choice(places)
    new = dice.choice([*values(folder), inside[key]])
    shown = f"{path.name}: {key!r} = {new!r:.80}"
    how = dice.randrange(8)
    if how == 0:
        del inside[key]
    elif how == 1 and isinstance(inside, list):
        inside += [inside[key]] * 3
    else:
        inside[key] = new
    text = "\n".join(map(json.dumps, lines))
    if how == 2:
        text = text.replace("{", f'{{"removed": ["../{VICTIM}/x.parquet"], "path": "..", ', 1)  # twice
    elif how == 3:
        text = text.replace("[]", "[" * 100_000, 1)
    path.write_text(text)
    return shown


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All values of a document, with what they stand in."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in list(inner):
        yield value, key
        yield from _places(one)


def _bytes(folder: Path, dice: random.Random) -> str:
    files = sorted(path for path in (folder / "out").rglob("*") if path.is_file() and not path.is_symlink())
    path = dice.choice(files)
    data = bytearray(path.read_bytes())
    for _ in range(dice.choice((1, 8)) if data else 0):
        data[dice.randrange(len(data))] = dice.randrange(256)
    path.write_bytes(data[: dice.choice((len(data), len(data), len(data) // 2, 0))])
    return f"bytes of {path.name}"


def _link(folder: Path, dice: random.Random) -> str:
    """Put a link in the place of a file or directory."""
    path = dice.choice(sorted((folder / "out").rglob("*")))
    victim = folder / VICTIM
    targets = [victim, victim / "x.parquet", victim / "inner", victim / "none", victim / "topic=t"]
    target = dice.choice(targets)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
    path.symlink_to(dice.choice((target, os.path.relpath(target, path.parent))))
    return f"{path.name} is a link to {target.name}"


def _pipe(folder: Path, dice: random.Random) -> str:
    files = sorted(path for path in (folder / "out").rglob("*") if path.is_file() and not path.is_symlink())
    path = dice.choice(files)
    path.unlink()
    os.mkfifo(path)
    return f"{path.name} is a pipe"


def _catalog(folder: Path, dice: random.Random) -> str:
    path = folder / "out" / "_kafka_segments" / "catalog.db"
    if not path.is_file() or path.is_symlink():
        return _value(folder, dice)
    column = dice.choice(("metadata_location", "previous_metadata_location", "table_name", "iceberg_type"))
    new = dice.choice([one for one in values(folder) if isinstance(one, str) and one.isprintable()])
    try:
        with closing(sqlite3.connect(path)) as catalog:
            catalog.execute(f"update iceberg_tables set {column} = ?", (new,))
            catalog.commit()
    except sqlite3.Error:
        return "nothing"
    return f"{column} = {new!r:.80}"
