"""The queries behind `private_join` and `private_aggregate`.

A party's own table is checked, hashed, sorted and padded in the clear. If sums are enough, they are computed
in the clear, too. The other computations are a program of `relational`. Its name has a digest of the query
and of both schemas, so parties that do not agree on them stop before any input is used.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from . import relational, runs
from .errors import InvalidInput, UsageError, nearest, needed
from .expressions import Cell, Expression, cell, nullable, rounded, wide_constant
from .integers import Integer
from .kinds import (
    Boolean,
    Canonical,
    Category,
    Key,
    Kind,
    Number,
    Text,
    Timestamp,
    bits_for,
    collision_log2,
    hashed,
)
from .policies import step_of
from .relational import Accumulator, Grouping, Layout, Measured
from .sources import Schema, Table
from .traced import Traced
from .types import ArrayType, IntegerType, Owned, Type

SIDES = ("left", "right")
ROLES = {"left": "garbler", "right": "evaluator"}


@dataclass(frozen=True)
class Field:
    """A column of one party in a query, or of both if `side` is None."""

    side: int | None
    name: str
    kind: Kind

    @property
    def place(self) -> str:
        """The name of the column and of its table."""
        return self.name if self.side is None else f"{SIDES[self.side]}.{self.name}"


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


def learner_of(to: str) -> str:
    """Returns the side or sides that a word names: `left`, `right` or `both`."""
    found = {"garbler": "left", "evaluator": "right"}.get(to, to)
    if found not in (*SIDES, "both"):
        raise UsageError(f"a result for {to!r}", "say both, left or garbler, right or evaluator")
    return found


@dataclass(frozen=True)
class Output:
    """A column of the result: a value, which is divided by a count if it is a mean."""

    name: str
    value: Expression
    count: Expression | None = None

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that come out."""
        return (self.value,) if self.count is None else (self.value, self.count)


def aggregate(function: str, field: Field | None, counted: int) -> Expression:
    """Returns the value of an aggregate in a record."""
    if field is None:
        return cell("count *", Number(counted, False))
    name, kind = f"{function} {field.place}", field.kind
    if function == "sum":
        low, scale = getattr(kind, "low", 0), getattr(kind, "scale", 0)
        kind = Number(kind.width + counted, low < 0, scale, getattr(kind, "is_float", False))
    elif function in ("count", "distinct"):
        kind = Number(counted, False)
    return cell(name, kind)


def output(result: Result, counted: int) -> Output:
    """Returns the column of an aggregate."""
    if result.function == "mean":
        parts = (aggregate(of, result.field, counted) for of in ("sum", "count"))
        return Output(result.name, *parts)
    return Output(result.name, aggregate(result.function, result.field, counted))


def _measured(results: Iterable[Result], counted: int) -> dict[Field, Measured]:
    """Returns the aggregated columns with their accumulators. A sum has enough bits for every table with the
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


def _with_count(of: Measured) -> Measured:
    """Returns the accumulators of a column, with the number of its values."""
    return replace(of, needs=tuple(sorted({*of.needs, "count"} - {"any"})))


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


def _sum_cells(layout: Layout, measured: Mapping[Field, Measured], counted: int) -> dict[str, Cell]:
    """Returns the places of aggregates in a record."""
    found = {}
    count = Number(counted, False)
    for name, called in (("rows", "count *"), ("different", "distinct")):
        if layout.has(name):
            found[called] = Cell(layout.place(name)[0], count, None)
    for field, of in measured.items():
        known = layout.place(f"{of.name}.{'count' if 'count' in of.needs else 'any'}")
        for need in of.needs:
            if need == "any":
                continue
            value = aggregate(need, field, counted)
            form = {"min": "inverted", "sum": "number"}.get(need, "code")
            base = layout.place(f"{of.name}.{need}")[0]
            found[value.value] = Cell(base, value.kind, None if need == "count" else known, form)
    return found


class Answer:
    """The result of a join or an aggregate. It shows its values only on request.

    Attributes:
        columns: the values of each column, with None for null; None for a party that learns nothing.
        program: the program that ran.

        run: its `Run`; None for a simulation.
        collision_log2: the logarithm of the probability that two different text keys were taken for one;
            None if keys are compared exactly.

        overflow_log2: the logarithm of the probability that a table's keys do not fit into the slots of the
            circuit, so that the table is refused before the run; None if they always fit.

        parties: the result of each party that runs here, by `garbler` and `evaluator`.
    """

    def __init__(
        self,
        columns: dict[str, list[Any]] | None,
        kinds: Mapping[str, Any],
        program: Traced[Any, Any],
        run: runs.Run | None,
        collision: float | None,
        overflow: float | None,
    ) -> None:
        self.columns = columns
        self._kinds = kinds
        self.program = program.as_program()
        self.run = run
        self.collision_log2 = collision
        self.overflow_log2 = overflow
        self.parties: dict[str, Answer] = {}

    def __len__(self) -> int:
        return len(next(iter(self._known().values()), []))

    def _known(self) -> dict[str, list[Any]]:
        if self.columns is None:
            raise UsageError("this party learns no result", "the argument `to` names who learns it")
        return self.columns

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

    def to_polars(self) -> Any:
        """Returns the result as a `polars.DataFrame`."""
        polars = needed("polars", "to_polars", "polars")
        columns = self._known().items()
        return polars.DataFrame([polars.Series(name, values, strict=False) for name, values in columns])

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Writes the result as CSV to a file, or returns it as a text. A null becomes an empty field."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self._known())
        writer.writerows(zip(*self._known().values()))
        if path is None:
            return text.getvalue()
        Path(path).write_text(text.getvalue(), encoding="utf-8")
        return None

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the result to a Parquet file."""
        needed("pyarrow.parquet", "to_parquet", "'brickwork[arrow]'").write_table(self.to_arrow(), path)

    def __repr__(self) -> str:
        size = "nothing learned" if self.columns is None else f"{len(self)} rows of {', '.join(self.columns)}"
        exact = "" if self.collision_log2 is None else f"; two keys collide with 2^{self.collision_log2:.1f}"
        if self.overflow_log2 is not None:
            exact += f"; a table's keys do not fit with 2^{self.overflow_log2:.1f}"
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

    def codes(self, field: Field, hashes: bool = True) -> list[Any]:
        """Returns the code of each value of a column, and None for null. The code of a text key is its hash,
        or its canonical form.
        """
        if isinstance(field.kind, Key) and hashes:
            return self.hashes(field.name, [field], field.kind.width)
        kind = Canonical() if isinstance(field.kind, Key) else field.kind
        return kind.codes(self.table.values[field.name], self.table.numbers, self.place(field.name))

    def hashes(self, name: str, fields: Sequence[Field], bits: int) -> list[int | None]:
        """Returns the hashes of the values of some columns together, and notes the values behind them."""
        columns = [self.codes(field, hashes=False) for field in fields]
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


class _Known(Traced[Any, Any]):
    """A program of this package. The program does the same each time, so it is traced once."""

    @functools.cached_property
    def source(self) -> str:
        return self._trace()


@dataclass(frozen=True)
class Work:
    """A program with the inputs of this process, and with the texts behind their hashes.

    Attributes:
        bounds: the largest number of rows in the result.
        overflow: the logarithm of the probability that a table is refused for its keys alone, or None.
    """

    program: Traced[Any, Any]
    bounds: int
    given: dict[int, Any]
    readers: dict[int, _Reader]
    overflow: float | None


class Query:
    """A query that both parties agree on, with its program.

    Args:
        tables: this process's tables, and the schema of a table that the peer has.
        asked: the query's arguments.
        to: who learns the result: `left`, `right` or `both`.
    """

    def __init__(self, tables: Sequence[Table | Schema], asked: dict[str, Any], to: str) -> None:
        self.to = learner_of(to)
        self.tables = tables
        self.schemas = [one.schema if isinstance(one, Table) else one for one in tables]
        self.policies = [one.policy for one in self.schemas]
        self.asked = {**asked, "to": self.to}
        self.collision: float | None = None
        self.limit: Limit | None = None
        self.results: list[Result] = []
        self.measured: dict[Field, Measured] = {}
        self.outputs: list[Output] = []
        self.having: Expression | None = None
        self.reveal: dict[str, str] = {}
        self.bounds = 0

    def concluded(self, outputs: Sequence[Output], reveal: Mapping[str, str]) -> None:
        """Takes the columns of the result, and who learns each. Policies apply to them."""
        names = [one.name for one in outputs]
        if unknown := set(reveal) - set(names):
            raise UsageError(
                f"there is no column {min(unknown)!r} to reveal", nearest(min(unknown), names, "columns")
            )
        self.reveal = {name: learner_of(to) for name, to in reveal.items()}
        self.asked["reveal"] = self.reveal
        self.outputs = [self._rounded_output(one) for one in outputs]
        if self.having is not None:
            self.having = self._rounded(self.having)
        if self.limit is not None and len({self.learner(one) for one in self.outputs}) > 1:
            raise UsageError(
                "LIMIT with columns for different parties", "reveal all columns to the same parties"
            )

    def learner(self, of: Output) -> str:
        """Returns who learns a column: `left`, `right` or `both`."""
        return self.reveal.get(of.name, self.to)

    def _rounded(self, of: Expression) -> Expression:
        """Returns an expression over a record whose aggregates are rounded as the policies ask."""

        def replaced(node: Expression) -> Expression | None:
            if node.op != "cell" or node.value.startswith(("column ", "group ")):
                return None
            if not isinstance(node.kind, Number):
                return node
            step = step_of(self.policies, node.kind.scale)
            return node if step == 1 else rounded(node, step)

        return of.replaced(replaced)

    def _rounded_output(self, of: Output) -> Output:
        if of.count is not None and step_of(self.policies, 0) > 1:
            raise UsageError(
                f"{of.name}, a mean, which the policy rounds", "take the sum and the count, which are rounded"
            )
        return replace(of, value=self._rounded(of.value))

    def learns(self, of: Output, side: int) -> bool:
        """Returns whether a side learns a column."""
        return self.learner(of) in (SIDES[side], "both")

    @property
    def learners(self) -> tuple[int, ...]:
        """The sides that learn something."""
        return tuple(side for side in range(2) if any(self.learns(one, side) for one in self.outputs))

    @property
    def smallest(self) -> int:
        """The smallest group that the policies allow."""
        return max([one.smallest for one in self.policies])

    def refuse_values(self, side: int, results: Iterable[tuple[str, str]]) -> None:
        """Refuses aggregates (given as name and function) that would show the value of a single row of a side
        whose policy does not allow this."""
        if self.policies[side].smallest > 1:
            for name, function in results:
                if function in ("min", "max"):
                    raise UsageError(
                        f"{function} of {name}, which is the value of one row: the {ROLES[SIDES[side]]}'s "
                        f"policy asks for {self.policies[side]}",
                        "take SUM, AVG or COUNT",
                    )

    def refuse_rows(self) -> None:
        """Refuses a query that shows rows of a side whose policy does not allow this."""
        for side, policy in enumerate(self.policies):
            if policy.smallest > 1:
                raise UsageError(
                    f"a query that shows rows: the {ROLES[SIDES[side]]}'s policy asks for {policy}",
                    "take aggregates",
                )

    def counts_values(self, side: int | None) -> bool:
        """Returns whether a policy asks for the number of values behind aggregates of a side's columns."""
        asked = [policy.smallest > 1 for policy in self.policies]
        return any(asked) if side is None else asked[side]

    def find(self, side: int, name: str) -> Field:
        """Returns a column of a table."""
        found = dict(self.schemas[side].columns).get(name)
        if found is None:
            of = self.tables[side]
            if isinstance(of, Table) and name in of.unknown:
                raise UsageError(
                    f"{SIDES[side]} table, column {name}: {of.unknown[name]}", "give bw.Table types={…}"
                )
            names = [name for name, _ in self.schemas[side].columns]
            raise UsageError(
                f"the {SIDES[side]} table has no column {name!r}", nearest(name, names, "columns")
            )
        return Field(side, name, self.sized(side, found))

    def sized(self, side: int, kind: Kind) -> Kind:
        """Returns the type with the width of the query's hashes."""
        if isinstance(kind, Key) and kind.bits is None:
            rows = max(one.rows for one in self.schemas)
            return Key(bits_for(rows, rows))
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
        self, counts: Sequence[int], inputs: Sequence[Type], bounds: int, work: Callable[..., Any]
    ) -> Traced[Any, Any]:
        """Returns the program of this query.

        Args:
            counts: the rows of each table.
            inputs: the type of each party's input.
            bounds: the records of the result.
        """

        self.bounds = bounds
        for side, policy in enumerate(self.policies):
            if policy.max_rows is not None and bounds > policy.max_rows:
                raise UsageError(
                    f"a result of up to {bounds} rows: the {ROLES[SIDES[side]]}'s policy asks for {policy}",
                    f"say ORDER BY … LIMIT {policy.max_rows}",
                )
        views = [self.view(side) for side in self.learners]
        if not views:
            raise UsageError("a query of which nobody learns anything", "say to='both', 'left' or 'right'")
        same = len(views) == 2 and views[0] == views[1]

        def query(left: Any, right: Any) -> Any:
            records = work(left, right)
            seen = [self.seen(records, view) for view in views[: 1 if same else 2]]
            return seen[0] if len(seen) == 1 else tuple(seen)

        agreed = self._agreed() + json.dumps([*counts, bounds]).encode()
        query.__name__ = f"query_{blake2b(agreed, digest_size=16).hexdigest()}"
        cells = self.grouping_cells()
        outputs = []
        for side, view in zip(self.learners, views):
            width = relational.output_layout(view, cells).width
            outputs.append(Owned(ROLES[SIDES[side]], ArrayType(IntegerType(width), bounds)))
        if same:
            outputs = [Owned("both", outputs[0].type)]
        query.__annotations__ = {
            "left": Owned("garbler", inputs[0]),
            "right": Owned("evaluator", inputs[1]),
            "return": outputs[0] if len(outputs) == 1 else tuple(outputs),
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
        if not own:
            raise UsageError("both tables are of the peer", "give your own table as a frame or bw.Table")
        work = self.prepared()
        program, given, readers = work.program, work.given, work.readers
        learned: Any
        if len(own) == 2:
            if simulate:
                run, learned = None, runs.simulate(program, given[0], given[1])
            else:
                run = learned = runs.run(program, given[0], given[1], **options)
        elif simulate:
            raise UsageError("simulate with one party's table", "give both tables")
        else:
            party = runs.garbler if own[0] == 0 else runs.evaluator
            run = learned = party(program, given[own[0]], **options)
        kinds = {one.name: one.value.kind for one in self.outputs}
        answers = []
        for side in own:
            found = None
            if side in self.learners:
                bits = getattr(learned, ROLES[SIDES[side]])
                found = self.decoded([int(one) for one in bits], readers[side])
                found = _sorted_rows(found, [name for name in self.sorted_by() if name in found])
            answers.append(Answer(found, kinds, program, run, self.collision, work.overflow))
        # If both parties are here and learn the same, one of both results is shown.
        answer = next((one for one in answers if one.columns is not None), answers[0])
        answer.parties = {ROLES[SIDES[side]]: one for side, one in zip(own, answers)}
        return answer

    def prepared(self) -> Work:
        """Computes the part of this process, and returns the program with its inputs."""
        rows: dict[int, list[int]] = {}
        readers: dict[int, _Reader] = {}
        for side in self._own():
            table = self.tables[side]
            assert isinstance(table, Table)
            readers[side] = _Reader(table, side, self.salt)
            rows[side] = self.rows(readers[side])
        counts = [
            self.bounded(side, len(rows[side])) if side in rows else self.bound(side) for side in range(2)
        ]
        given = {side: _arrays(self.given(side, of, counts)) for side, of in rows.items()}
        program = self.compiled(counts)
        return Work(program, self.bounds, given, readers, self.overflow(counts))

    def rows(self, reader: _Reader) -> list[int]:
        """Returns the rows of a table as the program takes them, in order."""
        raise NotImplementedError

    def given(self, side: int, rows: list[int], counts: Sequence[int]) -> Any:
        """Returns the input of a party, given its rows and the number of rows of each table."""
        raise NotImplementedError

    def overflow(self, counts: Sequence[int]) -> float | None:
        """Returns the logarithm of the probability that a table is refused for its keys alone."""
        return None

    def compiled(self, counts: Sequence[int]) -> Traced[Any, Any]:
        """Returns the program."""
        raise NotImplementedError

    def sorted_by(self) -> list[str]:
        """Returns the columns of the result by which its rows are ordered."""
        raise NotImplementedError

    def grouping_cells(self) -> dict[str, Cell]:
        """Returns the places of named values in a record."""
        raise NotImplementedError

    def texts(self, name: str, reader: _Reader) -> dict[int, Any]:
        """Returns the texts that a party knows behind the hashes of a column of the result."""
        raise NotImplementedError

    def shown_rows(self, most: int) -> int:
        """Returns the number of records in the result, given the largest number without a limit."""
        return most if self.limit is None else min(most, self.limit.count)

    @property
    def shown(self) -> tuple[Expression, ...]:
        """The values that a record of the result contains."""
        return tuple(dict.fromkeys(part for one in self.outputs for part in self.told(one)))

    def told(self, of: Output) -> tuple[Expression, ...]:
        """Returns the values of a record from which a column is computed."""
        return of.parts

    def view(self, side: int) -> tuple[Expression, ...]:
        """Returns the values of a record that a side learns."""
        own = [part for one in self.outputs if self.learns(one, side) for part in self.told(one)]
        return tuple(dict.fromkeys(own))

    def in_order_of(self) -> list[str] | None:
        """Returns the cells whose values alone decide the order of the records, or None if other values
        do."""
        raise NotImplementedError

    def order_shows(self, view: Sequence[Expression]) -> bool:
        """Returns whether the order of the records would tell more than the values that a side learns."""
        names = {of.value for of in view if of.op == "cell"}
        order = self.in_order_of()
        return self.limit is None and (order is None or not set(order) <= names)

    def seen(self, records: list[Integer], view: tuple[Expression, ...]) -> list[Integer]:
        """Returns the part of the records that a side learns."""
        cells, shown = self.grouping_cells(), self.shown
        whole, layout = relational.output_layout(shown, cells), relational.output_layout(view, cells)
        if view != shown:
            places = [(str(shown.index(of)), str(place)) for place, of in enumerate(view)]
            pairs = [(f"{a}{more}", f"{b}{more}") for a, b in places for more in ("", " known")]
            named = {b: a for a, b in pairs if whole.has(a)} | {"there": "there"}
            records = [
                layout.packed({new: whole.of(record, old) for new, old in named.items()})
                for record in records
            ]
        if len(records) > 1 and self.order_shows(view):
            return relational.sorted_records(records)
        return records

    def finished(
        self, records: list[Integer], grouping: Grouping, most: int | None, alternate: bool = False
    ) -> list[Integer]:
        """Returns the records of the result, with zeros in place of absent records.

        Args: most: the number of records at the front that contain all present ones; None to keep all records
            at their places. alternate: whether of two neighbours at most one is present.
        """
        cells = tuple(self.grouping_cells().items())
        free = all(of.op == "cell" for of in self.shown)
        project = relational._projected if free else relational.projected
        found = [project(one, self.shown, cells) for one in relational.shown(records, grouping)]
        if most is None:
            return relational.cleared(found)
        found = relational.front(found, most, alternate)
        if self.limit is None:
            return found
        layout = relational.output_layout(self.shown, dict(cells))
        orders = tuple(self._order(layout, *one) for one in self.limit.order)
        return relational.first(found, orders, self.limit.count, layout)

    def _order(self, layout: Layout, name: str, descending: bool) -> relational.Order:
        of = next(one for one in self.outputs if one.name == name)
        if of.count is not None:
            raise UsageError("LIMIT in the order of a mean", "take the sum, or leave the limit out")
        if not of.value.kind.has_order:
            raise UsageError(
                f"LIMIT in the order of {name}, which is {of.value.kind}", "its values have no order"
            )
        place = self.shown.index(of.value)
        known = f"{place} known" if layout.has(f"{place} known") else ""
        return relational.Order(str(place), known, descending)

    def decoded(self, found: list[int], reader: _Reader) -> dict[str, list[Any]]:
        """Returns the columns of the result that a side learns."""
        cells, view = self.grouping_cells(), self.view(reader.side)
        layout = relational.output_layout(view, cells)
        outputs = [one for one in self.outputs if self.learns(one, reader.side)]
        columns: dict[str, list[Any]] = {one.name: [] for one in outputs}
        for at, record in enumerate(map(layout.unpack, found)):
            if not record["there"]:
                continue
            known = self.known_at(at)
            for one in outputs:
                if one.value.value in known:
                    columns[one.name].append(known[one.value.value])
                    continue
                values = [self._value(of, record, view.index(of), cells, reader) for of in one.parts]
                columns[one.name].append(values[0] if one.count is None else _mean(*values))
        return columns

    def known_at(self, place: int) -> dict[str, Any]:
        """Returns the values of columns that follow from the place of a record, by the names of their
        cells."""
        return {}

    def _value(
        self,
        of: Expression,
        record: Mapping[str, int],
        place: int,
        cells: Mapping[str, Cell],
        reader: _Reader,
    ) -> Any:
        if nullable(of, cells) and not record[f"{place} known"]:
            return None
        kind = cells[of.value].kind if of.op == "cell" else of.kind
        if isinstance(kind, Key):
            return self.texts(of.value, reader).get(record[str(place)])
        return kind.value(record[str(place)])


def _mean(total: Any, count: int) -> float | None:
    return float(Fraction(total) / count) if count else None


def _blob(fields: Sequence[Field]) -> Layout:
    """Returns the layout of columns that the result contains unchanged: a code and its validity for each."""
    widths = [width for of in fields for width in (of.kind.width, 1)]
    return Layout(tuple((str(place), width) for place, width in enumerate(widths)))


def _codes_of(fields: Sequence[Field]) -> Iterator[int]:
    """Yields the bits of these columns for all values that they can have."""
    each = [[*((code, 1) for code in range(_size(of.kind) - 1)), (0, 0)] for of in fields]
    for values in product(*each):
        yield _blob(fields).pack_all(part for pair in values for part in pair)


def _rows_of(width: int, count: int) -> Type:
    return ArrayType(IntegerType(width), count)


def _arrays(given: Any) -> Any:
    if isinstance(given, dict):
        return {name: _arrays(of) for name, of in given.items()}
    return np.array(given, dtype=object)


def _blobs(fields: Sequence[Field], reader: _Reader) -> list[int]:
    """Returns the bits of these columns for each row of a table."""
    layout = _blob(fields)
    rows = zip(*map(reader.codes, fields)) if fields else [()] * reader.table.length
    return [
        layout.pack_all(part for code in row for part in (code or 0, int(code is not None))) for row in rows
    ]


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
        having: Expression | None = None,
        text: str = "",
        limit: Limit | None = None,
        outputs: Sequence[Output] | None = None,
        skip_nulls: bool = False,
        reveal: Mapping[str, str] | None = None,
    ) -> None:
        pairs = list(on.items()) if isinstance(on, Mapping) else [(name, name) for name in _listed(on)]
        groups = _listed(group_by)
        asked = {"on": pairs, "how": how, "validate": validate, "group_by": groups, "min_group": min_group}
        asked |= {"select": select, "text": text}
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
        self.how, self.min_group = how, max(min_group, self.smallest)
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
        self.hash_bits = self.key_bits
        self.skip_nulls = skip_nulls
        self.null_keys = skip_nulls and how in ("left", "anti")
        self.key_bits += self.null_keys
        self.has_agg = agg is not None
        self.results = _results(agg or {}, self._column)
        self.having = having
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
            # A column of the key is also a column of the result.
            self.names = [
                (name, self.find(0, self.pairs[place][0].name) if isinstance(place, int) else place)
                for name, place in self.names
            ]
        self.blobs = [
            [one for _, one in self.names if isinstance(one, Field) and one.side == side] for side in range(2)
        ]
        self.counted = join_counted(self.schemas, how, self.many)
        self.measured = _measured(self.results, self.counted)
        self.concluded(outputs or self._outputs(), reveal or {})
        self._refuse_texts()
        self._keep_policies()

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
        names = {f"column {name}": of for name, of in self.names}
        for one in self.outputs:
            for side in range(2):
                if one.value.value not in names or not self.learns(one, side):
                    continue
                of = names[one.value.value]
                if isinstance(of, Field):
                    hidden = isinstance(of.kind, Key) and of.side != side
                else:
                    hidden = self.is_hashed and side == 1 and self.how in ("left", "anti")
                if hidden:
                    raise self.unreadable(one.name, side)

    def unreadable(self, name: str, side: int) -> UsageError:
        """Returns the error about a text of which a party would learn only a hash."""
        return UsageError(
            f"the {SIDES[side]} party cannot read {name}, of which there is only a hash",
            f"say to={SIDES[1 - side]!r}, take bw.text or bw.category, or leave it out",
        )

    def _keep_policies(self) -> None:
        """Refuses results that a policy does not allow, and counts the values behind each aggregate."""
        if self.smallest <= 1:
            return
        if not self.has_agg:
            self.refuse_rows()
        self.refuse_join()
        for side in range(2):
            if self.policies[side].smallest > 1:
                own = [one for one in self.results if one.field is not None and one.field.side == side]
                names = [(one.field.name, one.function) for one in own if one.field is not None]
                self.refuse_values(side, names)
                self.refuse_weights(side, [name for name, _ in names])
                for one in own:
                    assert one.field is not None
                    self.measured[one.field] = _with_count(self.measured[one.field])

    def refuse_join(self) -> None:
        """Refuses a join that could circumvent a policy's smallest group."""
        for side, policy in enumerate(self.policies):
            role = ROLES[SIDES[side]]
            if policy.smallest <= 1:
                continue
            if self.how == "anti" and side == 1:
                raise UsageError(
                    f"an anti join, which tells which rows match: the {role}'s policy asks for {policy}",
                    "take a semi join",
                )
            if self.by_key and side != self.many:
                raise UsageError(
                    f"groups by the key, each of one row: the {role}'s policy asks for {policy}",
                    "group by other columns",
                )

    def refuse_weights(self, side: int, names: Sequence[str]) -> None:
        """Refuses aggregates of columns if the peer can make their rows count several times."""
        if names and side != self.many and not self.once:
            raise UsageError(
                f"an aggregate of {names[0]}, whose rows count as often as the peer has their key: the "
                f"{ROLES[SIDES[side]]}'s policy asks for {self.policies[side]}",
                "say validate='1:1', and add up the peer's rows of each key before",
            )

    @property
    def by_key(self) -> bool:
        """Returns whether each group has one key."""
        return self.shows_key

    def in_order_of(self) -> list[str] | None:
        # Each party's rows of one key are in the order of the values that they show.
        decided = self.shows_key or self.has_agg
        return [f"column {name}" for name, _ in self.names] if decided else None

    def _outputs(self) -> list[Output]:
        """Returns the columns of the result in the order of their names."""
        cells = self._group_cells()
        found = [Output(name, cell(f"column {name}", cells[f"column {name}"].kind)) for name, _ in self.names]
        return [*found, *(output(one, self.counted) for one in self.results)]

    def _group_cells(self, base: int = 0) -> dict[str, Cell]:
        """Returns the places of columns in a record whose group begins at a bit."""
        join, found = self.spec(), {}
        for name, of in self.names:
            if isinstance(of, Field):
                assert of.side is not None
                fields, part = self.blobs[of.side], "many" if of.side == self.many else "one"
                at = join.group.place(part)[0] + _blob(fields).place(str(2 * fields.index(of)))[0]
                found[f"column {name}"] = Cell(base + at, of.kind, (base + at + of.kind.width, 1))
                continue
            at, kind = join.group.place("key")[0], self.pairs[of][0].kind
            known = (base + at + self.key_bits - 1, 1) if self.null_keys else None
            if self.is_hashed:
                found[f"column {name}"] = Cell(base + at, Key(self.hash_bits), known)
                continue
            at += sum(pair[0].kind.width for pair in self.pairs[of + 1 :])
            found[f"column {name}"] = Cell(base + at, kind, known)
        return found

    def grouping_cells(self) -> dict[str, Cell]:
        record = self.spec().grouping.record
        columns = self._group_cells(record.place("group")[0])
        return {**columns, **_sum_cells(record, self.measured, self.counted)}

    def texts(self, name: str, reader: _Reader) -> dict[int, Any]:
        of = dict(self.names)[name.removeprefix("column ")]
        if isinstance(of, Field):
            return {code: values[0] for code, values in reader.texts.get(of.name, {}).items()}
        own = [pair[reader.side].name for pair in self.pairs]
        return {code: values[of] for code, values in reader.texts[", ".join(own)].items()}

    def sorted_by(self) -> list[str]:
        shown = [one.value.value for one in self.outputs]
        by = [(name, of) for name, of in self.names if self.has_agg or isinstance(of, int)]
        places = [shown.index(f"column {name}") for name, _ in by if f"column {name}" in shown]
        return [self.outputs[place].name for place in places]

    def _sides(self) -> tuple[int, int]:
        """Returns the side whose keys occur once, and the other side."""
        return 1 - self.many, self.many

    def spec(self) -> relational.Join:
        blobs = tuple(_blob(self.blobs[side]).width for side in self._sides())
        measured = tuple(
            tuple(one for field, one in self.measured.items() if field.side == side) for side in self._sides()
        )
        rows = "others" if self.how == "left" and self.many == 1 else "rows"
        values = [
            f"{one.name}.count" for field, one in self.measured.items() if self.counts_values(field.side)
        ]
        counts = tuple([rows, *["keys"] * (not self.shows_key), *values]) if self.min_group > 1 else ()
        accumulators = [one for of in (*measured[0], *measured[1]) for one in of.accumulators(self.counted)]
        stars = ["rows"] if any(one.field is None for one in self.results) else []
        names = dict.fromkeys([*(one for one in counts if one not in values), *stars])
        counters = [Accumulator(name, "sum", self.counted) for name in names]
        order = "key" if self.once or self.has_agg and blobs[1] == 0 else "blob" if self.has_agg else "none"
        join = relational.Join(
            self.key_bits,
            {"left": "many" if self.many == 0 else "one"}.get(self.how, self.how),
            blobs,  # type: ignore[arg-type]
            measured,  # type: ignore[arg-type]
            self.counted,
            self.has_agg and not self.once and bool(counters or measured[0]),
            order,
            self.shows_key,
            Grouping(0, ()),
        )
        sums = (*counters, *accumulators)
        return replace(join, grouping=Grouping(join.group.width, sums, self.min_group, counts))

    def with_having(self, grouping: Grouping) -> Grouping:
        """Returns the rules with the condition on groups."""
        if self.having is None:
            return grouping
        return replace(grouping, cells=tuple(self.grouping_cells().items()), having=self.having)

    def most(self, counts: Sequence[int], join: relational.Join) -> int:
        """Returns the largest number of joined rows."""
        once, many = (counts[side] for side in self._sides())
        unique = join.order == "key"
        return {
            "inner": min(once, many) if unique else many,
            "semi": min(once, many) if unique else many,
            "one": once if unique else once + many,
        }.get(join.how, many)

    def bound(self, side: int) -> int:
        apart = side == self.many and not self.has_agg
        return self.schemas[side].rows if apart else super().bound(side)

    def keys(self, reader: _Reader) -> list[int | None]:
        """Returns the key of each row of a table, or None for a row that matches nothing and is left out."""
        fields = [pair[reader.side] for pair in self.pairs]
        columns = [reader.codes(field, hashes=False) for field in fields]
        nulls = [None in row for row in zip(*columns)]
        if True in nulls and not self.skip_nulls:
            row = nulls.index(True)
            name = next(field.name for field, column in zip(fields, columns) if column[row] is None)
            raise InvalidInput(
                f"{reader.place(name)}, row {reader.table.numbers[row]}: the key is null",
                "leave the row out: a null matches nothing",
            )
        keys: list[int | None]
        if self.is_hashed:
            name = ", ".join(field.name for field in fields)
            keys = reader.hashes(name, fields, self.hash_bits)
        else:
            keys = []
            for null, parts in zip(nulls, zip(*columns)):
                key = 0
                for field, part in zip(fields, parts):
                    key = key << field.kind.width | (part or 0)
                keys.append(None if null else key)
        if not self.null_keys or reader.side == 1:
            return keys
        if self.many == 1 and nulls.count(True) > 1:
            row = nulls.index(True)
            place = f"{reader.place(fields[0].name)}, row {reader.table.numbers[row]}"
            raise InvalidInput(
                f"{place}: the key is null, as in another row", "leave them out, or say validate='m:1'"
            )
        # The highest bit of a key that is not null is 1.
        return [0 if key is None else key | 1 << self.hash_bits for key in keys]

    def rows(self, reader: _Reader) -> list[int]:
        side = reader.side
        keys = self.keys(reader)
        is_many = side == self.many
        blobs = _blobs(self.blobs[side], reader)
        measured = [(one, reader.codes(field)) for field, one in self.measured.items() if field.side == side]
        join = self.spec()
        layout = join.many if is_many else join.one
        if not is_many or self.once:
            keys = self._unique(reader, keys)
        sums: dict[tuple[int, int, int], dict[Accumulator, int]] = {}
        found: list[int] = []
        for row, (key, own) in enumerate(zip(keys, blobs)):
            if key is None:
                continue
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

    def _unique(self, reader: _Reader, keys: list[int | None]) -> list[int | None]:
        """Returns the keys, each of which must occur once. If only the existence of keys matters, repeated
        keys become None."""
        first: dict[int, int] = {}
        for row, key in enumerate(keys):
            if key is not None and first.setdefault(key, row) != row and not self.exists:
                name = ", ".join(pair[reader.side].name for pair in self.pairs)
                of = reader.table.numbers
                raise InvalidInput(
                    f"{reader.place(name)}, row {of[row]}: it has the key of row {of[first[key]]}",
                    "add such rows up, choose one of them, or say which table has each key once: "
                    "validate='m:1' for the right one, '1:m' for the left one",
                )
        return [key if key is not None and first[key] == row else None for row, key in enumerate(keys)]

    def few(self, counts: Sequence[int]) -> relational.Few | None:
        """Returns the form of a query for sums of few known groups, or None for other queries."""
        if not self.has_agg or self.shows_key or self.null_keys or self.how == "left" and self.many == 1:
            return None
        fields = [self.blobs[side] for side in self._sides()]
        places = [prod(_size(of.kind) for of in own) for own in fields]
        # A list whose rows are moved to their groups does not show how many keys are in a group.
        if prod(places) > _FEW or fields[1] and self.min_group > 1:
            return None
        join = self.spec()
        codes = [
            join.group.pack_all([one, many, 0])
            for one in _codes_of(fields[0])
            for many in _codes_of(fields[1])
        ]
        both = [counts[side] for side in self._sides()]
        return relational.Few.of(join, both, tuple(codes), places[1], self.once)

    def overflow(self, counts: Sequence[int]) -> float | None:
        few = self.few(counts)
        return few.shape.overflow_log2 if few else None

    def given(self, side: int, rows: list[int], counts: Sequence[int]) -> Any:
        if few := self.few(counts):
            found = few.given(int(side == self.many), rows, self.salt)
            if found is None:
                raise InvalidInput(
                    f"{SIDES[side]} table: its keys are spread too unevenly",
                    "agree on one row more with the peer, which changes the salt: bw.Table(frame, rows=…)",
                )
            return found
        join = self.spec()
        layout = join.many if side == self.many else join.one
        return rows + [layout.pack({"absent": 1})] * (counts[side] - len(rows))

    def compiled(self, counts: Sequence[int]) -> Traced[Any, Any]:
        join = self.spec()
        grouping, most = self.with_having(join.grouping), self.most(counts, join)
        alternate = join.order == "key" and join.how in ("inner", "semi")
        by_key = not self.has_agg or self.shows_key
        sizes = [_size(of.kind) for of in (*self.blobs[0], *self.blobs[1])]
        most_groups = most if by_key else min(most, prod(sizes)) if self.names else 1
        if few := self.few(counts):
            bound = len(few.codes)

            def sums(left: Any, right: Any) -> Any:
                lists = left, right
                found = few.sums(lists[1 - self.many], lists[self.many])
                return self.finished(found, grouping, None if self.limit is None else bound)

            inputs = [few.input(int(side == self.many)) for side in range(2)]
            return self.program(counts, inputs, self.shown_rows(bound), sums)

        def work(left: Any, right: Any) -> Any:
            records = self.joined((left, right), join)
            if by_key:
                return self.finished(records, grouping, most, alternate)
            if not self.names:
                return self.finished(relational.total(records, grouping), grouping, None)
            rows = relational.front(records, most, alternate)
            return self.finished(relational.grouped(rows, grouping), grouping, most_groups)

        return self.program(counts, self.inputs(join, counts), self.shown_rows(most_groups), work)

    def inputs(self, join: relational.Join, counts: Sequence[int]) -> list[Type]:
        """Returns the types of both tables."""
        widths = [join.one.width, join.many.width]
        return list(map(_rows_of, widths if self.many == 1 else widths[::-1], counts))

    def joined(self, lists: tuple[Any, Any], join: relational.Join) -> list[Integer]:
        """Returns the records of joined rows."""
        once, many = list(lists[1 - self.many]), list(lists[self.many])
        if self.null_keys:
            # Keys of the right table are never null here, so a null matches no row.
            right, of = (many, join.many) if self.many == 1 else (once, join.one)
            base, length = of.place("key")
            known = wide_constant(1 << base + length - 1, IntegerType(of.width))
            right = [row | known for row in right]
            once, many = (once, right) if self.many == 1 else (right, many)
        return relational.joined(once, many, join)


class Rows(Join):
    """A join whose rows are computed with inside the circuit: expressions over columns of both parties.

    Args:
        fields: the columns that the expressions read, such as `left.amount`.
        where: a condition on joined rows.
        groups: the columns of the group, which are cells `group 0` and so on in the result.

        agg: the aggregates, each a function and an expression: cells `FUNCTION NUMBER`, or `count *`. None
            for a query of rows, which then shows the groups.
        distinct: the expression whose different values are counted: the cell `distinct`.
    """

    def __init__(
        self,
        tables: Sequence[Table | Schema],
        on: Mapping[str, str],
        how: str,
        validate: str,
        min_group: int,
        to: str,
        having: Expression | None,
        text: str,
        limit: Limit | None,
        outputs: Sequence[Output],
        fields: Sequence[str],
        where: Expression | None,
        groups: Sequence[Expression],
        agg: Sequence[tuple[str, Expression | None]] | None,
        distinct: Expression | None,
        reveal: Mapping[str, str] | None = None,
    ) -> None:
        self.row_groups, self.where, self.is_aggregate = tuple(groups), where, agg is not None
        self.row_agg = list(agg or ())
        super().__init__(
            tables, on, how, validate, None, None, 1, to, fields, having, text, limit, outputs, True, reveal
        )
        self.min_group = max(min_group, self.smallest)
        self.asked["min_group"] = min_group
        measured: dict[Expression, Measured] = {}
        for function, of in self.row_agg:
            if of is not None:
                low = getattr(of.kind, "low", 0)
                name = f"v{len(measured)}"
                known = measured.get(of) or Measured(
                    name, of.kind.width, low, (), of.kind.width + self.counted
                )
                needs = set(known.needs) | set(_FUNCTIONS[function])
                needs -= {"any"} if "count" in needs else set()
                measured[of] = replace(known, needs=tuple(sorted(needs)))
                if self.counts_values(None):
                    measured[of] = _with_count(measured[of])
        self.row_measured = measured
        self.distinct: Expression | str | None = distinct
        if self.min_group > 1 and not self.by_key:
            if distinct is not None:
                raise UsageError("COUNT(DISTINCT …) beside a smallest group", "leave one of them out")
            self.distinct = "key"
        for of in (
            *self.row_groups,
            *measured,
            *([where] if where else []),
            *([distinct] if distinct else []),
        ):
            for node in of.walk():
                if node.op == "=" and isinstance(node.parts[0].kind, Key):
                    rows, others = (one.rows for one in self.schemas)
                    log2 = collision_log2(rows, others, self.sized(0, Key()).width)
                    self.collision = log2 if self.collision is None else max(log2, self.collision) + 1

    @property
    def by_key(self) -> bool:
        names = {of.value for of in self.row_groups}
        return all(any(f"column {of.place}" in names for of in pair) for pair in self.pairs)

    def _keep_policies(self) -> None:
        if self.smallest <= 1:
            return
        if not self.is_aggregate:
            self.refuse_rows()
        self.refuse_join()
        for side in range(2):
            if self.policies[side].smallest > 1:
                own = [
                    (node.value.partition(".")[2], function)
                    for function, of in self.row_agg
                    if of is not None
                    for node in of.walk()
                    if node.op == "cell" and node.value.startswith(f"column {SIDES[side]}.")
                ]
                self.refuse_values(side, own)
                self.refuse_weights(side, [name for name, _ in own])

    def in_order_of(self) -> list[str] | None:
        return [f"group {place}" for place in range(len(self.row_groups))] if self.is_aggregate else None

    def _group(self, name: str) -> Field | int:
        return self._column(name)

    def _refuse_texts(self) -> None:
        names = dict(self.names)
        for one in self.outputs:
            if not isinstance(one.value.kind, Key):
                continue
            of = self.row_groups[int(one.value.value.removeprefix("group "))]
            field = names[of.value.removeprefix("column ")] if of.op == "cell" else None
            if not isinstance(field, Field):
                raise UsageError("a hashed text inside an expression", "give it bw.text")
            for side in range(2):
                if self.learns(one, side) and self._text_field(field, side) is None:
                    raise self.unreadable(one.name, side)

    def _text_field(self, field: Field, side: int) -> Field | None:
        """Returns a column in which a party has the texts of a column."""
        if field.side == side:
            return field
        pairs = self.pairs if self.how == "inner" else ()
        found = [pair[side] for pair in pairs if pair[1 - side].name == field.name]
        return replace(found[0], kind=field.kind) if found else None

    def texts(self, name: str, reader: _Reader) -> dict[int, Any]:
        of = self.row_groups[int(name.removeprefix("group "))]
        field = dict(self.names)[of.value.removeprefix("column ")]
        assert isinstance(field, Field)
        own = self._text_field(field, reader.side)
        assert own is not None
        reader.codes(own)
        return {code: values[0] for code, values in reader.texts[own.name].items()}

    def spec(self) -> relational.Join:
        join = super().spec()
        with_key = getattr(self, "distinct", None) == "key"
        matched = [Accumulator("keys", "sum", 1)] if with_key else []
        join = replace(join, shows_key=with_key)
        return replace(join, grouping=Grouping(join.group.width, tuple(matched)))

    def row_grouping(self) -> Grouping:
        """Returns the rules for the records of joined rows."""
        counters = []
        rows = "others" if self.how == "left" and self.many == 1 else "rows"
        if self.min_group > 1:
            counters.append(rows)
        if any(of is None for _, of in self.row_agg):
            counters.append("rows")
        sums = [Accumulator(name, "sum", self.counted) for name in dict.fromkeys(counters)]
        if self.distinct is not None:
            sums.append(Accumulator("different", "distinct", self.counted))
        for one in self.row_measured.values():
            sums += one.accumulators(self.counted)
        width = sum(of.kind.width + 1 for of in self._fixed_groups())
        distinct = 0
        if self.distinct is not None:
            known = self.key_bits if self.distinct == "key" else self._fixed(self.distinct).kind.width  # type: ignore[arg-type]
            distinct = known + 1
        keys = ["different"] if self.distinct == "key" else []
        values = [f"{one.name}.count" for one in self.row_measured.values() if "count" in one.needs]
        counts = (rows, *keys, *(values if self.counts_values(None) else [])) if self.min_group > 1 else ()
        return Grouping(width, tuple(sums), self.min_group, counts, distinct=distinct)

    def _fixed(self, of: Expression) -> Expression:
        """Returns an expression whose hashes have a width."""
        if of.op == "cell" and isinstance(of.kind, Key):
            return replace(of, kind=self.sized(0, of.kind))
        return of

    def _fixed_groups(self) -> list[Expression]:
        return [self._fixed(of) for of in self.row_groups]

    def grouping_cells(self) -> dict[str, Cell]:
        layout, found = self.row_grouping().record, {}
        base = layout.place("group")[0]
        for place, of in enumerate(self._fixed_groups()):
            found[f"group {place}"] = Cell(base, of.kind, (base + of.kind.width, 1))
            base += of.kind.width + 1
        fields = {
            Field(None, str(place), of.kind): measured
            for place, (of, measured) in enumerate(self.row_measured.items())
        }
        return {**found, **_sum_cells(layout, fields, self.counted)}

    def sorted_by(self) -> list[str]:
        return [
            one.name for one in self.outputs if one.value.value in self.grouping_cells()
        ] * self.is_aggregate

    def compiled(self, counts: Sequence[int]) -> Traced[Any, Any]:
        join, grouping = self.spec(), self.with_having(self.row_grouping())
        most = self.most(counts, join)
        alternate = join.order == "key" and join.how == "inner"
        cells = tuple(self._group_cells(join.grouping.record.place("group")[0]).items())
        distinct = self._fixed(self.distinct) if isinstance(self.distinct, Expression) else self.distinct
        measured = tuple((one, of) for of, one in self.row_measured.items())
        groups = tuple(self._fixed_groups())
        rules = relational.Derivation(cells, self.where, groups, measured, distinct, grouping)
        sizes = prod(_size(of.kind) for of in groups)
        most_groups = most if not self.is_aggregate else min(most, sizes) if groups else 1

        def work(left: Any, right: Any) -> Any:
            rows = [relational.derived(one, rules, join) for one in self.joined((left, right), join)]
            if not self.is_aggregate:
                return self.finished(rows, grouping, most, alternate)
            if not groups:
                return self.finished(relational.total(rows, grouping), grouping, None)
            rows = relational.front(rows, most, alternate)
            return self.finished(relational.grouped(rows, grouping), grouping, most_groups)

        return self.program(counts, self.inputs(join, counts), self.shown_rows(most_groups), work)


def join_counted(schemas: Sequence[Schema], how: str, many: int) -> int:
    """Returns the bits of a number of joined rows."""
    most = schemas[many].rows + (schemas[0].rows if how == "left" and many == 1 else 0)
    return max(2, most.bit_length())


def aggregate_counted(schemas: Sequence[Schema]) -> int:
    """Returns the bits of a number of rows of both tables."""
    return max(2, sum(one.rows for one in schemas).bit_length())


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
        having: Expression | None = None,
        text: str = "",
        limit: Limit | None = None,
        outputs: Sequence[Output] | None = None,
        reveal: Mapping[str, str] | None = None,
    ) -> None:
        groups = _listed(group_by)
        asked = {"agg": list(agg.items()), "group_by": groups, "min_group": min_group, "text": text}
        super().__init__(tables, asked, to)
        min_group = max(min_group, self.smallest)
        self.groups = [self._both(name) for name in groups]
        for of in self.groups:
            if isinstance(of.kind, Key):
                raise UsageError(
                    f"groups by {of.name}, of which the peer would learn a hash",
                    "give it bw.category or bw.text",
                )
        self.results = _results(agg, self._both)
        _refuse_twice([*groups, *(one.name for one in self.results)])
        self.limit, self.having, self.dense = limit, having, False
        self.counted = aggregate_counted(self.schemas)
        self.measured = _measured(self.results, self.counted)
        group_outputs = [Output(of.name, cell(f"column {of.name}", of.kind)) for of in self.groups]
        own = (*group_outputs, *(output(one, self.counted) for one in self.results))
        self.concluded(outputs or own, reveal or {})
        names = [(one.field.name, one.function) for one in self.results if one.field is not None]
        for side in range(2):
            self.refuse_values(side, names)
        values = []
        if self.counts_values(None):
            self.measured = {of: _with_count(one) for of, one in self.measured.items()}
            values = [f"{one.name}.count" for one in self.measured.values()]
        self.places = prod(_size(of.kind) for of in self.groups)
        self.dense = self._can_be_dense()
        rows = min_group > 1 or any(one.field is None for one in self.results) or self.dense and self.groups
        counters = [Accumulator("rows", "sum", self.counted)] if rows else []
        sums = [one for of in self.measured.values() for one in of.accumulators(self.counted)]
        width = 0 if self.dense else _blob(self.groups).width
        self.grouping = Grouping(width, (*counters, *sums), min_group, each_party=("rows", *values))
        cells = tuple(self.grouping_cells().items())
        self.grouping = replace(self.grouping, cells=cells, having=self.having)

    def _can_be_dense(self) -> bool:
        """Returns whether each party gives a row for each possible group: if there are few, and the place of
        a row, which tells its group, tells no learner anything new."""
        if not self.groups:
            return True
        if self.limit is not None or self.places > max(_FEW, 2 * sum(one.distinct for one in self.schemas)):
            return False
        columns = {f"column {of.name}" for of in self.groups}
        seen = [{of.value for of in self.view(side) if of.op == "cell"} for side in self.learners]
        composed = [of for one in self.shown if one.op != "cell" for of in one.walk()]
        composed += [] if self.having is None else self.having.walk()
        return all(columns <= one for one in seen) and not any(
            one.op == "cell" and one.value in columns for one in composed
        )

    def in_order_of(self) -> list[str] | None:
        return [] if self.dense else [f"column {of.name}" for of in self.groups]

    def told(self, of: Output) -> tuple[Expression, ...]:
        names = {f"column {group.name}" for group in self.groups} if self.dense else set()
        return () if of.value.op == "cell" and of.value.value in names else of.parts

    def _both(self, name: str) -> Field:
        """Returns a column that both tables have."""
        one, other = self.find(0, name), self.find(1, name)
        kind = one.kind.joined(other.kind)
        if kind is None:
            raise UsageError(
                f"{name} is {one.kind} on the left and {other.kind} on the right",
                "give both one type: bw.Table(frame, types={…})",
            )
        return Field(None, one.name, kind)

    def grouping_cells(self) -> dict[str, Cell]:
        layout, found = self.grouping.record, {}
        base = layout.place("group")[0]
        for number, of in enumerate([] if self.dense else self.groups):
            at = base + _blob(self.groups).place(str(2 * number))[0]
            found[f"column {of.name}"] = Cell(at, of.kind, (at + of.kind.width, 1))
        return {**found, **_sum_cells(layout, self.measured, self.counted)}

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

    def given(self, side: int, rows: list[int], counts: Sequence[int]) -> Any:
        return rows + [self.grouping.record.pack({"there": 1})] * (counts[side] - len(rows))

    def compiled(self, counts: Sequence[int]) -> Traced[Any, Any]:
        grouping = self.grouping
        most = self.places if self.dense else min(sum(counts), self.places)

        def work(left: Any, right: Any) -> Any:
            if self.dense:
                records = relational.beside(left, right, grouping, not self.groups)
                return self.finished(records, grouping, None)
            records = relational.by_group(left, right, grouping)
            return self.finished(records, grouping, most)

        inputs = [_rows_of(grouping.record.width, count) for count in counts]
        return self.program(counts, inputs, self.shown_rows(most), work)

    def known_at(self, place: int) -> dict[str, Any]:
        if not self.dense:
            return {}
        return {f"column {of.name}": value for of, value in zip(self.groups, self._group_at(place))}

    def sorted_by(self) -> list[str]:
        columns = {f"column {of.name}": of for of in self.groups}
        found = {one.value.value: one.name for one in self.outputs if one.value.value in columns}
        return [found[name] for name in columns if name in found]


_FEW = 64
"""If there are at most so many possible groups, or fewer groups than rows, each party gives a row for each
group."""
