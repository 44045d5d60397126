"""Our model and the Kaitai compiler's own, in the same words, so that they can be compared.

Both become dictionaries of plain tuples: expressions as `("binary", "+", left, right)`, types as
`("int", 4, signed, big-endian)`. What one side alone knows is left out: the compiler does not keep what a
name stands for, and dashed keys are ours. What `sizeof` comes to is worked out of the compiler's own figures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from compiler.frontend import model as ir
from compiler.toolchain import FOLDER, ensure_packages, find_toolchain, run_node

Tree = Any
OPERATORS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "Mod": "%", "BitAnd": "&", "BitOr": "|", "BitXor": "^",
    "LShift": "<<", "RShift": ">>", "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=",
    "And": "and", "Or": "or", "Not": "not", "Minus": "-", "Invert": "~",
}  # fmt: skip


def compiler_model(schemas: list[Path]) -> dict[str, Tree]:
    """What the Kaitai compiler has resolved: for each schema's stem the dump of `model.js`."""
    tools = find_toolchain()
    ensure_packages(tools)
    script = Path(__file__).with_name("model.js")
    found = json.loads(run_node(tools, script, str(FOLDER), *map(str, schemas)))
    return {path.stem: found[str(path)] for path in schemas}


def differences(ours: Tree, theirs: Tree, place: str = "") -> Iterator[str]:
    """Where two trees differ, in words; nothing if they are the same."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in [*ours, *(name for name in theirs if name not in ours)]:
            if name not in ours or name not in theirs:
                yield f"{place}/{name}: only {'ours' if name in ours else 'the compiler'} has it"
            else:
                yield from differences(ours[name], theirs[name], f"{place}/{name}")
    elif ours != theirs:
        yield f"{place}: ours {ours}, the compiler {theirs}"


# --- Ours ---


def our_schema(model: ir.Model, stem: str) -> Tree:
    """A schema of our model."""
    return _our_struct(model.schemas[stem].root)


def _our_struct(struct: ir.Struct) -> Tree:
    return {
        "doc": (struct.doc, tuple(reference.split(" ")[0] for reference in struct.doc_refs)),
        "params": [(param.id, _without_order(_our_type(param.type)), param.doc) for param in struct.params],
        "seq": {field.id: _our_field(field) for field in struct.fields},
        "instances": dict(sorted((found.id, _our_instance(found)) for found in struct.instances)),
        "enums": {
            enum.path[-1]: _our_enum(enum) for enum in sorted(struct.enums, key=lambda enum: enum.path)
        },
        "types": {nested.path[-1]: _our_struct(nested) for nested in struct.types},
        "parent": struct.parent,
        "size": None if struct.fixed_size is None else 8 * struct.fixed_size,
    }


def _our_enum(enum: ir.Enum) -> Tree:
    return {member.number: (member.id, member.doc) for member in enum.members}


def _our_instance(found: ir.Field | ir.ValueInstance) -> Tree:
    if isinstance(found, ir.Field):
        return _our_field(found)
    return {
        "value": _our_expr(found.value),
        "kind": _our_kind(found.type),
        "if": _our_expr(found.condition),
        "doc": found.doc,
    }


def _our_kind(found: ir.DataType) -> Tree:
    """What an expression is, without its width: the compiler narrows literals, for C's sake."""
    if isinstance(found, ir.EnumType):
        return ("enum", found.path)
    if isinstance(found, ir.FloatType | ir.CalcFloatType):
        return "float"
    names = {ir.BoolType: "bool", ir.StrType: "str", ir.BytesType: "bytes", ir.UserType: "struct"}
    return names.get(type(found), "int")


def _our_field(field: ir.Field) -> Tree:
    repeat = field.repeat and (field.repeat.kind, _our_expr(field.repeat.expr))
    return {
        "type": _our_delimited(field),
        "if": _our_expr(field.condition),
        "repeat": repeat,
        "valid": field.valid and (field.valid.kind, tuple(map(_our_expr, field.valid.exprs))),
        "pos": _our_expr(field.pos),
        "doc": field.doc,
    }


def _our_delimited(field: ir.Field) -> Tree:
    end: Tree = None
    cut = (field.terminator, field.include, field.pad_right)
    if field.size is not None:
        end = ("size", _our_expr(field.size), *cut)
    elif field.size_eos:
        end = ("eos", *cut)
    elif field.terminator is not None:
        end = ("terminator", field.terminator, field.include, field.consume, field.eos_error)
    found = field.type
    if isinstance(found, ir.BytesType):
        return ("bytes", end)
    if isinstance(found, ir.StrType):
        zero = ("terminator", 0, False, True, True) if found.zero and end is None else end
        return ("str", found.encoding, zero)
    if isinstance(found, ir.UserType):
        return (*_our_type(found), end)
    if isinstance(found, ir.SwitchType):
        cases = {_our_expr(case): _our_delimited(replace(field, type=kind)) for case, kind in found.cases}
        if end is not None:
            cases.setdefault(None, ("bytes", end))
        return ("switch", _our_expr(found.on), cases)
    return _our_type(found)


def _our_type(found: ir.DataType) -> Tree:
    if isinstance(found, ir.IntType):
        return ("int", found.width_bytes, found.signed, found.big_endian or found.width_bytes == 1)
    if isinstance(found, ir.FloatType):
        return ("float", found.width_bytes, found.big_endian)
    if isinstance(found, ir.BitsType):
        return ("bits", found.width, found.big_endian)
    if isinstance(found, ir.EnumType):
        return ("enum", found.path, _our_type(found.base))
    if isinstance(found, ir.UserType):
        return ("struct", found.path, tuple(map(_our_expr, found.args)))
    assert isinstance(found, ir.BoolType)
    return ("bool",)


def _without_order(found: Tree) -> Tree:
    """The type of a parameter, which is in no stream and has no order of bytes."""
    if found[0] == "enum":
        return (*found[:2], _without_order(found[2]))
    return found[:3]


def _our_expr(found: ir.Expr | None) -> Tree:
    match found:
        case None:
            return None
        case ir.Int() | ir.Float() | ir.Bytes() | ir.Bool() | ir.Str():
            return ("value", found.value)
        case ir.Name():
            return ("name", found.id)
        case ir.EnumLabel():
            return ("label", *found.enum_path, found.label)
        case ir.Attribute():
            return ("member", _our_expr(found.object), found.id)
        case ir.Method():
            member = ("member", _our_expr(found.object), found.id)
            return ("call", member, *map(_our_expr, found.args)) if found.args else member
        case ir.Subscript():
            return ("subscript", _our_expr(found.object), _our_expr(found.index))
        case ir.Unary():
            return ("unary", found.op, _our_expr(found.operand))
        case ir.Binary() | ir.Compare():
            return ("binary", found.op, _our_expr(found.left), _our_expr(found.right))
        case ir.Logic():
            return ("logic", found.op, *map(_our_expr, found.operands))
        case ir.Ternary():
            parts = (found.condition, found.then, found.otherwise)
            return ("ternary", *map(_our_expr, parts))
        case ir.SizeOf():
            return ("size", found.value)
