"""The verbs for damaged disks: records found and printed, what is verified, and what is salvaged and copied.

What `salvage` and `slice` have written is read by the reader of `made/sound_batches.py`.
"""

from __future__ import annotations

import json
import shutil
from base64 import b64decode
from pathlib import Path
from typing import Any
from unittest import mock

from tests.in_process import run_main
from tests.invariant.answers import Answer, Named, lines_of, named_by_words, refused
from tests.made.sound_batches import Row, sound_batches
from tests.salvage.accounts import IN_RESULT, Account, check

_OFS_MAGIC = 16
MADE = "made"
"""The name of what is written, beside the log directory."""


def find(partition: Path) -> Answer:
    """`find` of all records, with all checksums."""
    return lines_of(*run_main(["find", "--offsets", "0:", "--all-crc", "--format", "jsonl", str(partition)]))


def cat(partition: Path) -> Answer:
    """`cat` of all records."""
    words = ["cat", "--base64", "--template", "{offset} {key} {value}", str(partition)]
    status, out, error = run_main(words)
    answer = Answer(status, words=error)
    for line in out.splitlines():
        offset, *contents = line.split(" ")
        key, value = (None if one == "-" else b64decode(one) for one in contents)
        answer.rows.add(Row(int(offset), key, value))
    answer.named = [named_by_words(words) for words in error.splitlines()]
    return refused(answer)


def verify(partition: Path) -> Answer:
    """`verify` of the partition: it names, and delivers nothing."""
    status, out, error = run_main(["verify", "--format", "jsonl", str(partition)])
    answer = lines_of(status, out, "")
    answer.words = error
    if status == 2:
        answer.named += [named_by_words(words) for words in json.loads(out.splitlines()[-1])["errors"]]
    return refused(answer)


def salvage(partition: Path) -> Answer:
    """`salvage` of the partition: the records of the result, and what the manifest says is not in it."""
    made = _made_beside(partition)
    with mock.patch("os.fsync"):
        status, out, error = run_main(["salvage", str(partition), str(made)])
    answer = Answer(status, words=error + out)
    if status in (0, 1):
        account = Account(made, json.loads((made / "manifest.json").read_text()))
        check(account)
        _read_written(account.log(partition.name), answer)
        answer.named = [_named_by_range(file, one) for file, one in _unused(account)]
        answer.named += map(named_by_words, account.only()["notes"])
        for missing in account.only()["missing"]:
            answer.named.append(
                Named(f"missing {missing}", None, missing["first_offset"], missing["last_offset"])
            )
    answer.named += [named_by_words(words) for words in error.splitlines()] if status else []
    return refused(answer)


def slice_all(partition: Path) -> Answer:
    """`slice` of all offsets of the partition."""
    made = _made_beside(partition)
    words = ["slice", "--offsets", "0:", "--format", "jsonl", str(partition), str(made)]
    with mock.patch("os.fsync"):
        status, out, error = run_main(words)
    answer = Answer(status, words=error)
    if status in (0, 1):
        _read_written(made, answer)
        for missing in json.loads(out)["missing"]:
            answer.named.append(
                Named(f"missing {missing}", None, missing["first_offset"], missing["last_offset"])
            )
    answer.named += [named_by_words(words) for words in error.splitlines()] if status else []
    return refused(answer)


def _made_beside(partition: Path) -> Path:
    made = partition.parents[1] / MADE
    shutil.rmtree(made, ignore_errors=True)
    return made


def _read_written(directory: Path, answer: Answer) -> None:
    """Read written segments, which hold nothing but sound batches in the order of their offsets."""
    last = -1
    for path in sorted(directory.glob("*.log")):
        data, position = path.read_bytes(), 0
        if data[_OFS_MAGIC : _OFS_MAGIC + 1] < b"\2":
            continue  # of the old formats, or empty
        for batch in sound_batches(data):
            assert batch.position == position, f"{path.name}: no batch at {position}"
            assert batch.base_offset > last, f"{path.name}: {batch.base_offset} after {last}"
            position, last = batch.end, batch.last_offset
            answer.written.update(range(batch.base_offset, last + 1))
            answer.rows.update(() if batch.is_control else batch.rows)
        assert position == len(data), f"{path.name}: no batch at {position}"


def _unused(account: Account) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Files and ranges that are not in the result, but for segments that a broker had put aside."""
    return [
        (file, one)
        for _partition, file in account.files()
        for one in file["ranges"]
        if one["status"] not in (*IN_RESULT, "padding") and file["path"].endswith(".log")
    ]


def _named_by_range(file: dict[str, Any], one: dict[str, Any]) -> Named:
    offsets, positions = (one["first_offset"], one["last_offset"]), (one["position"], one["end_position"])
    return Named(f"{one['status']}: {one['reason']}", file["path"], *offsets, *positions)
