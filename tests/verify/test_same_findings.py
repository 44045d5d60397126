"""Tables and entries give the same findings, whatever was done to the files, and no bytes another error."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests import forms
from tests.verify.plants import PLANTS, make_base
from tests.verify.test_plants import verified

from kafka_segments.errors import MissingExtraError

NUM_CASES = forms.pick(25, 1500)
TABLES = "kafka_segments.core.segment.verified.verified_tables.iter_tables_verified"


def missing(*_arguments: object, **_options: object) -> None:
    """Stand for a package that is not installed."""
    raise MissingExtraError("not installed", extra="arrow")


def damage(path: Path, random: Random) -> None:
    """Change a file at random: bytes flipped, cut, zeroed, doubled, or inserted."""
    data = bytearray(path.read_bytes())
    if not data:
        return
    at = random.randrange(len(data))
    size = random.choice((1, 1, 1, 8, 60, 700))
    kind = random.randrange(5)
    if kind == 0:
        data[at] ^= 1 << random.randrange(8)
    elif kind == 1:
        del data[at : at + size]
    elif kind == 2:
        data[at : at + size] = bytes(len(data[at : at + size]))
    elif kind == 3:
        data[at:at] = data[at : at + size]
    else:
        data[at:at] = random.randbytes(size)
    path.write_bytes(data)


@pytest.mark.long
def test_tables_and_entries_give_the_same_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    num_findings = 0
    for seed in range(NUM_CASES):
        random = Random(seed)
        root = make_base(tmp_path / str(seed))
        if random.random() < 0.5:
            PLANTS[random.choice(list(PLANTS))].do(root)
        files = sorted(path for path in root.rglob("*") if path.is_file())
        for _ in range(random.randrange(1, 4)):
            damage(random.choice(files), random)
        rows, summary = verified(root)
        with monkeypatch.context() as patch:
            patch.setattr(TABLES, missing)
            slow_rows, slow = verified(root)
        assert rows == slow_rows, seed
        assert summary.totals == slow.totals, seed
        num_findings += len(rows)
    assert num_findings > NUM_CASES / 2
