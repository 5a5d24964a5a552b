"""Random programs: traced functions against the same Python on plain integers, in the clear and under the
protocols.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import brickwork as bw
import pytest
from brickwork.arrays import struct_of
from brickwork.types import IntegerType, StructType

TYPES = [bw.u8, bw.u16, bw.i8, bw.i16, bw.u3, bw.i5]
STEPS = 18

Typed = tuple[Any, Any]
"""A type, with a value of it: a secret value, or a plain value that has been wrapped."""


class Programmer:
    """Draws steps. The draws depend only on types: with the same seed they are the same for secret values and
    for plain ones.
    """

    def __init__(self, seed: int, values: list[Typed], plain: bool) -> None:
        self.draw, self.values, self.plain = random.Random(seed), values, plain

    def one(self, wanted: Callable[[Any], bool] = lambda type: True) -> Typed:
        found = [one for one in self.values if wanted(one[0])]
        return self.draw.choice(found)

    def like(self, type: Any) -> Any:
        """Returns a value of this type, sometimes a plain number."""
        number = self.draw.randint(type.low, type.high)
        return number if self.draw.random() < 0.2 else self.one(lambda other: other == type)[1]

    def several(self, type: Any, count: int) -> list[Any]:
        """Returns values of this type, of which the first is no plain number."""
        return [self.one(lambda other: other == type)[1], *(self.like(type) for _ in range(count - 1))]

    def array(self, values: list[Any], type: Any) -> Any:
        return values if self.plain else bw.array_of(values)

    def step(self) -> None:
        type, result = self.draw.choice(STEPS_OF)(self)
        self.values.append((type, type.wrap(result) if self.plain else result))


def calculate(of: Programmer) -> Typed:
    type, a = of.one()
    operators: list[Callable[[Any, Any], Any]] = [
        lambda x, y: x & y,
        lambda x, y: x | y,
        lambda x, y: x ^ y,
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
    ]
    # Bits have no arithmetic operators.
    operator = of.draw.choice(operators[:3] if type == bw.u1 else operators)
    return type, operator(a, of.like(type))


def turn(of: Programmer) -> Typed:
    type, a = of.one()
    operators: list[Callable[[Any], Any]] = [lambda x: -x, lambda x: ~x, abs]
    return type, of.draw.choice(operators)(a)


def compare(of: Programmer) -> Typed:
    type, a = of.one()
    operators: list[Callable[[Any, Any], Any]] = [
        lambda x, y: x < y,
        lambda x, y: x <= y,
        lambda x, y: x > y,
        lambda x, y: x >= y,
        lambda x, y: x == y,
        lambda x, y: x != y,
    ]
    return bw.u1, of.draw.choice(operators)(a, of.like(type))


def choose(of: Programmer) -> Typed:
    type, a = of.one()
    condition = compare(of)[1]
    return type, bw.where(condition, a, of.like(type))


def extreme(of: Programmer) -> Typed:
    type, _ = of.one()
    return type, of.draw.choice([bw.min, bw.max])(*of.several(type, 3))


def divide(of: Programmer) -> Typed:
    """Divides by odd numbers, and so never by 0."""
    type, a = of.one(lambda type: type.width > 1)
    b = of.one(lambda other: other == type)[1] | 1
    operators: list[Callable[[Any, Any], Any]] = [lambda x, y: x // y, lambda x, y: x % y]
    return type, of.draw.choice([bw.divide, bw.remainder] if type.signed else operators)(a, b)


def shift(of: Programmer) -> Typed:
    type, a = of.one(lambda type: type.width > 2)
    by = of.draw.randrange(type.width)
    return type, a << by if of.draw.random() < 0.5 else a >> by


def shift_in_secret(of: Programmer) -> Typed:
    type, a = of.one(lambda type: type.width > 2)
    _, b = of.one(lambda type: type.width > 2 and not type.signed)
    by = b & 3 if of.plain else b.bits(0, 2)
    return type, a << by if of.draw.random() < 0.5 else a >> by


def narrow(of: Programmer) -> Typed:
    type, a = of.one(lambda type: type.width >= 3)
    less = IntegerType(of.draw.randint(2, 3), of.draw.random() < 0.5)
    return less, a if of.plain else a.truncate(less)


def widen(of: Programmer) -> Typed:
    type, a = of.one(lambda type: type.width < 16)
    more = IntegerType(16, type.signed)
    return more, a if of.plain else a.astype(more)


def cut(of: Programmer) -> Typed:
    type, a = of.one(lambda type: type.width > 2)
    base = of.draw.randrange(type.width - 1)
    length = of.draw.randint(1, type.width - base)
    bits = IntegerType(length)
    return bits, a >> base if of.plain else a[base : base + length]


def count(of: Programmer) -> Typed:
    type, a = of.one(lambda type: type.width > 2 and not type.signed)
    return type, bw.popcount(a)


def product(of: Programmer) -> Typed:
    type, a = of.one(lambda type: type.width <= 8)
    b = of.one(lambda other: other == type)[1]
    wide = IntegerType(2 * type.width, type.signed)
    return wide, a * b if of.plain else a.wide_mul(b)


def look(of: Programmer) -> Typed:
    """Reads a secret position of an array, after another element has changed."""
    type, _ = of.one()
    row, new = of.several(type, 4), of.like(type)
    first, second = (of.one(lambda type: not type.signed and type.width > 2)[1] for _ in range(2))
    if of.plain:
        row[first & 3] = new
        return type, row[second & 3]
    return type, bw.array_of(row).with_at(first.bits(0, 2), new).at(second.bits(0, 2))


def together(of: Programmer) -> Typed:
    type, _ = of.one(lambda type: type != bw.u1)
    row = of.array(of.several(type, 5), type)
    kind = of.draw.choice(["sort", "sum", "dot", "matrix"])
    place = of.draw.randrange(5)
    if kind == "sort":
        return type, bw.sort(row)[place]
    if kind == "sum":
        return type, bw.sum(row)
    other = of.array(of.several(type, 5), type)
    if kind == "dot":
        return type, bw.dot(row, other)
    return type, bw.matmul([list(row), list(other)], list(row))[place % 2]


def of_bits(of: Programmer) -> Typed:
    conditions = [compare(of)[1] for _ in range(3)]
    return bw.u1, of.draw.choice([bw.all, bw.any])(conditions)


def record(of: Programmer) -> Typed:
    """Returns a field of one of two records, the second of which is a changed copy of the first."""
    type, a = of.one()
    other, b = of.one()
    new, condition = of.like(other), compare(of)[1]
    if of.plain:
        return other, b if condition else new
    both = StructType(f"both_{type!r}_{other!r}".replace("bw.", ""), (("a", type), ("b", other)))
    whole = struct_of(both, (a, b), {})
    return other, bw.where(condition, whole, whole.replace(b=new)).b


@bw.component
def mixed(a: Any, b: Any, by: int) -> Any:
    return (a ^ b) * by + a


@bw.component
def outer(a: Any, b: Any) -> Any:
    return mixed(mixed(a, b, 3), b, 5) - b


def call(of: Programmer) -> Typed:
    type, a = of.one(lambda type: type.width >= 5)
    b = of.one(lambda other: other == type)[1]
    return type, outer(a, b) if of.draw.random() < 0.5 else mixed(a, b, of.draw.randint(1, 7))


STEPS_OF: list[Callable[[Programmer], Typed]] = [
    calculate,
    calculate,
    turn,
    compare,
    choose,
    extreme,
    divide,
    shift,
    shift_in_secret,
    narrow,
    widen,
    cut,
    count,
    product,
    look,
    together,
    of_bits,
    record,
    call,
]

UNDER = ["duplo", "authenticated", "semi-honest", "compgc", "duplo", "authenticated"]
"""The protocols for the first programs."""


@pytest.mark.parametrize("seed", range(24))
def test_random_programs_are_what_their_python_is(seed: int) -> None:
    def body(a: list[Any], b: list[Any], plain: bool) -> list[Typed]:
        programmer = Programmer(seed, [*zip(TYPES, a), *zip(TYPES, b)], plain)
        for _ in range(STEPS):
            programmer.step()
        return programmer.values

    names = [f"x{i}" for i in range(len(TYPES))]
    types = [type for type, _ in body([1] * len(TYPES), [1] * len(TYPES), True)]
    given = StructType("given", tuple(zip(names, TYPES)))
    learned = StructType("learned", tuple((f"y{i}", type) for i, type in enumerate(types)))

    def traced(a, b):  # type: ignore[no-untyped-def]
        fields = [[getattr(one, name) for name in names] for one in (a, b)]
        return {f"y{i}": one for i, (_, one) in enumerate(body(fields[0], fields[1], False))}

    traced.__annotations__ = {"a": bw.Garbler[given], "b": bw.Evaluator[given], "return": bw.Both[learned]}
    program = bw.program(traced)
    draw = random.Random(seed + 100)
    for case in range(4):
        a, b = ([draw.randint(type.low, type.high) for type in TYPES] for _ in range(2))
        inputs = [dict(zip(names, values)) for values in (a, b)]
        expected = {f"y{i}": int(value) for i, (_, value) in enumerate(body(a, b, True))}
        assert bw.simulate(program, *inputs).garbler == expected
        if case == 0 and seed < len(UNDER):
            assert bw.run(program, *inputs, protocol=UNDER[seed]).evaluator == expected
