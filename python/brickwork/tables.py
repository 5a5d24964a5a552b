"""Operations on tables, for programs in Python. A table is an array of structs, and nobody sees a row.

The number of rows is public, and the number of remaining rows is not: rows that are not wanted become zeros
and stay. A row whose key is 0 counts as absent, so tables may be shorter than their type.

The function for each row is a component. A function of the caller is a component, too, if it sees its
arguments and no other secret.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from types import FunctionType, ModuleType
from typing import Any

from .arrays import Array, Record, array_of, struct_of, value
from .functions import where
from .integers import Integer
from .traced import Component, component
from .tracing import body, check, refuse, source
from .types import ArrayType, IntegerType, StructType, Type
from .values import BIT, Value, here


def width(type: Type) -> int:
    """Returns the number of bits of a value of this type."""
    if isinstance(type, IntegerType):
        return type.width
    if isinstance(type, ArrayType):
        return type.length * width(type.element)
    assert isinstance(type, StructType)
    return sum(width(field) for _, field in type.fields)


def leaves(of: Value) -> Iterator[Integer]:
    """Yields the integers of a value, in the order of their bits."""
    if isinstance(of, Integer):
        yield of
    elif isinstance(of, Array):
        for one in of:
            yield from leaves(one)
    else:
        assert isinstance(of, Record)
        for name, _ in of.type.fields:
            yield from leaves(getattr(of, name))


def pack(of: Value) -> Integer:
    """Returns the bits of a value as one unsigned integer. This costs no gates."""
    type = IntegerType(width(of.type))
    name, base = body().let(type), 0
    for leaf in leaves(of):
        body().say(f"{name}{{{base}:{leaf.type.width}}} = {here(leaf.bits(0, leaf.type.width))};")
        base += leaf.type.width
    return Integer(type, name)


def unpack(bits: Integer, type: Type) -> Any:
    """Returns the value of this type whose bits `pack` gave. Other bits may follow them."""
    source().use(type)
    name, base = body().let(type), 0
    for leaf in leaves(value(type, name)):
        body().say(f"{here(leaf)}{{0:{leaf.type.width}}} = {here(bits.bits(base, leaf.type.width))};")
        base += leaf.type.width
    return value(type, name)


def _rows(table: Any) -> list[Any]:
    rows = list(table)
    if not rows or not builtins.all(isinstance(row, Record) and row.type == rows[0].type for row in rows):
        refuse(
            "needs a table",
            "a table is an array of structs, or a list of rows of one type",
        )
    return rows


def _key(row: Record, key: str) -> Integer:
    found = getattr(row, key)
    if not isinstance(found, Integer):
        refuse(f"uses {key} as a key", "a key must be a field that is an integer")
    return found


@component
def exchanged(a: Any, b: Any, base: int, length: int, signed: bool) -> Any:
    """Returns two packed rows, with the row of the smaller key first. The key is in these bits."""
    first, second = a.bits(base, length), b.bits(base, length)
    if signed:
        # With inverted sign bits, signed numbers have the order of unsigned numbers.
        first, second = first ^ (1 << length - 1), second ^ (1 << length - 1)
    swap = where(second < first, a ^ b, 0)
    return [a ^ swap, b ^ swap]


def _place(type: StructType, key: str) -> tuple[int, int, bool]:
    """Returns the position of a field in the bits of a row, its width, and whether it has a sign."""
    base = 0
    for name, field in type.fields:
        if name == key:
            if not isinstance(field, IntegerType):
                refuse(f"uses {key} as a key", "a key must be a field that is an integer")
            return base, field.width, field.signed
        base += width(field)
    refuse(f"uses {key} as a key", f"the fields are {', '.join(name for name, _ in type.fields)}")


Place = tuple[int, int, bool]


def _sorted(rows: list[Integer], place: Place) -> list[Integer]:
    """Sorts packed rows: Batcher's odd-even merge sort."""
    if len(rows) < 2:
        return rows
    half = (len(rows) + 1) // 2
    return _merged(_sorted(rows[:half], place), _sorted(rows[half:], place), place)


def _merged(a: list[Integer], b: list[Integer], place: Place) -> list[Integer]:
    """Merges two sorted lists of any lengths: Batcher's odd-even merge. Missing elements are None.

    None comes last, and an exchange with None costs nothing.
    """
    size = 1
    while size < max(len(a), len(b)):
        size *= 2

    def ordered(x: Integer | None, y: Integer | None) -> list[Integer | None]:
        if x is None or y is None:
            return [y, x] if x is None else [x, y]
        return list(exchanged(x, y, *place))

    def merge(a: list[Integer | None], b: list[Integer | None]) -> list[Integer | None]:
        if len(a) == 1:
            return ordered(a[0], b[0])
        even, odd = merge(a[::2], b[::2]), merge(a[1::2], b[1::2])
        row = even[:1]
        for x, y in zip(odd, even[1:]):
            row += ordered(x, y)
        return row + odd[-1:]

    padded = [[*one, *[None] * (size - len(one))] for one in (a, b)]
    return [one for one in merge(padded[0], padded[1]) if one is not None]


def sort_by(table: Any, key: str) -> Array:
    """Returns the rows in ascending order of a field. Rows with the same key can be in any order."""
    rows = _rows(table)
    type = rows[0].type
    packed = _sorted([pack(row) for row in rows], _place(type, key))
    return array_of([unpack(row, type) for row in packed])


@component
def rises(so_far: Any, a: Any, b: Any) -> Any:
    """Returns whether keys were in ascending order so far, including this one."""
    return so_far & (a <= b)


@component
def rises_once(so_far: Any, a: Any, b: Any) -> Any:
    """Returns whether keys were in ascending order so far, including this one, and none but 0 occurs
    twice."""
    first = a == 0
    if a.type.signed:
        first = first & ~b.bits(b.type.width - 1, 1)
    return so_far & ((a < b) | first)


def in_order(table: Any, key: str, unique: bool = False) -> Integer:
    """Returns whether the rows are in ascending order of a field.

    Args:
        unique: whether no key but 0 may be there twice, as `join` needs it.
    """
    keys = [_key(row, key) for row in _rows(table)]
    found: Integer = BIT(1)
    for a, b in zip(keys, keys[1:]):
        found = (rises_once if unique else rises)(found, a, b)
    return found


def _expect(table: Any, key: str, keys: str) -> None:
    """Notes a rule for a table. If the table is a party's input without a change, the party checks it before
    the run."""
    if isinstance(table, Array):
        body().tables.append((here(table), key, keys))


def merge_by(left: Any, right: Any, key: str) -> Array:
    """Merges the rows of two tables of one type, each in ascending order of a field, into one such table.

    If one of them is not in order, all rows are 0, because other results would tell its party which rows
    belong together. An input that is not in order is refused before any part of it is sent.
    """
    _expect(left, key, "sorted")
    _expect(right, key, "sorted")
    first, second = _rows(left), _rows(right)
    type, other = first[0].type, second[0].type
    if type != other:
        refuse(f"merges rows of {type!r} with rows of {other!r}", "convert both to rows of one Struct first")
    packed = _merged([pack(row) for row in first], [pack(row) for row in second], _place(type, key))
    ordered = in_order(left, key) & in_order(right, key)
    check("merges a table that is not sorted by its key", lambda: ~ordered)
    return array_of([unpack(kept(ordered, row), type) for row in packed])


def top(table: Any, key: str, k: int) -> Array:
    """Returns the `k` rows with the largest values of a field, the largest first."""
    rows = _rows(table)
    type, place = rows[0].type, _place(rows[0].type, key)
    left = [pack(row) for row in rows]
    if not 1 <= k <= len(left):
        refuse(f"takes {k} of {len(left)} rows", "take at least one row, and no more than the table has")
    found = []
    for _ in range(k):
        # The largest remaining row moves to the end.
        for i in range(len(left) - 1):
            left[i : i + 2] = list(exchanged(left[i], left[i + 1], *place))
        found.append(unpack(left.pop(), type))
    return array_of(found)


@component
def kept(wanted: Any, bits: Any) -> Any:
    """Returns these bits if the row is wanted, and otherwise zeros."""
    return where(wanted, bits, 0)


def _closed(of: Any) -> bool:
    """Returns whether a function reads no secret except its arguments, so that it can be in a component."""
    if isinstance(of, Component):
        return True
    if not isinstance(of, FunctionType):
        return isinstance(of, (int, float, str, Decimal, Fraction, Type, type, ModuleType, type(None)))
    try:
        seen = [cell.cell_contents for cell in of.__closure__ or ()]
    except ValueError:  # A variable has no value yet.
        return False
    return builtins.all(map(_closed, [*seen, *(of.__defaults__ or ()), *(of.__kwdefaults__ or {}).values()]))


def keep(table: Any, wanted: Callable[[Any], Any]) -> Array:
    """Returns the table with zeros for the rows whose `wanted` is 0."""
    rows = _rows(table)
    type = rows[0].type

    def filter(row: Any) -> Any:
        answer = wanted(row)
        bit = answer if isinstance(answer, Value) else BIT(int(bool(answer)))
        return unpack(kept(bit, pack(row)), type)

    each = component(filter) if _closed(wanted) else filter
    return array_of([each(row) for row in rows])


@component
def running_sum(total: Any, before: Any, key: Any, own: Any) -> Any:
    """Returns the sum of a key with one more row, which may be the first row of its key."""
    return own + where(before == key, total, 0)


@component
def group(ordered: Any, key: Any, total: Any, following: Any) -> Any:
    """Returns a key and its sum if this is its last row and the table is in order, and otherwise zeros."""
    last = ordered & (key != 0)
    if following is not None:
        last = last & (key != following)
    of = [key.type, total.type]
    name = "group_" + "_".join(f"{'su'[not one.signed]}{one.width}p{one.point}" for one in of)
    type = StructType(name, (("key", of[0]), ("sum", of[1])))
    return struct_of(type, (), {"key": where(last, key, 0), "sum": where(last, total, 0)})


def sum_by(
    table: Any, key: str, amount: str, type: IntegerType | None = None
) -> list[tuple[Integer, Integer]]:
    """Returns the sum of a field for each key of a table that is in ascending order of the key.

    There are as many pairs of key and sum as rows. The sum of a key is at its last row, and the other pairs
    are 0. If the table is not in order, all pairs are 0. A row whose key is 0 counts as absent. An input that
    is not in order, or that has a key 0 in a row with other values, is refused before any part of it is sent.

    Args:
        type: the type of the sums, by default the field's, in which they wrap.
    """
    rows = _rows(table)
    _expect(table, key, "grouped")
    found, ordered = [], in_order(table, key)
    check("sums a table that is not sorted by its key", lambda: ~ordered)
    total, before = None, None
    for row, following in zip(rows, [*rows[1:], None]):
        own, found_key = getattr(row, amount), _key(row, key)
        own = own.astype(type or own.type)
        total = own if before is None else running_sum(total, before, found_key, own)
        before = found_key
        of = group(ordered, found_key, total, None if following is None else _key(following, key))
        found.append((of.key, of.sum))
    return found


def join(left: Any, right: Any, on: str, take: Callable[[Any, Any], Any]) -> list[Any]:
    """Joins two tables on a key: one row with one row. THIS IS NO JOIN OF ONE ROW WITH MANY.

    - Both tables must be in ascending order of the key.
    - No key may occur twice in a table. Add up or choose among such rows first, for instance with `sum_by`.
    - A row whose key is 0 counts as absent, and matches nothing. Renumber keys if 0 is one of your keys.

    A table that breaks one of the first two rules matches nothing at all: every result is 0. A table that is
    an input without a change is checked before any part of it is sent. It is refused with the numbers of its
    rows. For a table that the program computes, `in_order(table, key, unique=True)` shows whether the rules
    hold. Let the parties learn that bit, too.

    Args:
        take: the function of two rows with the same key, one of each table.

    Returns:
        for each two neighbours in the merged tables the result of `take` if they match, and otherwise zeros.
    """
    first, second = _rows(left), _rows(right)
    _expect(left, on, "keyed")
    _expect(right, on, "keyed")
    types = [first[0].type, second[0].type]
    places = [_place(type, on) for type in types]
    if places[0][1:] != places[1][1:]:
        refuse(
            f"joins on {on}, which has different types in the two tables",
            "convert one of the two with astype first",
        )
    _, length, signed = places[0]
    # A merged row has the row's bits without the key, then the bit of its table, and the key as the highest
    # bits.
    room = max(width(type) for type in types) - length

    def merged_row(row: Record, side: int) -> Integer:
        whole, base = IntegerType(room + 1 + length), places[side][0]
        name, bits = body().let(whole), pack(row)
        above = bits.type.width - base - length
        for to, at, count in [(0, 0, base), (base, base + length, above), (room + 1, base, length)]:
            if count:
                body().say(f"{name}{{{to}:{count}}} = {here(bits.bits(at, count))};")
        body().say(f"{name}{{{room}:1}} = {side}##1;")
        return Integer(whole, name)

    def row_of(merged: Integer, side: int) -> Any:
        base, total = places[side][0], width(types[side])
        whole = IntegerType(total)
        name, above = body().let(whole), total - base - length
        for to, at, count in [(0, 0, base), (base + length, base, above), (base, room + 1, length)]:
            if count:
                body().say(f"{name}{{{to}:{count}}} = {here(merged.bits(at, count))};")
        return unpack(Integer(whole, name), types[side])

    # The order is by key and then by table, so of two matching rows the left one comes first.
    sides = [[merged_row(row, side) for row in rows] for side, rows in enumerate((first, second))]
    merged = _merged(sides[0], sides[1], (room, length + 1, signed))
    ordered = in_order(first, on, unique=True) & in_order(second, on, unique=True)
    check("joins a table that is not sorted by its key, or has a key twice", lambda: ~ordered)

    def match(ordered: Any, a: Any, b: Any) -> Any:
        keys = [one.bits(room + 1, length) for one in (a, b)]
        # One row must be of each table: two rows of one party with the same key are no match.
        of_both = ~a.bits(room, 1) & b.bits(room, 1)
        same = (keys[0] == keys[1]) & (keys[0] != 0) & of_both & ordered
        taken = take(row_of(a, 0), row_of(b, 1))
        return unpack(kept(same, pack(taken)), taken.type)

    each = component(match) if _closed(take) else match
    return [each(ordered, a, b) for a, b in zip(merged, merged[1:])]


__all__ = ["in_order", "join", "keep", "merge_by", "pack", "sort_by", "sum_by", "top", "unpack"]
