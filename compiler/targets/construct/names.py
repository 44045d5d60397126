"""Names of structs and enums in generated modules, and the imports that a module needs."""

from __future__ import annotations

from compiler.frontend.model import Model, Path


def camel(name: str) -> str:
    """`record_body` as `RecordBody`."""
    return "".join(part.capitalize() for part in name.split("_"))


class Names:
    """The names in one module, and the imports that they need.

    Args:
        model: all schemas.
        stem: the schema that the module is for.
        taken: names that are used already.
    """

    def __init__(self, model: Model, stem: str, taken: frozenset[str]) -> None:
        self._model, self._stem, self._taken = model, stem, taken
        self.siblings: dict[str, set[str]] = {}
        self.typing_siblings: dict[str, set[str]] = {}
        self.late: set[str] = set()
        self.construct: set[str] = {"Construct"}
        self.support: set[str] = set()

    def struct(self, path: Path) -> str:
        """A struct's name: its schema's in CamelCase, of nested ones the path below."""
        return self._avoid(camel(path[0]) if len(path) == 1 else "".join(map(camel, path[1:])), "Type")

    def enum(self, path: Path) -> str:
        """An enum's name: the path below the schema."""
        name = self._avoid("".join(map(camel, path[1:])), "Enum")
        structs = {self.struct(found.path) for found in self._model.schemas[path[0]].root.walk()}
        return f"{name}Enum" if name in structs else name

    def _avoid(self, name: str, ending: str) -> str:
        return name + ending if name in self._taken else name

    def values(self, path: Path) -> str:
        """The name of the mapping type that a struct is built from."""
        return f"{self.struct(path)}Values"

    def use(self, path: Path, name: str, *, typing_only: bool = False) -> str:
        """A name of another module, imported; one of this module as it is."""
        if path[0] != self._stem:
            (self.typing_siblings if typing_only else self.siblings).setdefault(path[0], set()).add(name)
        return name

    def from_construct(self, name: str) -> str:
        """A name of construct's own, imported."""
        self.construct.add(name)
        return name

    def from_support(self, name: str) -> str:
        """A name of the support modules, imported."""
        self.support.add(name)
        return name
