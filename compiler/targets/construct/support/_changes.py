# ruff: noqa: SLF001 (trees, drafts and declarations are friends)
"""What was changed in a parsed tree, and what it was before.

A tree remembers what its fields were when they are assigned, and which elements its lists had. So building
can work out a derived field twice, from the values as parsed and as they are now: only where the two differ
does the field follow the change. What has nothing to do with the change keeps its bytes.
"""

from __future__ import annotations

from typing import Any

from construct import ConstructError

from ._tree import BuildingError, MissingError, Tree


def was_assigned(tree: Any, name: str) -> bool:
    """Whether a field or instance was assigned since the tree was parsed."""
    return isinstance(tree, Tree) and name in (tree._original or ())


def has_changed(value: Any) -> bool:
    """Whether anything was changed in a tree, in the elements of a list or in what lies in them."""
    if isinstance(value, list):
        return any(has_changed(element) for element in value)
    if not isinstance(value, Tree):
        return False
    return bool(value._original) or any(member_has_changed(value, name) for name in value.__dict__)


def member_has_changed(tree: Tree, name: str) -> bool:
    """Whether one field or instance of a tree was assigned, or anything changed in it."""
    if was_assigned(tree, name):
        return True
    value = tree.__dict__.get(name)
    if isinstance(value, list) and _other_elements(value, (tree._lists or {}).get(name, ())):
        return True
    return name not in tree._struct.params and has_changed(value)


def _other_elements(now: list[Any], before: tuple[Any, ...]) -> bool:
    return len(now) != len(before) or any(one is not other for one, other in zip(now, before, strict=True))


def as_parsed(tree: Tree, name: str) -> Any:
    """What a field or instance was when the tree was parsed; trees in it are to be asked in the same way."""
    original = tree._original or {}
    value = original[name] if name in original else _readable(tree, name)
    return list((tree._lists or {})[name]) if isinstance(value, list) else value


def given_now(tree: Tree, name: str) -> Any:
    """What a field or instance is now; None also for an instance that cannot be read."""
    return _readable(tree, name)


def _readable(tree: Tree, name: str) -> Any:
    try:
        return getattr(tree, name)
    except ConstructError:  # the bytes it lies in are there too
        return None


def check_codecs(draft: Any) -> None:
    """Refuse bytes that stay compressed in one way where the fields now name another.

    Raises:
        BuildingError: the algorithm was changed, so that what is in the bytes is unknown; or the bytes were
            changed, and what is in them too.
    """
    tree = draft._given
    for name, lazy in draft._struct.lazy.items():
        codec = getattr(lazy, "codec", None)
        if codec is None:
            continue
        if codec.source in draft._struct.by_name and was_assigned(tree, codec.source):
            if member_has_changed(tree, name):
                raise BuildingError(
                    f"{codec.source} and {name} were both changed: change one of them", path=draft._path
                )
            continue
        if given_now(tree, name) is not None or was_assigned(tree, codec.source):
            continue
        before, now = codec.algorithm_of(draft._as_parsed()), codec.algorithm_of(draft)
        if before != now and given_now(tree, codec.source):
            todo = "" if before == "none" else f"parse with a codec for {before} (codecs=...), or "
            raise BuildingError(
                f"{codec.source} was compressed with {before}, and the fields now say {now}: "
                f"{todo}assign {codec.source} too",
                path=draft._path,
            )


def check_places(this: Any, path: str) -> None:
    """Refuse to take the place of a new element for its number, where the parsed ones beside it do not.

    Raises:
        MissingError: a parsed element of the same list has another number than its place.
    """
    node: Any = this
    while node is not None and node._position is None:
        node = node._parent
    owner: Any = None if node is None else node._parent
    if node is None or not hasattr(type(owner), "_given_for"):
        return  # no list around that is built
    name = node._path[len(owner._path) :].removeprefix(" -> ").partition("[")[0]
    if (id(owner), name) in this._work.placed:
        return
    this._work.placed.add((id(owner), name))
    inner = path[len(node._path) :].removeprefix(" -> ").split(" -> ")
    for index, element in enumerate(owner._given_for(name) or ()):
        value = element
        for step in inner:
            value = getattr(value, step, None) if isinstance(value, Tree) else None
        if value is not None and value != index:
            raise MissingError(
                f"the place in {name} does not tell it: element {index} was parsed with {value}; give it",
                path=path,
            )
