"""Tables from files and databases, and results for other libraries."""

from __future__ import annotations

import sqlite3
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import brickwork as bw
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from conftest import lacking

COLUMNS: dict[str, list[Any]] = {
    "k": [1, 2, 3],
    "name": ["Ann", None, "Zoë, the first"],
    "day": [date(2024, 1, 31), None, date(1999, 12, 31)],
    "gold": [True, False, None],
    "price": [Decimal("1.50"), Decimal("-2.25"), None],
}
TYPES = {"price": bw.decimal(9, 2)}


def arrow() -> Any:
    types = {"k": pa.int32(), "price": pa.decimal128(9, 2)}
    return pa.table({name: pa.array(values, types.get(name)) for name, values in COLUMNS.items()})


def from_csv(folder: Path) -> Any:
    path = folder / "t.csv"
    rows = '1,Ann,2024-01-31,true,1.50\n2,,,FALSE,-2.25\n3,"Zoë, the first",1999-12-31,,\n'
    path.write_text(f"\ufeffk,name,day,gold,price\n{rows}")
    return path


def from_duckdb(folder: Path) -> Any:
    return _duckdb().connect().from_arrow(arrow())


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        lacking("duckdb is not installed: pip install duckdb")
    return duckdb


def from_duckdb_file(folder: Path) -> Any:
    path = folder / "t.duckdb"
    with _duckdb().connect(str(path)) as base:
        base.register("source", arrow())
        base.execute("CREATE TABLE things AS SELECT * FROM source")
    return path


def from_parquet(folder: Path) -> Any:
    pyarrow.parquet.write_table(arrow(), folder / "t.parquet")
    return str(folder / "t.parquet")


def from_arrow_file(folder: Path) -> Any:
    pyarrow.feather.write_feather(arrow(), folder / "t.arrow")
    return folder / "t.arrow"


def from_polars(folder: Path) -> Any:
    return pl.from_arrow(arrow())


def from_lazy_polars(folder: Path) -> Any:
    frame = pl.from_arrow(arrow())
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy().filter(pl.col("k") > 0)


def from_cursor(folder: Path) -> Any:
    base = sqlite3.connect(":memory:")
    return base.execute(
        "SELECT 1 AS k, 'Ann' AS name UNION ALL SELECT 2, NULL UNION ALL SELECT 3, 'Zoë, the first'"
    )


class Result:
    """A result as SQLAlchemy gives it."""

    def keys(self) -> list[str]:
        return ["k", "name"]

    def fetchall(self) -> list[Any]:
        return list(zip(COLUMNS["k"], COLUMNS["name"]))


def from_sqlalchemy(folder: Path) -> Any:
    return Result()


SOURCES = [
    from_csv,
    from_duckdb,
    from_duckdb_file,
    from_parquet,
    from_arrow_file,
    from_polars,
    from_lazy_polars,
    from_cursor,
    from_sqlalchemy,
]


@pytest.mark.parametrize("source", SOURCES)
def test_each_source_gives_the_same_rows(tmp_path: Path, source: Any) -> None:
    given = source(tmp_path)
    named = source in (from_cursor, from_sqlalchemy)
    columns = ["k", "name"] if named else list(COLUMNS)
    mine = bw.Table(given, types={} if named else TYPES)
    keys = {"k": [1, 2, 3]}
    query = f"SELECT {', '.join(f'a.{name}' for name in columns)} FROM a JOIN b ON a.k = b.k ORDER BY k"
    answer = bw.sql(query, {"a": mine}, {"b": keys}, to="garbler", simulate=True)
    assert answer.columns == {name: COLUMNS[name] for name in columns}


def test_results_go_to_other_libraries(tmp_path: Path) -> None:
    answer = bw.sql(
        "SELECT a.k, a.day, a.gold, a.price, a.t FROM a JOIN b ON a.k = b.k ORDER BY k",
        {
            "a": bw.Table(
                {**COLUMNS, "t": [datetime(2024, 1, 1, tzinfo=timezone.utc), None, None]},
                types={**TYPES, "t": bw.timestamp("s", utc=True)},
            )
        },
        {"b": {"k": [1, 2]}},
        simulate=True,
    )
    columns = answer.columns or {}
    assert answer.to_polars().to_dict(as_series=False) == columns
    assert answer.to_arrow().to_pydict() == columns
    assert answer.to_csv() == (
        "k,day,gold,price,t\n1,2024-01-31,True,1.50,2024-01-01 00:00:00+00:00\n2,,False,-2.25,\n"
    )
    answer.to_csv(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == answer.to_csv()
    answer.to_parquet(tmp_path / "r.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "r.parquet").to_pydict() == columns
    assert _duckdb().from_arrow(answer.to_arrow()).fetchall()[0][:2] == (1, date(2024, 1, 31))


def test_texts_that_look_like_numbers_stay_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("zip,code\n01234,7\n99999,x\n")
    assert bw.Table(path).values == {"zip": ["01234", "99999"], "code": ["7", "x"]}
    assert bw.Table(path, types={"zip": bw.u32}).values["zip"] == [Decimal(1234), 99999]


WRONG = {
    "missing.csv": None,
    "t.xls": "x",
    "ragged.csv": "a,b\n1\n",
    "empty.csv": "",
    "twice.csv": "a,a\n1,2\n",
    "quote.csv": 'a\n"x"y"\n',
    "bad.duckdb": None,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, name: str) -> None:
    if (text := WRONG[name]) is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(bw.InvalidInput):
        bw.Table(tmp_path / name)


def test_a_value_of_another_type_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("n,d\n1,2024-01-01\nsecret,never\n")
    for name, kind in (("n", bw.u8), ("d", bw.date), ("d", bw.boolean), ("d", bw.timestamp("s"))):
        with pytest.raises(bw.InvalidInput) as refused:
            bw.Table(tmp_path / "t.csv", types={name: kind})
        assert f"column {name}, row" in str(refused.value) and "secret" not in str(refused.value)
        assert "never" not in str(refused.value) and refused.value.__cause__ is None
