"""Secret integers and fixed-point numbers, with Python's operators."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn

from .tracing import body, check, refuse, source
from .types import WIDEST, IntegerType, Type
from .values import BIT, Value, here, library, own_component, plain, variable


class Integer(Value):
    """A secret integer of fixed width. With one bit it is the result of a comparison."""

    __slots__ = ()
    type: IntegerType

    def _equals(self, other: object) -> Integer:
        return self._operate("==", other, BIT)

    def _with(self, other: object, what: str) -> Integer:
        """Returns the other operand, of the same type."""
        if isinstance(other, Value):
            if other.type != self.type:
                refuse(
                    f"has {self.type!r} {what} {other.type!r}",
                    f"both sides must have the same type: {_widening(self.type, other.type)}",
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
        result = Integer(type, body().let(type, f"{here(first)} {symbol} {here(second)}"))
        if symbol in _EXACTLY:
            check(WRAPS, lambda: _wraps(symbol, first, second, result))
        elif symbol in ("/", "%"):
            check(BY_ZERO, lambda: second == 0)
            if symbol == "/" and type.signed:
                # Only this quotient does not fit: its exact value is the largest number plus one.
                check(WRAPS, lambda: (first == type.low) & (second == -1))
        return result

    def _counts(self) -> None:
        """Refuses to calculate with the result of a comparison, because its single bit would then be used as
        a number."""
        if self.type == BIT:
            refuse(
                "calculates with single bits, which wrap: their sum is their parity",
                "write bw.count(conditions), or .astype(bw.u8) behind each bit; a ^ b is the parity of two",
            )

    def __add__(self, other: object) -> Integer:
        if _is_plain(other, 0):
            return self
        self._counts()
        return self._operate("+", other)

    __radd__ = __add__

    def __sub__(self, other: object) -> Integer:
        if _is_plain(other, 0):
            return self
        self._counts()
        return self._operate("-", other)

    def __rsub__(self, other: object) -> Integer:
        self._counts()
        return self._operate("-", other, swap=True)

    def __mul__(self, other: object) -> Integer:
        if self.type.point:
            right = self._with(other, "*")
            product: Integer = own_component("multiply", _fixed_multiply, self, right)
            check(WRAPS, lambda: _product_wraps(self, right, product))
            return product
        if _is_plain(other, 1):
            return self
        self._counts()
        return self._operate("*", other)

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
        right = self._with(other, "/")
        check(BY_ZERO, lambda: right == 0)
        quotient: Integer = own_component("divide", _fixed_divide, self, right)
        check(WRAPS, lambda: quotient_wraps(_moved(self), right, quotient))
        return quotient

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
        check(WRAPS, lambda: self == self.type.low if self.type.signed else self != 0)
        return Integer(self.type, body().let(self.type, f"-{here(self)}"))

    def __pos__(self) -> Integer:
        return self

    def __abs__(self) -> Integer:
        if not self.type.signed:
            return self
        same = IntegerType(self.type.width)
        return Integer(same, library("integers.wir", "abs", same, self))._as(self.type)

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
        # The language shifts zeros into a signed number by `>>`, and copies of its sign by `>>>`.
        return self._shift(">>>" if self.type.signed else ">>", amount)

    def _shift(self, symbol: str, amount: object) -> Integer:
        if isinstance(amount, int):
            if amount < 0:
                refuse("shifts by a negative number", "shift in the other direction")
            return Integer(self.type, body().let(self.type, f"{variable(self)} {symbol} {amount}"))
        if not isinstance(amount, Integer) or amount.type.signed:
            refuse(f"shifts by {amount!r}", "shift by a plain number or an unsigned secret of few bits")
        return Integer(self.type, body().let(self.type, f"{variable(self)} {symbol} {here(amount)}"))

    def __rlshift__(self, other: object) -> NoReturn:
        refuse("shifts a plain number by a secret", "give the number a type first: bw.u8(1) << amount")

    __rrshift__ = __rlshift__

    def bits(self, base: int, length: int) -> Integer:
        """Returns `length` bits from bit `base` on, unsigned; bit 0 is the least significant one."""
        if not (isinstance(base, int) and isinstance(length, int)):
            refuse("selects bits at a secret place", "shift first: (x >> place).bits(0, n)")
        if not (0 <= base and 1 <= length and base + length <= self.type.width):
            refuse(
                f"selects bits {base} to {base + length - 1} of {self.type!r}",
                "use only bits within its width",
            )
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
        """Returns the same bits as a number of another type of the same width."""
        name = body().let(type)
        body().say(f"{name}{{0:{type.width}}} = {_slice(self, f'0:{type.width}')};")
        return Integer(type, name)

    def astype(self, type: IntegerType) -> Integer:
        """Returns the same number in a type that holds it, which is at least as wide."""
        if not isinstance(type, IntegerType):
            refuse(f"converts {self.type!r} to {type!r}", "name a type of integers, such as bw.u32")
        if type.point < self.type.point:
            refuse(
                f"converts {self.type!r} to {type!r}, which has fewer bits behind the point",
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
                    f"converts {self.type!r} to {type!r}, which may not hold the value",
                    f"use a type of at least {self.type.width + more} bits",
                )
            return _shifted(self.astype(same), type, more)
        fits = (
            type.width > self.type.width or type.width == self.type.width and type.signed == self.type.signed
        )
        if not fits:
            refuse(
                f"converts {self.type!r} to {type!r}, which may not hold the value",
                f"write .truncate({type!r}) to keep only the low bits",
            )
        if self.type.signed and not type.signed:
            refuse(
                "converts a signed number to an unsigned one",
                "write abs(x), or .truncate(…) to keep the bits",
            )
        name, width = body().let(type), self.type.width
        body().say(f"{name}{{0:{width}}} = {_slice(self, f'0:{width}')};")
        if self.type.signed:
            rest = f"uint_t 32 i = {width}; i < {type.width}; i++"
            body().say(f"for ({rest}) {name}{{i}} = {_slice(self, str(width - 1))};")
        return Integer(type, name)

    def truncate(self, type: IntegerType) -> Integer:
        """Returns the lowest bits as a number of this type, as many bits as the type has."""
        source().use(type)
        if type.point != self.type.point:
            refuse(
                f"truncates {self.type!r} to {type!r}, which has another number of bits behind the point",
                f"write .round_to({type!r}), or truncate to as many bits behind the point",
            )
        if type.width > self.type.width:
            refuse(f"truncates {self.type!r} to {type!r}", "the new type is wider: write .astype(…)")
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
        refuse("raises to a power by `**`", "multiply repeatedly: x * x; x.wide_mul(y) has twice the bits")

    __rpow__ = __pow__

    def __matmul__(self, other: object) -> NoReturn:
        refuse("multiplies a number by `@`", "write * for numbers; @ is for arrays")

    def floor(self) -> Integer:
        """Returns the largest integer that is not larger, in a type without bits after the point."""
        if self.type.point == self.type.width:
            wider = IntegerType(self.type.width + 1, self.type.signed, self.type.point)
            return self.astype(wider).floor()
        whole = self.type.width - self.type.point
        return self.bits(self.type.point, whole)._as(IntegerType(whole, self.type.signed))

    def round(self) -> Integer:
        """Returns the nearest integer, and of two equally near ones the larger. The result is one bit wider,
        so that it fits.
        """
        whole = IntegerType(self.type.width - self.type.point + 1, self.type.signed)
        return self.round_to(whole)

    def round_to(self, type: IntegerType) -> Integer:
        """Returns the nearest number of a type with fewer bits after the point, and of two equally near ones
        the larger. A number that is out of range wraps.
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


def _widening(one: IntegerType, other: Type) -> str:
    """Returns a suggestion that gives two values the same type."""
    if not isinstance(other, IntegerType):
        return f"take the elements or fields of the {other!r} one by one"
    joined = one.joined(other)
    narrow = [of for of in (one, other) if of != joined]
    return f"write .astype({joined!r}) behind {'both' if len(narrow) == 2 else f'the {narrow[0]!r}'}"


def _is_plain(other: object, number: int) -> bool:
    return isinstance(other, int) and not isinstance(other, bool) and other == number


def _slice(of: Integer, bits: str) -> str:
    """Returns these bits of a value, as the source writes them."""
    path = here(of)
    return f"({path}){{{bits}}}" if path.endswith("}") else f"{path}{{{bits}}}"


def _shifted(of: Integer, type: IntegerType, places: int) -> Integer:
    """Returns a number with fewer bits as one of this type, shifted left by this many positions."""
    name = body().let(type)
    width = of.type.width
    body().say(f"{name}{{{places}:{width}}} = {_slice(of, f'0:{width}')};")
    return Integer(type, name)


def _rounded(of: Integer, places: int, type: IntegerType) -> Integer:
    """Returns a number shifted right by this many positions, rounded to the nearest, as one of this type."""
    if of.type.width <= places:
        of = of.astype(IntegerType(places + 1, of.type.signed, of.type.point))
    kept = builtins.min(of.type.width - places, type.width)
    low = of.bits(places, kept)._as(IntegerType(kept, of.type.signed, type.point))
    half = of.bits(places - 1, 1)._as(BIT)
    name = body().let(type)
    body().say(f"{name}{{0}} = {here(half)};")
    return low.astype(type)._operate("+", Integer(type, name))


WRAPS = "wraps: the result does not fit the type"
BY_ZERO = "divides by zero"

_EXACTLY = {"+": operator.add, "-": operator.sub, "*": operator.mul}
"""Operators that wrap, with the operators that compute the exact result in a wider type."""


def _wraps(symbol: str, a: Integer, b: Integer, result: Integer) -> Integer:
    """Returns whether a sum, a difference or a product differs from the exact result."""
    width = 2 * a.type.width if symbol == "*" else a.type.width + 1
    return _differs(_wide(a.type, width, a.type.signed or symbol == "-"), _EXACTLY[symbol], a, b, result)


def _differs(
    wide: IntegerType, operate: Callable[[Integer, Integer], Integer], a: Integer, b: Integer, result: Integer
) -> Integer:
    """Returns whether a result differs from the result that a wider type gives for the same numbers."""
    return operate(a.astype(wide), b.astype(wide)) != result.astype(wide)


def _wide(of: IntegerType, width: int, signed: bool) -> IntegerType:
    if width > WIDEST:
        refuse(f"calculates with {of!r}, which is too wide for check", "leave the argument check out")
    return IntegerType(width, signed, of.point)


def _product_wraps(a: Integer, b: Integer, result: Integer) -> Integer:
    """Returns whether a product of fixed-point numbers does not fit their type."""
    wide = _wide(a.type, 2 * a.type.width, a.type.signed)
    return _rounded(a.wide_mul(b), a.type.point, wide) != result.astype(wide)


def quotient_wraps(a: Integer, b: Integer, result: Integer) -> Integer:
    """Returns whether a quotient does not fit the type of the divisor, of a dividend twice as wide."""
    wide = a.type
    return a._operate("/", b.astype(wide)) != result.astype(wide)


def _moved(a: Integer) -> Integer:
    """Returns a dividend of twice the width, shifted left by the digits after the point."""
    wide = IntegerType(2 * a.type.width, a.type.signed, a.type.point)
    return Integer(wide, body().let(wide, f"{variable(a.astype(wide))} << {a.type.point}"))


def _fixed_multiply(a: Integer, b: Integer) -> Integer:
    return _rounded(a.wide_mul(b), a.type.point, a.type)


def _fixed_divide(a: Integer, b: Integer) -> Integer:
    """Returns the quotient, rounded towards zero."""
    return Integer(a.type, body().let(a.type, f"{here(_moved(a))} // {here(b)}"))


def constant(number: object, type: IntegerType) -> Integer:
    """Returns a plain number as a value of this type, and refuses a number that does not fit."""
    if (whole := plain(number)) is not None:
        number = whole
    written = number
    if isinstance(number, (int, float, Decimal, Fraction)) and type.point:
        scaled = Fraction(number) * (1 << type.point)
        if scaled.denominator != 1:
            refuse(
                f"has {number}, which {type!r} cannot hold exactly",
                "write a multiple of the type's last bit, or use more bits behind the point",
            )
        number = int(scaled)
    if not isinstance(number, int):
        refuse(f"has {number!r} where {type!r} is needed", "use secrets of that type and whole plain numbers")
    if not type.low <= number <= type.high:
        least, most = (Fraction(end, 1 << type.point) for end in (type.low, type.high))
        refuse(f"has {written}, which {type!r} cannot hold", f"the type holds {least} to {most}")
    source().use(type)
    mark = "#" if type.signed else "##"
    # The lowest number of a signed type has no positive counterpart, so its bits are written.
    if type.signed and number < 0:
        bits = IntegerType(type.width)
        source().use(bits)
        return Integer(bits, body().let(bits, f"{number & (1 << type.width) - 1}##{type.width}"))._as(type)
    return Integer(type, body().let(type, f"{number}{mark}{type.width}"))
