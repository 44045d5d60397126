"""Files of entries of one size, read and written as a whole by Python's `struct`."""

from __future__ import annotations

from compiler.frontend.model import IntType, Model, Schema, Struct, UserType

__all__ = ["IMPORTS", "functions"]

# These modules are not made to be compiled, and import what others may not.
IMPORTS = ["from array import array", "from collections.abc import Iterable", "from struct import Struct"]

_LETTERS = {1: "b", 2: "h", 4: "i", 8: "q"}
_NUM_AT_ONCE = 4096


def functions(schema: Schema, model: Model) -> tuple[list[str], list[list[str]]] | None:
    """Constants and functions for a schema that is such a file; None for all others."""
    struct = _entry_of(schema.root, model)
    form = None if struct is None else _form_of(struct)
    if struct is None or form is None:
        return None
    names = ", ".join(f'"{field.id}"' for field in struct.fields)
    constants = [
        f'_ENTRY = Struct("{form}")',
        f"_NUM_AT_ONCE = {_NUM_AT_ONCE}",
        f"LEN_ENTRY = {struct.fixed_size}",
        f"COLUMNS = ({names},)" if len(struct.fields) == 1 else f"COLUMNS = ({names})",
    ]
    return constants, [_READ, _WRITE]


def _entry_of(root: Struct, model: Model) -> Struct | None:
    """The struct that the file repeats to its end, if it is all of the file."""
    if len(root.fields) != 1 or root.params:
        return None
    field = root.fields[0]
    is_repeated = field.repeat is not None and field.repeat.kind == "eos"
    is_plain = field.condition is None and not (field.size or field.size_eos or field.terminator is not None)
    if not (is_repeated and is_plain and isinstance(field.type, UserType) and not field.type.args):
        return None
    return model.struct(field.type.path)


def _form_of(struct: Struct) -> str | None:
    """The format for `struct`; None unless all fields are signed integers of one byte order."""
    letters, orders = "", set()
    for field in struct.fields:
        is_plain = field.condition is None and field.repeat is None and field.valid is None
        if not is_plain or not isinstance(field.type, IntType) or not field.type.signed:
            return None
        letters += _LETTERS[field.type.width_bytes]
        orders.add(">" if field.type.big_endian else "<")
    return orders.pop() + letters if len(orders) == 1 else None


_READ = [
    "def read_columns(data: bytes | memoryview) -> tuple[array[int], ...]:",
    '    """The columns, a value an entry. `data` holds whole entries."""',
    '    columns = tuple(array("q") for _ in COLUMNS)',
    "    len_piece = _NUM_AT_ONCE * LEN_ENTRY",
    "    for at in range(0, len(data), len_piece):",
    "        rows = _ENTRY.iter_unpack(data[at : at + len_piece])",
    "        for column, values in zip(columns, zip(*rows, strict=True), strict=True):",
    "            column.extend(values)",
    "    return columns",
]
_WRITE = [
    "def write_columns(*columns: Iterable[int]) -> bytes:",
    '    """Entries from their columns, all of one length; `struct.error` is what no field can hold."""',
    '    return b"".join(_ENTRY.pack(*row) for row in zip(*columns, strict=True))',
]
