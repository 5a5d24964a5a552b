"""Tables from files and databases: CSV, Parquet, Arrow, DuckDB, and cursors of other databases."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from .errors import InvalidInput, UsageError, nearest, needed
from .kinds import Boolean, Date, Kind, Number, Timestamp

CSV = "text of csv"
"""The name of the type of a column whose values are texts that may be numbers or dates."""


class Columns(dict[str, tuple[list[Any], str]]):
    """Columns by name: the values of each column, with None for null, and the name of the column's type."""


def read_file(path: str | os.PathLike[str], table: str = "") -> Any:
    """Reads a table of a file.

    Args:
        table: the name of the table in a file of DuckDB, which has several.

    Returns:
        columns with the names of their types, or a table of another library.
    """
    suffix = Path(path).suffix.lower()
    if not Path(path).is_file():
        raise InvalidInput(
            f"there is no file {os.fspath(path)}", "name a file of CSV, Parquet, Arrow or DuckDB"
        )
    if suffix in (".csv", ".txt"):
        return _of_csv(path)
    if suffix in (".parquet", ".pq"):
        return needed("pyarrow.parquet", "a Parquet file", "'brickwork[arrow]'").read_table(path)
    if suffix in (".arrow", ".feather", ".ipc"):
        return needed("pyarrow.feather", "an Arrow file", "'brickwork[arrow]'").read_table(path)
    if suffix in (".duckdb", ".ddb", ".db"):
        duckdb = needed("duckdb", "a file of DuckDB", "duckdb")
        with duckdb.connect(os.fspath(path), read_only=True) as base:
            known = [name for (name,) in base.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
            known += [
                name
                for (name,) in base.execute(
                    "SELECT view_name FROM duckdb_views() WHERE NOT internal"
                ).fetchall()
            ]
            name = table if table in known or len(known) != 1 else known[0]
            if name not in known:
                raise InvalidInput(f"{os.fspath(path)} has no table {name!r}", nearest(name, known, "tables"))
            return of_duckdb(base.table(name))
    raise InvalidInput(
        f"the file {os.fspath(path)} is of no known form", "take .csv, .parquet, .arrow, .feather or .duckdb"
    )


def _of_csv(path: str | os.PathLike[str]) -> Columns:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput(
            f"{os.fspath(path)} is no CSV in UTF-8", "save it as CSV with commas, in UTF-8"
        ) from None
    if not rows:
        raise InvalidInput(f"{os.fspath(path)} is empty", "its first line has the names of the columns")
    head, *rows = [row for row in rows if row]
    for place, row in enumerate(rows):
        if len(row) != len(head):
            raise InvalidInput(
                f"{os.fspath(path)}, row {place}: {len(row)} values, and {len(head)} columns",
                "correct the row",
            )
    columns = [[row[place] or None for row in rows] for place in range(len(head))]
    return _once(head, [(column, CSV) for column in columns])


def _once(names: Sequence[str], columns: Sequence[tuple[list[Any], str]]) -> Columns:
    if len(set(names)) < len(names):
        raise InvalidInput("two columns have one name", "rename one of them")
    return Columns(zip(names, columns))


_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
_POINT = re.compile(r"-?\d+\.\d+([eE][-+]?\d+)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:.*")


def _boolean(text: str) -> bool:
    return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}[text.lower()]


def _decimal(text: str) -> Decimal | int:
    return int(text) if _WHOLE.fullmatch(text) else Decimal(text)


def _reader(texts: Sequence[str | None], kind: Kind | None) -> Callable[[str], Any]:
    """Returns the function that reads the texts of a column: of a named type, or of the first that fits."""
    if kind is not None:
        by_kind: dict[type[Kind], Callable[[str], Any]] = {
            Number: _decimal,
            Boolean: _boolean,
            Date: date.fromisoformat,
            Timestamp: datetime.fromisoformat,
        }
        return by_kind.get(type(kind), str)
    known = [one for one in texts if one is not None]
    forms: list[tuple[re.Pattern[str], Callable[[str], Any]]] = [
        (_WHOLE, int),
        (_POINT, float),
        (re.compile("true|false", re.IGNORECASE), _boolean),
        (_DAY, date.fromisoformat),
        (_TIME, datetime.fromisoformat),
    ]
    for form, read in forms:
        if known and all(form.fullmatch(one) or form is _POINT and _WHOLE.fullmatch(one) for one in known):
            return read
    return str


def parsed(texts: Sequence[str | None], kind: Kind | None, place: str) -> list[Any]:
    """Returns the values of a column of CSV.

    Args: kind: its type, or None to take the first type that fits all texts. place: the column's name, for
        errors.
    """
    read, found = _reader(texts, kind), []
    for row, text in enumerate(texts):
        try:
            found.append(None if text is None else read(text))
        except (ValueError, KeyError, InvalidOperation):
            what = "of the column's type" if kind is None else str(kind)
            raise InvalidInput(
                f"{place}, row {row}: it is not {what}", "correct it, or name another type"
            ) from None
    return found


_OF_DUCKDB = {
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
    "VARCHAR": "str",
    "TIMESTAMP": "timestamp[us]",
    "TIMESTAMP_S": "timestamp[s]",
    "TIMESTAMP_MS": "timestamp[ms]",
    "TIMESTAMP WITH TIME ZONE": "timestamp[us, tz=utc]",
}
"""Types of DuckDB that have another name elsewhere."""


def is_duckdb(value: Any) -> bool:
    """Returns whether a value is a relation of DuckDB."""
    return type(value).__name__ == "DuckDBPyRelation"


def of_duckdb(relation: Any) -> Columns:
    """Reads a relation of DuckDB."""
    names, types = list(relation.columns), [str(one) for one in relation.types]
    rows = relation.fetchall()
    columns = [[row[place] for row in rows] for place in range(len(names))]
    return _once(names, [(column, _OF_DUCKDB.get(type, type)) for column, type in zip(columns, types)])


def is_cursor(value: Any) -> bool:
    """Returns whether a value is a cursor of a database (PEP 249), or a result of SQLAlchemy."""
    return callable(getattr(value, "fetchall", None)) and (
        callable(getattr(value, "keys", None)) or hasattr(value, "description")
    )


def of_cursor(cursor: Any) -> Columns:
    """Reads all rows of a cursor that are left."""
    if callable(getattr(cursor, "keys", None)):
        names = [str(name) for name in cursor.keys()]
    elif cursor.description is None:
        raise UsageError("a cursor without a result", "execute a SELECT before")
    else:
        names = [str(column[0]) for column in cursor.description]
    rows = cursor.fetchall()
    return _once(names, [([row[place] for row in rows], "object") for place in range(len(names))])
