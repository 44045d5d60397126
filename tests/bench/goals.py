"""Goals and how they are judged: rows that say what was to be reached, what was, and whether that is enough.

A ratio is always better when it is larger, and a goal is the least that it may be. Where a figure may be at
most something, the ratio is how many times it fits into that, and the goal is 1. A bound may be a table by
kinds of CPU; on others it is not judged.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.decoders import DECODERS
from tests.bench.processes import Figure
from tests.bench.rounds import Measured

Row = dict[str, Any]
OTHER_KIND = "no goal for this kind of CPU"
QUICK = "not judged at a quick run's size"
FILE = Path(__file__).with_name("goals.toml")


@dataclasses.dataclass(frozen=True)
class RateGoal:
    """Ours must be so many times faster over a corpus than another; `at_least` None: not on this kind of CPU.

    `why` says why the kinds of CPU differ, where they do.
    """

    corpus: str
    peer: str
    at_least: float | None
    named: str = ""
    ours: str = "columns"
    why: str = ""


@dataclasses.dataclass(frozen=True)
class FigureGoal:
    """A figure's bound, from below or from above; neither: not on this kind of CPU.

    `or_times` is another bound from above: so many times the figure's own floor, where that is more.
    """

    name: str
    at_least: float | None = None
    at_most: float | None = None
    or_times: float = 0
    full_size: bool = False
    why: str = ""

    def most(self, figure: Figure) -> float | None:
        """What a figure may be at most."""
        if self.at_most is None or figure.floor is None:
            return self.at_most
        return max(self.at_most, self.or_times * figure.floor)


def load(kind: str, path: Path = FILE) -> tuple[list[RateGoal], list[FigureGoal]]:
    """The goals of `goals.toml` for a kind of CPU."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    rates, figures = (
        [{key: of_kind(value, kind) for key, value in entry.items()} for entry in tables[table]]
        for table in ("rate", "figure")
    )
    return [RateGoal(**entry) for entry in rates], [FigureGoal(**entry) for entry in figures]


def of_kind(value: Any, kind: str) -> Any:
    """A value for a kind of CPU; None if it is given for other kinds only."""
    return value.get(kind) if isinstance(value, Mapping) else value


def peers_of(measured: Sequence[Measured]) -> dict[str, Measured]:
    """The peers that checked CRCs and have a rate, by name."""
    return {
        name: entry
        for name, entry in rated(measured).items()
        if entry.decoder.kind == "peer" and entry.decoder.compared != "columns-no-crc"
    }


def rated(measured: Sequence[Measured]) -> dict[str, Measured]:
    """Those that have a rate, by name."""
    return {entry.decoder.name: entry for entry in measured if entry.rate is not None}


def judge_rate(goal: RateGoal, measured: Sequence[Measured], quick: bool = False) -> Row:
    """The row of a rate goal, from what was measured on its corpus."""
    others = peers_of(measured) if goal.peer == "fastest" else rated(measured)
    ours = next((entry for entry in measured if entry.decoder.name == goal.ours), None)
    wanted = goal.named or goal.peer
    other = "the fastest peer" if goal.peer == "fastest" else DECODERS[goal.peer].title
    row: Row = {
        "name": f"{goal.ours} against {other}",
        "corpus": goal.corpus,
        "ratio": None,
        "goal": goal.at_least,
        "met": None,
    }
    if ours is None or wanted not in others:
        found = [entry for entry in measured if entry.decoder.name == wanted]
        reason = found[0].problem if found else "did not take part"
        return row | {"peer": wanted, "note": f"{DECODERS[wanted].title} {reason or 'did not run'}"}
    key = goal.peer if goal.peer != "fastest" else max(others, key=lambda name: others[name].rate or 0)
    peer = others[key]
    row |= raw_of(ours) | {"ours": goal.ours, "ours_mrps": rounded(ours.rate)}
    row |= {"peer": key, "peer_mrps": rounded(peer.rate)}
    if ours.rate is None or peer.rate is None:
        # Wrong or no results of ours are a miss; nobody else is to blame.
        return row | {"met": False, "note": ours.problem}
    ratio = ours.rate / peer.rate
    row |= {"ratio": rounded(ratio), "note": DECODERS[key].title}
    if goal.at_least is None:
        return row | {"note": f"{row['note']}; {OTHER_KIND}"}
    return row | ({"note": f"{row['note']}; {QUICK}"} if quick else {"met": ratio >= goal.at_least})


def judge_figure(figure: Figure, goal: FigureGoal | None, quick: bool) -> Row:
    """The row of a figure, with its goal if it has one."""
    row: Row = {"name": figure.title, "corpus": figure.corpus, "ratio": None, "goal": None, "met": None}
    row |= {"figure": rounded(figure.value), "unit": figure.unit, "limit": None, "note": figure.note}
    row |= {"bytes": figure.num_bytes, "seconds": rounded(figure.seconds), "passes": figure.passes}
    if goal is None:
        return row
    most = goal.most(figure)
    if most is not None:
        row |= {"goal": 1, "limit": f"<= {most:.3g} {figure.unit}".rstrip()}
        ratio = None if not figure.value else most / figure.value
    elif goal.at_least is None:
        return row | {"note": f"{figure.note}; {OTHER_KIND}".lstrip("; ")}
    else:
        row |= {"goal": goal.at_least, "limit": f">= {goal.at_least:g} {figure.unit}".rstrip()}
        ratio = figure.value
    row["ratio"] = rounded(ratio)
    if figure.failed:
        row["met"] = False
    elif quick and goal.full_size:
        row["note"] = f"{figure.note}; {QUICK}".lstrip("; ")
    elif ratio is not None:
        row["met"] = ratio >= row["goal"]
    return row


def judge_figures(figures: Sequence[Figure], goals: Sequence[FigureGoal], quick: bool) -> Iterator[Row]:
    """A row for each figure, and for each goal whose figure was never had."""
    by_name = {goal.name: goal for goal in goals}
    failed = [figure for figure in figures if figure.failed]
    for figure in figures:
        yield judge_figure(figure, by_name.pop(figure.name, None), quick)
    for goal in by_name.values():
        blamed = next((one for one in failed if goal.name.startswith(one.name)), None)
        note = blamed.note if blamed else "not measured"
        yield judge_figure(
            Figure(goal.name, goal.name, "", "", note=note, failed=blamed is not None), goal, quick=False
        )


def decoder_rows(measured: Sequence[Measured]) -> Iterator[Row]:
    """A row without a goal for everybody who took part, or could not: ours over theirs as the ratio."""
    rates = {entry.decoder.name: entry.rate for entry in measured}
    for entry in measured:
        ours = rates.get(entry.decoder.compared)
        ratio = None
        if ours and entry.rate and entry.decoder.compared != entry.decoder.name:
            ratio = rounded(ours / entry.rate)
        row: Row = {"name": entry.decoder.title, "corpus": entry.corpus.name, "ratio": ratio}
        row |= {"goal": None, "met": None, "decoder": entry.decoder.name, "kind": entry.decoder.kind}
        row |= {"mrps": rounded(entry.rate), "ours": entry.decoder.compared, "ours_mrps": rounded(ours)}
        yield row | raw_of(entry) | {"note": entry.problem or entry.library}


def raw_of(entry: Measured) -> Row:
    """A decoder's raw figures."""
    share = entry.consuming / entry.seconds if entry.consuming is not None and entry.seconds else None
    return {
        "bytes": entry.num_bytes,
        "records": entry.records,
        "seconds": None if entry.problem else rounded(entry.seconds),
        "passes": entry.passes,
        "checksum": entry.checksum,
        "checksum_share": rounded(share),
    }


def rounded(value: float | None) -> float | None:
    """A figure with as many digits as it deserves."""
    return None if value is None else float(f"{value:.4g}")
