"""The tables of docs/damaged-directories.md: `python -m tests.invariant.page` writes them anew (needs Java).

What stands around the tables is written by hand; `<!-- kafka -->` or `<!-- verbs -->` is in front of each.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.invariant.answers import Answer
from tests.invariant.judge import Names
from tests.invariant.recovery import END, EXAMPLES, Recovered, files_of, recover, spans, write_copies
from tests.invariant.truth import Truth
from tests.invariant.verbs import VERBS, quiet_logs
from tests.made.log_directory import HIGH_WATERMARK, RECOVERY_POINT, Directory
from tests.made.partitions import recorded
from tests.python import locked

PAGE = Path(__file__).resolve().parents[2] / "docs" / "damaged-directories.md"
COLUMNS = {
    "dump": "`dump` of all files",
    "aborted": "`aborted`",
    "plan": "`plan`",
    "ingest": "`ingest`",
    "partition_events": "`open_partition`",
    "source": "Spark source",
}


def kafka_table(folder: Path) -> list[str]:
    """What a broker makes of each example."""
    answers = recover(write_copies(folder))
    lines = ["| what was done | start after a clean shutdown | start after a crash |", "|---|---|---|"]
    for number, example in enumerate(EXAMPLES):
        clean, unclean = answers[2 * number : 2 * number + 2]
        lines.append(f"| {example} | {_cell(clean)} | {'the same' if clean == unclean else _cell(unclean)} |")
    return lines


def _cell(recovered: Recovered) -> str:
    return str(recovered).replace("|", "\\|").replace("<", "&lt;")


def verbs_table(folder: Path) -> list[str]:
    """What each verb says of each example: the status, and the offsets that are named."""
    lines = [f"| what was done | {' | '.join(COLUMNS.values())} |", "|---" * (len(COLUMNS) + 1) + "|"]
    with locked(folder / "held.lock") as lock, quiet_logs():
        for at, example in enumerate(EXAMPLES):
            noted = {HIGH_WATERMARK: END, RECOVERY_POINT: END}
            directory = Directory(recorded("clean/multi-0"), files_of(example), noted, is_clean=True)
            # What was looked up is kept by path: each has its own.
            partition = directory.write(folder / str(at) / "log", lock)
            truth = Truth(directory)
            cells = [_said(truth, VERBS[verb](partition)) for verb in COLUMNS]
            lines.append(f"| {example} | {' | '.join(cells)} |")
    return lines


def _said(truth: Truth, answer: Answer) -> str:
    names = Names(truth, answer.named)
    named = spans([offset for offset in range(END) if names.has_offset(offset)])
    return f"{answer.status}: {named}" if named else f"{answer.status}"


def table_in(page: str, name: str) -> list[str]:
    """The table behind a mark in the page."""
    found = re.search(rf"<!-- {name} -->\n\n((?:\|.*\n)+)", page)
    assert found is not None, f"{PAGE.name} has no table {name}"
    return found[1].splitlines()


def _with_table(page: str, name: str, lines: Sequence[str]) -> str:
    table = "".join(f"{line}\n" for line in lines)
    return re.sub(rf"(<!-- {name} -->\n\n)(?:\|.*\n)*", lambda found: found[1] + table, page)


if __name__ == "__main__":
    text = PAGE.read_text()
    with tempfile.TemporaryDirectory() as scratch:
        text = _with_table(text, "kafka", kafka_table(Path(scratch) / "kafka"))
        text = _with_table(text, "verbs", verbs_table(Path(scratch)))
    PAGE.write_text(text)
