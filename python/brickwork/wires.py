"""Converts wire bits of integers, a whole column at a time: no loop in Python handles single numbers.

A value's wire bits are those of its fields and elements in sequence. Each integer has its least significant
bit first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal, DecimalException, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._tasks import look, looking
from .errors import InvalidInput
from .ports import EXPONENTS, Integer

Bits = NDArray[np.uint8]
"""Wire bits, one a byte: shape (rows, width)."""

Scale = Mapping[str, int]
"""Digits behind the decimal point, by the name of a field or column."""

_LIMB = 64
_EXACT = Context(prec=6000)
"""For decimals that are moved, and never rounded: the widest integer has some 1 200 digits."""


@dataclass(frozen=True)
class Reading:
    """The options for reading values.

    Attributes:
        scale: digits behind the decimal point, by the name of a field or column of integers.
        extra: whether columns that the program does not have are ignored.
        rounding: whether a number that a fixed-point type cannot hold is rounded to the nearest.
        raw: whether fixed-point numbers are given as integers.
    """

    scale: Scale = field(default_factory=dict)
    extra: bool = False
    rounding: bool = False
    raw: bool = False


@dataclass(frozen=True)
class Place:
    """A part of a value with the options for reading it. Messages name the part, and never repeat a value."""

    who: str
    path: str
    reading: Reading
    alone: bool = False
    """True for a single number, which has no row."""

    def field(self, name: str) -> Place:
        return replace(self, path=f"{self.path}.{name}" if self.path else name)

    def at(self, row: int) -> Place:
        return replace(self, path=f"{self.path}[{row}]")

    def digits(self) -> int | None:
        """Returns the number of digits after the point, if it was given for this column or for its array."""
        here = [name.split("[", 1)[0] for name in self.path.split(".")]
        for name, digits in self.reading.scale.items():
            wanted = name.split(".")
            if here[-len(wanted) :] == wanted:
                return digits
        return None

    def how_to_scale(self) -> str:
        """Returns a hint for a number with a point."""
        name = self.path.rpartition(".")[2].partition("[")[0] or "NAME"
        return f'give integers, or say scale={{"{name}": 2}} if 12.50 stands for the integer 1250'

    def wrong(self, what: str, hint: str, row: int | None = None) -> InvalidInput:
        where = str(self) if row is None or self.alone else f"{self}, row {row}"
        return InvalidInput(f"{where}: {what}", hint)

    def __str__(self) -> str:
        return f"{self.who}: {self.path}" if self.path else self.who


def to_text(bits: Bits) -> str:
    """Returns wire bits as characters 0 and 1."""
    look()
    return (bits.reshape(-1) + ord("0")).tobytes().decode("ascii")


def from_text(text: str) -> Bits:
    """Returns the wire bits that are these characters."""
    return np.frombuffer(text.encode("ascii"), np.uint8) - ord("0")


def integer_bits(values: NDArray[Any], kind: Integer, place: Place) -> Bits:
    """Returns the bits of numbers of any type of numpy, or of Python, shape (rows, kind.bits).

    Raises:
        InvalidInput: a value is no integer, or does not fit the type; the message names the row.
    """
    values = _of_fixed(values, kind, place) if kind.point else _whole(values, place)
    if len(values) and (values.min() < kind.low or values.max() > kind.high):
        row = int(np.argmax((values < kind.low) | (values > kind.high)))
        ends = (number_of(end, kind) for end in (kind.low, kind.high))
        raise place.wrong(f"the value does not fit into {kind}", "the type takes {} to {}".format(*ends), row)
    words = np.empty((len(values), -(-kind.bits // _LIMB)), "<u8")
    for number in range(words.shape[1]):
        look()
        words[:, number] = _limb(values, number)
    look()
    bits: Bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    return bits[:, : kind.bits]


def _limb(values: NDArray[Any], number: int) -> NDArray[np.uint64]:
    """Returns 64 bits of each number, in two's complement."""
    if values.dtype.kind == "O":
        moved = np.right_shift(values, _LIMB * number) if number else values
        limb: NDArray[np.uint64] = np.bitwise_and(moved, (1 << _LIMB) - 1).astype(np.uint64)
        return limb
    if number == 0:
        signed = values.dtype.kind == "i"
        return values.astype(np.int64).view(np.uint64) if signed else values.astype(np.uint64)
    return np.where(values < 0, np.uint64((1 << _LIMB) - 1), np.uint64(0))


def _whole(values: NDArray[Any], place: Place) -> NDArray[Any]:
    """Returns integers of a type of numpy or of Python, with the decimal point moved if there is a scale."""
    digits = place.digits()
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    if values.dtype.kind == "f":
        return _of_floats(values, digits, place)
    if values.dtype.kind == "O":
        return _of_objects(values, digits, place)
    if values.dtype.kind in "US":
        raise place.wrong(*TEXT)
    if values.dtype.kind not in "iu":
        raise place.wrong(f"the column has values of type {values.dtype}", "give integers")
    return values if digits is None else _moved(values, 10**digits)


def _moved(values: NDArray[Any], factor: int) -> NDArray[Any]:
    """Returns integers times a factor, in a type that holds them."""
    ends = [int(end) * factor for end in (values.min(), values.max())] if len(values) else [0, 0]
    for kind in (np.int64, np.uint64):
        if np.iinfo(kind).min <= ends[0] and ends[1] <= np.iinfo(kind).max and factor <= np.iinfo(kind).max:
            return values.astype(kind) * kind(factor)
    wide: NDArray[Any] = values.astype(object) * factor
    return wide


def _of_floats(values: NDArray[Any], digits: int | None, place: Place) -> NDArray[Any]:
    if not len(values):
        return values.astype(np.int64)
    if not (finite := np.isfinite(values)).all():
        raise place.wrong(*NOT_FINITE, int(np.argmin(finite)))
    if digits is None:
        fractions = np.rint(values) != values
        row = int(np.argmax(fractions)) if fractions.any() else None
        what = (
            "the value has a decimal point"
            if row is not None
            else f"the column has whole numbers of type {values.dtype}"
        )
        raise place.wrong(what, place.how_to_scale(), row)
    # The computation uses all bits of the input, for every type of column, so nothing is rounded on the way.
    exact = values.astype(np.float64)
    wrong = exact != values
    if not wrong.any():
        # A number with so few digits stays the same when it is rounded to them.
        wrong = np.round(exact, digits).astype(values.dtype) != values
    if wrong.any():
        raise _no_decimal(digits, int(np.argmax(wrong)), place)
    far = np.spacing(np.abs(values)).astype(np.float64) * 10.0**digits > 1
    if far.any():
        raise place.wrong(
            f"the value is a {values.dtype}, which cannot distinguish numbers with {digits} digits "
            "behind the point",
            "give float64 or Decimal, or integers",
            int(np.argmax(far)),
        )
    return np.rint(exact * 10.0**digits).astype(np.int64)


def _no_decimal(digits: int, row: int, place: Place) -> InvalidInput:
    return place.wrong(
        f"the value has more than {digits} digits behind the point", "round the value first", row
    )


def _of_objects(values: NDArray[Any], digits: int | None, place: Place) -> NDArray[Any]:
    """Returns the integers of a column of objects: `int`, numbers of numpy, `Decimal` with a scale."""
    kinds = set(map(type, values))
    allowed: tuple[type, ...] = (int, np.integer) if digits is None else (int, np.integer, Decimal)
    if not all(issubclass(kind, allowed) for kind in kinds):
        row = next(row for row, one in enumerate(values) if not isinstance(one, allowed))
        if values[row] is None:
            raise place.wrong(*EMPTY, row)
        if isinstance(values[row], (str, bytes)):
            raise place.wrong(*TEXT, row)
        raise place.wrong("the value is not an integer", place.how_to_scale(), row)
    if Decimal in kinds:
        return _of_decimals(values, digits or 0, place)
    if kinds - {int}:
        # A type of numpy may be a single number.
        each: Any = np.frompyfunc(int, 1, 1)
        values = each(values)
    values = _narrow(values)
    return values if digits is None else _moved(values, 10**digits)


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Returns Python integers in a type of numpy, if one holds them."""
    try:
        return values.astype(np.int64)
    except OverflowError:
        return values


def _of_fixed(values: NDArray[Any], kind: Integer, place: Place) -> NDArray[Any]:
    """Returns the integers that represent fixed-point numbers."""
    if values.dtype.kind in "US":
        raise place.wrong(*TEXT)
    if values.dtype.kind in "biu":
        return _moved(values.astype(np.uint8) if values.dtype.kind == "b" else values, 1 << kind.point)
    if values.dtype.kind == "O":
        return _narrow(_of_numbers(values, kind, place))
    if values.dtype.kind != "f":
        raise place.wrong(f"the column has values of type {values.dtype}", "give numbers")
    exact = values.astype(np.float64)
    if not (finite := np.isfinite(exact) & (exact == values)).all():
        raise place.wrong(*NOT_FINITE, int(np.argmin(finite)))
    if kind.bits + kind.point > EXPONENTS:
        # The results may be numbers that no float holds.
        return _narrow(_of_numbers(values.astype(object), kind, place))
    if (far := np.abs(exact) > 2.0**kind.bits).any():
        raise place.wrong(f"the value does not fit into {kind}", "give a smaller number", int(np.argmax(far)))
    moved = np.ldexp(exact, kind.point)
    whole = np.floor(moved)
    rest = moved - whole
    if rest.any() and not place.reading.rounding:
        raise _between(kind, place, int(np.argmax(rest != 0)))
    whole += rest >= 0.5
    # Within these bounds, a float converts to an integer of numpy.
    if len(whole) == 0 or np.abs(whole).max() < 2.0**63:
        return whole.astype(np.int64)
    return np.array([int(one) for one in whole], dtype=object)


def _of_numbers(values: NDArray[Any], kind: Integer, place: Place) -> NDArray[Any]:
    """Returns the integers that represent numbers of Python (`int`, `float`, `Decimal`, `Fraction`) and of
    numpy."""
    found = np.empty(len(values), dtype=object)
    for row, one in enumerate(looking(values)):
        if one is None:
            raise place.wrong(*EMPTY, row)
        if isinstance(one, (str, bytes)):
            raise place.wrong(*TEXT, row)
        one = one.item() if isinstance(one, np.generic) else one
        if not isinstance(one, (int, float, Decimal, Fraction)):
            raise place.wrong("the value is not a number", "give int, float, Decimal or Fraction", row)
        if isinstance(one, Decimal) and one.is_finite() and one.adjusted() > _EXACT.prec:
            raise place.wrong(f"the value does not fit into {kind}", "give a smaller number", row)
        try:
            exact = Fraction(one) * (1 << kind.point)
        except (ValueError, OverflowError):
            # The error has no cause, because the cause may repeat the value.
            raise place.wrong(*NOT_FINITE, row) from None
        if exact.denominator != 1 and not place.reading.rounding:
            raise _between(kind, place, row)
        found[row] = math.floor(exact + Fraction(1, 2))
    return found


def _between(kind: Integer, place: Place, row: int) -> InvalidInput:
    return place.wrong(
        f"{kind} cannot hold the value exactly",
        "give rounding=True to take the nearest number, or use a type with more bits behind the point",
        row,
    )


EMPTY = ("the value is empty", "fill in the missing value, or leave the row out")
TEXT = ("the value is text", "convert it to a number first, such as with pandas.to_numeric or int")
NOT_FINITE = ("the value is infinite, or not a number", "replace the value, or leave the row out")


def _of_decimals(values: NDArray[Any], digits: int, place: Place) -> NDArray[Any]:
    def moved(of: NDArray[Any]) -> NDArray[Any]:
        scaled = of * Decimal(10) ** digits
        if (scaled % 1 != 0).any():
            raise ValueError
        whole: NDArray[Any] = np.frompyfunc(int, 1, 1)(scaled)
        return whole

    with localcontext(_EXACT):
        try:
            return moved(values)
        except (ValueError, OverflowError, DecimalException):
            pass
        for row in range(len(values)):
            try:
                moved(values[row : row + 1])
            except (ValueError, OverflowError, DecimalException):
                # The error has no cause, because the cause may repeat the value.
                raise _no_decimal(digits, row, place) from None
    raise AssertionError("a column was refused although each of its rows is accepted")


_MANTISSA = 53
"""Bits of an integer that a float holds exactly."""


def number_of(word: Any, kind: Integer) -> Any:
    """Returns the number that an integer represents: an `int`, a `float`, or a `Decimal` beyond 53 bits."""
    if not kind.point:
        return int(word)
    if kind.bits <= _MANTISSA:
        return math.ldexp(int(word), -kind.point)
    with localcontext(_EXACT):
        return Decimal(int(word)) / (1 << kind.point)


def integers(bits: Bits, kind: Integer) -> NDArray[Any]:
    """Returns the integers of rows of bits, in the smallest type of numpy that holds them, or as Python
    integers beyond 64 bits. Fixed-point numbers are floats, which hold them exactly, or `Decimal` beyond 53
    bits.
    """
    if kind.point:
        words = integers(bits, Integer(kind.bits, kind.signed))
        if kind.bits <= _MANTISSA:
            return np.ldexp(words.astype(np.float64), -kind.point)
        exact: Any = np.frompyfunc(lambda word: number_of(word, kind), 1, 1)
        decimals: NDArray[Any] = exact(words)
        return decimals
    size = next((size for size in (8, 16, 32, 64) if size >= kind.bits), -(-kind.bits // _LIMB) * _LIMB)
    wide = np.zeros((len(bits), size), np.uint8)
    wide[:, : kind.bits] = bits
    if kind.signed and len(bits):
        wide[:, kind.bits :] = bits[:, kind.bits - 1 :]
    octets = np.ascontiguousarray(np.packbits(wide, axis=1, bitorder="little"))
    if size <= _LIMB:
        dtype = np.dtype(f"<{'i' if kind.signed else 'u'}{size // 8}")
        return octets.view(dtype).reshape(-1).astype(dtype.newbyteorder("="))
    limbs = octets.view("<u8").astype(object)
    if kind.signed:
        limbs[:, -1] = octets.view("<i8")[:, -1].astype(object)
    values = limbs[:, -1]
    for number in range(limbs.shape[1] - 2, -1, -1):
        values = np.bitwise_or(np.left_shift(values, _LIMB), limbs[:, number])
    return values
