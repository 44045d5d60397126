"""The Kaitai compiler's model, as `model.js` dumps it, in the words of `resolved`."""

from __future__ import annotations

import re
from typing import Any

from tests.codegen.resolved import OPERATORS, Tree, _without_order

KINDS = {"CalcBooleanType": "bool", "BitsType1": "bool", "CalcStrType": "str", "CalcBytesType": "bytes"}


def _class(dump: Tree) -> str:
    """The last part of a Scala class's name."""
    return re.split(r"[.$]", dump["$"])[-1]


class TheirSchema:
    """One schema of the compiler's.

    Args:
        dump: what `model.js` says of all of them, by stem.
        stem: this one's.
    """

    def __init__(self, dump: dict[str, Tree], stem: str) -> None:
        self._dump = dump
        self._root = dump[stem]
        self._struct: Tree = self._root

    def tree(self) -> Tree:
        """The schema in the words of `resolved`."""
        return self._struct_tree(self._root)

    def _struct_tree(self, struct: Tree) -> Tree:
        self._struct = struct
        instances = {id_["name"]: self._instance(found) for id_, found in struct["instances"]}
        found = {
            "doc": self._doc(struct["doc"]),
            "params": [self._param(param) for param in struct["params"]],
            "seq": {field["id"]["name"]: self._field(field) for field in struct["seq"]},
            "instances": dict(sorted(instances.items())),
            "enums": {name: self._enum(enum) for name, enum in sorted(struct["enums"])},
            "parent": self._parent(struct),
            "size": self._size(struct),
        }
        return found | {"types": {name: self._struct_tree(nested) for name, nested in struct["types"]}}

    def _size(self, struct: Tree) -> int | None:
        """Bits of the fields. The compiler counts those with a condition as if they were always there."""
        sizes = _class(struct["seqSize"]) == "FixedSized" and not any(map(self._may_be_absent, struct["seq"]))
        return struct["seqSize"]["n"] if sizes else None

    def _may_be_absent(self, field: Tree) -> bool:
        found = self._type(field["dataType"])
        inside = found[0] == "struct" and found[-1] is None and self._size(self._look_up(found[1])) is None
        return inside or field["cond"]["ifExpr"] is not None

    def _parent(self, struct: Tree) -> Tree:
        return tuple(struct["parentClass"]) if isinstance(struct["parentClass"], list) else None

    def _doc(self, doc: Tree) -> Tree:
        return self._summary(doc), tuple(found.get("url") or found["text"] for found in doc["ref"])

    def _summary(self, doc: Tree) -> str:
        return (doc["summary"] or "").rstrip("\n")

    def _param(self, param: Tree) -> Tree:
        return param["id"]["name"], _without_order(self._type(param["dataType"])), self._summary(param["doc"])

    def _enum(self, enum: Tree) -> Tree:
        return {number: (value["name"], self._summary(value["doc"])) for number, value in enum["map"]}

    def _instance(self, found: Tree) -> Tree:
        if _class(found) == "ParseInstanceSpec":
            return self._field(found)
        return {
            "value": self._expr(found["value"]),
            "kind": self._kind(found["dataTypeOpt"]),
            "if": self._expr(found["ifExpr"]),
            "doc": self._summary(found["doc"]),
        }

    def _kind(self, found: Tree) -> Tree:
        if _class(found) == "EnumType":
            return ("enum", tuple(found["enumSpec"]))
        if _class(found).startswith("Bytes"):
            return "bytes"
        if "Float" in _class(found):
            return "float"
        return KINDS.get(_class(found), "struct" if "UserType" in _class(found) else "int")

    def _field(self, field: Tree) -> Tree:
        condition = field["cond"]
        return {
            "type": self._type(field["dataType"]),
            "if": self._expr(condition["ifExpr"]),
            "repeat": self._repeat(condition["repeat"]),
            "valid": self._valid(field.get("valid")),
            "pos": self._expr(field.get("pos")),
            "doc": self._summary(field["doc"]),
        }

    def _repeat(self, repeat: Tree) -> Tree:
        kind = _class(repeat).removeprefix("Repeat").lower()
        return None if kind == "norepeat" else (kind, self._expr(repeat.get("expr")))

    def _valid(self, valid: Tree) -> Tree:
        if valid is None:
            return None
        kind = _class(valid)
        if kind == "ValidationEq" and self._expr(valid["value"]) == ("value", b"\0"):
            return ("never", ())
        if kind == "ValidationEq":
            return ("eq", (self._expr(valid["value"]),))
        if kind == "ValidationAnyOf":
            return ("any_of", tuple(map(self._expr, valid["values"])))
        if kind == "ValidationExpr":
            return ("expr", (self._expr(valid["checkExpr"]),))
        assert kind in ("ValidationMin", "ValidationMax", "ValidationRange")
        return ("min_max", (self._expr(valid.get("min")), self._expr(valid.get("max"))))

    # Types

    def _type(self, found: Tree) -> Tree:
        kind = _class(found)
        if kind == "Int1Type":
            return ("int", 1, found["signed"], True)
        if kind == "IntMultiType":
            big_endian = found["endian"] is not None and _class(found["endian"]) == "BigEndian"
            return ("int", found["width"]["width"], found["signed"], big_endian)
        if kind in ("BitsType1", "BitsType"):
            return ("bits", found.get("width", 1), _class(found["bitEndian"]) == "BigBitEndian")
        if kind == "EnumType":
            return ("enum", tuple(found["enumSpec"]), self._type(found["basedOn"]))
        if kind in ("UserTypeInstream", "UserTypeFromBytes"):
            arguments = tuple(map(self._expr, found["args"]))
            end = self._end(found["bytes"]) if "bytes" in found else None
            return ("struct", tuple(found["classSpec"]), arguments, end)
        if kind == "SwitchType":
            cases = {self._case(case): self._type(inner) for case, inner in found["cases"]}
            return ("switch", self._expr(found["on"]), cases)
        if kind == "FloatMultiType":
            return ("float", found["width"]["width"], _class(found["endian"]) == "BigEndian")
        if kind == "StrFromBytesType":
            return ("str", found["encoding"], self._end(found["bytes"]))
        return ("bytes", self._end(found)) if kind.startswith("Bytes") else ("bool",)

    def _case(self, case: Tree) -> Tree:
        found = self._expr(case)
        return None if found == ("name", "_") else found

    def _end(self, found: Tree) -> Tree:
        kind = _class(found)
        (terminator,) = found["terminator"] or (None,)
        terminator = None if terminator is None else terminator % 256
        if kind == "BytesTerminatedType":
            return ("terminator", terminator, found["include"], found["consume"], found["eosError"])
        pad = None if found["padRight"] is None else found["padRight"] % 256
        cut = (terminator, found["include"], pad)
        return ("size", self._expr(found["size"]), *cut) if kind == "BytesLimitType" else ("eos", *cut)

    # Expressions

    def _expr(self, found: Tree) -> Tree:
        if found is None:
            return None
        method: Any = getattr(self, f"_expr_{_class(found).lower()}")
        return method(found)

    def _expr_intnum(self, found: Tree) -> Tree:
        return ("value", int(found["n"]["text"]))

    def _expr_floatnum(self, found: Tree) -> Tree:
        return ("value", float(found["n"]["text"]))

    def _expr_list(self, found: Tree) -> Tree:
        return ("value", bytes(self._expr(item)[1] for item in found["elts"]))

    def _expr_bool(self, found: Tree) -> Tree:
        return ("value", found["n"])

    def _expr_str(self, found: Tree) -> Tree:
        return ("value", found["s"])

    def _expr_name(self, found: Tree) -> Tree:
        return ("name", found["id"]["name"])

    def _expr_attribute(self, found: Tree) -> Tree:
        name = found["attr"]["name"]
        if name == "_sizeof":
            return ("size", self._size_of_value(found["value"]))
        return ("member", self._expr(found["value"]), name)

    def _expr_call(self, found: Tree) -> Tree:
        return ("call", self._expr(found["func"]), *map(self._expr, found["args"]))

    def _expr_subscript(self, found: Tree) -> Tree:
        return ("subscript", self._expr(found["value"]), self._expr(found["idx"]))

    def _expr_unaryop(self, found: Tree) -> Tree:
        return ("unary", OPERATORS[_class(found["op"])], self._expr(found["operand"]))

    def _expr_binop(self, found: Tree) -> Tree:
        return ("binary", OPERATORS[_class(found["op"])], *map(self._expr, (found["left"], found["right"])))

    def _expr_compare(self, found: Tree) -> Tree:
        return ("binary", OPERATORS[_class(found["ops"])], *map(self._expr, (found["left"], found["right"])))

    def _expr_boolop(self, found: Tree) -> Tree:
        return ("logic", OPERATORS[_class(found["op"])], *map(self._expr, found["values"]))

    def _expr_ifexp(self, found: Tree) -> Tree:
        return ("ternary", *(self._expr(found[part]) for part in ("condition", "ifTrue", "ifFalse")))

    def _expr_casttotype(self, found: Tree) -> Tree:
        """Ours has no casts, which leave values as they are."""
        return self._expr(found["value"])

    def _expr_enumbyid(self, found: Tree) -> Tree:
        """A number whose names an instance says: ours has them in its type."""
        return self._expr(found["id"])

    def _expr_enumbylabel(self, found: Tree) -> Tree:
        """The compiler looks the enum up when it writes; here it is the nearest one of that name."""
        scope, name = found["inType"]["names"], found["enumName"]["name"]
        struct = self._look_up(scope) if scope else self._struct
        while name not in dict(struct["enums"]):
            struct = self._outer(struct)
        return ("label", *struct["name"], name, found["label"]["name"])

    def _expr_bytesizeoftype(self, found: Tree) -> Tree:
        names = found["typeName"]["names"]
        built_in = re.fullmatch(r"[us]([1248])(le|be)?", names[0])
        if built_in is not None:
            return ("size", int(built_in[1]))
        return ("size", (self._look_up(names)["seqSize"]["n"] + 7) // 8)

    def _size_of_value(self, value: Tree) -> int:
        """Bytes of a field of the same struct, or of one in it, by its type."""
        struct, name = self._struct, value["id" if "id" in value else "attr"]["name"]
        if "attr" in value:
            holder = value["value"]["id"]["name"]
            (field,) = (field for field in struct["seq"] if field["id"]["name"] == holder)
            struct = self._look_up(self._type(field["dataType"])[1])
        (field,) = (field for field in struct["seq"] if field["id"]["name"] == name)
        found = self._type(field["dataType"])
        if found[0] == "int":
            return int(found[1])
        if found[0] in ("bytes", "struct") and found[-1] is not None:
            return int(found[-1][1][1])
        return int((self._look_up(found[1])["seqSize"]["n"] + 7) // 8)

    # Names

    def _look_up(self, names: Tree) -> Tree:
        """A type by its names, from the innermost struct outwards."""
        struct = self._struct
        while True:
            for start in (
                struct if struct["name"][-1] == names[0] else None,
                dict(struct["types"]).get(names[0]),
            ):
                if start is not None:
                    return self._inside(start, names[1:])
            if len(struct["name"]) == 1:
                return self._inside(self._dump[names[0]], names[1:])
            struct = self._outer(struct)

    def _inside(self, struct: Tree, names: Tree) -> Tree:
        for name in names:
            struct = dict(struct["types"])[name]
        return struct

    def _outer(self, struct: Tree) -> Tree:
        return self._inside(self._dump[struct["name"][0]], struct["name"][1:-1])
