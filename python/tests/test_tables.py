"""Operations on tables of programs in Python, against plain Python."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brickwork as bw
import pytest
from brickwork import tables


class Row(bw.Struct):
    key: bw.u8
    delta: bw.i6


class Pair(bw.Struct):
    key: bw.u8
    both: bw.u10


def rows(draw: random.Random, n: int, distinct: bool = False, empty: int = 0) -> list[dict[str, int]]:
    keys = draw.sample(range(1, 20), n) if distinct else draw.choices(range(1, 6), k=n)
    found = [{"key": key, "delta": draw.randint(-32, 31)} for key in keys]
    return [{"key": 0, "delta": 0}] * empty + found[empty:]


def plain(records: Any) -> list[dict[str, int]]:
    return [{name: int(record[name]) for name in record.dtype.names} for record in records]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 11])
def test_sorting_merging_and_the_largest(n: int) -> None:
    @bw.program
    def by(
        a: bw.Garbler[Row[n]], b: bw.Evaluator[Row[n]]
    ) -> tuple[bw.Garbler[Row[2 * n]], bw.Evaluator[Row[n]]]:
        merged = tables.merge_by(tables.sort_by(a, "delta"), tables.sort_by(b, "delta"), "delta")
        return merged, tables.top([*a, *b], "key", n)

    for seed in range(3):
        draw = random.Random(seed)
        a, b = rows(draw, n), rows(draw, n)
        learned = bw.simulate(by, a, b)
        merged = plain(learned.garbler)
        assert [row["delta"] for row in merged] == sorted(row["delta"] for row in a + b)
        assert sorted(map(str, merged)) == sorted(map(str, a + b))
        keys = [row["key"] for row in plain(learned.evaluator)]
        assert keys == sorted((row["key"] for row in a + b), reverse=True)[:n]


def test_sums_by_key() -> None:
    @bw.program
    def sums(a: bw.Garbler[Row[9]]) -> bw.Both[Pair[9]]:
        found = tables.sum_by(tables.keep(a, lambda row: row.delta >= 0), "key", "delta", bw.i10)
        return [Pair(key=key, both=total.truncate(bw.u10)) for key, total in found]

    for seed in range(4):
        table = sorted(rows(random.Random(seed), 9, empty=2), key=lambda row: row["key"])
        table = [row if row["delta"] >= 0 else {"key": 0, "delta": 0} for row in table]
        table.sort(key=lambda row: row["key"])
        expected: dict[int, int] = {}
        for row in table:
            expected[row["key"]] = expected.get(row["key"], 0) + row["delta"]
        expected.pop(0, None)
        learned = plain(bw.simulate(sums, table).garbler)
        assert {row["key"]: row["both"] for row in learned if row["key"]} == expected
        assert all(row["both"] == 0 for row in learned if not row["key"])


@pytest.mark.parametrize("sizes", [(1, 1), (4, 4), (5, 3), (7, 6)])
def test_joining_on_a_key(sizes: tuple[int, int]) -> None:
    n, m = sizes

    class Other(bw.Struct):
        amount: bw.u10
        key: bw.u8

    @bw.program
    def joined(a: bw.Garbler[Row[n]], b: bw.Evaluator[Other[m]]) -> bw.Both[Pair[n + m - 1]]:
        return tables.join(
            a, b, "key", lambda x, y: Pair(key=x.key, both=y.amount ^ x.delta.truncate(bw.u6).astype(bw.u10))
        )

    for seed in range(4):
        draw = random.Random(seed)
        a = sorted(rows(draw, n, distinct=True, empty=n // 3), key=lambda row: row["key"])
        b = sorted(rows(draw, m, distinct=True, empty=m // 4), key=lambda row: row["key"])
        theirs = [{"amount": (row["delta"] + 32) * 5 * (row["key"] > 0), "key": row["key"]} for row in b]
        learned = [row for row in plain(bw.simulate(joined, a, theirs).evaluator) if row["key"]]
        amounts = {row["key"]: row["amount"] for row in theirs if row["key"]}
        expected = [
            {"key": row["key"], "both": amounts[row["key"]] ^ (row["delta"] & 63)}
            for row in a
            if row["key"] in amounts
        ]
        assert learned == expected
    run = bw.run(joined, a, theirs)
    assert [row for row in plain(run.garbler) if row["key"]] == expected


def unchecked(program: Any, folder: Path) -> bw.Program:
    """Returns a program that skips the check of tables before the run, as a cheater would."""
    text = re.sub(r"/\*@ (sorted|grouped|keyed) \S+ \*/", "", program.source)
    path = folder / f"{program.__name__}.wir"
    path.write_text(text)
    return bw.load(path)


def test_a_party_that_lies_about_its_table_forges_nothing(tmp_path: Path) -> None:
    @bw.program
    def joined(a: bw.Garbler[Row[3]], b: bw.Evaluator[Row[3]]) -> bw.Both[Pair[5]]:
        return tables.join(
            a, b, "key", lambda x, y: Pair(key=x.key, both=y.delta.truncate(bw.u6).astype(bw.u10))
        )

    def matches(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> list[int]:
        given = [[{"key": key, "delta": delta} for key, delta in rows] for rows in (a, b)]
        return [row["key"] for row in plain(bw.simulate(lying, *given).garbler) if row["key"]]

    lying = unchecked(joined, tmp_path)

    assert matches([(1, 1), (5, 1), (7, 1)], [(2, 1), (5, 2), (9, 1)]) == [5]
    # A key occurs twice in one table and never in the other.
    assert matches([(5, 1), (7, 1), (7, 2)], [(1, 1), (2, 1), (9, 1)]) == []
    assert matches([(1, 1), (2, 1), (9, 1)], [(5, 1), (7, 1), (7, 2)]) == []
    # A key occurs twice in both tables, or in one of them: the result is empty.
    assert matches([(1, 1), (7, 1), (7, 2)], [(7, 1), (7, 2), (9, 1)]) == []
    assert matches([(1, 1), (7, 1), (7, 2)], [(1, 1), (7, 2), (9, 1)]) == []
    # The tables are out of order: the result is empty.
    assert matches([(7, 1), (5, 1), (1, 1)], [(1, 1), (5, 1), (7, 1)]) == []
    assert matches([(1, 1), (5, 1), (7, 1)], [(5, 1), (1, 1), (7, 1)]) == []

    @bw.program
    def grouped(a: bw.Garbler[Row[3]], b: bw.Evaluator[Row[3]]) -> bw.Both[Pair[6]]:
        found = tables.sum_by(tables.merge_by(a, b, "key"), "key", "delta", bw.i10)
        return [Pair(key=key, both=total.truncate(bw.u10)) for key, total in found]

    def sums(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> list[tuple[int, int]]:
        given = [[{"key": key, "delta": delta} for key, delta in rows] for rows in (a, b)]
        return [(row["key"], row["both"]) for row in plain(bw.simulate(merged, *given).garbler) if row["key"]]

    merged = unchecked(grouped, tmp_path)
    assert sums([(1, 3), (1, 4), (2, 5)], [(1, 6), (2, 7), (3, 8)]) == [(1, 13), (2, 12), (3, 8)]
    assert sums([(2, 3), (1, 4), (2, 5)], [(1, 6), (2, 7), (3, 8)]) == []

    @bw.program
    def alone(a: bw.Garbler[Row[3]]) -> bw.Both[Pair[3]]:
        found = tables.sum_by(a, "key", "delta", bw.i10)
        return [Pair(key=key, both=total.truncate(bw.u10)) for key, total in found]

    given = [{"key": key, "delta": 1} for key in (2, 1, 2)]
    assert not any(
        row["key"] or row["both"] for row in plain(bw.simulate(unchecked(alone, tmp_path), given).garbler)
    )


def test_what_is_no_table_is_refused() -> None:
    @bw.program
    def wrong(a: bw.Garbler[bw.u8[3]]) -> bw.Both[bw.u8]:
        return tables.sort_by(a, "key")

    with pytest.raises(bw.SecretUsed, match="needs a table"):
        wrong.source

    @bw.program
    def other(a: bw.Garbler[Row[3]]) -> bw.Both[Row[3]]:
        return tables.sort_by(a, "name")

    with pytest.raises(bw.SecretUsed, match="name as a key"):
        other.source


WRITTEN = """
#parties 2
typedef uint_t 1 bit
typedef uint_t 8 u8
typedef uint_t 10 u10
typedef uint_t 12 packed
typedef struct_t row { u8 key; uint_t 4 amount; }
typedef struct_t sums { u8 key; u10 sum; }
typedef struct_t pair { u8 key; u8 both; }
typedef struct_t merged { row row; bit side; }

function bit rises(bit so_far, u8 a, u8 b) { return so_far & a <= b; }
function bit rises_once(bit so_far, u8 a, u8 b) { return so_far & ((a < b) | (a == 0)); }

function row[2] exchanged(row a, row b)
{
    packed x;
    packed y;
    x{0:8} = a.key;
    x{8:4} = a.amount;
    y{0:8} = b.key;
    y{8:4} = b.amount;
    packed swap;
    if (b.key < a.key) swap = x ^ y;
    x = x ^ swap;
    y = y ^ swap;
    row r[2];
    r[0].key = x{0:8};
    r[0].amount = x{8:4};
    r[1].key = y{0:8};
    r[1].amount = y{8:4};
    return r;
}

function row filtered(row r)
{
    row none;
    if (r.amount > 3) return r;
    return none;
}

function row kept(bit wanted, row r)
{
    row none;
    if (wanted) return r;
    return none;
}

function u10 running(u10 total, u8 before, u8 key, u10 own)
{
    u10 so_far;
    if (before == key) so_far = total;
    return own + so_far;
}

function sums group(bit ordered, u8 key, u10 total, u8 following)
{
    sums of;
    if (ordered & key != 0 & key != following) {
        of.key = key;
        of.sum = total;
    }
    return of;
}

function sums last_group(bit ordered, u8 key, u10 total)
{
    sums of;
    if (ordered & key != 0) {
        of.key = key;
        of.sum = total;
    }
    return of;
}

function merged[2] exchanged_sides(merged a, merged b)
{
    uint_t 13 x;
    uint_t 13 y;
    x{0:8} = a.row.key;
    x{8:4} = a.row.amount;
    x{12} = a.side;
    y{0:8} = b.row.key;
    y{8:4} = b.row.amount;
    y{12} = b.side;
    uint_t 9 first;
    uint_t 9 second;
    first{0} = a.side;
    first{1:8} = a.row.key;
    second{0} = b.side;
    second{1:8} = b.row.key;
    uint_t 13 swap;
    if (second < first) swap = x ^ y;
    x = x ^ swap;
    y = y ^ swap;
    merged r[2];
    r[0].row.key = x{0:8};
    r[0].row.amount = x{8:4};
    r[0].side = x{12};
    r[1].row.key = y{0:8};
    r[1].row.amount = y{8:4};
    r[1].side = y{12};
    return r;
}

function pair match(bit ordered, merged a, merged b)
{
    pair p;
    if (a.row.key == b.row.key & a.row.key != 0 & ~a.side & b.side & ordered) {
        p.key = a.row.key;
        p.both{0:4} = a.row.amount;
        p.both{4:4} = b.row.amount;
    }
    return p;
}
"""
"""The same operations in the language, on rows of one type."""

MAINS = {
    "filter": (
        "row rows[4]",
        "row rows[4]",
        "for (u8 i = 0; i < 4; i++) output1.rows[i] = filtered(input1.rows[i]);",
    ),
    "group and sum": (
        "row rows[4]",
        "sums rows[4]",
        """
    bit ordered = 1;
    for (u8 i = 0; i < 3; i++) ordered = rises(ordered, input1.rows[i].key, input1.rows[i + 1].key);
    u10 total;
    for (u8 i = 0; i < 4; i++) {
        u10 own;
        own{0:4} = input1.rows[i].amount;
        if (i == 0) total = own;
        else total = running(total, input1.rows[i - 1].key, input1.rows[i].key, own);
        if (i < 3) output1.rows[i] = group(ordered, input1.rows[i].key, total, input1.rows[i + 1].key);
        else output1.rows[i] = last_group(ordered, input1.rows[i].key, total);
    }
""",
    ),
    "top": (
        "row rows[4]",
        "row rows[2]",
        """
    row left[4] = {input1.rows[0], input1.rows[1], input1.rows[2], input1.rows[3]};
    for (u8 k = 0; k < 2; k++) {
        for (u8 i = 0; i + k < 3; i++) {
            row two[2] = exchanged(left[i], left[i + 1]);
            left[i] = two[0];
            left[i + 1] = two[1];
        }
        output1.rows[k] = left[3 - k];
    }
""",
    ),
    "merge": (
        "row rows[8]",
        "row rows[8]",
        """
    bit a = 1;
    bit b = 1;
    for (u8 i = 0; i < 3; i++) a = rises(a, input1.rows[i].key, input1.rows[i + 1].key);
    for (u8 i = 4; i < 7; i++) b = rises(b, input1.rows[i].key, input1.rows[i + 1].key);
    bit ordered = a & b;
    row v[8];
    for (u8 i = 0; i < 8; i++) v[i] = input1.rows[i];
    for (u8 i = 0; i < 4; i++) {
        row two[2] = exchanged(v[i], v[i + 4]);
        v[i] = two[0];
        v[i + 4] = two[1];
    }
    for (u8 step = 2; step > 0; step = step / 2)
        for (u8 i = step; i + step < 8; i++)
            if (i / step % 2 == 1) {
                row two[2] = exchanged(v[i], v[i + step]);
                v[i] = two[0];
                v[i + step] = two[1];
            }
    for (u8 i = 0; i < 8; i++) output1.rows[i] = kept(ordered, v[i]);
""",
    ),
    "join": (
        "row rows[8]",
        "pair rows[7]",
        """
    bit a = 1;
    bit b = 1;
    for (u8 i = 0; i < 3; i++) a = rises_once(a, input1.rows[i].key, input1.rows[i + 1].key);
    for (u8 i = 4; i < 7; i++) b = rises_once(b, input1.rows[i].key, input1.rows[i + 1].key);
    bit ordered = a & b;
    merged v[8];
    for (u8 i = 0; i < 8; i++) {
        v[i].row = input1.rows[i];
        if (i > 3) v[i].side = 1;
    }
    for (u8 i = 0; i < 4; i++) {
        merged two[2] = exchanged_sides(v[i], v[i + 4]);
        v[i] = two[0];
        v[i + 4] = two[1];
    }
    for (u8 step = 2; step > 0; step = step / 2)
        for (u8 i = step; i + step < 8; i++)
            if (i / step % 2 == 1) {
                merged two[2] = exchanged_sides(v[i], v[i + step]);
                v[i] = two[0];
                v[i + step] = two[1];
            }
    for (u8 i = 0; i < 7; i++) output1.rows[i] = match(ordered, v[i], v[i + 1]);
""",
    ),
}


class Small(bw.Struct):
    key: bw.u8
    amount: bw.u4


class Sums(bw.Struct):
    key: bw.u8
    sum: bw.u10


class Joined(bw.Struct):
    key: bw.u8
    both: bw.u8


def grouped(rows: Any) -> Any:
    return [Sums(key=key, sum=total) for key, total in tables.sum_by(rows, "key", "amount", bw.u10)]


def taken(x: Any, y: Any) -> Any:
    return Joined(key=x.key, both=x.amount.astype(bw.u8) | y.amount.astype(bw.u8) << 4)


OPERATIONS: dict[str, tuple[int, Any, Callable[[Any], Any], dict[str, int]]] = {
    "filter": (4, Small[4], lambda rows: tables.keep(rows, lambda row: row.amount > 3), {"filter": 4}),
    "group and sum": (4, Sums[4], grouped, {"running_sum": 3, "group": 3, "group_2": 1, "rises": 3}),
    "top": (4, Small[2], lambda rows: tables.top(rows, "key", 2), {"exchanged": 5}),
    "merge": (
        8,
        Small[8],
        lambda rows: tables.merge_by(rows[:4], rows[4:], "key"),
        {"exchanged": 9, "kept": 8},
    ),
    "join": (
        8,
        Joined[7],
        lambda rows: tables.join(rows[:4], rows[4:], "key", taken),
        {"exchanged": 9, "match": 7},
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_tables_cost_the_same_in_both_languages(
    name: str, compiled: Callable[[str], bw.Program], tmp_path: Path
) -> None:
    count, returns, operation, components = OPERATIONS[name]

    def main(a):  # type: ignore[no-untyped-def]
        return operation(a)

    main.__annotations__ = {"a": bw.Garbler[Small[count]], "return": bw.Garbler[returns]}
    program = bw.program(main)
    ours, lying = program.as_program(), unchecked(program, tmp_path)
    given, learned, body = MAINS[name]
    theirs = compiled(f"""{WRITTEN}
typedef struct_t given {{ {given}; }}
typedef struct_t learned {{ {learned}; }}
#input 1 given
#output 1 learned
function void main() {{ {body} }}
""")
    assert ours.and_gates == theirs.and_gates > 0
    slots = {one["name"]: one["slots"] for one in ours.info()["components"]}
    assert components.items() <= slots.items(), slots
    draw = random.Random(name)
    for _ in range(6):
        halves = [
            sorted(
                ({"key": draw.randint(0, 5), "amount": draw.randint(0, 15)} for _ in range(count // 2)),
                key=lambda row: row["key"],
            )
            for _ in range(2)
        ]
        table = [*halves[0], *halves[1]]
        if name == "group and sum":
            table.sort(key=lambda row: row["key"])
        one, other = bw.simulate(lying, table).garbler, bw.simulate(theirs, {"rows": table}).garbler
        assert plain(one) == plain(other["rows"] if isinstance(other, dict) else other)


def test_a_function_that_sees_a_secret_is_used_all_the_same() -> None:
    @bw.program
    def over(a: bw.Garbler[bw.Array[Row, 5]], limit: bw.Evaluator[bw.i6]) -> bw.Both[bw.Array[Row, 5]]:
        return tables.keep(a, lambda row: row.delta > limit)

    draw = random.Random(2)
    for limit in (-33 + 1, 0, 31):
        table = rows(draw, 5)
        learned = plain(bw.simulate(over, table, limit).garbler)
        assert learned == [row if row["delta"] > limit else {"key": 0, "delta": 0} for row in table]
