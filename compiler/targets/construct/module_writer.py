"""The generated module of a schema: enums, types to build from, declarations in order of dependency."""

from __future__ import annotations

import keyword
from collections.abc import Iterator

from compiler.frontend.model import (
    Attribute,
    DataType,
    Enum,
    Field,
    Model,
    Path,
    Schema,
    Struct,
    SwitchType,
    UserType,
    ValueInstance,
)
from compiler.targets.construct.declarations import Declarer, opened_name
from compiler.targets.construct.expression_text import function
from compiler.targets.construct.expression_values import instances_at
from compiler.targets.construct.implied_fields import implied_fields
from compiler.targets.construct.names import Names
from compiler.targets.construct.python_text import (
    WIDTH,
    Call,
    Labelled,
    Mapped,
    Node,
    comment,
    docstring,
    lines,
)


class ModuleWriter:
    """Writes the module of one schema.

    Args:
        model: all schemas.
        schema: which one.
        taken: names that no struct or enum may have.
    """

    def __init__(self, model: Model, schema: Schema, taken: frozenset[str]) -> None:
        self._model, self._schema = model, schema
        self._names = Names(model, schema.stem, taken)
        self._declared: set[Path] = set()
        self._regions = frozenset(_regions(model))

    def text(self) -> str:
        """The module, without the line that says what made it."""
        structs = list(_ordered(self._schema.root, self._model))
        enums = [enum for struct in self._schema.root.walk() for enum in struct.enums]
        body = [line for enum in enums for line in self._enum(enum)]
        for struct in structs:
            body += self._struct(struct)
            self._declared.add(struct.path)
        exported = [self._names.enum(enum.path) for enum in enums]
        exported += [self._names.struct(struct.path) for struct in structs]
        exported += [self._names.values(struct.path) for struct in structs if struct.varint is None]
        return "\n".join([*self._head(exported, bool(enums)), *body]).rstrip() + "\n"

    def _head(self, exported: list[str], has_enums: bool) -> list[str]:
        refs = "".join(f"- {ref}\n" for ref in self._schema.doc_refs)
        doc = f"{self._schema.title}.\n\n{self._schema.doc}" + (f"\n\n{refs}" if refs else "")
        names = self._names
        typing = {
            stem: found - names.siblings.get(stem, set()) for stem, found in names.typing_siblings.items()
        }
        typing = {stem: found for stem, found in typing.items() if found}
        from_typing = ["TYPE_CHECKING"] * bool(typing) + ["TypedDict"] * any(
            n.endswith("Values") for n in exported
        )
        head = [*docstring(doc), "", "from __future__ import annotations", ""]
        head += ["import enum"] * has_enums
        head += [f"from typing import {', '.join(from_typing)}"] * bool(from_typing)
        head += [""] * (has_enums or bool(from_typing))
        head += [*_import("construct", names.construct), "", *_import("._support", names.support)]
        for stem, found in sorted(names.siblings.items()):
            head += _import(f".{stem}", found | names.typing_siblings.get(stem, set()))
        if typing:
            head += ["", "if TYPE_CHECKING:"]
            head += [f"    {line}" for stem in sorted(typing) for line in _import(f".{stem}", typing[stem])]
        head += ["", "__all__ = [", *(f'    "{name}",' for name in sorted(exported)), "]"]
        for stem in sorted(names.late):
            root = names.struct((stem,))
            head += ["", "", f"def _{stem}() -> Construct:", f"    from .{stem} import {root}", ""]
            head += [f"    return {root}"]
        return head

    def _enum(self, enum: Enum) -> Iterator[str]:
        yield from ("", "", f"class {self._names.enum(enum.path)}(enum.IntEnum):")
        yield from docstring(f"Numbers that have names; others may occur. `{'::'.join(enum.path)}`.", 1)
        yield ""
        for member in enum.members:
            yield from (f"    {line}" for line in comment(member.doc, 1))
            name = f"{member.id}_" if keyword.iskeyword(member.id) else member.id
            yield f"    {name} = {member.number}"

    # Structs

    def _struct(self, struct: Struct) -> Iterator[str]:
        name = self._names.struct(struct.path)
        if struct.varint is not None:
            yield from ("", "", *lines(self._varint(struct), f"{name}: Construct = "))
            return
        late = frozenset(set(self._model_paths()) - self._declared)
        implied = implied_fields(self._model, struct, frozenset(self._region_names(struct)))
        declarer = Declarer(self._model, self._names, struct, implied, late)
        yield from ("", "", *self._values(struct, declarer, set(implied)), "", "")
        members = [*self._fields(struct, declarer), *self._instances(struct, declarer)]
        call = Call(self._names.from_support("Struct"), [f'"{"::".join(struct.path)}"', *members])
        if struct.params:
            call.keywords["params"] = Mapped([(f'"{p.id}"', declarer.param(p)) for p in struct.params])
        if struct.fixed_size is not None:
            call.keywords["size"] = str(struct.fixed_size)
        if len(struct.path) == 1:
            call.keywords["is_root"] = "True"
        yield from lines(call, f"{name}: Construct = ")

    def _model_paths(self) -> Iterator[Path]:
        """Structs that are not defined yet at the module's beginning: its own, and those of its importers."""
        for schema in self._model.schemas.values():
            if schema.stem not in self._imported(self._schema):
                yield from (struct.path for struct in schema.root.walk())

    def _imported(self, schema: Schema) -> set[str]:
        found = set(schema.imports)
        return found.union(*(self._imported(self._model.schemas[stem]) for stem in schema.imports))

    def _region_names(self, struct: Struct) -> Iterator[str]:
        yield from (name for path, name in self._regions if path == struct.path)

    def _varint(self, struct: Struct) -> Node:
        varint = struct.varint
        assert varint is not None
        call = Call(self._names.from_support("Varint"), [str(varint.bits)], {"zigzag": str(varint.zigzag)})
        most = -(-varint.bits // 7) - 1  # groups of the repeated field; the last one is a field of its own
        for field in struct.fields:
            text = (
                f"list(this._groups[:{most}])" if field.repeat else f"next(iter(this._groups[{most}:]), None)"
            )
            call.keywords[field.id] = f"lambda this: {text}"
        for instance in struct.instances:
            if isinstance(instance, ValueInstance):
                call.keywords[instance.id] = "int" if instance.id == "value" else function(instance.value)
        return call

    def _values(self, struct: Struct, declarer: Declarer, implied: set[str]) -> Iterator[str]:
        """The mapping type that a struct is built from."""
        name = self._names.struct(struct.path)
        yield f"class {self._names.values(struct.path)}(TypedDict, total=False):"
        doc = struct.doc if len(struct.path) > 1 else ""
        yield from docstring(
            f"What `{name}.build` takes.\n\n{doc}" if doc else f"What `{name}.build` takes.", 1
        )
        yield ""
        regions = set(self._region_names(struct))
        members = [*struct.fields, *(at for at in instances_at(struct) if at.id not in regions)]
        for field in members:
            if field.is_check:
                continue
            note = "derived" if field.id in implied else _note(field)
            yield from _annotated(field.id, declarer.annotation(field), f"  # {note}" if note else "")
            codec = field.extensions.codec
            if codec is not None and codec.content_type is not None:
                yield f"    {opened_name(field)}: {declarer.values(codec.content_type)}"
        if not members:
            yield "    pass"

    def _fields(self, struct: Struct, declarer: Declarer) -> Iterator[Labelled]:
        position: int | None = 0
        for field in struct.fields:
            size = None if field.repeat or field.condition else _fixed_size(field, self._model)
            yield Labelled(field.id, declarer.field(field), _comments(field, _where(position, size)))
            known = position is not None and size is not None
            position = position + size if known else None  # type: ignore[operator]

    def _instances(self, struct: Struct, declarer: Declarer) -> Iterator[Labelled]:
        regions = set(self._region_names(struct))
        for instance in struct.instances:
            if isinstance(instance, Field):
                node = declarer.instance(instance, instance.id in regions)
            else:
                node = declarer.value_instance(instance)
            yield Labelled(instance.id, node, _comments(instance, ""))
        for field in struct.fields:
            codec = field.extensions.codec
            if codec is not None and codec.content_type is not None:
                text = f"What is inside `{field.id}`, if it is compressed and a codec for it is given."
                yield Labelled(opened_name(field), declarer.opened(field), comment(text, 1))


def _annotated(name: str, annotation: str, note: str) -> list[str]:
    if keyword.iskeyword(name):
        return [f"    # {name}: {annotation} (a word of Python's, which no class can have as a name)"]
    flat = f"    {name}: {annotation}{note}"
    if len(flat) <= WIDTH:
        return [flat]
    first, *others = annotation.split(" | ")
    rows = [f"        {first}", *(f"        | {other}" for other in others)]
    return [f"    {name}: ({note}", *rows, "    )"]


def _import(module: str, names: set[str]) -> list[str]:
    ordered = sorted(names)
    flat = f"from {module} import {', '.join(ordered)}"
    if len(flat) <= 100:
        return [flat]
    return [f"from {module} import (", *(f"    {name}," for name in ordered), ")"]


def _note(field: Field) -> str:
    """A note on the value of a field that is not given, from its dashed keys."""
    extensions = field.extensions
    if extensions.checksum is not None or extensions.derive is not None:
        return "derived"
    if extensions.default is not None:
        return f"{extensions.default} if not given"
    if field.valid is not None and field.valid.kind == "eq":
        return f"always {getattr(field.valid.exprs[0], 'value', 'derived')}"
    return ""


def _comments(member: Field | ValueInstance, where: str) -> list[str]:
    title = ", ".join(member.orig_id)
    start = ": ".join(part for part in (where, title) if part)
    text = ". ".join(part for part in (start, member.doc.strip()) if part)
    return comment(text, 1)


def _where(position: int | None, size: int | None) -> str:
    """Where a field lies, as far as the schema fixes it."""
    if position is None or size == 0:
        return ""
    if size is None:
        return f"From byte {position}"
    return f"Byte {position}" if size == 1 else f"Bytes {position} to {position + size - 1}"


def _fixed_size(field: Field, model: Model) -> int | None:
    """The size of a field that has the same in all files, in bytes; None if it has not, or is bits."""
    size = field.size
    if size is not None:
        return getattr(size, "value", None)
    if isinstance(field.type, UserType):
        return model.struct(field.type.path).fixed_size
    base = getattr(field.type, "base", field.type)
    return getattr(base, "width_bytes", None)


def _regions(model: Model) -> Iterator[tuple[Path, str]]:
    """Instances that some checksum covers: they only show other fields' bytes."""
    for schema in model.schemas.values():
        for struct in schema.root.walk():
            for field in struct.fields:
                region = None if field.extensions.checksum is None else field.extensions.checksum.region
                if isinstance(region, Attribute):
                    owner = region.object.type
                    path = owner.path if isinstance(owner, UserType) else struct.parent
                    yield (path or struct.path), region.id
                elif region is not None:
                    yield struct.path, getattr(region, "id", "")


def _ordered(root: Struct, model: Model) -> list[Struct]:
    """The structs of a schema, in order of dependency."""
    found: list[Struct] = []
    seen: set[Path] = set()

    def visit(struct: Struct) -> None:
        if struct.path in seen:
            return
        seen.add(struct.path)
        for path in _needed(struct):
            if path[0] == root.path[0]:
                visit(model.struct(path))
        found.append(struct)

    for struct in root.walk():
        if struct is not root:
            visit(struct)
    visit(root)
    return found


def _needed(struct: Struct) -> Iterator[Path]:
    for field in (*struct.fields, *instances_at(struct)):
        yield from _paths(field.type)


def _paths(kind: DataType) -> Iterator[Path]:
    if isinstance(kind, UserType):
        yield kind.path
    if isinstance(kind, SwitchType):
        yield from (case.path for _, case in kind.cases if isinstance(case, UserType))
