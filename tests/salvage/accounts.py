"""The account that a manifest gives, checked against the bytes of sources and result.

Every byte of every source file is in exactly one range; what is said to be in the result is there, byte for
byte; what is said to be in the quarantine is there; everything else has a reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka_segments.core.io.filesystems import Places
from kafka_segments.salvage.salvaging import salvage

IN_RESULT = ("copied", "same")


@dataclass
class Account:
    """A salvage that was made, and its manifest.

    Attributes:
        destination: the result.
        manifest: of it.
    """

    destination: Path
    manifest: dict[str, Any] = field(repr=False)

    @property
    def partitions(self) -> list[dict[str, Any]]:
        """The manifest's partitions."""
        found: list[dict[str, Any]] = self.manifest["partitions"]
        return found

    def only(self) -> dict[str, Any]:
        """The only partition."""
        (one,) = self.partitions
        return one

    def log(self, name: str) -> Path:
        """A partition's directory in the result."""
        return self.destination / "log" / name

    def result_bytes(self, name: str) -> bytes:
        """All segments of a partition of the result."""
        return b"".join(path.read_bytes() for path in sorted(self.log(name).glob("*.log")))

    def files(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Each source file with its partition."""
        for partition in self.partitions:
            for file in partition["files"]:
                yield partition, file

    def reasons(self) -> list[str]:
        """Why ranges are not in the result, in their order."""
        ranges = (one for _partition, file in self.files() for one in file["ranges"])
        return [one["reason"] for one in ranges if one["status"] not in (*IN_RESULT, "padding")]

    def copied_from(self) -> list[tuple[str, int, int]]:
        """Source file and offsets of each range that was copied."""
        return [
            (file["path"], one["first_offset"], one["last_offset"])
            for _partition, file in self.files()
            for one in file["ranges"]
            if one["status"] == "copied"
        ]


def salvaged(sources: Sequence[Path], destination: Path, **options: Any) -> Account:
    """Salvage sources, and check the account."""
    salvage([str(one) for one in sources], str(destination), places=Places(), **options)
    account = Account(destination, json.loads((destination / "manifest.json").read_text()))
    check(account)
    return account


def check(account: Account) -> None:
    """Check that every byte is accounted for."""
    for partition, file in account.files():
        path = Path(file["path"])
        data = path.read_bytes() if path.is_file() else b""
        assert file["sha256"] in (None, hashlib.sha256(data).hexdigest())
        position = 0
        for one in file["ranges"]:
            assert one["position"] == position < one["end_position"], (path, one)
            position = one["end_position"]
            _check_range(account, one, data)
        assert position == file["size"], path
        assert partition["log_start_offset"] <= partition["log_end_offset"]
    for partition in account.partitions:
        for segment in partition["segments"]:
            data = (account.destination / segment["path"]).read_bytes()
            assert (segment["size"], segment["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())


def _check_range(account: Account, one: dict[str, Any], data: bytes) -> None:
    status, size = one["status"], one["end_position"] - one["position"]
    if status == "padding":
        assert not any(data[one["position"] : one["end_position"]])
        return
    assert status in (*IN_RESULT, "quarantined", "unreadable")
    assert bool(one["reason"]) == (status not in IN_RESULT)
    if status == "unreadable":
        assert one["to"] is None
        return
    with (account.destination / one["to"]["path"]).open("rb") as kept:
        kept.seek(one["to"]["position"])
        assert kept.read(size) == data[one["position"] : one["end_position"]]
