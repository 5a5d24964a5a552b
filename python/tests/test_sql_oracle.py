"""Random queries in SQL over random tables, against DuckDB."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import brickwork as bw
import pytest
from conftest import lacking


def database() -> Any:
    try:
        import duckdb
    except ImportError:
        lacking("duckdb is not installed, so nothing was compared: pip install duckdb")
    return duckdb.connect(config={"threads": 1})


GROUPS = ["red", "green", "blue"]
NAMES = ["Zoë", "zoe", "eve", "Bob", "", "ann"]
DAYS = [date(2024, 1, 31), date(2024, 2, 1), date(1999, 12, 31)]

COLUMNS: dict[str, tuple[Any, str, Sequence[Any]]] = {
    "k": (bw.u8, "INTEGER", range(9)),
    "s": (bw.key(), "VARCHAR", ["ann", "bob", "cid", "dan", "eve", "fay", "gil", "hal", "ida"]),
    "x": (bw.i8, "INTEGER", range(-4, 5)),
    "p": (
        bw.decimal(5, 2),
        "DECIMAL(5, 2)",
        [Decimal("1.25"), Decimal("-3.50"), Decimal("0.01"), Decimal(2)],
    ),
    "g": (bw.category(GROUPS), "VARCHAR", GROUPS),
    "t": (bw.text(5), "VARCHAR", NAMES),
    "f": (bw.boolean, "BOOLEAN", [True, False]),
    "d": (bw.date, "DATE", DAYS),
}
"""For each column its types here and in DuckDB, and its values. Both tables have these columns."""

KEYS = ["k", "s"]


def table(draw: random.Random, unique: str | None, nulls: bool) -> dict[str, list[Any]]:
    """Draws the columns of a table. The values of the column `unique` occur once."""
    size = draw.choice([0, 1, 3, 5, 7])
    found: dict[str, list[Any]] = {}
    for name, (_, _, values) in COLUMNS.items():
        if name == unique:
            found[name] = draw.sample(list(values), size)
            continue
        rate = 0.25 if nulls or name not in KEYS else 0
        found[name] = [None if draw.random() < rate else draw.choice(values) for _ in range(size)]
    if unique and nulls and size:
        # A null is equal to nothing, so it may stand beside unique keys.
        found[unique][draw.randrange(size)] = None
    return found


class Drawn:
    """A random query.

    Args:
        tables: the names of the tables that it may name columns of.
    """

    def __init__(self, draw: random.Random, tables: Sequence[str], prefix: bool = True) -> None:
        self.draw, self.tables, self.prefix = draw, tables, prefix

    def column(self, names: str) -> str:
        name = self.draw.choice(names)
        return f"{self.draw.choice(self.tables)}.{name}" if self.prefix else name

    def number(self, depth: int) -> str:
        draw = self.draw
        if depth == 0:
            return draw.choice(
                [self.column("xp"), self.column("xp"), str(draw.randint(-3, 3)), "1.5", "0.25"]
            )
        a, b = self.number(depth - 1), self.column("xp")
        if draw.random() < 0.5:
            a, b = b, a
        return draw.choice(
            [
                f"({a} + {b})",
                f"({a} - {b})",
                f"{a} * {b}",
                f"-({a})",
                f"ABS({a})",
                f"COALESCE({a}, {b})",
                f"NULLIF({a}, {b})",
                f"CASE WHEN {self.condition(depth - 1)} THEN {a} ELSE {b} END",
                f"CASE WHEN {self.condition(depth - 1)} THEN {a} END",
                f"CASE {self.column('x')} WHEN 1 THEN {a} WHEN 2 THEN {b} END",
            ]
        )

    def condition(self, depth: int) -> str:
        draw = self.draw
        if depth and draw.random() < 0.6:
            a, b = self.condition(depth - 1), self.condition(depth - 1)
            return draw.choice(
                [f"({a} AND {b})", f"({a} OR {b})", f"NOT ({a})", f"({a}) IS NOT TRUE", f"({a}) IS NULL"]
            )
        sign = draw.choice(["=", "<>", "<", "<=", ">", ">="])
        return draw.choice(
            [
                f"{self.number(depth)} {sign} {self.number(0)}",
                f"{self.column('xp')} {sign} {self.column('xp')}",
                f"{self.column('x')} BETWEEN {self.number(0)} AND 2",
                f"{self.column('x')} IN (1, 2, {self.column('x')})",
                f"{self.column('g')} IN ('red', 'blue')",
                f"{self.column('g')} <> {self.column('g')}",
                f"{self.column('t')} = {self.column('t')}",
                f"{self.column('t')} = 'Zoë'",
                f"{self.column('s')} = 'bob'",
                f"{self.column('d')} {sign} DATE '2024-02-01'",
                f"{self.column('d')} {sign} {self.column('d')}",
                f"{self.column('xpgtfd')} IS NULL",
                self.column("f"),
            ]
        )

    def value(self) -> str:
        return self.draw.choice([self.column("kxpgtfd"), self.number(1), self.condition(1), self.number(2)])

    def aggregate(self) -> str:
        draw = self.draw
        one = draw.choice([self.column("xp"), self.number(1), self.number(1)])
        return draw.choice(
            [
                f"{draw.choice(['SUM', 'AVG', 'MIN', 'MAX'])}({one})",
                f"SUM({one})",
                f"COUNT({self.value()})",
                f"{draw.choice(['MIN', 'MAX'])}({self.column('d')})",
                "COUNT(*)",
                f"SUM({one}) * 2 - COUNT(*)",
                f"CASE WHEN COUNT(*) > 1 THEN SUM({one}) END",
            ]
        )

    def query(self, source: str, aggregates: bool = True) -> str:
        draw = self.draw
        where = f" WHERE {self.condition(2)}" if draw.random() < 0.5 else ""
        if not aggregates or draw.random() < 0.3:
            shown = ", ".join(f"{self.value()} AS c{place}" for place in range(draw.randint(1, 3)))
            return f"SELECT {'DISTINCT ' * draw.randint(0, 1)}{shown} {source}{where}"
        groups = [draw.choice([self.column("kxgtfd"), self.value()]) for _ in range(draw.randint(0, 2))]
        sums = [self.aggregate() for _ in range(draw.randint(1, 2))]
        if draw.random() < 0.2:
            sums.append(f"COUNT(DISTINCT {self.column('kxgtd')})")
        shown = ", ".join(f"{one} AS c{place}" for place, one in enumerate([*groups, *sums]))
        by = f" GROUP BY {', '.join(groups)}" if groups else ""
        having = draw.choice(["", "", f" HAVING {self.aggregate_condition()}"]) if groups else ""
        return f"SELECT {shown} {source}{where}{by}{having}"

    def aggregate_condition(self) -> str:
        draw = self.draw
        return draw.choice(
            [
                "COUNT(*) > 1",
                f"SUM({self.column('xp')}) >= {draw.randint(-2, 2)}",
                f"AVG({self.column('x')}) < 1.5 OR COUNT(*) = 1",
                f"MIN({self.column('x')}) <> MAX({self.column('x')})",
                f"SUM({self.number(1)}) > COUNT({self.column('x')}) * 0.5",
            ]
        )


def drawn(draw: random.Random) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Draws a query, and the tables of both parties."""
    kind = draw.choice(["inner", "inner", "inner", "left", "left", "semi", "anti", "union"])
    nulls = draw.random() < 0.5
    if kind == "union":
        of = Drawn(draw, [""], prefix=False)
        names = "k, x, p, g, t, f, d, s"
        query = of.query(f"FROM (SELECT {names} FROM a UNION ALL SELECT {names} FROM b)")
        grouped = any(one in query for one in ("SUM", "COUNT", "AVG", "MIN", "MAX", "DISTINCT"))
        if not grouped:
            query = query.replace("SELECT ", "SELECT DISTINCT ", 1)
        return query.replace("COUNT(DISTINCT", "COUNT("), table(draw, None, True), table(draw, None, True)
    key = draw.choice(KEYS)
    on = draw.choice([f"a.{key} = b.{key}", f"b.{key} = a.{key}"])
    words = {"inner": "JOIN", "left": "LEFT JOIN", "semi": "SEMI JOIN", "anti": "ANTI JOIN"}
    of = Drawn(draw, ["a", "b"] if kind in ("inner", "left") else ["a"])
    unique = key if kind in ("inner", "left") else None
    return of.query(f"FROM a {words[kind]} b ON {on}"), table(draw, None, nulls), table(draw, unique, nulls)


def of_duckdb(query: str, **tables: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    base = database()
    for name, columns in tables.items():
        types = ", ".join(f"{column} {COLUMNS[column][1]}" for column in columns)
        base.execute(f"CREATE TABLE {name} ({types})")
        if rows := list(zip(*columns.values())):
            base.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)
    found: list[tuple[Any, ...]] = base.execute(query).fetchall()
    base.close()
    return found


def of_both(query: str, a: dict[str, Any], b: dict[str, Any], simulate: bool) -> list[tuple[Any, ...]]:
    types = {name: of for name, (of, _, _) in COLUMNS.items()}
    tables = [bw.Table(columns, types=types, rows=8) for columns in (a, b)]
    answer = bw.sql(query, {"a": tables[0]}, {"b": tables[1]}, simulate=simulate)
    return list(zip(*(answer.columns or {}).values()))


def plain(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Returns rows in one order, with numbers that compare."""

    def one(value: Any) -> Any:
        if isinstance(value, (float, Decimal, int)) and not isinstance(value, bool):
            return round(float(value), 6)
        return value

    found = [tuple(map(one, row)) for row in rows]
    return sorted(found, key=lambda row: [(value is None, str(value)) for value in row])


def check(query: str, a: dict[str, Any], b: dict[str, Any], simulate: bool = True) -> bool:
    """Compares the results, and returns whether there was one: a party must be able to read each text."""
    expected = of_duckdb(query, a=a, b=b)
    try:
        found = of_both(query, a, b, simulate)
    except bw.UsageError as error:
        assert any(word in str(error) for word in ("hashed text", "several columns", "as a column")), (
            query,
            error,
        )
        return False
    assert plain(found) == plain(expected), (query, a, b)
    return True


@pytest.mark.parametrize("part", range(6))
def test_random_queries_give_the_results_of_duckdb(part: int) -> None:
    found = 0
    for number in range(60):
        draw = random.Random(1000 * part + number)
        found += check(*drawn(draw))
    assert found > 50


def test_the_protocol_gives_the_results_of_duckdb() -> None:
    for seed in range(5):
        check(*drawn(random.Random(f"real {seed}")), simulate=False)
