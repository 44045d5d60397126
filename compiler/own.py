"""A package of schemas of a user's own, each target as far as it goes.

Strategy: Kaitai's classes come from Kaitai's own compiler, whatever our front end says. The other targets
take the schemas in which nothing is wrong for them. Each reason why one is left out of a target is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from compiler.errors import Problems, SchemaError
from compiler.frontend import load_sound
from compiler.frontend.model import Model
from compiler.targets import columns, construct, kaitai

__all__ = ["OPTIONAL", "Package", "make"]

# Targets that a schema may be left out of, and what makes them.
OPTIONAL: dict[str, Callable[[list[Path], Model], Mapping[str, str]]] = {
    "construct": construct.generate,
    "columns": columns.generate,
}
Files: TypeAlias = "dict[str, str]"


@dataclass(slots=True)
class Package:
    """What was made.

    Attributes:
        files: names, relative to the package, to texts.
        notes: a line for each reason why a schema is left out of targets, and for each warning.
        lacking: the targets that something is left out of.
    """

    files: Files = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    lacking: set[str] = field(default_factory=set)

    def note(self, problems: Problems, targets: Sequence[str]) -> None:
        """Note why schemas are left out of targets; without targets, what is only a warning."""
        for error in sorted(problems.found, key=lambda each: (each.schema, each.line or 0)):
            error.detail = error.detail.removeprefix(f"{targets[0]}: " if targets else "")
            self.notes.append(error.line_for(f"left out of {' and '.join(targets)}" if targets else ""))
            self.lacking.update(targets)


def make(own: Sequence[Path], folder: Path) -> Package:
    """Make a package of schemas, and of what they import.

    Args:
        own: paths of `.ksy` files.
        folder: the project's schemas, which they may import.

    Raises:
        SchemaError: the Kaitai compiler refuses a schema; `more` has its other errors, and those of the front
            end, which know columns.
        ToolchainError: Node or the compiler is not available.
    """
    package, problems, warnings = Package(), Problems(), Problems()
    model = Model({})
    with problems.noted():
        model = load_sound(own, [folder], problems)
    try:
        known = sorted(folder.glob("*.ksy"))
        classes = kaitai.generate_any([*own], known, model, warnings)
    except SchemaError as error:
        problems.add(error)
        problems.check()
    package.files |= {f"kaitai/{name}": text for name, text in classes.items()}
    package.note(problems, [*OPTIONAL])
    for target, generate in OPTIONAL.items():
        left_out = Problems()
        files, sound = _made(generate, model, left_out)
        package.files |= {f"{target}/{name}": text for name, text in files.items()}
        for stem in (path.stem for path in own if target == "columns"):
            if stem in sound.schemas and f"{stem}.py" not in files:
                place = sound.schemas[stem].root.place
                detail = "nothing in it has -record-column or -batch-column (docs/own-formats.md)"
                left_out.add(SchemaError(detail, schema=place.schema, line=place.line, column=place.column))
        package.note(left_out, [target])
    package.note(warnings, [])
    return package


def _made(
    generate: Callable[[list[Path], Model], Mapping[str, str]], model: Model, left_out: Problems
) -> tuple[Files, Model]:
    """The files of a target, and the schemas that are in it: those in which nothing is wrong for it."""
    while True:
        problems = Problems()
        with problems.noted():
            return {**generate([], model)}, model
        stems = problems.stems() & model.schemas.keys()
        for error in problems.found:
            left_out.add(error)
        if not stems:
            return {}, Model({})
        model = _without(model, stems, left_out)


def _without(model: Model, stems: set[str], left_out: Problems) -> Model:
    """The schemas but for some, and but for those that import one of them."""
    kept = {}
    for stem, schema in model.schemas.items():
        gone = [name for name in schema.imports if name not in kept]
        if stem in stems:
            continue
        if gone:
            place, detail = schema.root.place, f"it imports {gone[0]}, which is left out"
            left_out.add(SchemaError(detail, schema=place.schema, line=place.line, column=place.column))
        else:
            kept[stem] = schema
    return Model(kept)
