"""Python expressions with their lowest and highest possible values.

A comparison whose outcome follows from the bounds becomes a constant. What may exceed 64 bits is wrapped
before it is stored, and refused where it would be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import floordiv, lshift, mul, rshift

from compiler.frontend.model import Place
from compiler.targets.columns.model.segment_layout import unsupported

__all__ = [
    "FALSE",
    "LONG",
    "TRUE",
    "Term",
    "arithmetic",
    "choice",
    "compare",
    "constant",
    "flag",
    "logic",
    "negate",
    "negative",
    "stored",
    "variable",
]

LONG = (-(1 << 63), (1 << 63) - 1)
# How tightly Python's operators bind.
_CHOICE, _OR, _AND, _NOT, _COMPARE = 1, 2, 3, 4, 5
_POWERS = {"|": 6, "^": 7, "&": 8, "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "//": 11, "%": 11}
_MINUS = 12
_ATOM = 20
_OPERATIONS = {"*": mul, "//": floordiv, "<<": lshift, ">>": rshift}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Term:
    """A Python expression.

    Attributes:
        text: the piece.
        power: how tightly its outermost operator binds.
        low, high: the least and the most that it can be; 0 and 1 for truth values.
        opposite: of a truth value: text and power of its negation.
    """

    text: str
    power: int
    low: int
    high: int
    opposite: tuple[str, int] | None = None

    @property
    def value(self) -> int | None:
        """The value, if it is constant."""
        return self.low if self.low == self.high else None

    @property
    def is_choice(self) -> bool:
        """Whether it is a conditional expression."""
        return self.power == _CHOICE

    def within(self, power: int) -> str:
        """The text as an operand of an operator that binds with `power`."""
        return self.text if self.power > power else f"({self.text})"


def constant(value: int) -> Term:
    """A constant integer."""
    return Term(str(value), _ATOM if value >= 0 else _ATOM - 1, value, value)


def variable(name: str, bounds: tuple[int, int] = LONG) -> Term:
    """A variable that holds an integer."""
    return Term(name, _ATOM, *bounds)


def flag(name: str) -> Term:
    """A variable that holds a truth value."""
    return Term(name, _ATOM, 0, 1, (f"not {name}", _NOT))


TRUE = Term("True", _ATOM, 1, 1, ("False", _ATOM))
FALSE = Term("False", _ATOM, 0, 0, ("True", _ATOM))


def stored(term: Term) -> str:
    """The text of a value to be stored as 64 bits."""
    return term.text if _is_long(term) else f"wrap({term.text})"


def _is_long(term: Term) -> bool:
    return LONG[0] <= term.low and term.high <= LONG[1]


def negative(term: Term) -> Term:
    """`-term`."""
    if term.value is not None:
        return constant(-term.value)
    return Term(f"-{term.within(_MINUS)}", _MINUS, -term.high, -term.low)


def arithmetic(op: str, left: Term, right: Term, place: Place) -> Term:
    """`left op right`; the operators are those of the schemas, where `/` is rounded down."""
    op = "//" if op == "/" else op
    if op in ("//", "%", "<<", ">>") and (right.value is None or right.value < (op in ("//", "%"))):
        raise unsupported(f"{op} is supported with a positive constant on its right only", place)
    low, high = _bounds(op, left, right, place)
    if low == high:
        return constant(low)
    power = _POWERS[op]
    if op == "+" and right.value == 0:
        return left
    if op == "+" and left.value == 0:
        return right
    text = f"{left.within(power - 1)} {op} {right.within(power)}"
    return Term(text, power, low, high)


def _bounds(op: str, left: Term, right: Term, place: Place) -> tuple[int, int]:
    a, b, c, d = left.low, left.high, right.low, right.high
    if op == "+":
        return a + c, b + d
    if op == "-":
        return a - d, b - c
    if op == "%":
        return (a, b) if a >= 0 and b < c else (0, c - 1)
    if op in ("*", "//", "<<", ">>"):
        apply = _OPERATIONS[op]
        corners = [int(apply(x, y)) for x in (a, b) for y in (c, d)]
        return min(corners), max(corners)
    if a < 0 or c < 0:
        raise unsupported(f"{op} is supported of numbers that are never negative only", place)
    if op == "&":
        return (a & c, a & c) if a == b and c == d else (0, min(b, d))
    return 0, (1 << max(b, d).bit_length()) - 1


def compare(op: str, left: Term, right: Term, place: Place) -> Term:
    """`left op right`, or its outcome if it follows from the bounds."""
    outcome = _outcome(op, left, right)
    if outcome is not None:
        return TRUE if outcome else FALSE
    if not (_is_long(left) and _is_long(right)):
        raise unsupported("what is compared may be beyond 64 bits", place)
    first, second = left.within(_COMPARE), right.within(_COMPARE)
    opposite = f"{first} {_OPPOSITE[op]} {second}", _COMPARE
    return Term(f"{first} {op} {second}", _COMPARE, 0, 1, opposite)


def _outcome(op: str, left: Term, right: Term) -> bool | None:
    """The outcome of a comparison, if it follows from the bounds."""
    if op in (">", ">="):
        return _outcome({">": "<", ">=": "<="}[op], right, left)
    if op in ("<", "<="):
        strict = op == "<"
        if left.high < right.low or (not strict and left.high == right.low):
            return True
        if left.low > right.high or (strict and left.low == right.high):
            return False
        return None
    if left.high < right.low or left.low > right.high:
        return op == "!="
    if left.value is not None and left.value == right.value:
        return op == "=="
    return None


def negate(term: Term) -> Term:
    """`not term`."""
    if term.value is not None:
        return FALSE if term.value else TRUE
    text, power = term.opposite or (f"not {term.within(_NOT)}", _NOT)
    return Term(text, power, 0, 1, (term.text, term.power))


def logic(op: str, operands: list[Term]) -> Term:
    """`a and b and c`, or with `or`."""
    decides = int(op == "or")
    left: list[Term] = []
    for operand in operands:
        if operand.value == decides:
            return TRUE if decides else FALSE
        if operand.value is None:
            left.append(operand)
    if not left:
        return FALSE if decides else TRUE
    if len(left) == 1:
        return left[0]
    text, power = _joined(op, left)
    return Term(text, power, 0, 1, _joined("and" if decides else "or", [negate(each) for each in left]))


def _joined(op: str, operands: list[Term]) -> tuple[str, int]:
    power = _OR if op == "or" else _AND
    return f" {op} ".join(operand.within(power) for operand in operands), power


def choice(condition: Term, then: Term, otherwise: Term) -> Term:
    """`then if condition else otherwise`."""
    if condition.value is not None:
        return then if condition.value else otherwise
    text = f"{then.within(_CHOICE)} if {condition.within(_CHOICE)} else {otherwise.text}"
    return Term(text, _CHOICE, min(then.low, otherwise.low), max(then.high, otherwise.high))
