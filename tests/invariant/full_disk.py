"""Call all writers on a disk that is full or cannot be written: `python -m tests.invariant.full_disk KIND`.

Runs in a mount namespace of its own, where it may mount a small file system. Prints a JSON object of what
each call said and left.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.in_process import run_main
from tests.invariant.calls import WRITERS, Places, make_places, make_table

LEN_DISK = 8192
"""Bytes of the full disk: room for a name and a beginning."""


def mount(kind: str, folder: Path) -> None:
    """Mount a file system at a folder: "full" with little room, "read-only" without any."""
    options = f"size={LEN_DISK}" if kind == "full" else "size=1m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    if kind != "full":
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


def main(arguments: Sequence[str]) -> None:
    """Call each writer on a new disk."""
    found = {}
    with tempfile.TemporaryDirectory() as work:
        table = make_table(Path(work) / "ingested")
        for number, call in enumerate(WRITERS):
            if call.writes == "in place":
                continue
            places = make_places(Path(work) / str(number), table if "TABLE" in call.words else None)
            disk = places.out.parent
            mount(arguments[0], disk)
            status, _, error = run_main(Places(places.source, places.table, disk / "out").words(call))
            left = sorted(path.relative_to(disk).as_posix() for path in disk.rglob("*"))
            found[call.name] = {"status": status, "error": error, "left": left}
            subprocess.run(["umount", str(disk)], check=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
