"""No command changes, makes, locks or touches anything below a source."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.folders import state_of
from tests.in_process import run_main
from tests.invariant.calls import CALLS, Call, make_places, make_table, untested
from tests.invariant.watch import watching


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_table(tmp_path_factory.mktemp("table"))


def test_every_command_has_a_row() -> None:
    assert untested() == set()


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_a_source_stays_as_it_is(call: Call, tmp_path: Path, table: Path) -> None:
    places = make_places(tmp_path, table if "TABLE" in call.words else None)
    places.source.chmod(0o755)
    before = state_of(places.source)
    changes: list[tuple[str, str]] = []

    def refuse(event: str, path: str) -> None:
        changes.append((event, path))
        raise PermissionError(f"{event} below a source: {path}")

    with watching(places.source, refuse):
        status, _, error = run_main(places.words(call))
    assert changes == []
    assert status == 0, error
    assert state_of(places.source) == before


@pytest.mark.parametrize(
    "call",
    [call for call in CALLS if call.writes not in ("", "in place") and call.reads_source],
    ids=lambda call: call.name,
)
def test_nothing_is_written_into_a_source(call: Call, tmp_path: Path) -> None:
    """A destination below the source is refused, by a link too."""
    places = make_places(tmp_path)
    (tmp_path / "link").symlink_to(places.source / "multi-0")
    before = state_of(places.source)
    for out in (places.source / "multi-0" / "out", tmp_path / "link" / "out"):
        words = [str(out) if word == str(places.out) else word for word in places.words(call)]
        status, _, error = run_main(words)
        assert status == 2, error
        assert state_of(places.source) == before


def test_what_is_changed_is_seen(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "link").symlink_to(tmp_path)
    before = state_of(tmp_path)
    with watching(tmp_path, lambda event, path: seen.append((event, path))):
        (tmp_path / "a").read_bytes()
        assert seen == []
        os.utime(tmp_path / "link" / "a", (1, 1))
        with open(tmp_path / "a", "r+b") as file:
            os.ftruncate(file.fileno(), 0)
    assert [event for event, _ in seen] == ["os.utime", "open", "os.truncate"]
    assert {path for _, path in seen} == {os.path.realpath(tmp_path / "a")}
    assert state_of(tmp_path)["a"] != before["a"]
