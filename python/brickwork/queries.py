"""The queries behind `private_join` and `private_aggregate`.

A party's own table is checked, hashed, summed where that is enough, sorted and padded in the clear. The rest
is a program of `relational`. Its name has a digest of the query and of both schemas, so parties that do not
agree on them stop before any input is used.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np

from . import relational, runs
from .errors import InvalidInput, UsageError, needed
from .integers import Integer
from .kinds import (
    Boolean,
    Category,
    Key,
    Kind,
    Number,
    Text,
    Timestamp,
    bits_for,
    canonical,
    collision_log2,
    hashed,
)
from .relational import Accumulator, Condition, Grouping, Layout, Measured
from .sources import Schema, Table
from .traced import Traced
from .types import ArrayType, IntegerType, Owned

SIDES = ("left", "right")
ROLES = {"left": "garbler", "right": "evaluator"}


@dataclass(frozen=True)
class Field:
    """A column of one party in a query."""

    side: int
    name: str
    kind: Kind


@dataclass(frozen=True)
class Result:
    """An aggregate in the result, such as the sum of a column."""

    name: str
    field: Field | None
    function: str


_FUNCTIONS = {
    "count": ("count",),
    "sum": ("sum", "any"),
    "mean": ("sum", "count"),
    "min": ("min", "any"),
    "max": ("max", "any"),
}
"""The accumulators that each aggregate of a column needs."""


def _results(agg: Mapping[str, Any], find: Callable[[str], Field]) -> list[Result]:
    """Returns the aggregates that a caller asks for."""
    wanted: list[tuple[str, str, str]] = []
    for name, asked in agg.items():
        if isinstance(asked, str):
            wanted.append((name.rpartition(".")[2], name, asked))
        elif isinstance(asked, tuple) and len(asked) == 2:
            wanted.append((name, *asked))
        elif isinstance(asked, list):
            wanted += [(f"{name.rpartition('.')[2]}_{one}", name, one) for one in asked]
        else:
            raise UsageError(
                f"agg of {name}", 'write agg={"amount": "sum"} or agg={"total": ("amount", "sum")}'
            )
    found = []
    for name, column, function in wanted:
        if function not in _FUNCTIONS:
            raise UsageError(f"the aggregate {function!r}", f"there are {', '.join(_FUNCTIONS)}")
        field = None if column == "*" else find(column)
        if field is None and function != "count":
            raise UsageError(f"{function} of all columns", "only count takes *")
        if (
            field is not None
            and function in ("sum", "mean")
            and not isinstance(field.kind, (Number, Boolean))
        ):
            raise UsageError(f"{function} of {column}, which is {field.kind}", "only numbers have one")
        if field is not None and function in ("min", "max") and not field.kind.has_order:
            raise UsageError(f"{function} of {column}, which is {field.kind}", "its values have no order")
        found.append(Result(name, field, function))
    _refuse_twice([one.name for one in found])
    return found


def _refuse_twice(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"two columns of the result are called {name}",
                'name aggregates: agg={"total": ("amount", "sum")}',
            )


@dataclass(frozen=True)
class Limit:
    """The largest number of rows in the result, with the columns that order them, each perhaps descending."""

    count: int
    order: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Having:
    """A condition on an aggregate: at least a number, or `below` it.

    Attributes:
        column: the aggregated column, or `*`.
        strict: whether the number itself is below, too.
    """

    column: str
    function: str
    number: Fraction
    below: bool
    strict: bool

    def json(self) -> list[Any]:
        """Returns the condition as an object of JSON."""
        return [self.column, self.function, str(self.number), self.below, self.strict]

    def condition(self, result: Result, of: Measured | None) -> Condition:
        """Returns the condition on the accumulators of an aggregate."""
        scale = 10 ** getattr(result.field.kind, "scale", 0) if result.field else 1
        exact = self.number * (1 if self.function == "count" else scale)
        # The numbers below `least` are on one side of the condition, and the others on the other side.
        least = math.floor(exact) + 1 if self.strict else math.ceil(exact)
        if of is None:
            return Condition("rows", "", False, False, least, self.below)
        known = f"{of.name}.{'count' if 'count' in of.needs else 'any'}"
        if self.function == "count":
            return Condition(known, "", False, False, least, self.below)
        if self.function == "sum":
            low = 1 << of.total - 1 if of.low < 0 else 0
            return Condition(f"{of.name}.sum", known, False, of.low < 0, least + low, self.below)
        name = f"{of.name}.{self.function}"
        return Condition(name, known, self.function == "min", False, least - of.low, self.below)


def _measured(results: Iterable[Result], counted: int) -> dict[Field, Measured]:
    """Returns the aggregated columns with their accumulators. A sum has enough bits for every table of the
    agreed number of rows."""
    found: dict[Field, Measured] = {}
    for one in results:
        if (field := one.field) is None:
            continue
        width, low = field.kind.width, getattr(field.kind, "low", 0)
        known = found.get(field) or Measured(f"v{len(found)}", 0, low, (), width + counted)
        needs = set(known.needs) | set(_FUNCTIONS[one.function])
        if "count" in needs:
            needs.discard("any")
        width = width if needs - {"count", "any"} else 0
        found[field] = replace(known, width=width, needs=tuple(sorted(needs)))
    return found


def _conditions(
    having: Iterable[tuple[Having, Result]], measured: Mapping[Field, Measured]
) -> tuple[Condition, ...]:
    return tuple(one.condition(of, measured[of.field] if of.field else None) for one, of in having)


def _own_sums(of: Measured, counted: int, code: int | None, times: int = 1) -> dict[Accumulator, int]:
    """Returns the accumulators of one value."""
    found = {}
    for one in of.accumulators(counted):
        if code is None:
            found[one] = 0
        elif one.need in ("min", "max"):
            found[one] = code ^ ((1 << one.width) - 1 if one.need == "min" else 0)
        elif one.need == "sum":
            found[one] = (code + of.low) * times & (1 << one.width) - 1
        else:
            found[one] = 1
    return found


def _value(result: Result, of: Measured | None, sums: Mapping[str, int]) -> Any:
    """Returns an aggregate in real units. Without any value it is null, except for a count."""
    if result.field is None or of is None:
        return sums["rows"]
    parts = {need: sums[f"{of.name}.{need}"] for need in of.needs}
    known = parts.get("count", parts.get("any"))
    if result.function == "count":
        return known
    if not known:
        return None
    kind = result.field.kind
    if result.function in ("min", "max"):
        return kind.value(parts[result.function] ^ ((1 << of.width) - 1 if result.function == "min" else 0))
    total = parts["sum"] - (1 << of.total if of.low < 0 and parts["sum"] >> of.total - 1 else 0)
    if result.function == "mean":
        return float(Fraction(total, known * 10 ** getattr(kind, "scale", 0)))
    return kind.number(total) if isinstance(kind, Number) else total


class Answer:
    """The result of a join or an aggregate. It shows its values only on request.

    Attributes:
        columns: the values of each column, with None for null; None for a party that learns nothing.
        program: the program that ran.

        run: its `Run`; None for a simulation.
        collision_log2: the logarithm of the probability that two different text keys were taken for one;
            None if keys are compared exactly.
    """

    def __init__(
        self,
        columns: dict[str, list[Any]] | None,
        kinds: Mapping[str, Any],
        program: Traced[Any, Any],
        run: runs.Run | None,
        collision: float | None,
    ) -> None:
        self.columns = columns
        self._kinds = kinds
        self.program = program.as_program()
        self.run = run
        self.collision_log2 = collision

    def __len__(self) -> int:
        return len(next(iter(self._known().values()), []))

    def _known(self) -> dict[str, list[Any]]:
        if self.columns is None:
            raise UsageError("this party learns no result", "the argument `to` names who learns it")
        return self.columns

    def rename(self, names: Mapping[str, str]) -> None:
        """Takes new names for columns, each with the old one."""
        self._kinds = {new: self._kinds[old] for new, old in names.items() if old in self._kinds}

    def to_pandas(self) -> Any:
        """Returns the result as a `pandas.DataFrame`."""
        pandas = needed("pandas", "to_pandas", "pandas")
        return pandas.DataFrame(
            {name: _series(pandas, values, self._kinds.get(name)) for name, values in self._known().items()}
        )

    def to_arrow(self) -> Any:
        """Returns the result as a `pyarrow.Table`."""
        pyarrow = needed("pyarrow", "to_arrow", "'brickwork[arrow]'")
        return pyarrow.table({name: _arrow(pyarrow, values) for name, values in self._known().items()})

    def __repr__(self) -> str:
        size = "nothing learned" if self.columns is None else f"{len(self)} rows of {', '.join(self.columns)}"
        exact = "" if self.collision_log2 is None else f"; two keys collide with 2^{self.collision_log2:.1f}"
        return f"<brickwork.Answer: {size}; {self.program.and_gates:,} AND gates{exact}>"


def _arrow(pyarrow: Any, values: list[Any]) -> Any:
    """Returns a column of Arrow. Integers beyond 64 bits are decimal numbers."""
    if any(type(one) is int and one.bit_length() > 63 for one in values):
        decimals = [None if one is None else Decimal(one) for one in values]
        return pyarrow.array(decimals, pyarrow.decimal256(76, 0))
    return pyarrow.array(values)


def _series(pandas: Any, values: list[Any], kind: Any) -> Any:
    null = None in values
    if isinstance(kind, Timestamp):
        plain = [
            None if one is None else one.replace(tzinfo=None) if kind.utc and kind.unit != "ns" else one
            for one in values
        ]
        series = pandas.Series(np.array(plain, f"datetime64[{kind.unit}]"))
        return series.dt.tz_localize("UTC") if kind.utc else series
    kinds = {type(one) for one in values if one is not None}
    if kinds == {int}:
        try:
            return pandas.Series(values, dtype="Int64" if null else "int64")
        except OverflowError:
            return pandas.Series(values, dtype=object)
    if kinds == {bool}:
        return pandas.Series(values, dtype="boolean" if null else "bool")
    return pandas.Series(values, dtype="float64" if kinds == {float} else object)


class _Reader:
    """The codes of a party's columns, and the texts behind its hashes."""

    def __init__(self, table: Table, side: int, salt: bytes) -> None:
        self.table, self.side, self.salt = table, side, salt
        self.texts: dict[str, dict[int, Any]] = {}

    def place(self, name: str) -> str:
        return f"{SIDES[self.side]} table, column {name}"

    def codes(self, field: Field) -> list[int | None]:
        """Returns the code of each value of a column."""
        values = self.table.values[field.name]
        if not isinstance(field.kind, Key):
            return field.kind.codes(values, self.table.numbers, self.place(field.name))
        return self.hashes(field.name, [field], field.kind.width)

    def hashes(self, name: str, fields: Sequence[Field], bits: int) -> list[int | None]:
        """Returns the hashes of the values of some columns together, and notes the values behind them."""
        columns = []
        for field in fields:
            values = self.table.values[field.name]
            canon = _Canonical() if isinstance(field.kind, Key) else field.kind
            columns.append(canon.codes(values, self.table.numbers, self.place(field.name)))
        known: dict[int, tuple[Any, ...]] = {}
        texts = self.texts.setdefault(name, {})
        found: list[int | None] = []
        for row, parts in enumerate(zip(*columns)):
            if None in parts:
                found.append(None)
                continue
            code = hashed(parts, bits, self.salt)
            if known.setdefault(code, parts) != parts:
                raise InvalidInput(
                    f"{self.place(name)}, row {self.table.numbers[row]}: another value has the same hash",
                    "take bw.key of more bits",
                )
            texts.setdefault(code, tuple(self.table.values[field.name][row] for field in fields))
            found.append(code)
        return found


@dataclass(frozen=True)
class _Canonical(Key):
    """Gives canonical texts in the place of codes."""

    def code(self, value: Any) -> Any:
        return canonical(value)


class _Known(Traced[Any, Any]):
    """A program of this package. It does the same each time, so it is traced once."""

    @functools.cached_property
    def source(self) -> str:
        return self._trace()


class Query:
    """A query that both parties agree on, with its program.

    Args:
        tables: this process's tables, and the schema of a table that the peer has.
        asked: the query's arguments.
        to: who learns the result: `left`, `right` or `both`.
    """

    def __init__(self, tables: Sequence[Table | Schema], asked: dict[str, Any], to: str) -> None:
        if to not in (*SIDES, "both"):
            raise UsageError(f"to={to!r}", "say left, right or both")
        self.tables = tables
        self.schemas = [one.schema if isinstance(one, Table) else one for one in tables]
        self.to, self.asked = to, {**asked, "to": to}
        self.collision: float | None = None
        self.limit: Limit | None = None
        self.results: list[Result] = []
        self.measured: dict[Field, Measured] = {}

    @property
    def learners(self) -> tuple[int, ...]:
        """The sides that learn the result."""
        return tuple(side for side, name in enumerate(SIDES) if self.to in (name, "both"))

    def find(self, side: int, name: str) -> Field:
        """Returns a column of a table."""
        found = dict(self.schemas[side].columns).get(name)
        if found is None:
            of = self.tables[side]
            if isinstance(of, Table) and name in of.unknown:
                raise UsageError(
                    f"{SIDES[side]} table, column {name}: {of.unknown[name]}", "give bw.Table types={…}"
                )
            names = ", ".join(name for name, _ in self.schemas[side].columns)
            raise UsageError(f"the {SIDES[side]} table has no column {name!r}", f"columns are {names}")
        return Field(side, name, self.sized(side, found))

    def sized(self, side: int, kind: Kind) -> Kind:
        """Returns a type whose hashes have a width."""
        if isinstance(kind, Key) and kind.bits is None:
            return Key(bits_for(self.schemas[side].rows, self.schemas[side].rows))
        return kind

    @property
    def salt(self) -> bytes:
        """A salt of the query, which both parties know: other queries have other hashes."""
        return blake2b(self._agreed(), digest_size=32, person=b"brickwork salt").digest()

    def _agreed(self) -> bytes:
        return json.dumps(
            {"query": self.asked, "tables": [one.json() for one in self.schemas]}, sort_keys=True
        ).encode()

    def program(
        self, width: int, counts: Sequence[int], widths: Sequence[int], bounds: int, work: Callable[..., Any]
    ) -> Traced[Any, Any]:
        """Returns the program of this query.

        Args:
            width: the bits of a record of the result.
            counts: the rows of each table.
            widths: the bits of a row of each table.
            bounds: the records of the result.
        """

        def query(left: Any, right: Any) -> Any:
            return work(list(left), list(right))

        agreed = self._agreed() + json.dumps([*counts, bounds]).encode()
        query.__name__ = f"query_{blake2b(agreed, digest_size=16).hexdigest()}"
        inputs = [ArrayType(IntegerType(of), count) for of, count in zip(widths, counts)]
        party = {"left": "garbler", "right": "evaluator", "both": "both"}[self.to]
        query.__annotations__ = {
            "left": Owned("garbler", inputs[0]),
            "right": Owned("evaluator", inputs[1]),
            "return": Owned(party, ArrayType(IntegerType(width), bounds)),
        }
        return _Known(query)

    def bound(self, side: int) -> int:
        """Returns the agreed number of rows of a side that the program takes."""
        return self.schemas[side].distinct

    def bounded(self, side: int, rows: int) -> int:
        """Returns the number of rows that the program takes, and refuses an own table with more."""
        table, schema = self.tables[side], self.schemas[side]
        assert isinstance(table, Table)
        bounds = (table.length, schema.rows, "rows"), (rows, self.bound(side), "distinct")
        for have, most, name in bounds:
            if have > most:
                raise InvalidInput(
                    f"{SIDES[side]} table: it has more than the agreed number of rows, which is {most}",
                    f"agree on more with the peer: bw.Table(frame, {name}=…)",
                )
        return max(1, rows) if table.open and len(self._own()) == 2 else self.bound(side)

    def _own(self) -> list[int]:
        return [side for side, one in enumerate(self.tables) if isinstance(one, Table)]

    def run(self, simulate: bool, options: dict[str, Any]) -> Answer:
        """Computes the query, and returns its result."""
        own = self._own()
        if simulate and options:
            raise UsageError(
                f"simulate with {min(options)}", "a simulation has no protocol, and takes no options"
            )
        rows: dict[int, list[int]] = {}
        readers: dict[int, _Reader] = {}
        for side in own:
            table = self.tables[side]
            assert isinstance(table, Table)
            readers[side] = _Reader(table, side, self.salt)
            rows[side] = self.rows(readers[side])
        counts = [
            self.bounded(side, len(rows[side])) if side in rows else self.bound(side) for side in range(2)
        ]
        program, decode = self.compiled(counts)
        given = {
            side: np.array(self.padded(side, of, counts[side]), dtype=object) for side, of in rows.items()
        }
        learned: Any
        if len(own) == 2:
            if simulate:
                run, learned = None, runs.simulate(program, given[0], given[1])
            else:
                run = learned = runs.run(program, given[0], given[1], **options)
        elif not own:
            raise UsageError("both tables are of the peer", "give your own table as a frame or bw.Table")
        elif simulate:
            raise UsageError("simulate with one party's table", "give both tables")
        else:
            party = runs.garbler if own[0] == 0 else runs.evaluator
            run = learned = party(program, given[own[0]], **options)
        found = None
        learner = next((side for side in self.learners if side in own), None)
        if learner is not None:
            bits = getattr(learned, ROLES[SIDES[learner]])
            found = decode([int(one) for one in bits], readers[learner])
        return Answer(found, self.out_kinds(), program, run, self.collision)

    def rows(self, reader: _Reader) -> list[int]:
        """Returns the rows of a table as the program takes them, in order."""
        raise NotImplementedError

    def padded(self, side: int, rows: list[int], count: int) -> list[int]:
        """Returns rows with absent ones behind them."""
        raise NotImplementedError

    def compiled(self, counts: Sequence[int]) -> tuple[Traced[Any, Any], Callable[..., Any]]:
        """Returns the program, and the function that makes columns of its output."""
        raise NotImplementedError

    def out_kinds(self) -> dict[str, Any]:
        """Returns the types of the result's columns, where they are known."""
        raise NotImplementedError

    def place(self, name: str) -> tuple[int, Kind, bool]:
        """Returns the lowest bit of a column of the result in a record, its type, and whether there is a bit
        above it that says that it is not null."""
        raise NotImplementedError

    def record(self) -> Layout:
        """Returns the fields of a record."""
        raise NotImplementedError

    def shown_rows(self, most: int) -> int:
        """Returns the number of records in the result, given the largest number without a limit."""
        return most if self.limit is None else min(most, self.limit.count)

    def limited(self, records: list[Integer]) -> list[Integer]:
        """Returns the first records in the query's order, if it has a limit."""
        if self.limit is None:
            return records
        orders = tuple(self._order(*one) for one in self.limit.order)
        return relational.first(records, orders, self.limit.count)

    def _order(self, name: str, descending: bool) -> relational.Order:
        result = next((one for one in self.results if one.name == name), None)
        if result is None:
            base, kind, has_bit = self.place(name)
            if not kind.has_order:
                raise UsageError(f"LIMIT in the order of {name}, which is {kind}", "its values have no order")
            known = (base + kind.width, 1) if has_bit else None
            return relational.Order(base, kind.width, known, False, descending)
        record = self.record()
        if result.field is None:
            return relational.Order(*record.place("rows"), None, False, descending)
        of = self.measured[result.field]
        values = record.place(f"{of.name}.{'count' if 'count' in of.needs else 'any'}")
        if result.function == "count":
            return relational.Order(*values, None, False, descending)
        if result.function == "mean":
            raise UsageError("LIMIT in the order of a mean", "take the sum, or leave the limit out")
        place = record.place(f"{of.name}.{result.function}")
        signed = result.function == "sum" and of.low < 0
        inverted = descending != (result.function == "min")
        return relational.Order(*place, values, signed, inverted)


def _blob(fields: Sequence[Field]) -> Layout:
    """Returns the bits of columns that come out as they are: a code and its validity each."""
    widths = [width for of in fields for width in (of.kind.width, 1)]
    return Layout(tuple((str(place), width) for place, width in enumerate(widths)))


def _blobs(fields: Sequence[Field], reader: _Reader) -> list[int]:
    """Returns the bits of these columns for each row of a table."""
    layout = _blob(fields)
    rows = zip(*map(reader.codes, fields)) if fields else [()] * reader.table.length
    return [
        layout.pack_all(part for code in row for part in (code or 0, int(code is not None))) for row in rows
    ]


def _values_of(fields: Sequence[Field], bits: int, reader: _Reader) -> list[Any]:
    """Returns the values of columns that came out."""
    found = list(_blob(fields).unpack(bits).values())
    values: list[Any] = []
    for of, code, there in zip(fields, found[::2], found[1::2]):
        if not there:
            values.append(None)
        elif isinstance(of.kind, Key):
            values.append(reader.texts.get(of.name, {}).get(code, (None,))[0])
        else:
            values.append(of.kind.value(code))
    return values


def _listed(names: str | Iterable[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else list(names or [])


def _sorted_rows(columns: dict[str, list[Any]], by: Sequence[str]) -> dict[str, list[Any]]:
    """Returns the rows of a result in the order of some columns, nulls last."""
    count = len(next(iter(columns.values()), []))

    def place(row: int) -> list[tuple[bool, Any]]:
        values = [columns[name][row] for name in by]
        return [(one is None, 0 if one is None else one) for one in values]

    order = sorted(range(count), key=place)
    return {name: [values[row] for row in order] for name, values in columns.items()}


class Join(Query):
    """The query of `private_join`."""

    def __init__(
        self,
        tables: Sequence[Table | Schema],
        on: str | Sequence[str] | Mapping[str, str],
        how: str,
        validate: str,
        agg: Mapping[str, Any] | None,
        group_by: str | Sequence[str] | None,
        min_group: int,
        to: str,
        select: Sequence[str] | None = None,
        having: Sequence[Having] = (),
        text: str = "",
        limit: Limit | None = None,
    ) -> None:
        pairs = list(on.items()) if isinstance(on, Mapping) else [(name, name) for name in _listed(on)]
        groups = _listed(group_by)
        asked = {"on": pairs, "how": how, "validate": validate, "group_by": groups, "min_group": min_group}
        asked |= {"select": select, "having": [one.json() for one in having], "text": text}
        super().__init__(tables, {**asked, "agg": None if agg is None else list(agg.items())}, to)
        if how not in ("inner", "left", "semi", "anti"):
            raise UsageError(f"how={how!r}", "say inner, left, semi or anti")
        if validate not in ("m:1", "1:m", "1:1"):
            raise UsageError(
                f"validate={validate!r}", "say m:1, 1:m or 1:1: in one table each key occurs once"
            )
        if not pairs:
            raise UsageError("a join without a key", 'say on="name"')
        if agg is None and (groups or min_group > 1):
            raise UsageError("groups without aggregates", 'say agg={"amount": "sum"}, or leave group_by out')
        self.exists = how in ("semi", "anti")
        self.how, self.min_group = how, min_group
        self.many = 1 if validate == "1:m" and not self.exists else 0
        self.once = validate == "1:1" and not self.exists
        self.pairs = [self._pair(*names) for names in pairs]
        self.is_hashed = any(isinstance(pair[0].kind, Key) for pair in self.pairs)
        if not self.is_hashed:
            self.key_bits = sum(pair[0].kind.width for pair in self.pairs)
        else:
            named = [pair[0].kind.bits for pair in self.pairs if isinstance(pair[0].kind, Key)]
            given = [bits for bits in named if bits is not None]
            rows, others = (one.rows for one in self.schemas)
            self.key_bits = max(given) if given else bits_for(rows, others)
            self.collision = collision_log2(rows, others, self.key_bits)
        self.has_agg = agg is not None
        self.results = _results(agg or {}, self._column)
        self.having = [(one, _results({"": (one.column, one.function)}, self._column)[0]) for one in having]
        self.names: list[tuple[str, Field | int]] = []
        if self.has_agg or select is not None:
            self.names = [(name, self._group(name)) for name in (groups if self.has_agg else select or ())]
        else:
            self.names = self._all()
        _refuse_twice([*(name for name, _ in self.names), *(one.name for one in self.results)])
        whole = {place for _, place in self.names if isinstance(place, int)}
        self.shows_key = len(whole) == len(self.pairs)
        self.limit = limit
        if not self.shows_key:
            # A part of a key is a column like others.
            self.names = [
                (name, self.find(0, self.pairs[place][0].name) if isinstance(place, int) else place)
                for name, place in self.names
            ]
        self.blobs = [
            [one for _, one in self.names if isinstance(one, Field) and one.side == side] for side in range(2)
        ]
        self._refuse_texts()
        most = self.schemas[self.many].rows
        if how == "left" and self.many == 1:
            most += self.schemas[0].rows
        self.counted = max(2, most.bit_length())
        self.measured = _measured([*self.results, *(of for _, of in self.having)], self.counted)

    def _pair(self, left: str, right: str) -> tuple[Field, Field]:
        """Returns a column of the key in both tables, of one type."""
        one, other = (dict(schema.columns).get(name) for schema, name in zip(self.schemas, (left, right)))
        fields = self.find(0, left), self.find(1, right)
        assert one is not None and other is not None
        kind = one.joined(other)
        if kind is None:
            raise UsageError(
                f"the key {left} is {one} on the left and {other} on the right",
                "give both one type: bw.Table(frame, types={…})",
            )
        if isinstance(kind, Text):
            kind = replace(kind, canonical=True)
        return replace(fields[0], kind=kind), replace(fields[1], kind=kind)

    def _column(self, name: str) -> Field:
        """Returns the column that a name means."""
        side, dot, rest = name.partition(".")
        if dot and side in SIDES:
            if self.exists and side == "right":
                raise UsageError(f"the column {name}", f"a {self.how} join has no columns of the right table")
            return self.find(SIDES.index(side), rest)
        sides = [side for side in range(2) if name in dict(self.schemas[side].columns)]
        if self.exists:
            sides = [side for side in sides if side == 0]
        if len(sides) > 1:
            raise UsageError(f"both tables have a column {name}", f"say left.{name} or right.{name}")
        return self.find(sides[0] if sides else 0, name)

    def _group(self, name: str) -> Field | int:
        for place, (left, right) in enumerate(self.pairs):
            # In a left join, the right table may have no row with the key.
            of_right = () if self.how == "left" else (f"right.{right.name}",)
            if name in (left.name, f"left.{left.name}", *of_right):
                return place
        return self._column(name)

    def _all(self) -> list[tuple[str, Field | int]]:
        """Returns all columns of the joined rows, named as pandas names them."""
        keys = [{pair[side].name for pair in self.pairs} for side in range(2)]
        sides = range(1) if self.exists else range(2)
        for side in sides:
            table = self.tables[side]
            if isinstance(table, Table) and table.unknown:
                self.find(side, min(table.unknown))
        rest = [[name for name, _ in self.schemas[side].columns if name not in keys[side]] for side in sides]
        found: list[tuple[str, Field | int]] = [
            (pair[0].name, place) for place, pair in enumerate(self.pairs)
        ]
        taken = keys[0]
        for side in sides:
            others = set(rest[1 - side]) if len(rest) > 1 else set()
            for name in rest[side]:
                shown = f"{name}_{'xy'[side]}" if name in others or (side == 1 and name in taken) else name
                found.append((shown, self.find(side, name)))
        return found

    def _refuse_texts(self) -> None:
        """Refuses a result with a text whose hash alone somebody would learn."""
        for learner in self.learners:
            only_left = self.how in ("left", "anti")
            hidden = [
                of.name
                for side in range(2)
                for of in self.blobs[side]
                if isinstance(of.kind, Key) and side != learner
            ]
            if self.shows_key and self.is_hashed and only_left and learner == 1:
                hidden.append(self.pairs[0][0].name)
            if hidden:
                raise UsageError(
                    f"the {SIDES[learner]} party cannot read {hidden[0]}, of which there is only a hash",
                    f"say to={SIDES[1 - learner]!r}, take bw.text or bw.category, or leave it out",
                )

    def _sides(self) -> tuple[int, int]:
        """Returns the side whose keys occur once, and the other side."""
        return 1 - self.many, self.many

    def spec(self) -> relational.Join:
        blobs = tuple(_blob(self.blobs[side]).width for side in self._sides())
        measured = tuple(
            tuple(one for field, one in self.measured.items() if field.side == side) for side in self._sides()
        )
        rows = "others" if self.how == "left" and self.many == 1 else "rows"
        counts = tuple([rows] + ["keys"] * (not self.shows_key)) if self.min_group > 1 else ()
        accumulators = [one for of in (*measured[0], *measured[1]) for one in of.accumulators(self.counted)]
        asked = [*self.results, *(of for _, of in self.having)]
        names = dict.fromkeys([*counts, *(["rows"] if any(one.field is None for one in asked) else [])])
        counters = [Accumulator(name, "sum", self.counted) for name in names]
        order = "key" if self.once or self.has_agg and blobs[1] == 0 else "blob" if self.has_agg else "none"
        join = relational.Join(
            self.key_bits,
            {"left": "many" if self.many == 0 else "one"}.get(self.how, self.how),
            blobs,  # type: ignore[arg-type]
            measured,  # type: ignore[arg-type]
            self.counted,
            self.has_agg and not self.once,
            order,
            self.shows_key,
            Grouping(0, (), 1, ()),
        )
        conditions = _conditions(self.having, self.measured)
        grouping = Grouping(join.group.width, (*counters, *accumulators), self.min_group, counts, conditions)
        return replace(join, grouping=grouping)

    def bound(self, side: int) -> int:
        apart = side == self.many and not self.has_agg
        return self.schemas[side].rows if apart else super().bound(side)

    def keys(self, reader: _Reader) -> list[int]:
        """Returns the key of each row of a table. A null is refused."""
        fields = [pair[reader.side] for pair in self.pairs]
        for field in fields:
            values = reader.table.values[field.name]
            if None in values:
                row = reader.table.numbers[values.index(None)]
                raise InvalidInput(
                    f"{reader.place(field.name)}, row {row}: the key is null",
                    "leave the row out: a null matches nothing",
                )
        if self.is_hashed:
            name = fields[0].name if len(fields) == 1 else ", ".join(field.name for field in fields)
            found = reader.hashes(name, fields, self.key_bits)
            return [one for one in found if one is not None]
        columns = [
            field.kind.codes(reader.table.values[field.name], reader.table.numbers, reader.place(field.name))
            for field in fields
        ]
        keys = []
        for parts in zip(*columns):
            key = 0
            for field, part in zip(fields, parts):
                key = key << field.kind.width | (part or 0)
            keys.append(key)
        return keys

    def rows(self, reader: _Reader) -> list[int]:
        side = reader.side
        keys = self.keys(reader)
        is_many = side == self.many
        blobs = _blobs(self.blobs[side], reader)
        measured = [(one, reader.codes(field)) for field, one in self.measured.items() if field.side == side]
        join = self.spec()
        layout = join.many if is_many else join.one
        if not is_many or self.once:
            keys, blobs = self._unique(reader, keys, blobs)
        sums: dict[tuple[int, int, int], dict[Accumulator, int]] = {}
        found: list[int] = []
        for row, (key, own) in enumerate(zip(keys, blobs)):
            fixed = {"key": key, "blob": own}
            if not is_many:
                parts = {f"{one.name}.there": int(codes[row] is not None) for one, codes in measured}
                parts |= {f"{one.name}.code": codes[row] or 0 for one, codes in measured if one.width}
                found.append(layout.pack({**fixed, **parts}))
                continue
            each = {Accumulator("n", "sum", self.counted): 1} if join.repeats else {}
            for one, codes in measured:
                each |= _own_sums(one, self.counted, codes[row])
            # Rows without aggregates stay apart.
            place = (key, own, 0 if self.has_agg else row)
            known = sums.get(place)
            sums[place] = (
                each if known is None else {of: of.plain(known[of], value) for of, value in each.items()}
            )
        for (key, own, _), sum_ in sums.items():
            parts = {of.name: value for of, value in sum_.items()}
            found.append(layout.pack({"key": key, "blob": own, **parts}))
        return sorted(found, key=lambda row: row >> layout.place("blob")[0])

    def _unique(self, reader: _Reader, keys: list[int], blobs: list[int]) -> tuple[list[int], list[int]]:
        """Returns the keys, which must occur once, with their blobs. If only their existence counts, they may
        occur often."""
        first: dict[int, int] = {}
        for row, key in enumerate(keys):
            if first.setdefault(key, row) != row and not self.exists:
                name = ", ".join(pair[reader.side].name for pair in self.pairs)
                of = reader.table.numbers
                raise InvalidInput(
                    f"{reader.place(name)}, row {of[row]}: it has the key of row {of[first[key]]}",
                    "add such rows up, choose one of them, or say which table has each key once: "
                    "validate='m:1' for the right one, '1:m' for the left one",
                )
        if not self.exists or reader.side == self.many:
            return keys, blobs
        return list(first), [0] * len(first)

    def padded(self, side: int, rows: list[int], count: int) -> list[int]:
        join = self.spec()
        layout = join.many if side == self.many else join.one
        return rows + [layout.pack({"absent": 1})] * (count - len(rows))

    def compiled(self, counts: Sequence[int]) -> tuple[Traced[Any, Any], Callable[..., Any]]:
        join = self.spec()
        grouping = join.grouping
        once, many = (counts[side] for side in self._sides())
        most = {
            "inner": min(once, many) if join.order == "key" else many,
            "semi": min(once, many) if join.order == "key" else many,
            "one": once if join.order == "key" else once + many,
        }.get(join.how, many)
        alternate = join.order == "key" and join.how in ("inner", "semi")
        by_key = not self.has_agg or self.shows_key
        if not by_key and not self.names:
            most_groups = 1
        elif by_key:
            most_groups = most
        else:
            sizes = [_size(of.kind) for of in (*self.blobs[0], *self.blobs[1])]
            most_groups = min(most, prod(sizes))

        def work(left: Any, right: Any) -> Any:
            lists = (left, right)
            records = relational.joined(lists[1 - self.many], lists[self.many], join)
            if not by_key and not self.names:
                return relational.total(records, grouping)
            if by_key:
                return self.limited(relational.front(relational.shown(records, grouping), most, alternate))
            rows = relational.front(records, most, alternate)
            return self.limited(relational.front(relational.grouped(rows, grouping), most_groups))

        widths = [0, 0]
        widths[self.many], widths[1 - self.many] = join.many.width, join.one.width
        found = self.shown_rows(most_groups)
        program = self.program(grouping.record.width, counts, widths, found, work)

        def decode(found: list[int], reader: _Reader) -> dict[str, list[Any]]:
            columns: dict[str, list[Any]] = {
                name: [] for name in (*(name for name, _ in self.names), *(one.name for one in self.results))
            }
            for bits in found:
                record = grouping.record.unpack(bits)
                if not record["there"]:
                    continue
                for name, value in self._shown(join, record, reader).items():
                    columns[name].append(value)
            return _sorted_rows(
                columns, [name for name, of in self.names if self.has_agg or isinstance(of, int)]
            )

        return program, decode

    def _shown(self, join: relational.Join, record: Mapping[str, int], reader: _Reader) -> dict[str, Any]:
        """Returns the values of a record by the names of their columns."""
        group = join.group.unpack(record["group"])
        found: dict[str, Any] = {}
        for part, side in zip(("one", "many"), self._sides()):
            fields = self.blobs[side]
            values = _values_of(fields, group[part], reader)
            known = dict(zip(fields, values))
            found |= {name: known[of] for name, of in self.names if isinstance(of, Field) and of.side == side}
        if self.shows_key:
            keys = self._key_values(group["key"], reader)
            found |= {name: keys[place] for name, place in self.names if isinstance(place, int)}
        for one in self.results:
            found[one.name] = _value(one, self.measured.get(one.field) if one.field else None, record)
        return found

    def _key_values(self, key: int, reader: _Reader) -> list[Any]:
        fields = [pair[0] for pair in self.pairs]
        if self.is_hashed:
            own = [pair[reader.side] for pair in self.pairs]
            name = own[0].name if len(own) == 1 else ", ".join(field.name for field in own)
            return list(reader.texts[name].get(key, (None,) * len(fields)))
        values = []
        for field in reversed(fields):
            values.append(field.kind.value(key & (1 << field.kind.width) - 1))
            key >>= field.kind.width
        return values[::-1]

    def record(self) -> Layout:
        return self.spec().grouping.record

    def place(self, name: str) -> tuple[int, Kind, bool]:
        of, join = dict(self.names)[name], self.spec()
        base = join.grouping.record.place("group")[0]
        if isinstance(of, Field):
            part = "many" if of.side == self.many else "one"
            at, _ = _blob(self.blobs[of.side]).place(str(2 * self.blobs[of.side].index(of)))
            return base + join.group.place(part)[0] + at, of.kind, True
        if self.is_hashed:
            return 0, Key(), False
        below = sum(pair[0].kind.width for pair in self.pairs[of + 1 :])
        kind = self.pairs[of][0].kind
        return base + join.group.place("key")[0] + below, kind, False

    def out_kinds(self) -> dict[str, Any]:
        kinds: dict[str, Any] = {
            name: self.pairs[of][0].kind if isinstance(of, int) else of.kind for name, of in self.names
        }
        return {**kinds, **_kinds_of(self.results)}


def _kinds_of(results: Iterable[Result]) -> dict[str, Any]:
    return {one.name: one.field.kind for one in results if one.field and one.function in ("min", "max")}


def _size(kind: Kind) -> int:
    """Returns the number of groups that a column can make, null among them."""
    return (len(kind.values) if isinstance(kind, Category) else 1 << kind.width) + 1


class Aggregate(Query):
    """The query of `private_aggregate`."""

    def __init__(
        self,
        tables: Sequence[Table | Schema],
        agg: Mapping[str, Any],
        group_by: str | Sequence[str] | None,
        min_group: int,
        to: str,
        having: Sequence[Having] = (),
        text: str = "",
        limit: Limit | None = None,
    ) -> None:
        groups = _listed(group_by)
        asked = {"agg": list(agg.items()), "group_by": groups, "min_group": min_group}
        conditions_asked = [one.json() for one in having]
        super().__init__(tables, {**asked, "having": conditions_asked, "text": text}, to)
        self.groups = [self._both(name) for name in groups]
        for of in self.groups:
            if isinstance(of.kind, Key):
                raise UsageError(
                    f"groups by {of.name}, of which the peer would learn a hash",
                    "give it bw.category or bw.text",
                )
        self.results = _results(agg, self._both)
        self.having = [(one, _results({"": (one.column, one.function)}, self._both)[0]) for one in having]
        _refuse_twice([*groups, *(one.name for one in self.results)])
        computed = [*self.results, *(of for _, of in self.having)]
        self.counted = max(2, sum(one.rows for one in self.schemas).bit_length())
        self.measured = _measured(computed, self.counted)
        self.places = prod(_size(of.kind) for of in self.groups)
        # The place of such a row tells its group, so an order cannot move it.
        few = self.places <= max(_FEW, 2 * sum(one.distinct for one in self.schemas))
        self.dense = few and (limit is None or not self.groups)
        self.limit = limit
        rows = min_group > 1 or any(one.field is None for one in computed) or self.dense and self.groups
        counters = [Accumulator("rows", "sum", self.counted)] if rows else []
        sums = [one for of in self.measured.values() for one in of.accumulators(self.counted)]
        width = 0 if self.dense else _blob(self.groups).width
        conditions = _conditions(self.having, self.measured)
        self.grouping = Grouping(width, (*counters, *sums), min_group, (), conditions)

    def _both(self, name: str) -> Field:
        """Returns a column that both tables have."""
        one, other = self.find(0, name), self.find(1, name)
        kind = one.kind.joined(other.kind)
        if kind is None:
            raise UsageError(
                f"{name} is {one.kind} on the left and {other.kind} on the right",
                "give both one type: bw.Table(frame, types={…})",
            )
        return replace(one, kind=kind)

    def rows(self, reader: _Reader) -> list[int]:
        places = self._places(reader) if self.dense else _blobs(self.groups, reader)
        measured = [(one, reader.codes(of)) for of, one in self.measured.items()]
        rows = [one for one in self.grouping.accumulators if one.name == "rows"]
        sums: dict[int, dict[Accumulator, int]] = {}
        for row in range(reader.table.length):
            each = dict.fromkeys(rows, 1)
            for one, column in measured:
                each |= _own_sums(one, self.counted, column[row])
            place = places[row]
            known = sums.get(place)
            sums[place] = (
                each if known is None else {of: of.plain(known[of], value) for of, value in each.items()}
            )
        layout = self.grouping.record
        if self.dense:
            each_place = [sums.get(place, {}) for place in range(self.places)]
            return [layout.pack({of.name: value for of, value in one.items()}) for one in each_place]
        return [
            layout.pack({"group": place, **{of.name: value for of, value in one.items()}})
            for place, one in sorted(sums.items())
        ]

    def _places(self, reader: _Reader) -> list[int]:
        """Returns the number of each row's group among all that can be."""
        found = [0] * reader.table.length
        for of in self.groups:
            codes = reader.codes(of)
            found = [
                place * _size(of.kind) + (0 if code is None else code + 1)
                for place, code in zip(found, codes)
            ]
        return found

    def _group_at(self, place: int) -> list[Any]:
        values = []
        for of in reversed(self.groups):
            place, code = divmod(place, _size(of.kind))
            values.append(of.kind.value(code - 1) if code else None)
        return values[::-1]

    def bound(self, side: int) -> int:
        return self.places if self.dense else super().bound(side)

    def padded(self, side: int, rows: list[int], count: int) -> list[int]:
        return rows + [self.grouping.record.pack({"there": 1})] * (count - len(rows))

    def compiled(self, counts: Sequence[int]) -> tuple[Traced[Any, Any], Callable[..., Any]]:
        grouping, layout = self.grouping, self.grouping.record
        most = self.places if self.dense else min(sum(counts), self.places)

        def work(left: Any, right: Any) -> Any:
            if self.dense:
                records = relational.beside(left, right, grouping, not self.groups)
                return relational.cleared(relational.shown(records, grouping))
            records = relational.by_group(left, right, grouping)
            return self.limited(relational.front(relational.shown(records, grouping), most))

        program = self.program(layout.width, counts, [layout.width] * 2, self.shown_rows(most), work)

        def decode(found: list[int], reader: _Reader) -> dict[str, list[Any]]:
            names = [*(of.name for of in self.groups), *(one.name for one in self.results)]
            columns: dict[str, list[Any]] = {name: [] for name in names}
            for place, bits in enumerate(found):
                record = layout.unpack(bits)
                if not record["there"]:
                    continue
                if self.dense:
                    values = self._group_at(place)
                else:
                    values = _values_of(self.groups, record["group"], reader)
                for one in self.results:
                    values.append(_value(one, self.measured.get(one.field) if one.field else None, record))
                for name, value in zip(names, values):
                    columns[name].append(value)
            return _sorted_rows(columns, [of.name for of in self.groups])

        return program, decode

    def record(self) -> Layout:
        return self.grouping.record

    def place(self, name: str) -> tuple[int, Kind, bool]:
        number = [of.name for of in self.groups].index(name)
        at, _ = _blob(self.groups).place(str(2 * number))
        return self.grouping.record.place("group")[0] + at, self.groups[number].kind, True

    def out_kinds(self) -> dict[str, Any]:
        return {**{of.name: of.kind for of in self.groups}, **_kinds_of(self.results)}


_FEW = 64
"""With so few possible groups, or with fewer than rows, each party gives a row for each group."""
