"""Circuits that join and aggregate the rows of two parties.

A row is one unsigned integer, and a `Layout` names its bits. Each party sorts its rows in the clear, and puts
absent rows at the end. The circuit checks the order, merges the two lists by Batcher's odd-even merge, and
compares neighbours. Rows of the result then move to the front, so that their positions tell nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import matching, tables
from .arrays import array_of
from .expressions import Cell, Cells, Expression, coded, fitted, joined_bits, nullable, secret, wide_constant
from .functions import sum as sum_of
from .functions import where
from .integers import Integer, constant
from .kinds import Kind
from .tables import kept
from .traced import component
from .tracing import body
from .types import ArrayType, IntegerType, StructType, Type
from .values import BIT, fold, here


@dataclass(frozen=True)
class Layout:
    """Names for the bits of an unsigned integer, the lowest first."""

    fields: tuple[tuple[str, int], ...]

    @property
    def width(self) -> int:
        return sum(width for _, width in self.fields)

    def place(self, name: str) -> tuple[int, int]:
        """Returns the lowest bit of a field, and its number of bits."""
        base = 0
        for field, width in self.fields:
            if field == name:
                return base, width
            base += width
        raise KeyError(name)

    def has(self, name: str) -> bool:
        return any(field == name and width for field, width in self.fields)

    def of(self, bits: Integer, name: str) -> Integer:
        """Returns a field of a secret integer."""
        return bits.bits(*self.place(name))

    def packed(self, parts: dict[str, Any]) -> Integer:
        """Returns a secret integer with these fields. Fields that are not given, and bits above a field's
        value, are 0."""
        type = IntegerType(self.width)
        name = body().let(type)
        for field, one in parts.items():
            base, width = self.place(field)
            if width:
                whole = one if isinstance(one, Integer) else constant(one, IntegerType(width))
                own = whole.type.width
                assert own <= width, field
                body().say(f"{name}{{{base}:{own}}} = {here(whole.bits(0, own))};")
        return Integer(type, name)

    def pack(self, parts: dict[str, int]) -> int:
        """Returns a plain integer with these fields."""
        found = 0
        for field, one in parts.items():
            base, width = self.place(field)
            assert 0 <= one < 1 << width, field
            found |= one << base
        return found

    def pack_all(self, parts: Iterable[int]) -> int:
        """Returns a plain integer with a value for each field."""
        return self.pack({name: part for (name, _), part in zip(self.fields, parts)})

    def unpack(self, bits: int) -> dict[str, int]:
        """Returns the fields of a plain integer."""
        found = {}
        for field, width in self.fields:
            found[field] = bits & (1 << width) - 1
            bits >>= width
        return found


@dataclass(frozen=True)
class Measured:
    """A column that is aggregated.

    Attributes:
        width: the bits of its codes, or 0 if only their number counts.

        low: the number whose code is 0.
        needs: the accumulators that the query needs: `count` (of values that are not null), `any` (whether
            there is one), `sum`, `min` and `max`.

        total: the bits of a sum.
    """

    name: str
    width: int
    low: int
    needs: tuple[str, ...]
    total: int

    def accumulators(self, counted: int) -> tuple[Accumulator, ...]:
        """Returns the fields of accumulators."""
        widths = {"count": counted, "any": 1, "sum": self.total, "min": self.width, "max": self.width}
        return tuple(Accumulator(f"{self.name}.{need}", need, widths[need]) for need in self.needs)


@dataclass(frozen=True)
class Accumulator:
    """A field that is combined over rows: the sum or the greatest value. For `min` it is the greatest
    inverted code. So the value 0 changes nothing."""

    name: str
    need: str
    width: int

    def combined(self, a: Integer, b: Integer) -> Integer:
        if self.need == "any":
            return a | b
        return where(a < b, b, a) if self.need in ("min", "max") else a + b

    def plain(self, a: int, b: int) -> int:
        """Returns two plain values combined."""
        if self.need == "any":
            return a | b
        return max(a, b) if self.need in ("min", "max") else (a + b) & (1 << self.width) - 1


def layout_of(accumulators: Iterable[Accumulator]) -> tuple[tuple[str, int], ...]:
    """Returns the fields of accumulators."""
    return tuple((one.name, one.width) for one in accumulators)


@component
def rises(so_far: Any, a: Any, b: Any, strictly: bool) -> Any:
    """Returns whether keys were in order so far, including these. The highest bit marks absent rows, which
    come last."""
    if not strictly:
        return so_far & (a <= b)
    return so_far & ((a < b) | b.bits(b.type.width - 1, 1))


def in_order(keys: list[Integer], strictly: bool) -> Integer:
    """Returns whether keys are in order, and whether each occurs once if `strictly`."""
    found: Integer = BIT(1)
    for a, b in zip(keys, keys[1:]):
        found = rises(found, a, b, strictly)
    return found


def top(bits: Integer) -> Integer:
    """Returns the highest bit."""
    return bits.bits(bits.type.width - 1, 1)


@component
def swapped(swap: Any, a: Any, b: Any) -> Any:
    """Returns two rows, exchanged if `swap` is 1."""
    change = where(swap, a ^ b, 0)
    return [a ^ change, b ^ change]


def reached(low: Integer | None, length: int) -> list[Integer]:
    """Returns for each number below `length`, a power of two, whether it is at least `low`."""
    found: list[Integer] = [BIT(1)]
    for place in range(length.bit_length() - 1):
        assert low is not None
        high = low.bits(place, 1)
        both = [high & one for one in found]
        found = [one ^ two for one, two in zip(found, both)] + [~(high ^ two) for two in both]
    return found


@component
def added(a: Any, b: Any) -> Any:
    """Returns the sum of two counts, which is one bit wider than the wider one."""
    type = IntegerType(max(a.type.width, b.type.width) + 1)
    return a.astype(type) + b.astype(type)


@dataclass(frozen=True)
class _Wanted:
    """The number of wanted rows in a list, and in its halves."""

    number: Integer
    halves: tuple[_Wanted, ...]


def _wanted(rows: list[Integer]) -> _Wanted:
    if len(rows) == 1:
        return _Wanted(top(rows[0]), ())
    half = len(rows) // 2
    parts = _wanted(rows[:half]), _wanted(rows[half:])
    whole = added(parts[0].number, parts[1].number)
    return _Wanted(whole.bits(0, len(rows).bit_length()), parts)


@component
def directions(ahead: Any, start: Any, half: int) -> Any:
    """Returns which rows of the two halves of a list change places, a bit each. The higher bits are the place
    at which the wanted rows of the second half begin.

    Args: ahead: the number of wanted rows in the first half. start: the place at which the wanted rows of the
        whole list begin, or None for 0.
    """
    bits = half.bit_length() - 1
    end = ahead if start is None else ahead + start.bits(0, bits).astype(ahead.type) if bits else ahead
    turned = top(end) if start is None else top(end) ^ top(start)
    low = end.bits(0, bits) if bits else None
    swaps = Layout((("swaps", half), ("low", bits)))
    found = reached(low, half)
    name = body().let(IntegerType(swaps.width))
    for place, one in enumerate(found):
        body().say(f"{name}{{{place}}} = {here(one ^ turned)};")
    if low is not None:
        body().say(f"{name}{{{half}:{bits}}} = {here(low)};")
    return Integer(IntegerType(swaps.width), name)


def _rotated(rows: list[Integer], wanted: _Wanted, start: Integer | None) -> list[Integer]:
    """Returns the wanted rows one after another, from a secret place on. The places form a circle. The number
    of rows is a power of two."""
    if len(rows) == 1:
        return rows
    half = len(rows) // 2
    bits = half.bit_length() - 1
    found = directions(wanted.halves[0].number, start, half)
    first = _rotated(
        rows[:half], wanted.halves[0], start.bits(0, bits) if start is not None and bits else None
    )
    second = _rotated(rows[half:], wanted.halves[1], found.bits(half, bits) if bits else None)
    pairs = [swapped(found.bits(place, 1), a, b) for place, (a, b) in enumerate(zip(first, second))]
    return [pair[0] for pair in pairs] + [pair[1] for pair in pairs]


@component
def beginning(ahead: Any, size: int, first: int) -> Any:
    """Returns the place in a circle of `size` rows that is as far before its last `first` as `ahead` says."""
    type = IntegerType(size.bit_length() - 1)
    near = ahead.truncate(type) if ahead.type.width > type.width else ahead.astype(type)
    # A sum of single bits is their parity.
    return near ^ (size - first) if type == BIT else near + (size - first)


@component
def behind(ahead: Any, first: int) -> Any:
    """Returns which of the first rows are at least as far as `ahead`, a bit each."""
    length = 1 << first.bit_length()
    type = IntegerType(first.bit_length())
    near = ahead.truncate(type) if ahead.type.width > type.width else ahead.astype(type)
    return array_of(reached(near, length)[:first])


def _to_front(rows: list[Integer]) -> list[Integer]:
    size = 1 << (len(rows).bit_length() - 1)
    if size == len(rows):
        return _rotated(rows, _wanted(rows), None)
    first = len(rows) - size
    ahead = _wanted(rows[:first]).number
    front = _to_front(rows[:first])
    # In a circle, the larger part continues where the smaller part ends.
    back = _rotated(rows[first:], _wanted(rows[first:]), beginning(ahead, size, first))
    bits = behind(ahead, first)
    # The last places of the whole list face those of the smaller part.
    for place in range(first):
        facing = size - first + place
        front[place], back[facing] = swapped(bits[place], front[place], back[facing])
    return front + back


def compacted(rows: list[Integer], bound: int) -> list[Integer]:
    """Returns the rows whose highest bit is 1, in their order, and zeros behind them. At most `bound` rows
    have it.

    This is the order-preserving compaction of Sasy, Johnson and Goldberg (Fast Fully Oblivious Compaction and
    Shuffling, 2022), with about n log n / 2 exchanges.
    """
    return cleared(_to_front(rows)[:bound])


@component
def either(a: Any, b: Any) -> Any:
    """Returns the row whose highest bit is 1, or zeros if there is none."""
    return where(top(a), a, where(top(b), b, 0))


def halved(rows: list[Integer]) -> list[Integer]:
    """Returns half as many rows. Of two neighbours, at most one may be wanted."""
    pairs = [either(a, b) for a, b in zip(rows[::2], rows[1::2])]
    return pairs + rows[len(pairs) * 2 :]


@dataclass(frozen=True)
class Grouping:
    """The rules for records. A record has accumulators, the bits of its group, and a highest bit that is 1 if
    the record is present.

    Attributes:
        group: the bits of the group.
        smallest: the least count of rows in a group that is shown.

        counts: the accumulators that must be at least as large.
        cells: the places of named values in a record.
        having: a condition on a group that is shown.

        distinct: the bits of a value whose different values are counted, and of the bit that says that it is
            not null. They are below the group.

        each_party: the accumulators of each party's own rows that must be 0 or large enough.
    """

    group: int
    accumulators: tuple[Accumulator, ...]
    smallest: int = 1
    counts: tuple[str, ...] = ()
    cells: tuple[tuple[str, Cell], ...] = ()
    having: Expression | None = None
    distinct: int = 0
    each_party: tuple[str, ...] = ("rows",)

    @property
    def record(self) -> Layout:
        sums = layout_of(self.accumulators)
        return Layout((*sums, ("distinct", self.distinct), ("group", self.group), ("there", 1)))


@component
def conforming(record: Any, grouping: Grouping) -> Any:
    """Returns a record that is absent if one of its counts is too small, or the condition is not true."""
    layout, wanted = grouping.record, top(record)
    for name in grouping.counts:
        found = layout.of(record, name)
        if grouping.smallest > found.type.high:
            return record & 0
        wanted = wanted & (found >= grouping.smallest)
    if grouping.having is not None:
        wanted = wanted & is_true(grouping.having, record, dict(grouping.cells))
    return _there_if(wanted, record)


def is_true(condition: Expression, record: Integer, cells: Cells) -> Integer:
    """Returns whether a condition is true, which means neither false nor unknown."""
    found, known = secret(condition, record, cells)
    return found if known is None else found & known


def _there_if(bit: Integer, record: Integer) -> Integer:
    """Returns a record with this bit as its highest bit."""
    width = record.type.width
    return joined_bits([record.bits(0, width - 1), bit]) if width > 1 else bit


def shown(records: list[Integer], grouping: Grouping) -> list[Integer]:
    """Returns the records without groups that are too small, or that do not fulfil the condition."""
    if grouping.having is None and (grouping.smallest <= 1 or not grouping.counts):
        return records
    return [conforming(record, grouping) for record in records]


def output_layout(shown: Sequence[Expression], cells: Cells) -> Layout:
    """Returns the fields of a record of the result: a code for each value, and a bit if it can be null."""
    fields = []
    for place, of in enumerate(shown):
        width = cells[of.value].kind.width if of.op == "cell" else of.kind.width
        fields += [(str(place), width), (f"{place} known", int(nullable(of, cells)))]
    return Layout((*fields, ("there", 1)))


def _projected(record: Any, shown: tuple[Expression, ...], cells: tuple[tuple[str, Cell], ...]) -> Any:
    """Returns a record of the result."""
    places = dict(cells)
    layout, parts = output_layout(shown, places), {"there": top(record)}
    for place, of in enumerate(shown):
        # A key of both tables may have a wider type than the column that the query names.
        of = replace(of, kind=places[of.value].kind) if of.op == "cell" else of
        value, known = secret(of, record, places)
        code = coded(value, of.kind)
        parts[str(place)] = code if known is None else where(known, code, 0)
        if known is not None:
            parts[f"{place} known"] = known
    return layout.packed(parts)


projected = component(_projected)


@dataclass(frozen=True)
class Derivation:
    """The rules that make records of joined rows.

    Attributes:
        cells: the places of columns in a joined row.
        where: a condition on the row.
        groups: the columns of the group.
        measured: the aggregated expressions, each with its accumulators' rules.

        distinct: the expression whose different values are counted, or `key` for the key of the join.
        grouping: the rules for the records.
    """

    cells: tuple[tuple[str, Cell], ...]
    where: Expression | None
    groups: tuple[Expression, ...]
    measured: tuple[tuple[Measured, Expression], ...]
    distinct: Expression | str | None
    grouping: Grouping


@component
def derived(record: Any, rules: Derivation, join: Join) -> Any:
    """Returns the record of a joined row, with zeros if the row is not wanted."""
    cells, of_join, layout = dict(rules.cells), join.grouping.record, rules.grouping.record
    there = top(record)
    if rules.where is not None:
        there = there & is_true(rules.where, record, cells)
    group = [_with_known(of, record, cells) for of in rules.groups]
    parts: dict[str, Any] = {}
    if group:
        parts["group"] = joined_bits(group)
    if rules.distinct == "key":
        key = join.group.of(of_join.of(record, "group"), "key")
        parts["distinct"] = joined_bits([key, of_join.of(record, "keys").bits(0, 1)])
    elif isinstance(rules.distinct, Expression):
        parts["distinct"] = _with_known(rules.distinct, record, cells)
    if layout.has("rows"):
        parts["rows"] = BIT(1)
    if layout.has("others"):
        parts["others"] = of_join.of(record, "keys").bits(0, 1)
    for measured, of in rules.measured:
        value, known = secret(of, record, cells)
        for one in measured.accumulators(join.counted):
            parts[one.name] = _single(one, value, known, of.kind)
    return where(there, layout.packed({**parts, "there": there}), 0)


def _with_known(of: Expression, record: Integer, cells: Cells) -> Integer:
    """Returns a code with a bit above it that says that it is not null."""
    value, known = secret(of, record, cells)
    code = coded(value, of.kind)
    return joined_bits([code, BIT(1)] if known is None else [where(known, code, 0), known])


def _single(one: Accumulator, value: Integer, known: Integer | None, kind: Kind) -> Integer:
    """Returns an accumulator with one value."""
    if one.need in ("any", "count"):
        return BIT(1) if known is None else known
    if one.need == "sum":
        found = fitted(value, IntegerType(one.width))
    else:
        code = coded(value, kind)
        found = ~code if one.need == "min" else code
    return found if known is None else where(known, found, 0)


def cleared(records: list[Integer]) -> list[Integer]:
    """Returns the records, with zeros in place of absent ones."""
    return [kept(top(record), record) for record in records]


@component
def merged_sums(a: Any, b: Any, grouping: Grouping) -> Any:
    """Returns two records combined; the result is present if one of them is. The result has the group of the
    first record."""
    layout = grouping.record
    parts: dict[str, Any] = {
        one.name: one.combined(layout.of(a, one.name), layout.of(b, one.name))
        for one in grouping.accumulators
    }
    if grouping.group:
        parts["group"] = layout.of(a, "group")
    return layout.packed({**parts, "there": top(a) | top(b)})


def total(records: list[Integer], grouping: Grouping) -> list[Integer]:
    """Returns one record that combines all records. Without any row, it is of nothing."""
    if grouping.distinct:
        whole = _running_sums(records, grouping)[-1]
    else:
        whole = fold(records, lambda a, b: merged_sums(a, b, grouping), None)
    return [_there_if(BIT(1), whole)]


def _same_group(a: Integer, b: Integer, grouping: Grouping) -> Integer:
    base, _ = grouping.record.place("there")
    return a.bits(base - grouping.group, grouping.group + 1) == b.bits(
        base - grouping.group, grouping.group + 1
    )


@component
def running(before: Any, record: Any, grouping: Grouping) -> Any:
    """Returns a record combined with the previous record if both belong to one group."""
    layout = grouping.record
    same = _same_group(before, record, grouping)
    parts: dict[str, Any] = {"there": top(record)}
    if grouping.group:
        parts["group"] = layout.of(record, "group")
    if grouping.distinct:
        value = parts["distinct"] = layout.of(record, "distinct")
        new = top(value) & ~(same & (layout.of(before, "distinct") == value))
    for one in grouping.accumulators:
        if one.need == "distinct":
            before_it = where(same, layout.of(before, one.name), 0)
            parts[one.name] = before_it + new.astype(before_it.type)
            continue
        own, other = layout.of(record, one.name), layout.of(before, one.name)
        parts[one.name] = one.combined(own, where(same, other, 0))
    return layout.packed(parts)


@component
def last_of_group(record: Any, following: Any, grouping: Grouping) -> Any:
    """Returns a record that is present only if the next record belongs to another group."""
    wanted = top(record) & ~_same_group(record, following, grouping)
    return _there_if(wanted, record)


def _running_sums(records: list[Integer], grouping: Grouping) -> list[Integer]:
    """Returns the records in the order of their groups, each with the sums of its group so far."""
    # Absent records have a highest bit of 0, so they come first.
    base, length = grouping.record.place("there")[0], grouping.group + grouping.distinct
    ordered = tables._sorted(records, (base - length, length + 1, False))
    found = [ordered[0]]
    if grouping.distinct:
        found = [running(ordered[0] & 0, ordered[0], grouping)]
    for record in ordered[1:]:
        found.append(running(found[-1], record, grouping))
    return found


def grouped(records: list[Integer], grouping: Grouping) -> list[Integer]:
    """Returns as many records. For each group, one record with the sums of the group is present."""
    sums = _running_sums(records, grouping)
    ends = [last_of_group(a, b, grouping) for a, b in zip(sums, sums[1:])]
    return [*ends, sums[-1]]


@dataclass(frozen=True)
class Order:
    """A field by which records of the result are ordered.

    Attributes:
        known: the field that is 0 if there is no value, which comes last; or an empty name.
        descending: whether the largest number comes first.
    """

    field: str
    known: str
    descending: bool


@component
def ranked(record: Any, orders: tuple[Order, ...], layout: Layout) -> Any:
    """Returns a record with its rank in the bits above it, and above the rank a bit that is 1 if the record
    is absent."""
    parts = [record]
    for one in reversed(orders):
        number = layout.of(record, one.field)
        parts.append(~number if one.descending else number)
        if one.known:
            parts.append(~layout.of(record, one.known))
    return joined_bits([*parts, ~top(record)])


def first(records: list[Integer], orders: tuple[Order, ...], count: int, layout: Layout) -> list[Integer]:
    """Returns the first records in an order, followed by zeros if fewer are present.

    Among records that are equal in this order, all bits of a record decide its place. So neither the choice
    nor the order of the records reveals anything about the records that are left out.
    """
    width = records[0].type.width
    rows = [ranked(record, orders, layout) for record in records]
    place = (0, rows[0].type.width, False)
    if count * 4 < len(rows).bit_length() ** 2:
        found = []
        for _ in range(min(count, len(rows))):
            # The smallest remaining row moves to the front.
            for at in range(len(rows) - 1, 0, -1):
                rows[at - 1 : at + 1] = list(tables.exchanged(rows[at - 1], rows[at], *place))
            found.append(rows.pop(0))
    else:
        found = tables._sorted(rows, place)[:count]
    return [row.bits(0, width) for row in found]


def sorted_records(records: list[Integer]) -> list[Integer]:
    """Returns the records in the order of their bits, so that their places reveal nothing more."""
    return tables._sorted(records, (0, records[0].type.width, False))


@dataclass(frozen=True)
class Join:
    """A join of two lists of rows.

    The highest bits of a row are the bit of absence, the key, and its `blob`, which comes out as it is.

    Attributes:
        key: the bits of a key.
        how: `inner`, `semi`, `anti`, `one` (all rows of the list in which each key occurs once) or `many`
            (all rows of the other list).

        blobs: the bits of both lists' blobs, first those of the list in which each key occurs once.
        measured: the aggregated columns of both lists.
        counted: the bits of a count of rows.

        repeats: whether a row of the other list stands for several, and says for how many.

        order: the highest bits of a row of the other list that occur only once: `key`, `blob` (key and blob),
            or `none`.

        shows_key: whether a key is part of its group. Then rows of one key keep their order.
        grouping: the accumulators `rows` (all rows), `others` (rows of the other list) and `keys` (different
            keys that match), if they are needed, and those of `measured`.

        placed: the bits of a row's place in the other list, by which rows of one key are ordered.
    """

    key: int
    how: str
    blobs: tuple[int, int]
    measured: tuple[tuple[Measured, ...], tuple[Measured, ...]]
    counted: int
    repeats: bool
    order: str
    shows_key: bool
    grouping: Grouping
    placed: int = 0

    def _row(self, side: int, payload: Iterable[tuple[str, int]]) -> Layout:
        return Layout((*payload, ("blob", self.blobs[side]), ("key", self.key), ("absent", 1)))

    @property
    def one(self) -> Layout:
        """A row of the list in which each key occurs once. Its code counts only if its bit is 1."""
        parts = [((f"{of.name}.there", 1), (f"{of.name}.code", of.width)) for of in self.measured[0]]
        return self._row(0, [part for pair in parts for part in pair])

    @property
    def many(self) -> Layout:
        """A row of the other list, with the sums of the rows that it stands for."""
        sums = [one for of in self.measured[1] for one in of.accumulators(self.counted)]
        return self._row(1, [*layout_of(sums), ("n", self.counted if self.repeats else 0)])

    @property
    def own(self) -> Layout:
        """The bits of a row of the other list besides its key and blob. Rows without a match may count."""
        there = "there", int(self.how in ("anti", "many"))
        return Layout((*(field for field in self.many.fields if field[0] not in _PLACES), there))

    @property
    def brought(self) -> int:
        """The bits that a row of the list in which each key occurs once brings to those that match."""
        return self.one.width - self.key - 1

    @property
    def slot(self) -> Layout:
        """A merged row. The payload is the whole row without its key."""
        payload = max(self.one.width, self.many.width) - self.key - 1
        place = "place", self.placed
        return Layout((("payload", payload), place, ("side", 1), ("key", self.key), ("absent", 1)))

    @property
    def state(self) -> Layout:
        """The data that a merged row has about the rows before it."""
        return Layout((("payload", self.brought), ("same", 1), ("matched", 1)))

    @property
    def group(self) -> Layout:
        """The parts of a group. The blob of a missing row is 0."""
        key = self.key if self.shows_key else 0
        return Layout((("one", self.blobs[0]), ("many", self.blobs[1]), ("key", key)))


_PLACES = ("blob", "key", "absent")


def _slot(row: Integer, side: int, place: int, join: Join) -> Integer:
    payload = row.type.width - join.key - 1
    parts: dict[str, Any] = {"side": side, "place": side * place}
    if payload:
        parts["payload"] = row.bits(0, payload)
    return join.slot.packed({**parts, "key": row.bits(payload, join.key), "absent": top(row)})


@component
def followed(before: Any, learned: Any, slot: Any, join: Join) -> Any:
    """Returns the data of a merged row: two bits, and the payload of the last row of the first list.

    One bit is 1 if the row before it has the same key. The other is 1 if it is a matching row of the other
    list.
    """
    layout, state = join.slot, join.state
    own = slot.bits(0, state.place("payload")[1]) if state.has("payload") else 0
    if before is None:
        return state.packed({"payload": own})
    base, side = layout.place("key")[0], layout.of(slot, "side")
    same = (before.bits(base, join.key + 1) == slot.bits(base, join.key + 1)) & ~top(slot)
    matched = same & side & (~layout.of(before, "side") | state.of(learned, "matched"))
    payload = where(side, state.of(learned, "payload"), own) if state.has("payload") else 0
    return state.packed({"payload": payload, "same": same, "matched": matched})


@component
def record_of(slot: Any, learned: Any, same_follows: Any, ordered: Any, join: Join) -> Any:
    """Returns the record of a merged row."""
    layout, side = join.slot, join.slot.of(slot, "side")
    present = ~top(slot) & ordered
    matched = join.state.of(learned, "matched") & ordered
    if join.how == "one":
        alone = present & ~side
        there = matched | (alone if same_follows is None else alone & ~same_follows)
        of_one, of_many = there, matched
    else:
        there = _is_there(present & side, matched, join)
        of_one, of_many = matched, there
    first = join.state.of(learned, "payload") if join.state.has("payload") else None
    other = layout.of(slot, "payload") if layout.has("payload") else None
    group: dict[str, Any] = {}
    if join.blobs[0]:
        one = _part(first, join.one, "blob")
        group["one"] = where(of_one, one, 0) if join.how == "many" else one
    if join.blobs[1]:
        many = _part(other, join.many, "blob")
        group["many"] = where(of_many, many, 0) if join.how == "one" else many
    if join.shows_key:
        group["key"] = layout.of(slot, "key")
    parts = _sums(there, matched, of_one, of_many, first, other, join)
    if join.group.width:
        parts["group"] = join.group.packed(group)
    return join.grouping.record.packed(parts)


def _is_there(present: Integer, matched: Integer, join: Join) -> Integer:
    """Returns whether a row of the list in which keys may occur often is in the result."""
    if join.how == "anti":
        return present & ~matched
    return present if join.how == "many" else matched


def _part(payload: Integer | None, layout: Layout, name: str) -> Integer:
    assert payload is not None
    return payload.bits(*layout.place(name))


def _sums(
    there: Integer,
    matched: Integer,
    of_one: Integer,
    of_many: Integer,
    first: Integer | None,
    other: Integer | None,
    join: Join,
) -> dict[str, Any]:
    """Returns the accumulators of a row of the result. They are 0 if the row is absent.

    Args:
        of_one: whether there is a row of the list in which each key occurs once.
        of_many: whether there is a row of the other list.

        first: the lowest bits of the former.
        other: the lowest bits of the latter.
    """
    parts: dict[str, Any] = {"there": there}
    rows = there.astype(IntegerType(join.counted))
    if join.repeats:
        rows = where(of_many, _part(other, join.many, "n"), rows)
    # Rows without a match may be made up, so they count as no key, and as no row of the other list.
    keys = there if join.how == "anti" else matched
    counts = {"rows": rows, "others": where(of_many, rows, 0), "keys": keys}
    parts |= {name: of for name, of in counts.items() if join.grouping.record.has(name)}
    for of in join.measured[1]:
        for one in of.accumulators(join.counted):
            parts[one.name] = where(of_many, _part(other, join.many, one.name), 0)
    for of in join.measured[0]:
        is_there = _part(first, join.one, f"{of.name}.there") & of_one
        times = where(is_there, rows, 0) if join.repeats else is_there
        for one in of.accumulators(join.counted):
            code = _part(first, join.one, f"{of.name}.code") if of.width else times
            parts[one.name] = _repeated(one, of, code, is_there, times)
    return parts


def _repeated(one: Accumulator, of: Measured, code: Integer, is_there: Integer, times: Integer) -> Any:
    """Returns an accumulator of a value that occurs some times in the result."""
    if one.need == "any":
        return is_there
    if one.need == "count":
        return times
    if one.need != "sum":
        return where(is_there, ~code if one.need == "min" else code, 0)
    type = IntegerType(one.width)
    found = sum_of(where(bit, code, 0).astype(type) << place for place, bit in enumerate(times))
    return found - (times.astype(type) << (-of.low).bit_length() - 1) if of.low else found


def joined(one: Iterable[Integer], many: Iterable[Integer], join: Join) -> list[Integer]:
    """Returns a record for each row of either list. Only the records of the join's rows are present.

    If a list is not in order, all records are absent: other results would reveal to its party which keys the
    peer has.
    """
    lists = list(one), list(many)
    lengths = join.key + 1, join.key + 1 + (join.blobs[1] if join.order == "blob" else 0)
    ordered: Integer = BIT(1)
    for rows, length, strictly in zip(lists, lengths, (True, join.order != "none")):
        keys = [row.bits(row.type.width - length, length) for row in rows]
        ordered = ordered & in_order(keys, strictly)
    if join.shows_key and join.order != "key":
        # A merge alone would order rows of one key by the number of smaller keys in the first list.
        join = replace(join, placed=(len(lists[1]) - 1).bit_length())
    # Of rows with one key, those of the first list come first.
    sides = [
        [_slot(row, side, place, join) for place, row in enumerate(rows)] for side, rows in enumerate(lists)
    ]
    slots = tables._merged(
        sides[0], sides[1], (join.slot.place("place")[0], join.placed + join.key + 2, False)
    )
    learned: list[Integer] = []
    for before, slot in zip([None, *slots], slots):
        learned.append(followed(before, learned[-1] if learned else None, slot, join))
    same: list[Any] = [None] * len(slots)
    if join.how == "one":
        same[:-1] = [join.state.of(one, "same") for one in learned[1:]]
    return [record_of(*each, ordered, join) for each in zip(slots, learned, same)]


@component
def is_small(row: Any, grouping: Grouping) -> Any:
    """Returns whether a party has rows in a group, but too few of them, or too few values."""
    small: Any = BIT(0)
    for name in grouping.each_party:
        found = grouping.record.of(row, name)
        few = BIT(1) if grouping.smallest > found.type.high else found < grouping.smallest
        small = small | few & (found != 0)
    return small


@component
def united(a: Any, b: Any, small: Any, grouping: Grouping, always: bool) -> Any:
    """Returns the sums of both parties in a group that is known to be the same. The record is present
    `always`, or if a party has rows in the group. If it depended on the sum of both counts, a cheater's count
    could make the group vanish."""
    layout = grouping.record
    parts: dict[str, Any] = {
        one.name: one.combined(layout.of(a, one.name), layout.of(b, one.name))
        for one in grouping.accumulators
    }
    there = BIT(1) if small is None else ~small
    if not always:
        there = there & ((layout.of(a, "rows") != 0) | (layout.of(b, "rows") != 0))
    return where(there, layout.packed({**parts, "there": there}), 0)


def beside(
    first: Iterable[Integer], second: Iterable[Integer], grouping: Grouping, always: bool
) -> list[Integer]:
    """Returns the sums of both parties, whose groups are at the same places."""
    found = []
    for a, b in zip(first, second):
        small = is_small(a, grouping) | is_small(b, grouping) if grouping.smallest > 1 else None
        found.append(united(a, b, small, grouping, always))
    return found


@component
def in_one_group(
    before: Any, row: Any, following: Any, small: Any, next_small: Any, ordered: Any, grouping: Grouping
) -> Any:
    """Returns the sums of a group at its first row: the sums of both parties, or of the only party with rows
    in it."""
    layout = grouping.record
    there = ordered & ~top(row)
    if before is not None:
        there = there & ~_same_group(before, row, grouping)
    if small is not None:
        there = there & ~small
    same = None if following is None else _same_group(row, following, grouping)
    parts: dict[str, Any] = {"group": layout.of(row, "group")}
    for one in grouping.accumulators:
        own = layout.of(row, one.name)
        if same is not None:
            own = one.combined(own, where(same, layout.of(following, one.name), 0))
        parts[one.name] = own
    if small is not None and same is not None:
        there = there & ~(same & next_small)
    return layout.packed({**parts, "there": there})


def by_group(first: Iterable[Integer], second: Iterable[Integer], grouping: Grouping) -> list[Integer]:
    """Returns a record for each row of both lists, in which each group occurs once. One record of each group
    is present."""
    lists = list(first), list(second)
    base = grouping.record.place("group")[0]
    length = grouping.group + 1
    ordered: Integer = BIT(1)
    for rows in lists:
        ordered = ordered & in_order([row.bits(base, length) for row in rows], True)
    slots = tables._merged(lists[0], lists[1], (base, length, False))
    small: list[Any] = [is_small(row, grouping) if grouping.smallest > 1 else None for row in slots]
    around = zip([None, *slots[:-1]], slots, [*slots[1:], None], small, [*small[1:], None])
    return [in_one_group(*each, ordered, grouping) for each in around]


def front(records: list[Integer], bound: int, alternate: bool = False) -> list[Integer]:
    """Returns the present records, followed by zeros.

    Args: alternate: whether of two neighbours at most one is present.
    """
    return compacted(halved(records) if alternate else records, bound)


@dataclass(frozen=True)
class Few:
    """A join whose keys occur once in either list, and whose groups are few and known.

    Attributes:
        shape: the slots of both lists.

        moves: the networks that bring matches to rows in the order of their groups, or None if the rows have
            no groups.

        size: the rows of a block. With `moves`, they are of one group.
        blocks: the number of blocks.
        codes: the bits of each group.
    """

    join: Join
    shape: matching.Shape
    moves: matching.Moves | None
    size: int
    blocks: int
    codes: tuple[int, ...]

    @staticmethod
    def of(join: Join, counts: Sequence[int], codes: tuple[int, ...], labels: int, once: bool) -> Few:
        """Returns the cheapest form for these numbers of rows in the two lists.

        Args:
            labels: the number of groups that only the other list knows.
            once: whether a key occurs once in the other list, too.
        """
        shape = matching.shape_of(max(1, *counts), join.key, join.brought)
        if not join.blobs[1]:
            return Few(join, shape, None, shape.size, shape.blocks, codes)

        def places(size: int) -> int:
            return counts[1] + labels * (size - 1)

        # Each row is added to a sum once, and each block to the sum of each group.
        size = min(
            (1 << level for level in range(7)), key=lambda size: places(size) * (1 + 2 * labels / size)
        )
        blocks = -(-places(size) // size)
        whole = max(2, blocks * size, shape.slots)
        moves = matching.Moves(1 << (whole - 1).bit_length(), not once)
        return Few(join, shape, moves, size, blocks, codes)

    def input(self, side: int) -> Type:
        """Returns the type of the input with the list in which each key occurs once, or with the other."""
        key = ArrayType(ArrayType(self.shape.key(1 - side), self.shape.size), self.shape.blocks)
        if not side:
            return key
        fields: list[tuple[str, Type]] = [("keys", key)]
        if width := self.join.own.width:
            fields.append(("rows", ArrayType(ArrayType(IntegerType(width), self.size), self.blocks)))
        if self.moves:
            fields.append(("labels", ArrayType(IntegerType(self.join.blobs[1]), self.blocks)))
            fields.append(("controls", self.moves.type))
        return StructType("rows_of_groups", tuple(fields))

    def given(self, side: int, rows: Sequence[int], salt: bytes) -> Any:
        """Returns the input of a party, given its rows, or None if its keys do not fit into the slots."""
        join, shape = self.join, self.shape
        layout = join.many if side else join.one
        base = layout.place("key")[0]
        keys = sorted({row >> base for row in rows})
        if shape.cells:
            points = {key: shape.point(matching.spread(key, join.key, salt), join.key) for key in keys}
        else:
            points = {key: key for key in keys}
        order = sorted(keys, key=points.__getitem__)
        slots = shape.placed([points[key] for key in order])
        if slots is None:
            return None
        place = dict(zip(order, slots))
        taken = {slot: points[key] for key, slot in place.items()}
        if not side:
            brought = {place[row >> base]: row & (1 << join.brought) - 1 for row in rows}
            return shape.keys(1, taken, brought)
        found: dict[str, Any] = {"keys": shape.keys(0, taken, {})}
        own = [join.own.pack({**_known(layout.unpack(row), join.own), **self._there}) for row in rows]
        if self.moves is None:
            places = [place[row >> base] for row in rows]
        else:
            labels = [layout.unpack(row)["blob"] for row in rows]
            places, of_blocks = self._places(labels)
            found["labels"] = of_blocks
            sources = {at: place[row >> base] for at, row in zip(places, rows)}
            found["controls"] = self.moves.controls(sources)
        if join.own.width:
            whole = [0] * (self.size * self.blocks)
            for at, row in zip(places, own):
                whole[at] = row
            found["rows"] = [whole[at : at + self.size] for at in range(0, len(whole), self.size)]
        return found

    @property
    def _there(self) -> dict[str, int]:
        return {"there": 1} if self.join.own.has("there") else {}

    def _places(self, labels: Sequence[int]) -> tuple[list[int], list[int]]:
        """Returns a place for each row, in blocks of one label, and the label of each block."""
        places, of_blocks, free = [0] * len(labels), list[int](), 0
        for row in sorted(range(len(labels)), key=labels.__getitem__):
            if not free % self.size or of_blocks[-1] != labels[row]:
                free = len(of_blocks) * self.size
                of_blocks.append(labels[row])
            places[row], free = free, free + 1
        return places, of_blocks + [0] * (self.blocks - len(of_blocks))

    def sums(self, one: Any, other: Any) -> list[Integer]:
        """Returns a record for each group."""
        found, _, ordered = matching.matches(other.keys, one, self.shape)
        if self.moves:
            count = self.moves.places // self.moves.block
            found = matching.moved(
                matching.reblocked(found, self.moves.block, count), other.controls, self.moves
            )
            found = matching.reblocked(found, self.size, self.blocks)
        rows = other.rows if self.join.own.width else [None] * self.blocks
        labels = other.labels if self.moves else [None] * self.blocks
        each = [group_sums(*block, ordered, self.join, self.codes) for block in zip(found, rows, labels)]
        plain = replace(self.join.grouping, group=0)
        sums = fold(each, lambda a, b: added_groups(a, b, plain), None)
        return [_labelled(one, code, self.join.grouping) for one, code in zip(sums, self.codes)]


def _known(parts: dict[str, int], layout: Layout) -> dict[str, int]:
    return {name: part for name, part in parts.items() if layout.has(name)}


@component
def group_sums(found: Any, rows: Any, label: Any, ordered: Any, join: Join, codes: tuple[int, ...]) -> Any:
    """Returns the sums of each group over a block of rows of the list in which keys may occur often."""
    grouping = replace(join.grouping, group=0)
    layout, records, groups = grouping.record, [], []
    for place, learned in enumerate(found):
        own = None if rows is None else rows[place]
        matched = ordered & top(learned)
        first = learned.bits(0, join.brought) if join.brought else None
        present = ordered & _part(own, join.own, "there") if join.own.has("there") else matched
        there = _is_there(present, matched, join)
        records.append(layout.packed(_sums(there, matched, matched, there, first, own, join)))
        if join.blobs[0]:
            one = _part(first, join.one, "blob")
            one = where(matched, one, 0) if join.how == "many" else one
            groups.append(one if label is None else joined_bits([one, label]))

    def whole(chosen: Iterable[Integer]) -> Integer:
        found: Integer = fold(chosen, lambda a, b: merged_sums(a, b, grouping), None)
        return found

    if not join.blobs[0]:
        records, groups = [whole(records)], [label]
    if not join.group.width:
        return array_of(records)
    return array_of(
        [
            whole(
                where(group == wide_constant(code, group.type), of, 0) for group, of in zip(groups, records)
            )
            for code in codes
        ]
    )


@component
def added_groups(a: Any, b: Any, grouping: Grouping) -> Any:
    """Returns the sums of each group over two blocks together."""
    return array_of([merged_sums(x, y, grouping) for x, y in zip(a, b)])


def _labelled(sums: Integer, code: int, grouping: Grouping) -> Integer:
    """Returns the record of a group. Without groups, the record is present even if there is no row."""
    layout = replace(grouping, group=0).record
    parts: dict[str, Any] = {of.name: layout.of(sums, of.name) for of in grouping.accumulators}
    if grouping.group:
        parts["group"] = wide_constant(code, IntegerType(grouping.group))
    return grouping.record.packed({**parts, "there": top(sums) if grouping.group else BIT(1)})
