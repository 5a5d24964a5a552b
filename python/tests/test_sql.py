"""Queries in SQL over two parties' tables, against SQLite."""

from __future__ import annotations

import random
import sqlite3
from datetime import date, datetime
from typing import Any

import brickwork as bw
import pytest

GROUPS = ["red", "green", "blue"]


def rows(draw: random.Random, unique: bool) -> dict[str, list[Any]]:
    size = draw.choice([0, 1, 4, 9, 12])
    keys = draw.sample(range(14), size) if unique else draw.choices(range(9), k=size)

    def column(*values: Any) -> list[Any]:
        return [draw.choice([*values, None]) for _ in range(size)]

    return {
        "k": keys,
        "g": column(*GROUPS),
        "x": column(*range(-4, 5)),
        "d": column("2024-01-31", "2024-02-01"),
    }


TYPES = {"k": bw.u8, "g": bw.category(GROUPS), "x": bw.i8, "d": bw.text(10)}


def both(seed: str) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    draw = random.Random(seed)
    right = rows(draw, True)
    return rows(draw, False), {{"x": "y", "g": "h"}.get(name, name): of for name, of in right.items()}


def table(columns: dict[str, list[Any]]) -> bw.Table:
    types = {**TYPES, "y": bw.i8, "h": TYPES["g"]}
    return bw.Table(columns, types={name: types[name] for name in columns}, rows=13)


def of_sqlite(query: str, tables: dict[str, dict[str, list[Any]]]) -> list[tuple[Any, ...]]:
    with sqlite3.connect(":memory:") as base:
        for name, columns in tables.items():
            base.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            base.executemany(f"INSERT INTO {name} VALUES ({marks})", list(zip(*columns.values())))
        return list(base.execute(query))


def asked(query: str, a: Any, b: Any, **more: Any) -> list[tuple[Any, ...]]:
    answer = bw.sql(query, garbler={"a": a}, evaluator={"b": b}, simulate=True, **more)
    return list(zip(*(answer.columns or {}).values()))


def ordered(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(found, key=lambda row: [(one is None, str(one)) for one in row])


JOINED = "FROM a JOIN b ON a.k = b.k"
BOTH = "FROM (SELECT g, x, k FROM a WHERE x <> 2 UNION ALL SELECT g, x, k FROM b)"

QUERIES = [
    f"SELECT a.k, a.x, b.y {JOINED}",
    "SELECT x, h FROM a INNER JOIN b USING (k) WHERE x > 0 AND y <= 2",
    "SELECT a.k AS key, b.y, b.k FROM a LEFT JOIN b ON a.k = b.k WHERE NOT (a.x = 1 OR a.g = 'red')",
    f"SELECT COUNT(*), COUNT(y) AS c, SUM(y) AS s, AVG(x) AS m, MIN(x) AS lo, MAX(y) AS hi {JOINED}",
    f"SELECT g, SUM(y) AS s {JOINED} WHERE x BETWEEN -2 AND 3 AND y IS NOT NULL GROUP BY g",
    f"SELECT g, h, COUNT(*) AS n {JOINED} GROUP BY g, h HAVING COUNT(*) >= 2 ORDER BY n DESC, g, 2",
    f"SELECT h, SUM(x) AS s, MIN(y) AS y {JOINED} GROUP BY h HAVING SUM(x) > -1.5 AND MIN(y) < 3",
    "SELECT k, MAX(x) AS m FROM a JOIN b USING (k) GROUP BY k HAVING MAX(x) <= 2 AND COUNT(x) = 1",
    "SELECT g, SUM(x) AS s FROM a LEFT JOIN b ON a.k = b.k GROUP BY g HAVING SUM(y) >= 0",
    f"SELECT DISTINCT g, b.d {JOINED} WHERE a.d = '2024-02-01'",
    f"SELECT COUNT(*) AS n {JOINED} AND a.g = b.h WHERE a.g IS NOT NULL AND b.h IS NOT NULL",
    f"SELECT g, SUM(x) AS s, COUNT(*) AS n {BOTH} GROUP BY g",
    f"SELECT SUM(x) AS s {BOTH} WHERE k IN (1, 2, 3)",
    f"SELECT k, MIN(x) AS s {BOTH} GROUP BY k HAVING COUNT(x) > 1",
]


@pytest.mark.parametrize("query", QUERIES)
def test_results_are_those_of_sqlite(query: str) -> None:
    for seed in range(4):
        a, b = both(f"{seed} {query}")
        if "UNION" in query:
            b = {{"y": "x", "h": "g"}.get(name, name): of for name, of in b.items()}
        expected = of_sqlite(query, {"a": a, "b": b})
        found = asked(query, table(a), table(b))
        assert ordered(found) == ordered(expected), (seed, a, b)


LIMITED = [
    f"SELECT a.k, x, y {JOINED} ORDER BY y DESC NULLS LAST, a.k, x NULLS LAST LIMIT 3",
    f"SELECT a.k, SUM(x) AS s {JOINED} GROUP BY a.k ORDER BY s NULLS LAST, a.k DESC LIMIT 2",
    f"SELECT a.k, MIN(x) AS s {JOINED} GROUP BY a.k ORDER BY 2 DESC NULLS LAST, a.k LIMIT 5",
    f"SELECT y, COUNT(*) AS n, MAX(x) AS m {JOINED} GROUP BY y "
    "ORDER BY COUNT(*) DESC, m NULLS LAST, y NULLS LAST LIMIT 2",
    f"SELECT k, MIN(x) AS s {BOTH} GROUP BY k ORDER BY s NULLS LAST, k LIMIT 4",
    f"SELECT k, COUNT(x) AS n {BOTH} GROUP BY k HAVING SUM(x) < 3 ORDER BY n DESC, k DESC LIMIT 1",
]


@pytest.mark.parametrize("query", LIMITED)
def test_the_first_rows_are_those_of_sqlite(query: str) -> None:
    for seed in range(4):
        a, b = both(f"{seed} {query}")
        if "UNION" in query:
            b = {{"y": "x", "h": "g"}.get(name, name): of for name, of in b.items()}
        expected = of_sqlite(query, {"a": a, "b": b})
        assert asked(query, table(a), table(b)) == expected, (seed, a, b)


def test_rows_behind_the_limit_stay_hidden() -> None:
    a, b = {"k": [1, 2, 3], "x": [5, 7, 6]}, {"k": [1, 2, 3]}
    answer = bw.sql("SELECT x FROM a JOIN b USING (k) ORDER BY x DESC LIMIT 2", {"a": a}, {"b": b})
    assert answer.columns == {"x": [7, 6]} and answer.run is not None
    assert len(answer.run.garbler) == len(answer.run.evaluator) == 2


@pytest.mark.parametrize("kind, test", [("SEMI", "IN"), ("ANTI", "NOT IN")])
def test_rows_with_and_without_a_match(kind: str, test: str) -> None:
    for seed in range(4):
        a, b = both(f"{seed} {kind}")
        found = asked(
            f"SELECT g, SUM(x) AS s FROM a {kind} JOIN b ON a.k = b.k GROUP BY g", table(a), table(b)
        )
        query = f"SELECT g, SUM(x) FROM a WHERE k {test} (SELECT k FROM b) GROUP BY g"
        assert ordered(found) == ordered(of_sqlite(query, {"a": a, "b": b}))


def test_the_order_is_that_of_the_query() -> None:
    a = {"k": [1, 2, 3, 4], "x": [5, None, 7, 5]}
    b = {"k": [4, 3, 2, 1], "y": [1, 2, 3, 4]}
    found = asked("SELECT x, y FROM a JOIN b ON a.k = b.k ORDER BY x DESC, y", a, b)
    assert found == [(7, 2), (5, 1), (5, 4), (None, 3)]


def test_dates_and_texts_compare_by_their_meaning() -> None:
    a = {"k": ["Zoë", "x", "y"], "d": [date(2024, 1, 31), date(2024, 2, 1), None]}
    b = {"k": [" ZOË", "X", "Y"], "t": [datetime(2024, 1, 1, 8)] * 3}
    tables = bw.Table(a), bw.Table(b, types={"t": bw.timestamp("s")})
    join = "SELECT a.k FROM a JOIN b ON a.k = b.k WHERE"
    assert asked(f"{join} d < '2024-02-01'", *tables) == [("Zoë",)]
    assert asked(f"{join} d >= DATE '2024-02-01'", *tables) == [("x",)]
    assert asked(f"{join} b.k = 'zoë' AND t > '2024-01-01 07:59:59'", *tables) == [("Zoë",)]


REFUSED = [
    "SELECT",
    "DELETE FROM a",
    "SELECT x FROM a",
    "SELECT x FROM a JOIN a AS c ON a.k = c.k",
    "SELECT x FROM a JOIN b ON a.k = b.k JOIN b AS c ON a.k = c.k",
    "SELECT x FROM a JOIN b ON a.k < b.k",
    "SELECT x FROM a CROSS JOIN b",
    "SELECT x FROM a RIGHT JOIN b ON a.k = b.k",
    "SELECT x FROM b LEFT JOIN a ON a.k = b.k",
    "SELECT SUM(DISTINCT x) FROM a JOIN b ON a.k = b.k",
    "SELECT x FROM a JOIN b ON a.k = b.k WHERE x > 'red'",
    "SELECT x FROM a JOIN b ON a.k = b.k WHERE g > 'red'",
    "SELECT x FROM a JOIN b ON a.k = b.k WHERE x LIKE 'r%'",
    "SELECT x FROM a JOIN b ON a.k = b.k WHERE x IN (SELECT 1)",
    "SELECT x FROM a JOIN b ON a.k = b.k LIMIT 3",
    "SELECT x FROM a JOIN b ON a.k = b.k ORDER BY x LIMIT 0",
    "SELECT x FROM a JOIN b ON a.k = b.k ORDER BY x LIMIT 3 OFFSET 2",
    "SELECT x FROM a JOIN b ON a.k = b.k ORDER BY x NULLS  first",
    "SELECT h FROM a JOIN b ON a.k = b.k ORDER BY h LIMIT 3",
    "SELECT g, AVG(x) AS m FROM a JOIN b ON a.k = b.k GROUP BY g ORDER BY m LIMIT 3",
    "SELECT x FROM a JOIN b ON a.k = b.k ORDER BY h",
    "SELECT x, SUM(y) FROM a JOIN b ON a.k = b.k",
    "SELECT x, SUM(y) FROM a JOIN b ON a.k = b.k GROUP BY g",
    "SELECT g, SUM(y) FROM a JOIN b ON a.k = b.k GROUP BY g HAVING g = 'red'",
    "SELECT y FROM a SEMI JOIN b ON a.k = b.k",
    "SELECT SUM(y) FROM a SEMI JOIN b ON a.k = b.k",
    "SELECT k FROM a JOIN b ON a.k = b.k",
    "SELECT x FROM (SELECT x FROM a UNION SELECT y FROM b)",
    "SELECT x FROM (SELECT x FROM a UNION ALL SELECT y AS x FROM b)",
    "SELECT x / y AS q FROM a JOIN b ON a.k = b.k",
    "SELECT COUNT(DISTINCT x) AS m, COUNT(DISTINCT a.g) AS n FROM a JOIN b ON a.k = b.k",
    "SELECT SUM(SUM(x)) FROM a JOIN b ON a.k = b.k",
    "SELECT x FROM a JOIN b ON a.k = b.k WHERE SUM(x) > 1",
    "SELECT AVG(x) + 1 AS m FROM a JOIN b ON a.k = b.k",
    "SELECT x + g AS q FROM a JOIN b ON a.k = b.k",
    "SELECT CASE WHEN x > 1 THEN g ELSE x END AS q FROM a JOIN b ON a.k = b.k",
    "SELECT 1 AS one FROM a JOIN b ON a.k = b.k",
    "SELECT * FROM a JOIN b ON a.k = b.k",
    "SELECT LOWER(a.d) AS q FROM a JOIN b ON a.k = b.k",
    "SELECT x FROM a JOIN b ON a.k = b.k OR a.x = b.y",
    "SELECT x FROM a LEFT JOIN b ON a.k = b.k AND a.x > 1",
    "SELECT x FROM a SEMI JOIN b ON a.k = b.k WHERE b.y > 1",
    "SELECT x, y FROM a JOIN b ON a.k = b.k GROUP BY x",
    "WITH c AS (SELECT 1) SELECT x FROM a JOIN b ON a.k = b.k",
    "SELECT SUM(x) OVER (PARTITION BY g) FROM a JOIN b ON a.k = b.k",
    "SELECT x FROM a JOIN b ON a.k = b.k FETCH FIRST 1 ROWS ONLY",
    "SELECT x FROM a TABLESAMPLE (5) JOIN b ON a.k = b.k",
    "SELECT x FROM a JOIN b ON a.k = b.k QUALIFY x > 1",
    "SELECT x FROM other.a JOIN b ON a.k = b.k",
]


@pytest.mark.parametrize("query", REFUSED)
def test_other_sql_is_refused(query: str) -> None:
    a, b = both("refused")
    with pytest.raises(bw.UsageError):
        asked(query, table(a), table(b))


def test_both_parties_run_it() -> None:
    a, b = {"k": [1, 1, 2], "x": [3, 4, 5]}, {"k": [1, 3], "y": [10, 20]}
    query = "SELECT a.k, SUM(x) AS s, MAX(y) AS m FROM a JOIN b ON a.k = b.k GROUP BY a.k"
    types = {"k": bw.u8, "x": bw.u8}
    answer = bw.sql(query, garbler={"a": bw.Table(a, types=types)}, evaluator={"b": b}, min_group=2)
    assert answer.columns == {"k": [1], "s": [7], "m": [10]} and answer.run is not None
    assert answer.to_pandas().to_dict("list") == answer.columns


HINTS = {
    "SELECT a.amonut FROM a JOIN b ON a.k = b.k": "did you mean amount?",
    "SELECT AMOUNT FROM a JOIN b ON a.k = b.k": "did you mean amount?",
    "SELECT amount FROM aa JOIN b ON a.k = b.k": "did you mean a?",
    "SELECT c.amount FROM a JOIN b ON a.k = b.k": "tables are a, b",
    "SELECT a.amount / 2 AS h FROM a JOIN b ON a.k = b.k": "x * 0.01",
    "SELECT a.amount FROM a RIGHT JOIN b ON a.k = b.k": "exchange the tables",
    "SELECT a.amount FROM a JOIN b ON a.k = b.k LIMIT 2": "say which rows come first",
    "SELECT amount FROM a JOIN b ON a.k = b.k WHERE name LIKE 'A%'": "boolean column",
}


@pytest.mark.parametrize("query", HINTS)
def test_a_refusal_says_what_to_write_instead(query: str) -> None:
    a, b = {"k": [1], "amount": [2], "name": ["Ann"]}, {"k": [1]}
    with pytest.raises(bw.UsageError) as refused:
        asked(query, a, b)
    assert HINTS[query] in str(refused.value)


def test_the_peer_learns_the_value_of_an_expression_alone() -> None:
    a, b = {"k": [1, 2], "x": [3, 4]}, {"k": [1, 2], "y": [10, 20]}
    types = {"k": bw.u8, "x": bw.u8, "y": bw.u8}
    tables = [bw.Table(of, types={name: types[name] for name in of}) for of in (a, b)]
    answer = bw.sql(
        "SELECT SUM(x * y) AS s FROM a JOIN b USING (k) WHERE x + y > 13", {"a": tables[0]}, {"b": tables[1]}
    )
    assert answer.columns == {"s": [80]} and answer.run is not None
    (row,) = answer.run.evaluator
    # The output has the sum, a bit that it is not null, and a bit that the row is there.
    assert int(row).bit_length() <= 16 + 2 + 2
