"""What gives a layout away that is written by hand: rules over the syntax tree of a module.

Strategy: a parser cannot know what a number means, but there are only so many ways to get a value out of
bytes by hand, and each looks like itself. `RULES` names them. Most are certain (`int.from_bytes` has no other
use). Two are guesses, and lean towards too much:

* What is a buffer of bytes? What is annotated as one, comes from a call that makes one (`bytes(...)`,
  `source.read(...)`), is a slice of one, or is called as such things are called (`BUFFER_NAMES`). An index
  into it with a literal number anywhere in it is a finding: `data[position + 4]` no less than `data[4]`.
* What is a constant of a layout? A name like `OFS_*`, `LEN_*` or `*_MASK` that a literal number is assigned
  to. 0 is none: counting begins there. `MAX_LEN_*` is none: how much is read at most is ours to say.

Whoever is stopped by mistake gives the value a better name; whoever is stopped rightly asks
`kafka_segments.core.formats`, and that asks the generated classes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field

BUFFER_TYPES = re.compile(r"(bytes|bytearray|memoryview|Buffer|ReadableBuffer|(npt\.)?NDArray\[np\.uint8\])$")
BUFFER_NAME = re.compile(
    r"_*(blob|buf|buffer|bytes_|chunk|content|data|mem|memory|octets|payload|piece|raw|view|window|wire)"
)
BUFFER_CALL = re.compile(r"bytes|bytearray|memoryview|frombuffer|p?read|read_bytes|recv|tobytes|to_pybytes")

LAYOUT_NAME = re.compile(r"_*((ofs|len|pos|width|sizeof)_\w+|\w+_(ofs|len|mask|shift|magics?)|magics)", re.I)
# struct's and numpy's formats with a byte order: ">i8", "<u4", ">qiihB".
BYTE_ORDER = re.compile(r"[<>=!@|](\d*[?xcbBhHiIlLqQnNefdsSpPuUV]\d*)+")
# All the bits of a Java or C integer: arithmetic that wraps, not fields of a layout.
WHOLE_WORDS = frozenset((1 << bits) - 1 for bits in (31, 32, 63, 64))
# Calls that go to a place or take so many bytes from there, and calls that look for bytes.
READING = re.compile(
    r"preadv?|read1?|readexactly|readinto|recv|seek|skip|_?(load|peek)_?[suif]?\d+([bl]e)?|_?[bl]e\d+"
)
LOOKING = re.compile(r"count|endswith|r?find|r?index|r?partition|remove(prefix|suffix)|split|startswith")
READING_ARRAYS = frozenset(["frombuffer", "fromfile", "fromstring", "cast"])
PACKING = re.compile(r"(iter_)?unpack(_from)?|pack_into|calcsize|from_bytes|to_bytes|from_buffer(_copy)?")


@dataclass
class Scope:
    """What is known of the names in a function, or in a module: which hold bytes, and which do not."""

    buffers: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)

    def learn(self, name: str, annotation: ast.expr | None) -> None:
        """Note what an annotation says."""
        if annotation is None:
            return
        kinds = [kind.strip(" \"'") for kind in ast.unparse(annotation).split("|")]
        if any(BUFFER_TYPES.match(kind) for kind in kinds):
            self.buffers.add(name)
        elif kinds != ["Any"]:
            self.others.add(name)

    def holds_bytes(self, node: ast.expr) -> bool:
        """Whether an expression is, or may well be, a buffer of bytes."""
        if isinstance(node, ast.Name | ast.Attribute):
            name = ast.unparse(node)
            conventional = BUFFER_NAME.fullmatch(name.rpartition(".")[2]) and name.count(".") < 2
            return name in self.buffers or (bool(conventional) and name not in self.others)
        if isinstance(node, ast.Call):
            return BUFFER_CALL.fullmatch(called(node)) is not None
        if isinstance(node, ast.Subscript):
            return isinstance(node.slice, ast.Slice) and self.holds_bytes(node.value)
        if isinstance(node, ast.NamedExpr):
            return self.holds_bytes(node.value)
        return isinstance(node, ast.Constant) and isinstance(node.value, bytes)


def called(node: ast.AST) -> str:
    """The last word of what is called: `from_bytes` of `int.from_bytes(...)`; nothing if it is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def number(node: ast.AST | None) -> int | None:
    """The value of a literal integer, or of arithmetic on such; None for everything else."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Call) and len(node.args) == 1 and re.fullmatch(r"(u?int|[ui])\d*", called(node)):
        return number(node.args[0])  # np.uint64(127), and numba's short forms of it
    if isinstance(node, ast.UnaryOp | ast.BinOp):
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        if all(number(part) is not None for part in parts):
            code = re.sub(r"[\w.]*\(", "(", ast.unparse(node))
            return int(eval(code))
    return None


def holds_number(node: ast.AST) -> bool:
    """Whether a literal integer stands anywhere in an expression."""
    return any(number(part) is not None for part in ast.walk(node))


def imports_struct(node: ast.AST, scope: Scope) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name in ("struct", "_struct", "construct") for alias in node.names)
    return isinstance(node, ast.ImportFrom) and node.module in ("struct", "_struct", "construct")


def packs(node: ast.AST, scope: Scope) -> bool:
    taken_for_bytes = r"\(?ctypes\.c_(char|byte|ubyte)\b.*\.from_buffer"
    if isinstance(node, ast.Call) and re.fullmatch(taken_for_bytes, ast.unparse(node.func)):
        return False
    return PACKING.fullmatch(called(node)) is not None


def reads_a_type(node: ast.AST, scope: Scope) -> bool:
    return re.fullmatch(r"(read|write)_([suf][1248](be|le)?|bits_int(_be|_le)?)", called(node)) is not None


def lays_out(node: ast.AST, scope: Scope) -> bool:
    # ctypes' classes, also by the names that their bases have; numpy's types with fields.
    structure = re.compile(r"\b((Big|Little)Endian)?(Structure|Union)$")
    if isinstance(node, ast.ClassDef):
        return any(structure.search(ast.unparse(base)) for base in node.bases)
    if called(node) == "dtype" and isinstance(node, ast.Call):
        return any(isinstance(part, ast.List | ast.Dict) for part in node.args)
    return False


def names_a_byte_order(node: ast.AST, scope: Scope) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return BYTE_ORDER.fullmatch(node.value) is not None
    return called(node) in ("newbyteorder", "byteswap")


def reads_an_array(node: ast.AST, scope: Scope) -> bool:
    """Bytes taken for wider numbers; taken for bytes (`uint8`) they are what they were."""
    if not isinstance(node, ast.Call) or called(node) not in READING_ARRAYS:
        return False
    if isinstance(node.func, ast.Attribute) and called(node) == "cast":  # memoryview's, of one argument
        code = ast.unparse(node.args[0]) if len(node.args) == 1 else ""
        literal = re.fullmatch(r"'@?\w'", code) is not None
        return (literal or scope.holds_bytes(node.func.value)) and code not in ("'B'", "'b'", "'c'")
    kinds = [ast.unparse(argument) for argument in node.args[1:2]]
    kinds += [ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg == "dtype"]
    return not kinds or re.fullmatch(r"(np\.|numpy\.|')?u(int8|1|byte)'?", kinds[0]) is None


def holds_a_magic(node: ast.AST, scope: Scope) -> bool:
    """Bytes that are no text, in a pattern too; zeros are padding. And text that bytes are compared with."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
        text = node.value.strip(b"\0")
        return re.search(rb"[^\t\n\r -~]|\\x|\\[0-7]", text) is not None
    looked_for: list[ast.expr] = []
    if isinstance(node, ast.Compare):
        looked_for = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and LOOKING.fullmatch(called(node)):
        looked_for = node.args
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, bytes) and part.value.strip(b"\0\t\r\n ")
        for part in looked_for
    )


def picks_bytes(node: ast.AST, scope: Scope) -> bool:
    return isinstance(node, ast.Subscript) and scope.holds_bytes(node.value) and holds_number(node.slice)


def reads_a_place(node: ast.AST, scope: Scope) -> bool:
    if not isinstance(node, ast.Call) or not READING.fullmatch(called(node)):
        return False
    whole = [argument for argument in node.args if number(argument) not in (0, -1)]
    return any(number(part) for argument in whole for part in ast.walk(argument))


def assembles(node: ast.AST, scope: Scope) -> bool:
    """`high << 8 | low`, `value |= byte << shift`, `high * 256 + low`."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.BitOr | ast.Add | ast.BitXor) and is_moved(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.Add | ast.BitXor):
        return number(node) is None and (is_moved(node.left) or is_moved(node.right))
    return False


def is_moved(node: ast.expr) -> bool:
    """Whether an expression is some value moved up by bits, at least by the seven of a varint."""
    if not isinstance(node, ast.BinOp) or number(node.left) is not None:
        return False
    if isinstance(node.op, ast.LShift):
        by = number(node.right)
        return by is None or by >= 7
    factor = number(node.right)
    return isinstance(node.op, ast.Mult) and factor is not None and factor >= 128 and factor.bit_count() == 1


def masks(node: ast.AST, scope: Scope) -> bool:
    """`attributes & 7`, `byte & 0x7f`, `byte < 0x80`. Of other values, `& 1` asks whether they are odd."""
    if isinstance(node, ast.Compare):
        return any(number(part) == 0x80 for part in [node.left, *node.comparators])
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.BitAnd):
        return False
    for mask, value in ((number(node.left), node.right), (number(node.right), node.left)):
        if mask is None or mask in WHOLE_WORDS:
            continue
        moved = (
            isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.RShift)
            and number(value.right) is not None
        )
        if mask > 1 or moved or re.search(r"(?i)attributes|flags", ast.unparse(value)):
            return True
    return False


def names_a_layout(node: ast.AST, scope: Scope) -> bool:
    """A literal number (or several) under a name of positions, sizes, masks or magics."""
    pairs: list[tuple[str, ast.expr | None]] = []
    if isinstance(node, ast.Assign):
        pairs = [(ast.unparse(target), node.value) for target in node.targets]
    elif isinstance(node, ast.AnnAssign):
        pairs = [(ast.unparse(node.target), node.value)]
    elif isinstance(node, ast.keyword):
        pairs = [(node.arg or "", node.value)]
    elif isinstance(node, ast.arguments):
        named = [*node.posonlyargs, *node.args]
        pairs = [(arg.arg, value) for arg, value in zip(named[::-1], node.defaults[::-1], strict=False)]
        pairs += [(arg.arg, value) for arg, value in zip(node.kwonlyargs, node.kw_defaults, strict=True)]
    for names, value in pairs:
        values = value.elts if isinstance(value, ast.Tuple | ast.List | ast.Set) else [value]
        for name in names.strip("()").split(", "):
            if LAYOUT_NAME.fullmatch(name.rpartition(".")[2]) and any(map(is_small, values)):
                return True
    return False


def is_small(node: ast.AST | None) -> bool:
    """Whether a literal number may be a place, a size or a magic; how much is read at once is in between."""
    return 0 < abs(number(node) or 0) < 4096 or (number(node) or 0) >= 1 << 28


def lists_magics(node: ast.AST, scope: Scope) -> bool:
    """`magic in (0, 1, 2)`: which there are is what the schema's `cases` say."""
    if not isinstance(node, ast.Compare) or not re.search(r"(?i)magic$", ast.unparse(node.left)):
        return False
    return any(
        isinstance(operator, ast.In | ast.NotIn) and holds_number(among)
        for operator, among in zip(node.ops, node.comparators, strict=True)
    )


RULES: dict[str, Callable[[ast.AST, Scope], bool]] = {
    "struct": imports_struct,
    "packing": packs,
    "a Kaitai stream read by hand": reads_a_type,
    "a structure": lays_out,
    "a byte order": names_a_byte_order,
    "an array of numbers over bytes": reads_an_array,
    "a magic": holds_a_magic,
    "a place in a buffer": picks_bytes,
    "a place in a file": reads_a_place,
    "an integer put together": assembles,
    "a field of bits": masks,
    "a constant of a layout": names_a_layout,
    "a list of magics": lists_magics,
}


def looks_up(rule: str, node: ast.AST) -> bool:
    """Whether code inside an index only finds a place in a table, by a byte, as checksums do."""
    if rule == "an integer put together":
        return True
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.BitAnd):
        return False
    return 0xFF in (number(node.left), number(node.right))


class Finder(ast.NodeVisitor):
    """Walks a module, and notes (line, rule, code) where a rule applies."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str, str]] = []
        self._scopes = [Scope()]
        self._indexes: set[ast.AST] = set()

    def generic_visit(self, node: ast.AST) -> None:
        scope = self._scopes[-1]
        if isinstance(node, ast.arg):
            scope.learn(node.arg, node.annotation)
        elif isinstance(node, ast.AnnAssign):
            scope.learn(ast.unparse(node.target), node.annotation)
        elif isinstance(node, ast.Assign) and scope.holds_bytes(node.value):
            scope.buffers |= {ast.unparse(target) for target in node.targets}
        elif isinstance(node, ast.For) and scope.holds_bytes(node.iter):
            scope.others.add(ast.unparse(node.target))  # a byte of a buffer is a number
        elif isinstance(node, ast.Subscript) and not scope.holds_bytes(node.value):
            self._indexes.update(ast.walk(node.slice))
        for rule, applies in RULES.items():
            if applies(node, scope) and not (node in self._indexes and looks_up(rule, node)):
                self.found.append((getattr(node, "lineno", 0), rule, ast.unparse(node).split("\n", 1)[0]))
        super().generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer = self._scopes[-1]
        self._scopes.append(Scope(set(outer.buffers), set(outer.others)))
        self.generic_visit(node)
        inner = self._scopes.pop()
        # An object's attributes outlive the function that sets them.
        outer.buffers |= {name for name in inner.buffers if "." in name}
        outer.others |= {name for name in inner.others if "." in name}


def findings(text: str) -> list[tuple[int, str, str]]:
    """Line, rule and code of everything in a module that is a layout written by hand."""
    finder = Finder()
    finder.visit(ast.parse(text))
    return finder.found
