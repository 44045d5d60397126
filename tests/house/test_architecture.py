"""docs/architecture.md is true of the code: the picture, the floors, the names of modules and classes."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
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
    assert len(found) <= 22
    assert max(picture.floors(found).values()) <= 8
    assert sum(map(len, found.values())) <= 103


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
    return {name: others for name, others in found.items() if name.startswith(f"{room}.")}


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


ROOMS = [name for name, first in picture.rooms().items() if first.parent != RUNTIME]


@pytest.mark.parametrize("room", [one.replace("/", ".") for one in ROOMS])
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


def places_named(text: str) -> Iterator[tuple[str, list[Path]]]:
    """Each name of a file or folder in the tables of the page, and where it may be.

    A name without a folder is in the folder that was named before it in its row.
    """
    for row in re.findall(r"^\| .*", text, flags=re.MULTILINE):
        folder = ""
        for name in re.findall(r"`([a-z_0-9./]+)`", row.split(" | ")[-1]):
            path = name if "/" in name else f"{folder}{name}"
            folder = path[: path.rindex("/") + 1] if "/" in path else folder
            yield (
                path,
                [root / f"{path.rstrip('/')}{ending}" for root in (RUNTIME, ROOT) for ending in ("", ".py")],
            )


def test_places_that_the_tables_name_exist() -> None:
    found = list(places_named(PAGE.read_text(encoding="utf-8").split("## The concepts")[1]))
    assert [path for path, places in found if not any(place.exists() for place in places)] == []
    assert len(found) > 60
    assert not any(
        place.exists() for place in dict(places_named("| x | `core/io/nowhere` |"))["core/io/nowhere"]
    )


def test_the_page_has_two_pages() -> None:
    assert PAGE.read_text(encoding="utf-8").count("\n") <= 150


def test_every_tool_is_on_the_page_or_in_the_makefile() -> None:
    pages = ROOT / "tools" / "README.md", ROOT / "Makefile"
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    tools = [path.name for path in (ROOT / "tools").iterdir() if path.is_file() and path.suffix != ".md"]
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
