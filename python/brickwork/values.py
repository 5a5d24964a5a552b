"""Secret values, with Python's operators. What they are nobody knows before a run; here they are names."""

from __future__ import annotations

import builtins
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from .tracing import Body, body, refuse, source
from .types import ArrayType, IntegerType, StructType, Type

BIT = IntegerType(1)


class Value:
    """A secret value.

    Args:
        type: what it is.
        path: where it stands in the source: a variable, or an element or field of one.
        home: the function that it belongs to.
    """

    __slots__ = ("type", "_path", "_home")
    # numpy leaves operators to these classes.
    __array_ufunc__ = None
    type: Type
    _path: str
    _home: Body

    def __init__(self, type: Type, path: str, home: Body | None = None) -> None:
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_home", home or body())

    def __repr__(self) -> str:
        return f"<secret {self.type!r}>"

    def __bool__(self) -> bool:
        refuse(
            "asks whether a secret is true",
            "nobody knows while the program is written down: write bw.where(condition, a, b) for "
            "`if`, which computes both; & | ~ for `and` `or` `not`; bw.min and bw.max for `min` and "
            "`max`; bw.any(x == item for item in items) for `in`",
        )

    def __index__(self) -> int:
        refuse(
            "uses a secret as an index or a number of rounds",
            "write array.at(secret) to look at all elements; for `range`, run to a number that is "
            "always enough",
        )

    def __int__(self) -> int:
        refuse("makes a plain number of a secret", "only what the program returns is decoded")

    __float__ = __int__
    __complex__ = __int__

    def __hash__(self) -> int:
        refuse("uses a secret as a key", "look at all entries, with bw.where and ==")

    def __contains__(self, item: object) -> bool:
        refuse("asks whether a secret is in something", "write bw.any(item == x for x in items)")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        refuse("changes a value", "values do not change: make a new one")

    def __eq__(self, other: object) -> Integer:  # type: ignore[override]
        return equal(self, other)

    def __ne__(self, other: object) -> Integer:  # type: ignore[override]
        return ~equal(self, other)


def here(value: Value) -> str:
    """Returns the path of a value that belongs to the function that is traced."""
    if value._home is not body():
        refuse(
            "uses a value of another function",
            "give it to the component as an argument: a component sees nothing else",
        )
    return value._path


class Integer(Value):
    """A secret integer of fixed width; of one bit it is the answer to a question."""

    __slots__ = ()
    type: IntegerType

    def _with(self, other: object, what: str) -> Integer:
        """Returns the other operand, of the same type."""
        if isinstance(other, Value):
            if other.type != self.type:
                refuse(
                    f"has {self.type!r} {what} {other.type!r}",
                    f"both sides must have the same type: write .astype({self.type!r}) behind the "
                    "other one, or widen both",
                )
            assert isinstance(other, Integer)
            return other
        return constant(other, self.type)

    def _operate(
        self, symbol: str, other: object, type: IntegerType | None = None, swap: bool = False
    ) -> Integer:
        right = self._with(other, symbol)
        first, second = (right, self) if swap else (self, right)
        type = type or self.type
        return Integer(type, body().let(type, f"{here(first)} {symbol} {here(second)}"))

    def __add__(self, other: object) -> Integer:
        return self if _is_plain(other, 0) else self._operate("+", other)

    __radd__ = __add__

    def __sub__(self, other: object) -> Integer:
        return self if _is_plain(other, 0) else self._operate("-", other)

    def __rsub__(self, other: object) -> Integer:
        return self._operate("-", other, swap=True)

    def __mul__(self, other: object) -> Integer:
        if self.type.point:
            return _component("multiply", _fixed_multiply, self, self._with(other, "*"))
        return self if _is_plain(other, 1) else self._operate("*", other)

    __rmul__ = __mul__

    def wide_mul(self, other: object) -> Integer:
        """Returns the full product, of twice the width."""
        return self._operate(
            "**", other, IntegerType(2 * self.type.width, self.type.signed, 2 * self.type.point)
        )

    def _quotient(self, symbol: str, other: object, swap: bool = False) -> Integer:
        if self.type.point:
            refuse(
                f"divides fixed-point numbers by `{symbol}`",
                "write a / b; (a / b).floor() is a whole number",
            )
        if self.type.signed:
            refuse(
                f"divides signed numbers by `{symbol}`, which Python rounds down",
                "write bw.divide(a, b) or bw.remainder(a, b), which round towards zero; or use "
                "unsigned numbers",
            )
        return self._operate("/" if symbol == "//" else "%", other, swap=swap)

    def __floordiv__(self, other: object) -> Integer:
        return self._quotient("//", other)

    def __rfloordiv__(self, other: object) -> Integer:
        return self._quotient("//", other, swap=True)

    def __mod__(self, other: object) -> Integer:
        return self._quotient("%", other)

    def __rmod__(self, other: object) -> Integer:
        return self._quotient("%", other, swap=True)

    def __truediv__(self, other: object) -> Integer:
        if not self.type.point:
            refuse("divides integers by `/`", "write // for integers; bw.fixed(32) has numbers with a point")
        return _component("divide", _fixed_divide, self, self._with(other, "/"))

    def __rtruediv__(self, other: object) -> Integer:
        return constant(other, self.type) / self

    def __and__(self, other: object) -> Integer:
        return self._operate("&", other)

    __rand__ = __and__

    def __or__(self, other: object) -> Integer:
        return self._operate("|", other)

    __ror__ = __or__

    def __xor__(self, other: object) -> Integer:
        return self._operate("^", other)

    __rxor__ = __xor__

    def __invert__(self) -> Integer:
        return Integer(self.type, body().let(self.type, f"~{here(self)}"))

    def __neg__(self) -> Integer:
        return Integer(self.type, body().let(self.type, f"-{here(self)}"))

    def __pos__(self) -> Integer:
        return self

    def __abs__(self) -> Integer:
        if not self.type.signed:
            return self
        positive = _library("integers.wir", "abs", IntegerType(self.type.width), self)
        return positive._as(self.type)

    def __lt__(self, other: object) -> Integer:
        return self._operate("<", other, BIT)

    def __le__(self, other: object) -> Integer:
        return self._operate("<=", other, BIT)

    def __gt__(self, other: object) -> Integer:
        return self._operate(">", other, BIT)

    def __ge__(self, other: object) -> Integer:
        return self._operate(">=", other, BIT)

    def __lshift__(self, amount: object) -> Integer:
        return self._shift("<<", amount)

    def __rshift__(self, amount: object) -> Integer:
        if self.type.signed:
            if not isinstance(amount, int):
                refuse("shifts a signed number by a secret", "shift an unsigned one: .astype(bw.u…)")
            if amount < 0:
                refuse("shifts by a negative number", "shift the other way")
            kept = builtins.max(self.type.width - amount, 1)
            return self.bits(self.type.width - kept, kept)._as(IntegerType(kept, True)).astype(self.type)
        return self._shift(">>", amount)

    def _shift(self, symbol: str, amount: object) -> Integer:
        if isinstance(amount, int):
            if amount < 0:
                refuse("shifts by a negative number", "shift the other way")
            return Integer(self.type, body().let(self.type, f"{_variable(self)} {symbol} {amount}"))
        if not isinstance(amount, Integer) or amount.type.signed:
            refuse(f"shifts by {amount!r}", "shift by a plain number or an unsigned secret of few bits")
        return Integer(self.type, body().let(self.type, f"{_variable(self)} {symbol} {here(amount)}"))

    def __rlshift__(self, other: object) -> NoReturn:
        refuse("shifts a plain number by a secret", "give the number a type first: bw.u8(1) << amount")

    __rrshift__ = __rlshift__

    def bits(self, base: int, length: int) -> Integer:
        """Returns `length` bits from bit `base` on, unsigned; bit 0 is the least significant one."""
        if not (isinstance(base, int) and isinstance(length, int)):
            refuse("selects bits at a secret place", "shift first: (x >> place).bits(0, n)")
        if not (0 <= base and 1 <= length and base + length <= self.type.width):
            refuse(f"selects bits {base} to {base + length - 1} of {self.type!r}", "stay within its width")
        return Integer(IntegerType(length), _slice(self, f"{base}:{length}"), self._home)

    def __getitem__(self, place: int | slice) -> Integer:
        if isinstance(place, slice):
            start, stop, step = place.indices(self.type.width)
            if step != 1 or stop <= start:
                refuse(
                    "selects bits with a step, or none",
                    "write x[low:high]; bit 0 is the least significant one",
                )
            return self.bits(start, stop - start)
        if (number := plain(place)) is None:
            refuse("selects a bit at a secret place", "shift first: (x >> place)[0]")
        return self.bits(number + self.type.width if number < 0 else number, 1)

    def __iter__(self) -> Iterator[Integer]:
        return (self.bits(i, 1) for i in range(self.type.width))

    def _as(self, type: IntegerType) -> Integer:
        """Returns the same bits as a number of another type of this width."""
        name = body().let(type)
        body().say(f"{name}{{0:{type.width}}} = {_slice(self, f'0:{type.width}')};")
        return Integer(type, name)

    def astype(self, type: IntegerType) -> Integer:
        """Returns the same number in a type that holds it, which is at least as wide."""
        if not isinstance(type, IntegerType):
            refuse(f"makes {type!r} of {self.type!r}", "name a type of integers, such as bw.u32")
        if type.point < self.type.point:
            refuse(
                f"makes {type!r} of {self.type!r}, which has more bits behind the point",
                f"write .round_to({type!r}) for the nearest; .floor() and .round() make whole numbers",
            )
        source().use(type)
        if type == self.type:
            return self
        if type.point > self.type.point:
            more = type.point - self.type.point
            fits = type.width - more
            same = IntegerType(builtins.max(fits, 1), type.signed, self.type.point) if fits > 0 else None
            if same is None or self.type.width > fits:
                refuse(
                    f"makes {type!r} of {self.type!r}, which may not fit",
                    f"take a type of at least {self.type.width + more} bits",
                )
            return _shifted(self.astype(same), type, more)
        fits = (
            type.width > self.type.width or type.width == self.type.width and type.signed == self.type.signed
        )
        if not fits:
            refuse(
                f"makes {type!r} of {self.type!r}, which may not fit",
                f"write .truncate({type!r}) to keep the low bits alone",
            )
        if self.type.signed and not type.signed:
            refuse(
                "makes a number without a sign of one with", "write abs(x), or .truncate(…) to keep the bits"
            )
        name, width = body().let(type), self.type.width
        body().say(f"{name}{{0:{width}}} = {_slice(self, f'0:{width}')};")
        if self.type.signed:
            rest = f"uint_t 32 i = {width}; i < {type.width}; i++"
            body().say(f"for ({rest}) {name}{{i}} = {_slice(self, str(width - 1))};")
        return Integer(type, name)

    def truncate(self, type: IntegerType) -> Integer:
        """Returns the low bits, as many as the type has, as a number of it."""
        source().use(type)
        if type.point != self.type.point:
            refuse(
                f"cuts {self.type!r} down to {type!r}, whose point is elsewhere",
                f"write .round_to({type!r}), or truncate to as many bits behind the point",
            )
        if type.width > self.type.width:
            refuse(f"cuts {self.type!r} down to {type!r}", "that is wider: write .astype(…)")
        return self.bits(0, type.width)._as(type)

    def __round__(self, digits: int | None = None) -> Integer:
        refuse("rounds by `round(…)`", "write x.round(), or x.round_to(bw.fixed(…)) for some bits")

    def __floor__(self) -> Integer:
        refuse("rounds by math.floor", "write x.floor()")

    __ceil__ = __trunc__ = __floor__

    def __divmod__(self, other: object) -> NoReturn:
        refuse("divides by `divmod`", "write a // b and a % b, or bw.divide(a, b) and bw.remainder(a, b)")

    __rdivmod__ = __divmod__

    def __pow__(self, exponent: object) -> Integer:
        refuse("raises to a power by `**`", "multiply as often: x * x; x.wide_mul(y) has twice the bits")

    __rpow__ = __pow__

    def __matmul__(self, other: object) -> NoReturn:
        refuse("multiplies a number by `@`", "write * for numbers; @ is for arrays")

    def floor(self) -> Integer:
        """Returns the largest whole number that is not larger, in a type without bits behind the point."""
        if self.type.point == self.type.width:
            wider = IntegerType(self.type.width + 1, self.type.signed, self.type.point)
            return self.astype(wider).floor()
        whole = self.type.width - self.type.point
        return self.bits(self.type.point, whole)._as(IntegerType(whole, self.type.signed))

    def round(self) -> Integer:
        """Returns the nearest whole number, of two that are as near the larger; one bit wider, so that it
        fits.
        """
        whole = IntegerType(self.type.width - self.type.point + 1, self.type.signed)
        return self.round_to(whole)

    def round_to(self, type: IntegerType) -> Integer:
        """Returns the nearest number of a type with fewer bits behind the point, of two that are as near the
        larger; what does not fit wraps.
        """
        less = self.type.point - type.point if isinstance(type, IntegerType) else -1
        if less < 0 or type.signed != self.type.signed:
            refuse(
                f"rounds {self.type!r} to {type!r}",
                "name a type of the same sign with fewer bits behind the point",
            )
        if less == 0:
            return self.astype(type) if type.width >= self.type.width else self.truncate(type)
        return _rounded(self, less, type)


class Array(Value):
    """Secret elements of one type, of which a plain number or a secret one, by `at`, names one."""

    __slots__ = ()
    type: ArrayType

    def __len__(self) -> int:
        return self.type.length

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            chosen = [self[i] for i in range(*place.indices(len(self)))]
            return array_of(chosen) if chosen else []
        if (number := plain(place)) is None:
            refuse("uses a secret as an index", "write array.at(secret), which looks at all elements")
        if not -len(self) <= number < len(self):
            raise IndexError(f"{number} of {len(self)} elements")
        return value(self.type.element, f"{here(self)}[{number % len(self)}]", self._home)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def at(self, index: Integer) -> Any:
        """Returns the element at a secret place, which must be unsigned; beyond the end it is 0."""
        if isinstance(index, int):
            return self[index]
        if not isinstance(index, Integer) or index.type.signed:
            refuse(f"looks at {index!r}", "an index is an unsigned secret of as many bits as it needs")
        element = self.type.element
        return value(element, body().let(element, f"{_variable(self)}[{_variable(index)}]"))

    def with_at(self, index: Integer | int, new: object) -> Array:
        """Returns the array with another element at a place; beyond the end nothing changes."""
        item = as_value(new, self.type.element)
        if isinstance(index, int):
            if not -len(self) <= index < len(self):
                raise IndexError(f"{index} of {len(self)} elements")
            place = str(index % len(self))
        elif isinstance(index, Integer) and not index.type.signed:
            place = _variable(index)
        else:
            refuse(f"writes at {index!r}", "an index is an unsigned secret of as many bits as it needs")
        name = body().let(self.type, here(self))
        body().say(f"{name}[{place}] = {here(item)};")
        return Array(self.type, name)

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self)


class Record(Value):
    """Secret fields, by name."""

    __slots__ = ()
    type: StructType

    def __getattr__(self, name: str) -> Any:
        field = self.type.field(name)
        if field is None:
            raise AttributeError(
                f"{self.type.name} has no field {name}, only {', '.join(dict(self.type.fields))}"
            )
        return value(field, f"{here(self)}.{name}", self._home)

    def replace(self, **fields: object) -> Record:
        """Returns the record with other values in these fields."""
        name = body().let(self.type, here(self))
        for field, new in fields.items():
            of = self.type.field(field)
            if of is None:
                raise AttributeError(f"{self.type.name} has no field {field}")
            body().say(f"{name}.{field} = {here(as_value(new, of))};")
        return Record(self.type, name)


def value(type: Type, path: str, home: Body | None = None) -> Any:
    """Returns the value of this type at a place of the source."""
    if isinstance(type, ArrayType):
        return Array(type, path, home)
    return Record(type, path, home) if isinstance(type, StructType) else Integer(type, path, home)


def plain(number: object) -> int | None:
    """Returns a whole number of Python or numpy as an `int`, and None for whatever else it is."""
    if isinstance(number, Value):
        return None
    try:
        return operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        return None


def _is_plain(other: object, number: int) -> bool:
    return isinstance(other, int) and not isinstance(other, bool) and other == number


def _slice(of: Integer, bits: str) -> str:
    """Returns these bits of a value, as the source writes them."""
    path = here(of)
    return f"({path}){{{bits}}}" if path.endswith("}") else f"{path}{{{bits}}}"


def _variable(of: Value) -> str:
    """Returns the path of a value that is a variable by itself: it keeps its width when it is shifted."""
    path = here(of)
    return path if path.isidentifier() else body().let(of.type, path)


def _library(file: str, function: str, type: Type, *arguments: Value) -> Any:
    """Calls a function of the standard library."""
    source().includes.add(file)
    source().use(type)
    return value(type, body().let(type, f"{function}({', '.join(here(one) for one in arguments)})"))


def _component(name: str, of: Callable[..., Any], *arguments: Value) -> Any:
    """Calls a function of ours as a component of its own."""
    from .traced import component

    if name not in _COMPONENTS:
        _COMPONENTS[name] = component(of)
    return _COMPONENTS[name](*arguments)


_COMPONENTS: dict[str, Callable[..., Any]] = {}


def _shifted(of: Integer, type: IntegerType, places: int) -> Integer:
    """Returns a number of that many bits less as one of this type, moved up by so many places."""
    name = body().let(type)
    width = of.type.width
    body().say(f"{name}{{{places}:{width}}} = {_slice(of, f'0:{width}')};")
    return Integer(type, name)


def _rounded(of: Integer, places: int, type: IntegerType) -> Integer:
    """Returns a number moved down by so many places, rounded to the nearest, as one of this type."""
    if of.type.width <= places:
        of = of.astype(IntegerType(places + 1, of.type.signed, of.type.point))
    kept = builtins.min(of.type.width - places, type.width)
    low = of.bits(places, kept)._as(IntegerType(kept, of.type.signed, type.point))
    half = of.bits(places - 1, 1)._as(BIT)
    name = body().let(type)
    body().say(f"{name}{{0}} = {here(half)};")
    return low.astype(type) + Integer(type, name)


def _fixed_multiply(a: Integer, b: Integer) -> Integer:
    return _rounded(a.wide_mul(b), a.type.point, a.type)


def _fixed_divide(a: Integer, b: Integer) -> Integer:
    """Rounded towards zero; a dividend of twice the width has room for all places."""
    wide = IntegerType(2 * a.type.width, a.type.signed, a.type.point)
    moved = Integer(wide, body().let(wide, f"{_variable(a.astype(wide))} << {a.type.point}"))
    return Integer(a.type, body().let(a.type, f"{here(moved)} // {here(b)}"))


def constant(number: object, type: IntegerType) -> Integer:
    """Returns a plain number as a value of this type, which must hold it."""
    if (whole := plain(number)) is not None:
        number = whole
    if isinstance(number, (int, float, Decimal, Fraction)) and type.point:
        scaled = Fraction(number) * (1 << type.point)
        if scaled.denominator != 1:
            refuse(
                f"has {number}, which {type!r} does not hold exactly",
                "write a multiple of its last bit, or have more bits behind the point",
            )
        number = int(scaled)
    if not isinstance(number, int):
        refuse(f"has {number!r} where {type!r} is needed", "use secrets of that type and whole plain numbers")
    if not type.low <= number <= type.high:
        refuse(f"has {number}, which {type!r} does not hold", f"it takes {type.low} to {type.high}")
    source().use(type)
    mark = "#" if type.signed else "##"
    # The lowest number of a signed type has no positive counterpart: its bits are written down.
    if type.signed and number < 0:
        bits = IntegerType(type.width)
        source().use(bits)
        return Integer(bits, body().let(bits, f"{number & (1 << type.width) - 1}##{type.width}"))._as(type)
    return Integer(type, body().let(type, f"{number}{mark}{type.width}"))


def as_value(of: object, type: Type) -> Any:
    """Returns a plain or secret value as a secret one of this type."""
    if isinstance(of, Value):
        if of.type != type:
            refuse(f"has {of.type!r} where {type!r} is needed", "types must be the same; .astype(…) widens")
        return of
    if isinstance(type, IntegerType):
        return constant(of, type)
    if isinstance(type, StructType):
        if not isinstance(of, Mapping):
            refuse(f"has {of!r} where {type!r} is needed", f"write {type.name}(…)")
        return struct_of(type, (), dict(of))
    assert isinstance(type, ArrayType)
    if not isinstance(of, Iterable):
        refuse(f"has {of!r} where {type!r} is needed", "give a list of its elements")
    elements = [as_value(one, type.element) for one in of]
    if len(elements) != type.length:
        refuse(f"has {len(elements)} elements where {type!r} is needed", "give exactly as many")
    return array_of(elements)


def array_of(elements: Iterable[Any]) -> Array:
    """Returns an array of these values, of which at least one must be secret, and all of one type."""
    elements = list(elements)
    types = {one.type for one in elements if isinstance(one, Value)}
    if len(types) != 1:
        what = "no secret" if not types else "elements of different types"
        refuse(f"makes an array of {what}", "give all elements the same type")
    (type,) = types
    values = [as_value(one, type) for one in elements]
    whole = ArrayType(type, len(values))
    source().use(whole)
    if isinstance(type, IntegerType):
        return Array(whole, body().let(whole, "{" + ", ".join(here(one) for one in values) + "}"))
    name = body().let(whole)
    for i, one in enumerate(values):
        body().say(f"{name}[{i}] = {here(one)};")
    return Array(whole, name)


def struct_of(type: Type, args: Sequence[object], fields: Mapping[str, object]) -> Record:
    """Returns a record of these fields: all of them, by name."""
    assert isinstance(type, StructType)
    names = [name for name, _ in type.fields]
    given = {**dict(zip(names, args)), **fields}
    if len(args) + len(fields) != len(names) or set(given) != set(names):
        refuse(f"makes a {type.name} of {', '.join(given)}", f"give each once: {', '.join(names)}")
    source().use(type)
    values = {name: as_value(given[name], of) for name, of in type.fields}
    home = body().let(type)
    for name, one in values.items():
        body().say(f"{home}.{name} = {here(one)};")
    return Record(type, home)


def equal(a: object, b: object) -> Integer:
    """Returns whether two values are the same, all of their elements and fields."""
    if not isinstance(a, Value):
        a, b = b, a
    if isinstance(a, Integer):
        return a._operate("==", b, BIT)
    if isinstance(a, Array):
        other = as_value(b, a.type)
        return all(equal(x, y) for x, y in zip(a, other))
    assert isinstance(a, Record)
    other = as_value(b, a.type)
    return all(equal(getattr(a, name), getattr(other, name)) for name, _ in a.type.fields)


def _secret(values: Iterable[object]) -> bool:
    return builtins.any(isinstance(one, Value) for one in values)


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Returns `yes` where the condition, of one bit, is 1, and `no` where it is 0. Both are computed."""
    if not isinstance(condition, Value):
        return yes if condition else no
    if not (isinstance(condition, Integer) and condition.type == BIT):
        refuse(f"chooses by {condition!r}", "a condition has one bit: compare, as in x != 0")
    if not _secret((yes, no)):
        refuse("chooses between plain values", "give one of them a type: bw.u8(1)")
    type = yes.type if isinstance(yes, Value) else no.type
    first, second = as_value(yes, type), as_value(no, type)
    name = body().let(type, here(second))
    body().say(f"if ({here(condition)}) {name} = {here(first)};")
    return value(type, name)


def all(conditions: Iterable[Any]) -> Any:
    """Returns whether all of these bits are 1."""
    return _fold(conditions, lambda a, b: a & b, 1)


def any(conditions: Iterable[Any]) -> Any:
    """Returns whether one of these bits is 1."""
    return _fold(conditions, lambda a, b: a | b, 0)


def _fold(values: Iterable[Any], join: Callable[[Any, Any], Any], empty: Any) -> Any:
    """Joins values pairwise, so that the depth is small."""
    row = list(values)
    if not row:
        return empty
    while len(row) > 1:
        pairs = [join(a, b) for a, b in zip(row[::2], row[1::2])]
        row = pairs + row[len(pairs) * 2 :]
    return row[0]


def sum(values: Iterable[Any]) -> Any:
    """Returns the sum, in the type of the values: it wraps, so widen them first where that is too narrow."""
    return _fold(values, lambda a, b: a + b, 0)


def _pair(function: str, plain: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if not _secret((a, b)):
        return plain(a, b)
    type = a.type if isinstance(a, Value) else b.type
    if not isinstance(type, IntegerType):
        refuse(f"compares {type!r}", "compare integers")
    return _library("integers.wir", function, type, as_value(a, type), as_value(b, type))


def _items(values: tuple[Any, ...]) -> Iterable[Any]:
    return values[0] if len(values) == 1 else values


def min(*values: Any) -> Any:
    """Returns the smallest of these, or of the elements of one array."""
    return _fold(_items(values), lambda a, b: _pair("min", builtins.min, a, b), None)


def max(*values: Any) -> Any:
    """Returns the largest of these, or of the elements of one array."""
    return _fold(_items(values), lambda a, b: _pair("max", builtins.max, a, b), None)


def sort(values: Any) -> Any:
    """Returns the elements in ascending order."""
    row = list(values)
    if not _secret(row):
        return sorted(row)
    array = values if isinstance(values, Array) else array_of(row)
    if not isinstance(array.type.element, IntegerType):
        refuse(f"sorts {array.type!r}", "sort integers; pack what belongs to them into the low bits")
    return _library("integers.wir", "sort", array.type, array)


def popcount(of: Any) -> Any:
    """Returns how many bits are set, in the type of the value, which must be unsigned."""
    if not isinstance(of, Value):
        return bin(of).count("1")
    if not isinstance(of, Integer) or of.type.signed:
        refuse(f"counts bits of {of!r}", "count those of an unsigned integer")
    return _library("integers.wir", "popcount", of.type, of)


def aes_sub_byte(of: Any) -> Any:
    """Returns what the S-box of AES (FIPS 197, section 5.1.1) makes of a secret byte, for 32 AND gates."""
    octet = IntegerType(8)
    if not isinstance(of, Integer) or of.type != octet:
        refuse(f"looks up {of!r} in the S-box of AES", "give a secret bw.u8")
    if aes_sub_byte not in source().functions:
        source().use(octet)
        name = source().new_name("aes_sub_byte")
        source().texts.append(f"/*@ builtin aes_sbox */\nfunction u8 {name}(u8 x) {{ return x; }}\n")
        source().functions[aes_sub_byte] = name, octet
    name, _ = source().functions[aes_sub_byte]
    return Integer(octet, body().let(octet, f"{name}({here(of)})"))


def divide(a: Any, b: Any) -> Any:
    """Returns the quotient, rounded towards zero. A dividend may be twice as wide as the divisor, whose type
    the quotient has then, and must fit.
    """
    if not _secret((a, b)):
        return int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)
    return _quotient("/", a, b)


def remainder(a: Any, b: Any) -> Any:
    """Returns what `divide` leaves, with the sign of `a`."""
    if not _secret((a, b)):
        return a - divide(a, b) * b
    return _quotient("%", a, b)


def _quotient(symbol: str, a: Any, b: Any) -> Integer:
    if isinstance(a, Integer) and isinstance(b, Integer) and a.type != b.type:
        if a.type != IntegerType(2 * b.type.width, b.type.signed) or b.type.point:
            refuse(f"divides {a.type!r} by {b.type!r}", "give both one type, or a dividend twice as wide")
        return Integer(b.type, body().let(b.type, f"{here(a)} {symbol * 2} {here(b)}"))
    type = a.type if isinstance(a, Value) else b.type
    first, second = as_value(a, type), as_value(b, type)
    if not isinstance(first, Integer) or first.type.point:
        refuse(f"divides {type!r}", "divide integers")
    return first._operate(symbol, second)


def dot(a: Any, b: Any) -> Any:
    """Returns the sum of the products of elements, in their type."""
    if len(a) != len(b):
        refuse(f"multiplies {len(a)} elements by {len(b)}", "give as many on both sides")
    if builtins.all(isinstance(one, Integer) for one in (*a, *b)) and {one.type for one in (*a, *b)} == {
        a[0].type
    }:
        return _component("dot", _dot, array_of(a), array_of(b))
    return _dot(a, b)


def _dot(a: Any, b: Any) -> Any:
    return sum(x * y for x, y in zip(a, b))


def _is_matrix(of: Any) -> bool:
    return not isinstance(of[0], Integer) and hasattr(of[0], "__len__")


def matmul(a: Any, b: Any) -> Any:
    """Returns the product of matrices, or of a matrix and a vector, as `@` does."""
    if not _is_matrix(a):
        return dot(a, b) if not _is_matrix(b) else _row([dot(a, column) for column in _columns(b)])
    if not _is_matrix(b):
        return _row([dot(row, b) for row in a])
    columns = _columns(b)
    return _row([_row([dot(row, column) for column in columns]) for row in a])


def _row(values: list[Any]) -> Any:
    return array_of(values) if _secret(values) else values


def _columns(of: Any) -> list[list[Any]]:
    return [list(column) for column in itertools.zip_longest(*of)]
