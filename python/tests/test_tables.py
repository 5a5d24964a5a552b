"""Operations on tables of programs in Python, against plain Python."""

from __future__ import annotations

import random
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
        theirs = [{"amount": (row["delta"] + 32) * 5, "key": row["key"]} for row in b]
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


def test_a_party_that_lies_about_its_table_forges_nothing() -> None:
    @bw.program
    def joined(a: bw.Garbler[Row[3]], b: bw.Evaluator[Row[3]]) -> bw.Both[Pair[5]]:
        return tables.join(
            a, b, "key", lambda x, y: Pair(key=x.key, both=y.delta.truncate(bw.u6).astype(bw.u10))
        )

    def matches(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> list[int]:
        given = [[{"key": key, "delta": delta} for key, delta in rows] for rows in (a, b)]
        return [row["key"] for row in plain(bw.simulate(joined, *given).garbler) if row["key"]]

    assert matches([(1, 1), (5, 1), (7, 1)], [(2, 1), (5, 2), (9, 1)]) == [5]
    # A key twice in one table and never in the other.
    assert matches([(5, 1), (7, 1), (7, 2)], [(1, 1), (2, 1), (9, 1)]) == []
    assert matches([(1, 1), (2, 1), (9, 1)], [(5, 1), (7, 1), (7, 2)]) == []
    # Twice in both: no more than one match.
    assert matches([(1, 1), (7, 1), (7, 2)], [(7, 1), (7, 2), (9, 1)]) == [7]
    # Out of order: nothing.
    assert matches([(7, 1), (5, 1), (1, 1)], [(1, 1), (5, 1), (7, 1)]) == []
    assert matches([(1, 1), (5, 1), (7, 1)], [(5, 1), (1, 1), (7, 1)]) == []

    @bw.program
    def grouped(a: bw.Garbler[Row[3]], b: bw.Evaluator[Row[3]]) -> bw.Both[Pair[6]]:
        found = tables.sum_by(tables.merge_by(a, b, "key"), "key", "delta", bw.i10)
        return [Pair(key=key, both=total.truncate(bw.u10)) for key, total in found]

    def sums(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> list[tuple[int, int]]:
        given = [[{"key": key, "delta": delta} for key, delta in rows] for rows in (a, b)]
        return [
            (row["key"], row["both"]) for row in plain(bw.simulate(grouped, *given).garbler) if row["key"]
        ]

    assert sums([(1, 3), (1, 4), (2, 5)], [(1, 6), (2, 7), (3, 8)]) == [(1, 13), (2, 12), (3, 8)]
    assert sums([(2, 3), (1, 4), (2, 5)], [(1, 6), (2, 7), (3, 8)]) == []

    @bw.program
    def alone(a: bw.Garbler[Row[3]]) -> bw.Both[Pair[3]]:
        found = tables.sum_by(a, "key", "delta", bw.i10)
        return [Pair(key=key, both=total.truncate(bw.u10)) for key, total in found]

    given = [{"key": key, "delta": 1} for key in (2, 1, 2)]
    assert not any(row["key"] or row["both"] for row in plain(bw.simulate(alone, given).garbler))


def test_what_is_no_table_is_refused() -> None:
    @bw.program
    def wrong(a: bw.Garbler[bw.u8[3]]) -> bw.Both[bw.u8]:
        return tables.sort_by(a, "key")

    with pytest.raises(bw.SecretUsed, match="something else"):
        wrong.source

    @bw.program
    def other(a: bw.Garbler[Row[3]]) -> bw.Both[Row[3]]:
        return tables.sort_by(a, "name")

    with pytest.raises(bw.SecretUsed, match="key name"):
        other.source
