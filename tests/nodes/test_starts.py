"""What `verify` says of a changed node is what a broker did: see `trials` and docs/verify-reference.md."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.nodes.page import PAGE, consequence, page_with, table
from tests.nodes.trials import STATES_OF_NODE, Lab, Outcome, missing, recorded, unpack
from tests.nodes.ways import Case, change

from kafka_segments.cli.main import main

OUTCOMES = recorded()
HARM = ("does not start", "puts aside", "deletes", "truncates")
NUM_BLOCKS = 12
UNUSED_LINK = "a link orders-3 to nowhere"
"""Of a partition that no checkpoint has: the broker passes over it, and it is a finding all the same."""


def verified(node: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> tuple[list[str], dict[str, Any]]:
    """The paths of findings relative to the node, and what a broker makes of it by them."""
    status = main(["verify", "--format", "jsonl", str(node)])
    *found, summary = map(json.loads, capfdbinary.readouterr().out.splitlines())
    assert status == (1 if found else 0)
    (log_dir,) = summary["log_dirs"]
    return [str(one["path"]).removeprefix(f"{node}/") for one in found], log_dir


def predicted(log_dir: dict[str, Any]) -> str:
    """What the verdict says, in the words of `consequence`."""
    if not log_dir["starts"]:
        return "does not start"
    said = zip(HARM[1:], ("strayed", "deleted", "truncated"), strict=True)
    return next((words for words, name in said if log_dir[name]), "serves")


@pytest.mark.parametrize("case", OUTCOMES, ids=str)
def test_findings_and_verdict_are_what_a_broker_did(
    case: Case, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    node = unpack(case.state, tmp_path / "node")
    change(case, node, unpack("other", tmp_path / "other"))
    paths, log_dir = verified(node, capfdbinary)
    came = consequence(OUTCOMES[case])
    if came in HARM:
        assert paths, "no finding"
        assert predicted(log_dir) in ((came,) if came in HARM[:2] else HARM[2:])
        return
    assert predicted(log_dir) == "serves" or case.way == UNUSED_LINK
    if not case.name and came == "serves all" and case.way != UNUSED_LINK:
        assert paths == []
        assert log_dir["detail"] == f"{node}: a Kafka 4.3 broker starts, and serves all"
    # A file that a broker mends, or does not read, is damaged all the same: that is said of it, or its log.
    assert all(Path(case.name).parent == Path(path).parent for path in paths) or came != "serves all"


def test_at_least_150_were_tried() -> None:
    assert len(OUTCOMES) >= 150
    assert {consequence(one) for one in OUTCOMES.values()} > set(HARM[:3])


def test_the_page_has_the_table() -> None:
    assert PAGE.read_text() == page_with(table()), "python -m tests.nodes.page writes it anew"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with tempfile.TemporaryDirectory(dir=tmp_path_factory.mktemp("nodes")) as work:
        lab = Lab(Path(work))
        for state in STATES_OF_NODE:
            lab.begin(state)
        yield lab


def _known(outcome: Outcome) -> tuple[object, ...]:
    return outcome.starts, outcome.strayed, consequence(outcome)


@pytest.mark.broker
@pytest.mark.long(short=False)
@pytest.mark.parametrize("block", range(NUM_BLOCKS))
def test_a_broker_does_the_same_again(block: int, lab: Lab) -> None:
    """Every fourth case; `python -m tests.nodes.trials` tries all."""
    for case in list(OUTCOMES)[4 * block :: 4 * NUM_BLOCKS]:
        assert _known(lab.try_out(case)) == _known(OUTCOMES[case]), str(case)


def test_all_cases_are_known_by_their_names(tmp_path: Path) -> None:
    for state in STATES_OF_NODE:
        every = list(missing(state, tmp_path / state, {}))
        assert {case for case in OUTCOMES if case.state == state} <= set(every)
