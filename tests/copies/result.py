"""What `salvage` made of a case: its answer in the form that is judged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from tests.copies.cases import aborted_in, epochs_in
from tests.in_process import run_main
from tests.made.damage_of_batches import EPOCHS
from tests.made.sound_batches import Entry, entries_in
from tests.salvage.accounts import Account, check


@dataclass
class Result:
    """A result.

    Attributes:
        status: the exit status.
        words: standard output and error.
        served: the batches of the result, in file order.
        garbage: names of its segments in which there is something else.
        missing: offsets that are in no copy, first and last.
        open_from: first offsets of damaged bytes of which nobody knows up to where they went.
        bounds: log start and log end offset.
        epochs: its `leader-epoch-checkpoint`.
        aborted: its aborted transactions: producer, first and last offset.
        trusted: up to where each copy is trusted, by the copy's path; None is without end.
    """

    status: int
    words: str = ""
    served: list[Entry] = field(default_factory=list)
    garbage: list[str] = field(default_factory=list)
    missing: list[tuple[int, int]] = field(default_factory=list)
    open_from: list[int] = field(default_factory=list)
    bounds: tuple[int, int] = (0, 0)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    aborted: list[tuple[int, int, int]] = field(default_factory=list)
    trusted: dict[str, int | None] = field(default_factory=dict)


Salvager = Callable[[Sequence[Path], Path, str], Result]


def salvaged(sources: Sequence[Path], made: Path, name: str) -> Result:
    """Salvage copies of the partition of this name, check the account of every byte, and read the result."""
    shutil.rmtree(made, ignore_errors=True)
    with mock.patch("os.fsync"):
        status, out, error = run_main(["salvage", *map(str, sources), str(made)])
    result = Result(status, out + error)
    if status not in (0, 1):
        return result
    account = Account(made, json.loads((made / "manifest.json").read_text()))
    check(account)
    _read_segments(account.log(name), result)
    _read_manifest(account.only(), result)
    path = account.log(name) / EPOCHS
    result.epochs = epochs_in(path.read_bytes()) if path.exists() else []
    for path in account.log(name).glob("*.txnindex"):
        result.aborted += aborted_in(path.read_bytes())
    return result


def _read_segments(directory: Path, result: Result) -> None:
    for path in sorted(directory.glob("*.log")):
        data, end = path.read_bytes(), 0
        for one in entries_in(data):
            if one.position != end:
                break
            result.served.append(one)
            end = one.end
        if end != len(data):
            result.garbage.append(path.name)


def _read_manifest(partition: dict[str, Any], result: Result) -> None:
    result.missing = [(one["first_offset"], one["last_offset"]) for one in partition["missing"]]
    ranges = [one for file in partition["files"] for one in file["ranges"] if one["reason"]]
    result.open_from = [
        one["first_offset"]
        for one in ranges
        if one["last_offset"] is None and one["first_offset"] is not None
    ]
    result.bounds = partition["log_start_offset"], partition["log_end_offset"]
    result.trusted = {one["path"]: one["trusted_to"] for one in partition["copies"]}


def verified(made: Path) -> list[str]:
    """What `verify` finds in a result, but for `meta.properties`, which it may lack lawfully."""
    status, out, _error = run_main(["verify", "--format", "jsonl", str(made / "log")])
    found = [json.loads(line) for line in out.splitlines()] if status else []
    return [str(one)[:300] for one in found if one.get("id") and one["id"] != "meta-properties"]
