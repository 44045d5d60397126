"""docs/architecture.md is true of the code: the picture, the floors, the names of modules and classes."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from tools import picture

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime" / "kafka_segments"
PAGE = ROOT / "docs" / "architecture.md"


def test_the_picture_is_made_from_todays_imports() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == picture.page(text), "run `make picture`"


def test_a_new_import_makes_the_picture_stale() -> None:
    found = picture.arrows()
    assert picture.drawn(found) in PAGE.read_text(encoding="utf-8")
    found["core/io"].add("core/codecs")
    assert picture.drawn(found) not in PAGE.read_text(encoding="utf-8")


def test_there_are_few_rooms_on_few_floors() -> None:
    found = picture.arrows()
    assert len(found) <= 21
    assert max(picture.floors(found).values()) <= 8
    assert sum(map(len, found.values())) <= 96


def imports_within(room: str) -> dict[str, set[str]]:
    """The modules of a room that each of its modules imports, also in functions or for types alone."""
    found = {}
    files = {".".join(one.relative_to(RUNTIME).with_suffix("").parts): one for one in RUNTIME.rglob("*.py")}
    for name, path in files.items():
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        froms = [one for one in nodes if isinstance(one, ast.ImportFrom) and one.module]
        named = {
            f"{one.module}{ending}" for one in froms for ending in ("", *(f".{a.name}" for a in one.names))
        }
        named = {one.removeprefix("kafka_segments.") for one in named}
        found[name] = {one for one in files if one.removesuffix(".__init__") in named and one != name}
    return {name: others for name, others in found.items() if name.split(".")[0] == room}


def circle_in(found: dict[str, set[str]], *, of_folders: bool = False) -> list[str]:
    """Modules that import each other in a circle, or folders; empty if there are none."""
    joined = defaultdict[str, set[str]](set)
    for name, others in found.items():
        folder = name.rpartition(".")[0] if of_folders else name
        joined[folder] |= {one.rpartition(".")[0] if of_folders else one for one in others} - {folder}
    try:
        TopologicalSorter(joined).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


ROOMS = "duckdb errors ingest like_kafka log polars query report salvage search spark verify write"


@pytest.mark.parametrize("room", ROOMS.split())
def test_no_room_has_a_circle_inside(room: str) -> None:
    found = imports_within(room)
    assert (circle_in(found), circle_in(found, of_folders=True)) == ([], [])
    found |= {f"{room}.planning": {f"{room}.low.part"}, f"{room}.low.part": {f"{room}.above"}}
    assert set(circle_in(found, of_folders=True)) == {room, f"{room}.low"}


def test_modules_that_the_page_names_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rooms = "|".join(name for name in picture.rooms() if not name.startswith("__"))
    named = set(re.findall(rf"`((?:{rooms})/[a-z_0-9/]*)`", text))
    assert len(named) > 20
    missing = [one for one in named if not (RUNTIME / one).is_dir() and not (RUNTIME / f"{one}.py").exists()]
    assert missing == []


def test_modules_that_the_page_names_by_room_exist() -> None:
    text = PAGE.read_text(encoding="utf-8").split("## Where is ...?")[1].split("\n## ")[0]
    missing, found = [], 0
    for part in text.split("\n\n**")[1:]:
        room, *names = re.findall(r"`([a-z_0-9/]+)`", part)
        folder = next((one for one in (RUNTIME / room, ROOT / room) if one.is_dir()), None)
        if folder is not None:
            there = [(folder / name).is_dir() or (folder / f"{name}.py").exists() for name in names]
            missing += [f"{room}{name}" for name, is_there in zip(names, there, strict=True) if not is_there]
            found += sum(there)
    assert missing == []
    assert found > 150


def test_every_tool_is_on_the_page_or_in_the_makefile() -> None:
    text = PAGE.read_text(encoding="utf-8") + (ROOT / "Makefile").read_text(encoding="utf-8")
    tools = [f"tools/{path.name}" for path in (ROOT / "tools").iterdir() if path.is_file()]
    assert [one for one in tools if one not in text] == []


def test_no_public_class_has_the_name_of_another() -> None:
    found = defaultdict(set)
    for path in RUNTIME.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].add(path.relative_to(RUNTIME).as_posix())
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_no_module_has_the_name_of_another() -> None:
    found = defaultdict(set)
    for path in RUNTIME.rglob("*.py"):
        folder = path.relative_to(RUNTIME).parts[0]
        if folder != "cli":  # a verb has the name of what it runs
            found[path.stem].add(path.relative_to(RUNTIME).as_posix())
    assert {name: files for name, files in found.items() if len(files) > 1 and name != "__init__"} == {}
