"""Rows as `build/bench.json` has them: raw figures, and goals judged by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench_spark.runs import Measured

Row = dict[str, Any]
QUICK = "not judged at a quick run's size"
NOT_YET = ("unknown option", "there is no column")


def note_of(measured: Measured) -> str:
    """Why there is no figure."""
    words = measured.error or ""
    return f"not yet: {words}" if any(part in words for part in NOT_YET) else words


def raw(measured: Measured) -> Row:
    """A run's figures, as a row without a goal."""
    row: Row = {"name": f"{measured.read.side} {measured.read.query}", "corpus": measured.read.corpus.topic}
    row |= {
        "ratio": None,
        "goal": None,
        "met": None,
        "side": measured.read.side,
        "query": measured.read.query,
    }
    row |= {"mrps": rounded(measured.mrps), "mrp_cpu_second": rounded(measured.mrp_cpu)}
    row |= {"from_disk": measured.read.is_cold}
    row |= {"records": measured.read.corpus.num_records, "num_tasks": measured.num_tasks}
    for name in ("wall", "jvm", "python", "planning", "broker", "task_cpu"):
        row[f"{name}_seconds"] = None if measured.error else rounded(getattr(measured, name))
    told = {name: value for name, value in measured.read.options.items() if not name.startswith("fs.")}
    return row | {"options": told, "note": note_of(measured)}


def faster(name: str, ours: Measured, peer: Measured, at_least: float, quick: bool) -> Row:
    """Ours must read so many times as many records a second as a peer does."""
    row: Row = {"name": name, "corpus": ours.read.corpus.topic, "ratio": None, "goal": at_least, "met": False}
    row |= {"ours": ours.read.side, "ours_mrps": rounded(ours.mrps)}
    row |= {"peer": peer.read.side, "peer_mrps": rounded(peer.mrps)}
    if ours.mrps is None or peer.mrps is None:
        return row | {"note": note_of(ours if ours.mrps is None else peer)}
    ratio = ours.mrps / peer.mrps
    by_cpu = (ours.mrp_cpu or 0) / (peer.mrp_cpu or 1)
    note = f"{by_cpu:.3g} by CPU time, without the broker's"
    row |= {"ratio": rounded(ratio), "met": ratio >= at_least, "note": note}
    return row | {"met": None, "note": f"{note}; {QUICK}"} if quick else row


@dataclass(frozen=True)
class Figure:
    """A figure that may be at most something; None where it could not be had."""

    name: str
    corpus: str
    value: float | None
    unit: str
    at_most: float | None
    note: str = ""
    full_size: bool = False


def judge(figure: Figure, quick: bool) -> Row:
    """A figure's row. The ratio is how many times it fits into what is allowed."""
    row: Row = {"name": figure.name, "corpus": figure.corpus, "ratio": None, "goal": None, "met": None}
    row |= {"figure": rounded(figure.value), "unit": figure.unit, "limit": None, "note": figure.note}
    if figure.at_most is None:
        return row
    row |= {"goal": 1, "limit": f"<= {figure.at_most:g} {figure.unit}".rstrip(), "met": False}
    if figure.value is not None:
        ratio = figure.at_most / figure.value if figure.value > 0 else None
        row |= {"ratio": rounded(ratio), "met": figure.value <= figure.at_most}
        if quick and figure.full_size:
            row |= {"met": None, "note": f"{figure.note}; {QUICK}".lstrip("; ")}
    return row


def best(found: Sequence[Measured]) -> Measured:
    """The quickest of some runs of the same; a failed one only if all have."""
    return min(found, key=lambda one: (one.error is not None, one.wall))


def rounded(value: float | None) -> float | None:
    """A figure with as many digits as it deserves."""
    return None if value is None else float(f"{value:.4g}")
