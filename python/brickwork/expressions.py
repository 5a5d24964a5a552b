"""Expressions over columns, as SQL defines them: null is unknown.

A number is an integer in units of its last digit, so every result is exact. A party computes expressions over
its own columns in the clear. `secret` computes all other expressions inside a circuit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import UsageError
from .functions import where
from .integers import Integer, constant
from .kinds import WIDEST, Boolean, Key, Kind, Number, Text, canonical
from .tracing import body
from .types import IntegerType
from .values import BIT, here


@dataclass(frozen=True)
class Expression:
    """A node of an expression.

    Attributes:
        op: `cell` (a named value), `constant`, `+`, `-`, `*`, `<<`, `round`, `=`, `<`, `and`, `or`, `not`,
            `null` (whether the part is null), `if` (condition, value if it is true, value otherwise), or the
            name of an aggregate.

        value: the name of a cell, the number or code of a constant (None for null), the bits of a shift, or
            the step of rounding.
    """

    kind: Kind
    op: str
    parts: tuple[Expression, ...] = ()
    value: Any = None

    def walk(self) -> Iterator[Expression]:
        """Yields this node and all nodes below it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def replaced(self, by: Callable[[Expression], Expression | None]) -> Expression:
        """Returns the expression with other nodes in the places for which `by` gives one."""
        if (found := by(self)) is not None:
            return found
        parts = tuple(part.replaced(by) for part in self.parts)
        return Expression(self.kind, self.op, parts, self.value)


BOOLEAN = Boolean()


def cell(name: str, kind: Kind) -> Expression:
    """Returns the value of this name."""
    return Expression(kind, "cell", (), name)


def number(value: int, scale: int = 0) -> Expression:
    """Returns a constant, given in units of its last digit."""
    return Expression(number_between(value, value, scale), "constant", (), value)


def number_between(low: int, high: int, scale: int, is_float: bool = False) -> Number:
    """Returns the type of the numbers in a range. The type has at least two bits, because values of a single
    bit cannot be added."""
    bits = max(2, max(end.bit_length() if end >= 0 else (-end - 1).bit_length() for end in (low, high)))
    if bits + 1 > WIDEST:
        raise UsageError("an expression with numbers of over 1000 bits", "give the columns narrower types")
    return Number(bits + (low < 0), low < 0, scale, is_float)


def ends(of: Expression) -> tuple[int, int]:
    """Returns the least and the greatest number that an expression can have."""
    if of.op == "constant" and of.value is not None:
        return of.value, of.value
    assert isinstance(of.kind, Number)
    return of.kind.low, of.kind.low + (1 << of.kind.bits) - 1


def rescaled(of: Expression, scale: int) -> Expression:
    """Returns the number with this many digits after the point, which must not be fewer than before."""
    assert isinstance(of.kind, Number)
    times = 10 ** (scale - of.kind.scale)
    if times == 1:
        return of
    if of.op == "constant":
        return Expression(of.kind, "constant") if of.value is None else number(of.value * times, scale)
    low, high = ends(of)
    kind = number_between(low * times, high * times, scale, of.kind.is_float)
    return Expression(kind, "*", (of, number(times)))


def calculated(op: str, a: Expression, b: Expression) -> Expression:
    """Returns a sum, a difference or a product. Its type holds every result."""
    assert isinstance(a.kind, Number) and isinstance(b.kind, Number)
    scale = a.kind.scale + b.kind.scale if op == "*" else max(a.kind.scale, b.kind.scale)
    if op != "*":
        a, b = rescaled(a, scale), rescaled(b, scale)
    (low, high), (least, most) = ends(a), ends(b)
    found = {
        "+": (low + least, high + most),
        "-": (low - most, high - least),
        "*": _product(low, high, least, most),
    }[op]
    is_float = a.kind.is_float or b.kind.is_float  # type: ignore[attr-defined]
    kind = number_between(found[0], found[1], scale, is_float)
    if a.op == b.op == "constant":
        value = None if None in (a.value, b.value) else _PLAIN[op](a.value, b.value)
        return Expression(kind, "constant", (), value)
    return Expression(kind, op, (a, b))


def _product(low: int, high: int, least: int, most: int) -> tuple[int, int]:
    found = [x * y for x in (low, high) for y in (least, most)]
    return min(found), max(found)


def rounded(of: Expression, step: int) -> Expression:
    """Returns a number rounded to the nearest multiple of a step; if two multiples are equally near, to the
    larger one."""
    low, high = ((end + step // 2) // step * step for end in ends(of))
    assert isinstance(of.kind, Number)
    return Expression(number_between(low, high, of.kind.scale, of.kind.is_float), "round", (of,), step)


def chosen(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """Returns `yes` if the condition is true, and `no` if it is false or unknown. Both have the same type."""
    kind = yes.kind
    if isinstance(kind, Number):
        assert isinstance(no.kind, Number)
        both = [*ends(yes), *ends(no)]
        kind = number_between(min(both), max(both), kind.scale, kind.is_float or no.kind.is_float)
    return Expression(kind, "if", (condition, yes, no))


def logical(op: str, *parts: Expression) -> Expression:
    """Returns a condition: `and`, `or`, `not`, `null`, `=` or `<`."""
    return Expression(BOOLEAN, op, parts)


_PLAIN: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "=": lambda a, b: int(a == b),
    "<": lambda a, b: int(a < b),
    "not": lambda a: 1 - a,
}


def plain(of: Expression, columns: Callable[[str], Sequence[Any]], rows: int) -> list[Any]:
    """Returns the value for each row: a number in units, a text for a key, a code for other types, or None
    for null.
    """
    if of.op == "cell":
        return list(columns(of.value))
    if of.op == "constant":
        return [of.value] * rows
    parts = [plain(part, columns, rows) for part in of.parts]
    if of.op == "null":
        return [int(one is None) for one in parts[0]]
    if of.op == "if":
        return [yes if test else no for test, yes, no in zip(*parts)]
    if of.op in ("and", "or"):
        decides = int(of.op == "or")
        return [decides if decides in pair else None if None in pair else 1 - decides for pair in zip(*parts)]
    if of.op == "=" and isinstance(of.parts[0].kind, Key):
        parts = [[None if one is None else canonical(one) for one in part] for part in parts]
    if of.op == "<<":
        return [None if one is None else one << of.value for one in parts[0]]
    work = _PLAIN[of.op]
    return [None if None in row else work(*row) for row in zip(*parts)]


@dataclass(frozen=True)
class Cell:
    """The place of a named value in the bits of a record.

    Attributes:
        base: its lowest bit.
        kind: its type, which gives its number of bits.
        known: the lowest bit and the number of bits that are 0 if it is null. None if it is never null.
        form: `code`, `inverted` (an inverted code) or `number` (the number itself, without an offset).
    """

    base: int
    kind: Kind
    known: tuple[int, int] | None
    form: str = "code"


Cells = Mapping[str, Cell]


def nullable(of: Expression, cells: Cells) -> bool:
    """Returns whether an expression can be null."""
    if of.op == "cell":
        return cells[of.value].known is not None
    if of.op == "null":
        return False
    return (
        of.value is None
        if of.op == "constant"
        else any(nullable(part, cells) for part in (of.parts[1:] if of.op == "if" else of.parts))
    )


def _type(kind: Kind) -> IntegerType:
    return IntegerType(kind.width, isinstance(kind, Number) and kind.signed)


def fitted(of: Integer, type: IntegerType) -> Integer:
    """Returns a number converted to a wider type."""
    if of.type == type:
        return of
    if of.type.width >= type.width:
        return of.truncate(type)
    wide = of.astype(IntegerType(type.width, type.signed or of.type.signed))
    return wide if wide.type == type else wide.truncate(type)


def joined_bits(parts: Sequence[Integer]) -> Integer:
    """Returns the bits of some numbers one after another, the lowest first."""
    type = IntegerType(sum(of.type.width for of in parts))
    name, base = body().let(type), 0
    for of in parts:
        body().say(f"{name}{{{base}:{of.type.width}}} = {here(of.bits(0, of.type.width))};")
        base += of.type.width
    return Integer(type, name)


def wide_constant(value: int, type: IntegerType) -> Integer:
    """Returns a constant of any width."""
    bits = value & (1 << type.width) - 1
    if type.width <= 32:
        return fitted(constant(bits, IntegerType(type.width)), type)
    sizes = [min(32, type.width - place) for place in range(0, type.width, 32)]
    words = [bits >> 32 * place & (1 << size) - 1 for place, size in enumerate(sizes)]
    return joined_bits([constant(word, IntegerType(size)) for word, size in zip(words, sizes)]).truncate(type)


def _flipped(of: Integer) -> Integer:
    """Returns a number with its highest bit inverted: this converts between a signed number and its code."""
    width = of.type.width
    high = ~of.bits(width - 1, 1)
    return joined_bits([of.bits(0, width - 1), high]) if width > 1 else high


def coded(value: Integer, kind: Kind) -> Integer:
    """Returns the code of a value."""
    if isinstance(kind, Number) and kind.signed:
        return _flipped(value)
    return value.bits(0, value.type.width) if value.type.signed else value


Found = tuple[Integer, Integer | None]


def _read(record: Integer, of: Cell) -> Found:
    value = record.bits(of.base, of.kind.width)
    if of.form == "inverted":
        value = ~value
    if isinstance(of.kind, Number) and of.kind.signed:
        value = (value if of.form == "number" else _flipped(value)).truncate(_type(of.kind))
    return value, None if of.known is None else record.bits(*of.known) != 0


def _all_known(parts: Sequence[Found]) -> Integer | None:
    found = None
    for _, known in parts:
        found = known if found is None else found if known is None else found & known
    return found


def secret(of: Expression, record: Integer, cells: Cells) -> Found:
    """Returns the value of an expression over a record, and whether it is not null (None if it never is)."""
    if of.op == "cell":
        value, known = _read(record, cells[of.value])
        return fitted(value, _type(of.kind)) if isinstance(of.kind, Number) else value, known
    if isinstance(of.kind, Key):
        if of.op == "constant" and of.value is not None:
            raise UsageError(
                "a comparison of a hashed text of both parties with a constant",
                "compare the column alone, or give it bw.text or bw.category",
            )
        raise UsageError("a hashed text in an expression of both parties", "give it bw.text or bw.category")
    type = _type(of.kind)
    if of.op == "constant":
        return wide_constant(of.value or 0, type), BIT(0) if of.value is None else None
    found = [secret(part, record, cells) for part in of.parts]
    values, known = [value for value, _ in found], _all_known(found)
    if of.op == "null":
        return BIT(0) if known is None else ~known, None
    if of.op == "not":
        return ~values[0], known
    if of.op == "<<":
        return joined_bits([constant(0, IntegerType(of.value)), values[0]]), known
    if of.op == "round":
        return fitted(_rounded(values[0], ends(of.parts[0])[0], of.value), type), known
    if of.op in ("and", "or"):
        return _connected(of.op, found)
    if of.op == "if":
        (test, knows), *rest = found
        take = test if knows is None else test & knows
        yes, no = (fitted(value, type) for value, _ in rest)
        if all(one is None for _, one in rest):
            return where(take, yes, no), None
        return where(take, yes, no), where(take, *(BIT(1) if one is None else one for _, one in rest))
    if of.op in ("=", "<"):
        a, b = values
        if isinstance(of.parts[0].kind, Number):
            wide = _common(of.parts)
            a, b = fitted(a, wide), fitted(b, wide)
        return (a == b if of.op == "=" else a < b), known
    if of.op == "*":
        wide = _common(of.parts)
        return fitted(fitted(values[0], wide).wide_mul(fitted(values[1], wide)), type), known
    a, b = (fitted(value, type) for value in values)
    return (a + b if of.op == "+" else a - b), known


def _rounded(value: Integer, low: int, step: int) -> Integer:
    """Returns the nearest multiple of a step for a number that is at least `low`."""
    wide = IntegerType(max(value.type.width, step.bit_length()) + 3, True)
    above = -(low // step) * step if low < 0 else 0
    shifted = fitted(value, wide) + wide_constant(above + step // 2, wide)
    plain = shifted.truncate(IntegerType(wide.width))
    whole = plain // wide_constant(step, plain.type) * wide_constant(step, plain.type)
    return fitted(whole, wide) - wide_constant(above, wide)


def _common(parts: Sequence[Expression]) -> IntegerType:
    """Returns a type that holds two values."""
    types = [_type(part.kind) for part in parts]
    if types[0] == types[1]:
        return types[0]
    signed = any(one.signed for one in types)
    return IntegerType(max(one.width + (signed and not one.signed) for one in types), signed)


def _connected(op: str, parts: Sequence[Found]) -> Found:
    """Returns `and` or `or` of two conditions. If one operand decides the result, the other is not needed."""
    (a, knows_a), (b, knows_b) = parts
    value = a & b if op == "and" else a | b
    if knows_a is None and knows_b is None:
        return value, None
    decides = [~one if op == "and" else one for one in (a, b)]
    known = [BIT(1) if one is None else one for one in (knows_a, knows_b)]
    sure = known[0] & known[1] | known[0] & decides[0] | known[1] & decides[1]
    # An unknown operand may have any bits, so it must not decide.
    alone = known[0] & decides[0] | known[1] & decides[1]
    return (~alone if op == "and" else alone), sure


def widened(of: Expression, kind: Text) -> Expression:
    """Returns a text with room for more bytes."""
    assert isinstance(of.kind, Text)
    more = kind.width - of.kind.width
    if more == 0:
        return of
    if of.op == "constant":
        return Expression(kind, "constant", (), None if of.value is None else of.value << more)
    return Expression(kind, "<<", (of,), more)
