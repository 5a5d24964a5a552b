"""Secret arrays and records, and the conversion of plain values to secret values of a type."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .integers import Integer, constant
from .tracing import Body, body, refuse, source
from .types import ArrayType, IntegerType, StructType, Type
from .values import Compound, Value, fold, here, plain, variable


class Array(Compound):
    """Secret elements of one type. A plain number selects an element by `[…]`, a secret number by `at`."""

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
        """Returns the element at a secret index, which must be unsigned. Beyond the end, the result is 0."""
        if isinstance(index, int):
            return self[index]
        if not isinstance(index, Integer) or index.type.signed:
            refuse(
                f"uses {index!r} as an index",
                "an index must be an unsigned secret with as many bits as it needs",
            )
        element = self.type.element
        return value(element, body().let(element, f"{variable(self)}[{variable(index)}]"))

    def with_at(self, index: Integer | int, new: object) -> Array:
        """Returns the array with another element at an index. Beyond the end nothing changes."""
        item = as_value(new, self.type.element)
        if isinstance(index, int):
            if not -len(self) <= index < len(self):
                raise IndexError(f"{index} of {len(self)} elements")
            place = str(index % len(self))
        elif isinstance(index, Integer) and not index.type.signed:
            place = variable(index)
        else:
            refuse(
                f"uses {index!r} as an index",
                "an index must be an unsigned secret with as many bits as it needs",
            )
        name = body().let(self.type, here(self))
        body().say(f"{name}[{place}] = {here(item)};")
        return Array(self.type, name)

    def __matmul__(self, other: Any) -> Any:
        from .functions import matmul

        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        from .functions import matmul

        return matmul(other, self)

    def _equals(self, other: object) -> Integer:
        return _all_equal(zip(self, as_value(other, self.type)))


class Record(Compound):
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

    def _equals(self, other: object) -> Integer:
        same = as_value(other, self.type)
        return _all_equal((getattr(self, name), getattr(same, name)) for name, _ in self.type.fields)


def _all_equal(pairs: Iterable[tuple[Any, Any]]) -> Integer:
    equal: Integer = fold((one == other for one, other in pairs), operator.and_, None)
    return equal


def value(type: Type, path: str, home: Body | None = None) -> Any:
    """Returns the value of this type at a path in the source."""
    if isinstance(type, ArrayType):
        return Array(type, path, home)
    return Record(type, path, home) if isinstance(type, StructType) else Integer(type, path, home)


def as_value(of: object, type: Type) -> Any:
    """Returns a plain or secret value as a secret one of this type."""
    if isinstance(of, Value):
        if of.type != type:
            refuse(f"has {of.type!r} where {type!r} is needed", _fitting(of.type, type))
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
        refuse(f"has {len(elements)} elements where {type!r} is needed", "give exactly that number")
    return array_of(elements)


def _fitting(given: Type, wanted: Type) -> str:
    """Returns a suggestion that converts a value to the required type."""
    if not (isinstance(given, IntegerType) and isinstance(wanted, IntegerType)):
        return "types must be the same, element by element and field by field"
    joined = wanted.joined(given)
    if joined == wanted:
        return f"types must be the same: write .astype({wanted!r}) behind this value"
    return (
        f"types must be the same: the value may not fit, so use {joined!r} for both, "
        "or keep its low bits with .truncate"
    )


def array_of(elements: Iterable[Any]) -> Array:
    """Returns an array of these values. At least one of them must be secret, and all must have one type."""
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
    """Returns a record with a value for each of its fields, by name."""
    assert isinstance(type, StructType)
    names = [name for name, _ in type.fields]
    given = {**dict(zip(names, args)), **fields}
    if len(args) + len(fields) != len(names) or set(given) != set(names):
        refuse(
            f"makes a {type.name} of {', '.join(given)}",
            f"give each of these fields once: {', '.join(names)}",
        )
    source().use(type)
    values = {name: as_value(given[name], of) for name, of in type.fields}
    home = body().let(type)
    for name, one in values.items():
        body().say(f"{home}.{name} = {here(one)};")
    return Record(type, home)
