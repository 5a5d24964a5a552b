"""Tables of a party, and the schemas that the peer sees."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .columns import are_columns, is_lazy, is_table
from .errors import InvalidInput, UsageError, nearest, needed
from .files import CSV, Columns, is_cursor, is_duckdb, of_cursor, of_duckdb, parsed, read_file
from .kinds import Canonical, Key, Kind, Number, as_kind, kind_of_dtype, kind_of_json
from .policies import FREE, Policy

_MOST_ROWS = 1 << 24


@dataclass(frozen=True)
class Schema:
    """The public description of a table: everything that the peer learns about it besides the result.

    Attributes:
        columns: the name and type of each column.
        rows: the largest number of rows.
        distinct: the largest number of different keys and groups, of which the computation makes a row each.

        policy: the owner's conditions on results.
    """

    columns: tuple[tuple[str, Kind], ...]
    rows: int
    distinct: int
    policy: Policy = FREE

    def __post_init__(self) -> None:
        if not 1 <= self.distinct <= self.rows <= _MOST_ROWS:
            raise UsageError(
                f"a table of {self.rows} rows, {self.distinct} of them distinct",
                f"give at least 1 and at most {_MOST_ROWS} rows, and no more distinct ones",
            )

    def json(self) -> dict[str, Any]:
        """Returns the schema as an object of JSON."""
        columns = [[name, kind.json()] for name, kind in self.columns]
        bounds = {"rows": self.rows, "distinct": self.distinct}
        return {"columns": columns, **bounds, "policy": self.policy.json()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the schema to a file of JSON, for the peer."""
        Path(path).write_text(json.dumps(self.json(), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Schema:
        """Reads the peer's schema. Look at it: it shows the number of rows that the computation takes."""
        try:
            return Schema.of_json(json.loads(Path(path).read_text(encoding="utf-8")))
        except (ValueError, InvalidInput):
            raise InvalidInput(f"{os.fspath(path)} is no schema", "ask the peer for `schema.save`") from None

    @staticmethod
    def of_json(found: Any) -> Schema:
        """Returns the schema of an object of JSON, which may come from the peer."""
        try:
            columns = tuple((name, kind_of_json(kind)) for name, kind in found["columns"])
            rows, distinct = found["rows"], found["distinct"]
            # A name may be shown in a message on a terminal.
            printable = all(isinstance(name, str) and name.isprintable() for name, _ in columns)
            if not printable or {type(rows), type(distinct)} != {int}:
                raise ValueError
            if len(dict(columns)) < len(columns):
                raise ValueError
            return Schema(columns, rows, distinct, Policy.of_json(found["policy"]))
        except (ValueError, KeyError, TypeError):
            raise InvalidInput("an object that is no schema", "both parties need one version") from None


class Table:
    """A party's table, with the types of its columns and the bounds that the peer learns.

    Args:
        frame: a table of pandas, polars (lazy, too), Arrow or DuckDB, or a dict of columns. A cursor of a
            database, a result of SQLAlchemy, and the path of a CSV, Parquet, Arrow or DuckDB file, too.

        types: types of columns, where the table itself does not tell: `bw.u32`, `bw.decimal(9, 2)`,
            `bw.category([…])` and so on.

        rows: the largest number of rows, by default the number of rows.
        distinct: the largest number of different keys and groups, by default `rows`.

        policy: conditions on every result that this table has a part in.
    """

    def __init__(
        self,
        frame: Any,
        *,
        types: Mapping[str, Any] | None = None,
        rows: int | None = None,
        distinct: int | None = None,
        policy: Policy = FREE,
    ) -> None:
        found = _read(frame)
        if unknown := set(types or {}) - set(found):
            name = min(unknown)
            raise UsageError(f"there is no column {name!r}", nearest(name, list(found), "columns"))
        self.values = {name: values for name, (values, _) in found.items()}
        lengths = {len(values) for values in self.values.values()}
        if len(lengths) != 1:
            raise InvalidInput("a table without columns, or with columns of different lengths", "correct it")
        (self.length,) = lengths
        self.numbers: Sequence[int] = range(self.length)
        self.open = rows is None and distinct is None
        kinds, self.unknown = {}, {}
        for name, (values, dtype) in found.items():
            given = as_kind(types[name]) if types and name in types else None
            if dtype == CSV:
                self.values[name], dtype = parsed(values, given, f"column {name}"), "object"
            kind = given or kind_of_dtype(dtype, self.values[name])
            if isinstance(kind, str):
                self.unknown[name] = kind
            else:
                float_ = isinstance(kind, Number) and kind.scale > 0 and dtype.lower().startswith("float")
                kinds[name] = replace(kind, is_float=True) if float_ else kind  # type: ignore[call-arg]
        bound = max(1, self.length if rows is None else rows)
        self.schema = Schema(tuple(kinds.items()), bound, bound if distinct is None else distinct, policy)

    def numbers_of(self, name: str, side: str) -> list[Any]:
        """Returns a column for expressions: numbers in units of their last digit, texts, or codes."""
        kind = dict(self.schema.columns)[name]
        of = Canonical() if isinstance(kind, Key) else kind
        codes = of.codes(self.values[name], self.numbers, f"{side} table, column {name}")
        if isinstance(kind, Key):
            return self.values[name]
        low = kind.low if isinstance(kind, Number) else 0
        return [None if one is None else one + low for one in codes] if low else codes

    def chosen(self, rows: Sequence[int]) -> Table:
        """Returns the table with only these rows. The schema does not change, and the rows keep their
        numbers."""
        of = copy(self)
        of.values = {name: [values[row] for row in rows] for name, values in self.values.items()}
        of.numbers, of.length = [self.numbers[row] for row in rows], len(rows)
        return of

    def with_column(self, name: str, kind: Kind, numbers: Sequence[Any]) -> Table:
        """Returns the table with one more column, given in the form of `numbers_of`."""
        of = copy(self)
        exact = replace(kind, is_float=False) if isinstance(kind, Number) else kind

        def value(one: Any) -> Any:
            if isinstance(exact, Number):
                return exact.number(one)
            return one if isinstance(exact, Key) else exact.value(one)

        of.values = {**self.values, name: [None if one is None else value(one) for one in numbers]}
        of.schema = replace(self.schema, columns=(*self.schema.columns, (name, kind)))
        return of

    def only(self, kinds: Mapping[str, Kind], numbers: Mapping[str, Sequence[Any]]) -> Table:
        """Returns a table with other columns for the same rows, given in the form of `numbers_of`."""
        of = copy(self)
        of.values, of.unknown = {}, {}
        of.schema = replace(self.schema, columns=())
        for name, kind in kinds.items():
            of = of.with_column(name, kind, numbers[name])
        return of

    def __repr__(self) -> str:
        return f"<brickwork.Table of {len(self.values)} columns>"


def _read(frame: Any) -> dict[str, tuple[list[Any], str]]:
    """Returns the values of each column, with None for a null, and the name of the column's type."""
    if isinstance(frame, Columns):
        return frame
    if isinstance(frame, (str, os.PathLike)):
        return _read(read_file(frame))
    if is_duckdb(frame):
        return of_duckdb(frame)
    if is_lazy(frame):
        frame = frame.collect()
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        frame = {name: frame[name] for name in frame.dtype.names}
    if isinstance(frame, Mapping) and are_columns(frame):
        return {str(name): _column(one) for name, one in frame.items()}
    if not is_table(frame):
        if is_cursor(frame):
            return of_cursor(frame)
        raise InvalidInput(
            f"a {type(frame).__name__} is no table",
            "give a table of pandas, polars, Arrow or DuckDB, a cursor, or the path of a file",
        )
    if hasattr(frame, "columns") and hasattr(frame, "to_numpy"):  # pandas, polars
        names = [str(name) for name in frame.columns]
        columns = (
            [frame.iloc[:, place] for place in range(len(names))]
            if hasattr(frame, "iloc")
            else [frame[name] for name in names]
        )
    else:
        pyarrow = needed("pyarrow", "an Arrow table", "'brickwork[arrow]'")
        whole = frame if isinstance(frame, pyarrow.Table) else pyarrow.table(frame)
        names, columns = whole.column_names, whole.columns
    if len(set(names)) < len(names):
        raise InvalidInput("two columns have one name", "rename one of them")
    return {name: _column(one) for name, one in zip(names, columns)}


def _column(column: Any) -> tuple[list[Any], str]:
    if isinstance(column, np.ma.MaskedArray):
        return [None if hidden else one for one, hidden in zip(column.data, np.ma.getmaskarray(column))], str(
            column.dtype
        )
    if isinstance(column, np.ndarray):
        whole = column.dtype.kind == "M"
        values = [
            None if whole and np.isnat(one) else one for one in (list if whole else np.ndarray.tolist)(column)
        ]
        return values, str(column.dtype)
    if hasattr(column, "isna"):  # pandas
        values = column.astype(object).tolist()
        return [None if null else one for one, null in zip(values, column.isna())], str(column.dtype)
    if hasattr(column, "to_list") and hasattr(column, "dtype"):  # polars
        if (
            str(column.dtype).startswith("Datetime(time_unit='ns'")
            and (column.dt.nanosecond() % 1000 != 0).any()
        ):
            raise InvalidInput("times of polars in nanoseconds", "give the column another unit, such as us")
        return column.to_list(), str(column.dtype)
    if hasattr(column, "to_pylist"):  # Arrow
        return column.to_pylist(), str(column.type)
    return list(column), "object"


def as_table(given: Any) -> Table | Schema:
    """Returns a party's table, or the schema of a table that the peer has."""
    return given if isinstance(given, (Table, Schema)) else Table(given)
