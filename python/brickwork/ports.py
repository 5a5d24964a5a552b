"""The inputs and outputs of a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

EXPONENTS = 1023
"""Bits of the widest integer whose values are converted to `float`, exactly or nearly."""


@dataclass(frozen=True)
class Integer:
    """An integer of `bits` bits, in two's complement if `signed`. With a `point` it represents a number that
    has this many of its bits after the point.
    """

    bits: int
    signed: bool
    point: int = 0

    @property
    def width(self) -> int:
        return self.bits

    @property
    def low(self) -> int:
        """The smallest integer."""
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def high(self) -> int:
        """The largest integer."""
        return (1 << self.bits - int(self.signed)) - 1

    def __str__(self) -> str:
        if self.point:
            return f"{'' if self.signed else 'u'}fixed{self.bits}.{self.point}"
        return f"{'int' if self.signed else 'uint'}{self.bits}"


@dataclass(frozen=True)
class Array:
    """`length` elements of one type."""

    element: Type
    length: int

    @property
    def width(self) -> int:
        return self.element.width * self.length

    def __str__(self) -> str:
        return f"{self.element}[{self.length}]"


@dataclass(frozen=True)
class Struct:
    """Named fields, in the order of their wires."""

    fields: tuple[tuple[str, Type], ...]

    @property
    def width(self) -> int:
        return sum(field.width for _, field in self.fields)

    def __str__(self) -> str:
        return "{" + ", ".join(f"{name}: {field}" for name, field in self.fields) + "}"


Type = Integer | Array | Struct


@dataclass(frozen=True)
class Port:
    """A named input of `party`, or an output that `party` learns: garbler, evaluator, both or nobody."""

    name: str
    party: str
    type: Type

    def __str__(self) -> str:
        return f"{self.name}: {self.type} ({self.party})"


def type_from_json(value: Any) -> Type:
    """Returns the type that the native part describes."""
    ((kind, what),) = value.items()
    if kind in ("uint", "int"):
        return Integer(what, kind == "int")
    if kind == "fixed":
        return Integer(what["width"], what["signed"], what["point"])
    if kind == "array":
        return Array(type_from_json(what[0]), what[1])
    return Struct(tuple((name, type_from_json(field)) for name, field in what))


def without_points(kind: Type) -> Type:
    """Returns the type of the integers that represent fixed-point numbers."""
    if isinstance(kind, Integer):
        return Integer(kind.bits, kind.signed)
    if isinstance(kind, Array):
        return Array(without_points(kind.element), kind.length)
    return Struct(tuple((name, without_points(field)) for name, field in kind.fields))


def type_of(ports: Sequence[Port]) -> Type | None:
    """Returns the type of a party's whole value: the type of its only port, or a struct of several ports."""
    if not ports:
        return None
    if len(ports) == 1:
        return ports[0].type
    return Struct(tuple((port.name, port.type) for port in ports))


def leaves(kind: Type, name: str = "") -> Iterator[tuple[str, Integer]]:
    """Yields the integers of a type in the order of their wires, with the names of their columns: `amount`,
    `price.net`, `weights[3]`.
    """
    if isinstance(kind, Integer):
        yield name, kind
    elif isinstance(kind, Array):
        for place in range(kind.length):
            yield from leaves(kind.element, f"{name}[{place}]")
    else:
        for field, of in kind.fields:
            yield from leaves(of, f"{name}.{field}" if name else field)
