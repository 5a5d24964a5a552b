"""Types of fixed width, for programs that are written in Python.

`u32` and `i16` are integers of 32 and 16 bits, and other widths have such names, too. `u8[4]` is an array,
and `u8[3, 2]` an array of two dimensions. A class that derives from `Struct` has named fields. `fixed(32, 8)`
is a number with 8 of its 32 bits after the point.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .errors import InvalidInput, UsageError
from .ports import EXPONENTS

WIDEST = 4096
"""Bits of the widest integer."""


class Type:
    """A type of fixed width."""

    def __getitem__(self, shape: int | tuple[int, ...]) -> Type:
        return array(self, shape)

    @property
    def word(self) -> str:
        """Its name in a source of the language, array dimensions left out."""
        raise NotImplementedError

    @property
    def dimensions(self) -> str:
        """Its array dimensions in a source of the language."""
        return ""


@dataclass(frozen=True)
class IntegerType(Type):
    """An integer of `width` bits, in two's complement if `signed`, with `point` bits after the point."""

    width: int
    signed: bool = False
    point: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.width <= WIDEST:
            raise UsageError(f"an integer cannot have {self.width} bits", f"the width must be 1 to {WIDEST}")
        if not 0 <= self.point <= self.width:
            raise UsageError(
                f"a number of {self.width} bits cannot have {self.point} bits behind the point",
                "give at most as many bits as the number has",
            )

    def __call__(self, number: Any) -> Any:
        """Returns a plain number as a number of this type, and refuses a number that does not fit."""
        from .integers import constant
        from .tracing import is_tracing

        if is_tracing():
            return constant(number, self)
        self.encode(number)
        return number

    def encode(self, number: Any, rounding: bool = False) -> Any:
        """Returns a number, or several, as the integers that represent them: 2.5 is 640 with 8 bits after the
        point. Inputs and outputs of programs are numbers. Only `Program.raw` uses these integers.

        Args:
            number: an `int`, `float`, `Decimal` or `Fraction`, or a sequence, array or column of these.
            rounding: whether a number that the type cannot hold exactly is rounded to the nearest.
        """
        if not isinstance(number, np.generic) and hasattr(number, "to_numpy"):
            number = number.to_numpy()
        if isinstance(number, (np.ndarray, list, tuple)):
            if _holds_masked(number):
                raise InvalidInput(f"a value for {self!r} is empty", "fill in the missing values first")
            values = np.asarray(number, dtype=object)
            encoded = np.array([self.encode(one, rounding) for one in values.reshape(-1)], dtype=object)
            kind: Any = object if self.width > 64 else np.int64 if self.signed else np.uint64
            return encoded.reshape(values.shape).astype(kind)
        try:
            if not isinstance(number, (int, float, Decimal, Fraction, np.number)):
                raise TypeError
            exact = Fraction(number.item() if isinstance(number, np.number) else number) * (1 << self.point)
        except (TypeError, ValueError, OverflowError):
            # The message is without the number, which may be somebody's input.
            raise InvalidInput(
                f"a value for {self!r} is not a finite number", "give finite numbers"
            ) from None
        if exact.denominator != 1 and not rounding:
            raise InvalidInput(
                f"{self!r} cannot hold this number exactly",
                "give rounding=True to take the nearest number, or use more bits",
            )
        whole = math.floor(exact + Fraction(1, 2)) if exact.denominator != 1 else int(exact)
        if not self.low <= whole <= self.high:
            least, most = (Fraction(end, 1 << self.point) for end in (self.low, self.high))
            raise InvalidInput(f"{self!r} cannot hold this number", f"the type holds {least} to {most}")
        return whole

    def decode(self, number: Any) -> Any:
        """Returns the numbers that integers represent, as `float`. The results are integers if the type has
        no bits after the point. This is the reverse of `encode`, up to the 53 bits of a `float`. Where a
        number may be larger than any `float`, the result is an exact `Decimal`. Numbers with a point, which
        are the outputs of programs, stay unchanged.
        """
        kind = np.asarray(number).dtype.kind
        if not self.point or kind == "f" or isinstance(number, (Decimal, Fraction)):
            return number
        if isinstance(number, (np.ndarray, list, tuple)):
            flat = np.asarray(number).reshape(-1)
            # Programs give decimals where a float has too few bits.
            if kind == "O" and any(isinstance(one, (float, Decimal, Fraction)) for one in flat):
                return number
            if self.width > EXPONENTS:
                return np.frompyfunc(self._decimal, 1, 1)(np.asarray(number, dtype=object))
            return np.asarray(number).astype(np.float64) / 2.0**self.point
        if self.width > EXPONENTS:
            return self._decimal(number)
        return float(Fraction(int(number), 1 << self.point))

    def _decimal(self, number: Any) -> Any:
        from .ports import Integer as Port
        from .wires import number_of

        return number_of(number, Port(self.width, self.signed, self.point))

    @property
    def low(self) -> int:
        return -(1 << self.width - 1) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << self.width - int(self.signed)) - 1

    @property
    def word(self) -> str:
        return f"{'i' if self.signed else 'u'}{self.width}{f'p{self.point}' if self.point else ''}"

    def joined(self, other: IntegerType) -> IntegerType:
        """Returns the narrowest type that holds the numbers of both."""
        signed, point = self.signed or other.signed, max(self.point, other.point)
        whole = max(one.width - one.point + (signed and not one.signed) for one in (self, other))
        return IntegerType(whole + point, signed, point)

    def wrap(self, value: int) -> int:
        """Returns the number of this type that has the same low bits."""
        value &= (1 << self.width) - 1
        return value - (1 << self.width) if value > self.high else value

    def __repr__(self) -> str:
        if not self.point:
            return f"bw.{self.word}"
        return f"bw.fixed({self.width}, {self.point}{'' if self.signed else ', signed=False'})"


@dataclass(frozen=True)
class ArrayType(Type):
    """`length` elements of one type."""

    element: Type
    length: int

    def __post_init__(self) -> None:
        if not isinstance(self.length, int) or self.length < 1:
            raise UsageError("an array needs a length of at least 1", "write for example bw.u8[4]")

    @property
    def word(self) -> str:
        return self.element.word

    @property
    def dimensions(self) -> str:
        return f"[{self.length}]{self.element.dimensions}"

    def __repr__(self) -> str:
        return f"{self.element!r}[{self.length}]"


def array(element: Type, shape: int | tuple[int, ...]) -> Type:
    """Returns the type of arrays of these elements, with this length, or with several dimensions as in numpy:
    `u8[3, 2]` is three times two.
    """
    for length in reversed(shape if isinstance(shape, tuple) else (shape,)):
        element = ArrayType(element, length)
    return element


@dataclass(frozen=True)
class StructType(Type):
    """Named fields."""

    name: str
    fields: tuple[tuple[str, Type], ...]

    @property
    def word(self) -> str:
        return self.name

    def field(self, name: str) -> Type | None:
        return dict(self.fields).get(name)

    def __repr__(self) -> str:
        return self.name


if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**how: Any) -> Any:
        """Declares to a type checker that fields are arguments."""
        return lambda of: of


@dataclass_transform()
class _StructMeta(type):
    """A class with annotations as a type: it can be the element of an array, and an annotation itself."""

    def __getitem__(cls, shape: int | tuple[int, ...]) -> Type:
        return array(type_of_annotation(cls), shape)

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        from .arrays import struct_of

        return struct_of(type_of_annotation(cls), args, fields)


class Struct(metaclass=_StructMeta):
    """Derive from it for a type with named fields:

    class Row(bw.Struct):
        key: bw.u32
        amounts: bw.u16[4]
    """

    _type: ClassVar[StructType | None] = None

    if TYPE_CHECKING:  # Methods of a record while a program runs.

        def replace(self, **fields: Any) -> Any: ...


def _holds_masked(values: Any) -> bool:
    if isinstance(values, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(values).any())
    return isinstance(values, (list, tuple)) and any(map(_holds_masked, values))


def type_of_annotation(annotation: Any, namespace: dict[str, Any] | None = None) -> Type:
    """Returns the type that an annotation names, or raises `UsageError`."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, namespace or {})  # As `typing.get_type_hints` does it.
        except Exception as e:
            raise UsageError(
                f"the annotation {annotation!r} cannot be evaluated",
                "use a type such as bw.u32, bw.i8[4] or a Struct",
            ) from e
    if isinstance(annotation, Type):
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, Struct) and annotation is not Struct:
        return _struct_type(annotation)
    raise UsageError(
        f"{annotation!r} is not a type of fixed width",
        "use bw.u32, bw.i8[4], a class that derives from bw.Struct",
    )


_TAKEN = frozenset({"type", "replace"})
"""The attributes of records besides their fields."""


def _struct_type(of: type) -> StructType:
    if "_type" not in of.__dict__ or of.__dict__["_type"] is None:
        import sys

        namespace = {**vars(sys.modules.get(of.__module__, object)), **dict(vars(of))}
        hints: dict[str, Any] = {}
        for one in reversed(of.__mro__):
            own = inspect.get_annotations(one)
            hints |= {name: hint for name, hint in own.items() if name != "_type"}
        if not hints:
            raise UsageError(f"{of.__name__} has no fields", "annotate them, as in `key: bw.u32`")
        if taken := hints.keys() & _TAKEN:
            raise UsageError(
                f"{of.__name__} has a field {', '.join(sorted(taken))}",
                "every record has an attribute with this name: rename the field, for example to kind",
            )
        fields = tuple((name, type_of_annotation(hint, namespace)) for name, hint in hints.items())
        of._type = StructType(of.__name__, fields)  # type: ignore[attr-defined]
    found: StructType = of._type  # type: ignore[attr-defined]
    return found


def uint(width: int) -> IntegerType:
    """Returns the unsigned integers of `width` bits; `bw.u32` is short for `bw.uint(32)`."""
    return IntegerType(width)


def sint(width: int) -> IntegerType:
    """Returns the signed integers of `width` bits; `bw.i32` is short for `bw.sint(32)`."""
    return IntegerType(width, signed=True)


def fixed(width: int, point: int | None = None, signed: bool = True) -> IntegerType:
    """Returns the fixed-point numbers of `width` bits, with `point` bits after the point, by default half of
    them.
    """
    return IntegerType(width, signed, width // 2 if point is None else point)


_SHORT = re.compile(r"([ui])([1-9][0-9]{0,3})")


def short(name: str) -> IntegerType | None:
    """Returns the type with a short name such as `u32`, or None."""
    found = _SHORT.fullmatch(name)
    if found is None or int(found[2]) > WIDEST:
        return None
    return IntegerType(int(found[2]), found[1] == "i")


def parts(type: Type) -> Iterator[StructType]:
    """Yields the structs that a type contains, inner structs first."""
    if isinstance(type, ArrayType):
        yield from parts(type.element)
    elif isinstance(type, StructType):
        for _, field in type.fields:
            yield from parts(field)
        yield type


@dataclass(frozen=True)
class Owned:
    """An input of a party, or an output that it learns: `party` is garbler, evaluator or both."""

    party: str
    type: Type


class Owner:
    """The owner of an input or output: `bw.Garbler[bw.u32]`."""

    def __init__(self, party: str) -> None:
        self.party = party

    def __getitem__(self, type: Any) -> Owned:
        return Owned(self.party, type_of_annotation(type))

    def __repr__(self) -> str:
        return f"bw.{self.party.capitalize()}"


class _Arrays:
    """Arrays of any type: `bw.Array[Row, 8]`, which type checkers accept where they do not accept
    `Row[8]`."""

    def __getitem__(self, what: tuple[Any, ...]) -> Type:
        if not isinstance(what, tuple) or len(what) < 2:
            raise UsageError("an array needs elements and a length", "write for example bw.Array[Row, 8]")
        return array(type_of_annotation(what[0]), what[1:])

    def __repr__(self) -> str:
        return "bw.Array"


# For a type checker, the names here are aliases, because it has no types that are values.
Array: Any = _Arrays()
Garbler: Any = Owner("garbler")
Evaluator: Any = Owner("evaluator")
Both: Any = Owner("both")
