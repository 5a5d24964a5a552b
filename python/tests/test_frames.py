"""Joins and aggregates of two parties' tables, against pandas."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import brickwork as bw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from brickwork import kinds, matching, queries, relational
from brickwork.arrays import array_of
from brickwork.tables import kept
from brickwork.types import ArrayType, IntegerType, Owned, StructType
from conftest import parties

WORDS = [
    "Zoë",
    "  zoë ",
    "ZOE\u0308",
    "Ångström",
    "ångström",
    "straße",
    "STRASSE",
    "",
    "名前",
    "O'Brien",
    "0",
]
"""Texts of which several have one canonical form."""


def canonical(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text.strip()).casefold())


def column(draw: random.Random, rows: int, low: int, high: int, nulls: bool) -> Any:
    return pd.array(
        [None if nulls and draw.random() < 0.3 else draw.randint(low, high) for _ in range(rows)],
        dtype="Int64",
    )


TYPES = {"a": bw.i16, "b": bw.u8, "g": bw.category(["red", "green", "blue"]), "w": bw.u8, "k": bw.u8}


def tables(draw: random.Random, once: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draws a table with keys that may occur often, and one with each key once, or as `once` says."""
    sizes = [draw.choice([0, 1, 2, 5, 9, 12]) for _ in range(2)]
    keys = []
    for side, size in enumerate(sizes):
        unique = once in ("1:1", ["1:m", "m:1"][side])
        keys.append(draw.sample(range(14), size) if unique else draw.choices(range(8), k=size))
    left = pd.DataFrame(
        {
            "k": pd.array(keys[0], dtype="Int64"),
            "a": column(draw, sizes[0], -9, 9, True),
            "g": pd.Series(draw.choices(["red", "green", "blue", None], k=sizes[0]), dtype=object),
        }
    )
    right = pd.DataFrame(
        {
            "k": pd.array(keys[1], dtype="Int64"),
            "b": column(draw, sizes[1], 0, 9, True),
            "w": column(draw, sizes[1], 0, 2, True),
        }
    )
    return left, right


def table(frame: pd.DataFrame, **bounds: Any) -> bw.Table:
    return bw.Table(frame, types={name: TYPES[name] for name in frame.columns}, **bounds)


def plain(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Returns the rows as tuples with None for null, in one order."""
    rows = [
        tuple(
            None if pd.isna(one) else round(float(one), 9) if isinstance(one, float) else one for one in row
        )
        for row in frame.itertuples(index=False)
    ]
    return sorted(rows, key=lambda row: [(one is None, str(one)) for one in row])


def joined(left: pd.DataFrame, right: pd.DataFrame, how: str) -> pd.DataFrame:
    if how in ("semi", "anti"):
        found: pd.DataFrame = left[left["k"].isin(right["k"]) == (how == "semi")]
        return found
    return left.merge(right, on="k", how=how)


AGG = {
    "a": ["sum", "mean", "min", "max", "count"],
    "b": ["sum", "mean", "min", "max", "count"],
    "rows": ("*", "count"),
}


def aggregated(
    frame: pd.DataFrame,
    by: list[str],
    agg: dict[str, Any],
    large: Callable[[pd.DataFrame], bool] = lambda part: True,
) -> pd.DataFrame:
    """Returns the aggregates as SQL defines them: nulls are one group, and a sum of nothing is null."""
    groups: list[tuple[Any, pd.DataFrame]] = [((), frame)]
    if by:
        groups = list(frame.groupby(by, dropna=False))
    found = []
    for key, part in groups:
        row = dict(zip(by, key))
        for name, of in agg.items():
            if of == ("*", "count"):
                row[name] = len(part)
                continue
            for function in of:
                values = part[name].dropna()
                row[f"{name}_{function}"] = (
                    len(values)
                    if function == "count"
                    else None
                    if not len(values)
                    else getattr(values, function)()
                )
        if large(part):
            found.append(row)
    return pd.DataFrame(found, columns=[*by, *(row_names(agg))])


def row_names(agg: dict[str, Any]) -> list[str]:
    return [
        one
        for name, of in agg.items()
        for one in ([name] if isinstance(of, tuple) else [f"{name}_{function}" for function in of])
    ]


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("validate", ["m:1", "1:m", "1:1"])
def test_joined_rows_are_those_of_pandas(how: str, validate: str) -> None:
    for seed in range(6):
        left, right = tables(random.Random(f"{seed} {how} {validate}"), validate)
        found = bw.private_join(
            table(left), table(right), on="k", how=how, validate=validate, simulate=True
        ).to_pandas()
        expected = joined(left, right, how)
        assert list(found.columns) == list(expected.columns)
        assert plain(found) == plain(expected), (seed, left, right)


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("validate", ["m:1", "1:m", "1:1"])
def test_aggregates_are_those_of_pandas(how: str, validate: str) -> None:
    agg = AGG if how in ("inner", "left") else {name: of for name, of in AGG.items() if name != "b"}
    groups = [[], ["k"], ["g"], ["k", "g"], ["w"], ["g", "w"]] if len(agg) == 3 else [[], ["k"], ["g"]]
    for seed, by in enumerate(groups):
        for smallest in (1, 2):
            left, right = tables(random.Random(f"{seed} {how} {validate}"), validate)
            found = bw.private_join(
                table(left, rows=13, distinct=12),
                table(right, rows=12),
                on="k",
                how=how,
                validate=validate,
                agg=agg,
                group_by=by,
                min_group=smallest,
                simulate=True,
            ).to_pandas()

            def large(part: pd.DataFrame) -> bool:
                """Returns whether a group has enough rows and keys, without any that may be made up."""
                matched = part[part["k"].isin(right["k"])]  # noqa: B023
                rows = matched if how == "left" and validate == "1:m" else part
                keys = part["k"] if how == "anti" else matched["k"]
                return len(rows) >= smallest and ("k" in by or keys.nunique() >= smallest)  # noqa: B023

            expected = aggregated(
                joined(left, right, how), by, agg, large if smallest > 1 else lambda _: True
            )
            assert plain(found) == plain(expected), (by, smallest, left, right)


UNION = {"a": ["sum", "mean", "min", "max", "count"], "rows": ("*", "count")}


@pytest.mark.parametrize("by", [[], ["g"], ["k"], ["k", "g"]])
@pytest.mark.parametrize("smallest", [1, 2])
def test_sums_over_both_tables_are_those_of_pandas(by: list[str], smallest: int) -> None:
    types = {**TYPES, "k": bw.i32}
    for seed in range(4):
        draw = random.Random(f"{seed} {by}")
        frames = [tables(draw, "none")[0] for _ in range(2)]
        both = [bw.Table(one, types={name: types[name] for name in one}, rows=14) for one in frames]
        answer = bw.private_aggregate(*both, group_by=by, agg=UNION, min_group=smallest, simulate=True)
        counts = [one.groupby(by, dropna=False).size() if by else pd.Series([len(one)]) for one in frames]
        expected = aggregated(pd.concat(frames), by, UNION)
        rows = plain(expected)
        if smallest > 1:
            small: set[tuple[Any, ...]] = set()
            for of in counts:
                for key, count in of.items():
                    if 0 < count < smallest:
                        whole = key if isinstance(key, tuple) else (key,)
                        small.add(tuple(None if pd.isna(one) else one for one in whole) if by else ())
            rows = [row for row in rows if row[: len(by)] not in small]
        assert plain(answer.to_pandas()) == rows, (seed, frames)


@pytest.mark.parametrize("how", ["inner", "semi"])
def test_texts_match_by_their_canonical_form(how: str) -> None:
    for seed in range(4):
        draw = random.Random(seed)
        forms = list({canonical(word): word for word in draw.sample(WORDS, len(WORDS))}.values())
        left = {"name": draw.choices(WORDS, k=9), "day": draw.choices(["mon", "tue"], k=9)}
        right: dict[str, Any] = {"name": draw.sample(forms, 5), "b": [draw.randrange(100) for _ in range(5)]}
        tables = bw.Table(left, types={"day": bw.text(3)}), bw.Table(right, types={"b": bw.u8})
        answer = bw.private_join(*tables, on="name", how=how, simulate=True)
        b = {canonical(name): value for name, value in zip(right["name"], right["b"])}
        expected = [
            (name, day, *([b[canonical(name)]] if how == "inner" else []))
            for name, day in zip(left["name"], left["day"])
            if canonical(name) in b
        ]
        found = list(zip(*(answer.columns or {}).values()))
        # Of several forms of a text, the result shows the first one of its party.
        first: dict[str, str] = {}
        for name in left["name"]:
            first.setdefault(canonical(name), name)
        assert sorted(found) == sorted((first[canonical(row[0])], *row[1:]) for row in expected)
        assert answer.collision_log2 is not None and answer.collision_log2 <= -40
        assert "2^-4" in repr(answer)


def test_a_key_of_several_columns_is_compared_as_a_whole() -> None:
    for text in (False, True):
        left = {"a": [0, 0, 1, 1], "b": ["x", "y", "x", "y"], "n": [1, 2, 3, 4]}
        right = {"c": [0, 1, 1], "d": ["Y", "x", "z"], "m": [10, 20, 30]}
        kind = bw.key() if text else bw.text(1)
        tables = [
            bw.Table(left, types={"a": bw.u8, "b": kind, "n": bw.u8}),
            bw.Table(right, types={"c": bw.i16, "d": kind, "m": bw.u8}),
        ]
        on = {"a": "c", "b": "d"}
        answer = bw.private_join(*tables, on=on, simulate=True)
        assert answer.columns == {"a": [0, 1], "b": ["y", "x"], "n": [2, 3], "m": [10, 20]}
        answer = bw.private_join(*tables, on=on, agg={"m": "sum"}, group_by="a", simulate=True)
        assert answer.columns == {"a": [0, 1], "m": [10, 20]}
        assert (answer.collision_log2 is None) != text


def test_values_come_out_as_they_went_in() -> None:
    zone = timezone(timedelta(hours=2))
    values: dict[str, tuple[Any, list[Any]]] = {
        "date": (bw.date, [date(1, 1, 1), None, date(9999, 12, 31)]),
        "time": (bw.timestamp("us"), [datetime(1, 1, 1), datetime(2020, 2, 29, 1, 2, 3, 4), None]),
        "utc": (bw.timestamp("s", utc=True), [datetime(1969, 12, 31, 23, tzinfo=zone), None, None]),
        "money": (bw.decimal(9, 2), [Decimal("-1234567.89"), Decimal(0), None]),
        "flag": (bw.boolean, [True, False, None]),
        "kind": (bw.category(["b", "a"]), ["a", None, "b"]),
        "text": (bw.text(8), ["naïve", None, ""]),
        "wide": (bw.i64, [-(2**63), 2**63 - 1, None]),
        "huge": (bw.uint(200), [2**200 - 1, 0, None]),
    }
    columns = {"k": [0, 1, 2], **{name: column for name, (_, column) in values.items()}}
    left = bw.Table(columns, types={"k": bw.u8, **{name: kind for name, (kind, _) in values.items()}})
    right = bw.Table({"k": [0, 1, 2]}, types={"k": bw.u8})
    answer = bw.private_join(left, right, on="k", simulate=True)
    assert answer.columns == columns
    # As the other table, the columns take another way through the circuit.
    answer = bw.private_join(right, left, on="k", how="left", simulate=True)
    assert answer.columns == columns
    frame, arrow = answer.to_pandas(), answer.to_arrow()
    assert str(frame["utc"].dtype) == "datetime64[s, UTC]" and str(frame["wide"].dtype) == "Int64"
    assert arrow.column("date").to_pylist() == columns["date"]


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "numpy", "lists"])
def test_tables_of_every_library_tell_their_types(library: str) -> None:
    days = [date(2024, 2, 29), date(2024, 3, 1)]
    times = [datetime(2024, 2, 29, 12, 30), datetime(2024, 3, 1)]
    arrow = pa.table(
        {
            "k": pa.array([0, 7], pa.int32()),
            "name": ["Zoë", "x"],
            "flag": [True, False],
            "day": pa.array(days, pa.date32()),
            "time": pa.array(times, pa.timestamp("ms")),
            "money": pa.array([Decimal("1.25"), None], pa.decimal128(8, 2)),
        }
    )
    if library == "lists":
        frame: Any = {**arrow.to_pydict(), "time": np.array(times, "datetime64[ms]")}
    elif library == "numpy":
        frame = {name: np.array(arrow.to_pydict()[name]) for name in ("k", "flag", "name")}
        frame |= {"time": np.array(times, "datetime64[ms]"), "day": days, "money": [Decimal("1.25"), None]}
    else:
        frame = {"arrow": arrow, "polars": pl.from_arrow(arrow), "pandas": arrow.to_pandas()}[library]
    types: dict[str, Any] = {"money": bw.decimal(8, 2)} if library in ("pandas", "numpy", "lists") else {}
    types |= {"name": bw.text(4)}
    answer = bw.private_join(bw.Table(frame, types=types), {"k": [7, 0]}, on="k", simulate=True)
    assert answer.columns == arrow.to_pydict()


def test_tables_with_gaps_and_fine_times() -> None:
    right = {"k": [1, 2]}
    masked = {"k": [1, 2], "x": np.ma.array([5, 6], mask=[True, False])}
    assert bw.private_join(masked, right, on="k", simulate=True).columns == {"k": [1, 2], "x": [None, 6]}
    records = np.array([(1, 3)], dtype=[("k", "i4"), ("x", "u1")])
    assert bw.private_join(records, right, on="k", simulate=True).columns == {"k": [1], "x": [3]}
    times = pl.Series([1000, None]).cast(pl.Datetime("ns"))
    answer = bw.private_join(pl.DataFrame({"k": [1, 2], "t": times}), right, on="k", simulate=True)
    assert answer.columns == {"k": [1, 2], "t": [np.datetime64(1000, "ns"), None]}
    # Python's times have no nanoseconds.
    fine = pl.DataFrame({"k": [1], "t": pl.Series([1001]).cast(pl.Datetime("ns"))})
    with pytest.raises(bw.InvalidInput, match="times of polars in nanoseconds"):
        bw.private_join(fine, right, on="k", simulate=True)
    zone = pd.Series([pd.Timestamp("2020-01-01", tz="Europe/Paris"), None])
    frame = bw.private_join(pd.DataFrame({"k": [1, 2], "t": zone}), right, on="k", simulate=True).to_pandas()
    assert frame["t"][0] == zone[0] and pd.isna(frame["t"][1])
    for wrong in ([1, 2], None, {"k": [1], "x": []}):
        with pytest.raises(bw.InvalidInput):
            bw.private_join(wrong, right, on="k", simulate=True)


@pytest.mark.parametrize(
    "dtype, kind",
    [
        ("datetime64[ns]", bw.timestamp("ns")),
        ("datetime64[us, Europe/Paris]", bw.timestamp("us", utc=True)),
        ("timestamp[ms]", bw.timestamp("ms")),
        ("timestamp[us, tz=UTC]", bw.timestamp("us", utc=True)),
        ("timestamp[s][pyarrow]", bw.timestamp("s")),
        ("timestamp[us, tz=UTC][pyarrow]", bw.timestamp("us", utc=True)),
        ("Datetime(time_unit='us', time_zone=None)", bw.timestamp("us")),
        ("Datetime(time_unit='ms', time_zone='UTC')", bw.timestamp("ms", utc=True)),
        ("Decimal(precision=10, scale=2)", bw.decimal(10, 2)),
        ("decimal128(10, 2)[pyarrow]", bw.decimal(10, 2)),
        ("UInt8", kinds.as_kind(bw.u8)),
        ("int64[pyarrow]", kinds.as_kind(bw.i64)),
        ("large_string", bw.key()),
        ("boolean", bw.boolean),
    ],
)
def test_types_of_libraries_are_known(dtype: str, kind: kinds.Kind) -> None:
    assert kinds.kind_of_dtype(dtype, []) == kind


def test_a_sum_never_overflows() -> None:
    most, least = 2**63 - 1, -(2**63)
    left = {"k": [0] * 5, "x": [most] * 4 + [None], "y": [least] * 5}
    right = {"k": [0], "z": [least], "f": [0.1]}
    tables = bw.Table(left, types={"x": bw.i64}), bw.Table(right, types={"f": bw.decimal(6, 2)})
    agg = {"x": ["sum", "mean"], "y": ["sum", "min"], "z": ["sum", "mean", "max"], "f": "sum"}
    answer = bw.private_join(*tables, on="k", agg=agg, simulate=True)
    assert answer.columns == {
        "x_sum": [4 * most],
        "x_mean": [float(most)],
        "y_sum": [5 * least],
        "y_min": [least],
        "z_sum": [5 * least],
        "z_mean": [float(least)],
        "z_max": [least],
        "f": [0.5],
    }
    assert answer.to_pandas()["x_sum"].tolist() == [4 * most]


@pytest.mark.parametrize(
    "left, right, more, message",
    [
        ({"k": [4, 5]}, {"k": [3, 3]}, {}, "right table, column k, row 1: it has the key of row 0"),
        ({"k": [4, 4]}, {"k": [3, 4]}, {"validate": "1:1"}, "left table, column k, row 1: it has the key of"),
        ({"k": [4, None]}, {"k": [3]}, {}, "left table, column k, row 1: the key is null"),
        ({"k": [4]}, {"k": [3, None]}, {"how": "semi"}, "right table, column k, row 1: the key is null"),
        ({"k": [4], "x": [1.5]}, {"k": [3]}, {}, "left table, column x: floats have no exact type"),
        ({"k": ["Zoë"]}, {"k": [3]}, {}, "the key k is a text key on the left and i64 on the right"),
        ({"k": [4], "x": [1]}, {"k": [4], "x": [1]}, {"agg": {"x": "sum"}}, "both tables have a column x"),
        ({"k": ["Zoë"]}, {"k": ["Zoë"]}, {"how": "left"}, "the right party cannot read k"),
        ({"k": [4], "t": ["Zoë"]}, {"k": [4]}, {}, "the right party cannot read t"),
        ({"k": [4], "t": ["Zoë"]}, {"k": [4]}, {"agg": {"t": "sum"}}, "sum of t, which is a text key"),
        ({"k": [4], "t": ["Zoë"]}, {"k": [4]}, {"agg": {"t": "max"}}, "max of t, which is a text key"),
        ({"k": [4]}, {"k": [4]}, {"agg": {"q": "sum"}}, "the left table has no column 'q'"),
        ({"k": [4]}, {"k": [4]}, {"min_size": 5}, "simulate with min_size"),
        ({"k": [4]}, {"k": [4]}, {"min_group": 5}, "groups without aggregates"),
        ({"k": ["Zoë\ud800"]}, {"k": ["x"]}, {"to": "left"}, "left table, column k, row 0: has a character"),
    ],
)
def test_a_wrong_number_is_refused(left: Any, right: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(bw.Error) as refused:
        bw.private_join(left, right, on="k", simulate=True, **more)
    assert str(refused.value).startswith(message)
    assert "Zoë" not in f"{refused.value} {refused.value.hint}" and refused.value.__cause__ is None


@pytest.mark.parametrize(
    "kind, value, message",
    [
        (bw.u8, 256, "does not fit into u8"),
        (bw.u8, 1.5, "has more than 0 digits"),
        (bw.decimal(4, 2), 0.125, "has more than 2 digits"),
        (bw.decimal(4, 2), Decimal("163.84"), "does not fit"),
        (bw.decimal(4, 2), float("inf"), "is no finite number"),
        (bw.timestamp("s"), datetime(2020, 1, 1, tzinfo=timezone.utc), "has a time zone, and the column"),
        (bw.timestamp("s", utc=True), datetime(2020, 1, 1), "has no time zone, and the column"),
        (bw.timestamp("s"), datetime(2020, 1, 1, 0, 0, 0, 5), "is finer than s"),
        (bw.date, datetime(2020, 1, 1, 5), "has a time of the day"),
        (bw.category(["a"]), "secret", "is none of the agreed values"),
        (bw.text(3), "secret", "has more than 3 bytes"),
        (bw.text(9), "secret\ud800", "has half of a surrogate pair"),
        (bw.boolean, 2, "is neither true nor false"),
        (bw.key(), 5, "is no text"),
    ],
)
def test_a_value_that_does_not_fit_is_named_by_its_row(kind: Any, value: Any, message: str) -> None:
    left = bw.Table({"k": [1, 2, 3], "x": [None, value, value]}, types={"k": bw.u8, "x": kind})
    with pytest.raises(bw.InvalidInput) as refused:
        bw.private_join(left, {"k": [1]}, on="k", to="left", simulate=True)
    assert str(refused.value).startswith(f"left table, column x, row 1: {message}")
    assert "secret" not in str(refused.value)


def test_two_texts_with_one_hash_are_refused() -> None:
    left = bw.Table({"k": [str(number) for number in range(2000)]}, types={"k": bw.key(16)})
    with pytest.raises(bw.InvalidInput, match="another value has the same hash"):
        bw.private_join(left, {"k": ["1"]}, on="k", how="semi", simulate=True)


def raw(query: queries.Query, *rows: list[int]) -> list[int]:
    """Returns the program's records for rows that no check has seen, as a cheater would give them."""
    program = query.compiled([len(one) for one in rows])
    learned = bw.simulate(program, *(np.array(one, dtype=object) for one in rows)).garbler
    return [int(one) for one in learned]


@pytest.mark.parametrize("agg", [{"a": "sum"}, None])
def test_a_table_out_of_order_gives_nothing(agg: Any) -> None:
    both = bw.Table({"k": [1], "a": [1]}), bw.Table({"k": [1]})
    query = queries.Join(both, "k", "inner", "m:1", agg, "k" if agg else None, 1, "both")
    many, one = query.spec().many, query.spec().one
    sums = {"v0.sum": 3, "v0.any": 1} if agg else {}

    def found(left: list[int], right: list[int]) -> int:
        rows = (
            [many.pack({"key": key, **sums}) for key in left],
            [one.pack({"key": key}) for key in right],
        )
        return sum(record != 0 for record in raw(query, *rows))

    assert found([1, 3, 5, 7], [1, 5, 6]) == 2
    assert found([1, 3, 7, 5], [1, 5, 6]) == 0
    assert found([1, 3, 5, 7], [5, 1, 6]) == 0
    # A key that must occur once does not.
    assert found([1, 3, 5, 7], [1, 5, 5]) == 0
    assert found([1, 3, 5, 5], [1, 5, 6]) == (0 if agg else 3)
    # An absent row lies between others.
    absent = one.pack({"absent": 1})
    rows = [many.pack({"key": key, **sums}) for key in (1, 3)]
    assert not any(raw(query, rows, [one.pack({"key": 1}), absent, one.pack({"key": 3})]))


def test_sums_out_of_order_give_nothing() -> None:
    sums_of = queries.Aggregate([bw.Table({"k": [1], "a": [1]})] * 2, {"a": "sum"}, "k", 1, "both")
    layout = sums_of.grouping.record
    rows = [layout.pack({"group": 2 * group + 1, "v0.sum": 1, "v0.any": 1}) for group in (1, 2, 3)]
    assert sum(record != 0 for record in raw(sums_of, rows, rows)) == 3
    for wrong in ([1, 0, 2], [0, 0, 1]):
        assert not any(raw(sums_of, rows, [rows[place] for place in wrong]))


def test_a_cheaters_count_removes_no_group() -> None:
    """A count that makes the sum of both counts 0 would tell how many rows the peer has in a group."""
    own = bw.Table({"g": ["red"], "a": [1]}, types={"g": bw.category(["red", "blue"])})
    query = queries.Aggregate([own] * 2, {"a": "sum"}, "g", 1, "both")
    assert query.dense
    row = query.grouping.record.pack
    honest = [row({"rows": rows, "v0.sum": 1, "v0.any": 1}) for rows in (3, 2, 1)]
    wrapped = [row({"rows": (1 << query.counted) - rows}) for rows in (3, 2, 1)]
    assert all(raw(query, honest, wrapped)) and all(raw(query, wrapped, honest))
    assert not any(raw(query, [0] * 3, [0] * 3))


def test_the_places_of_a_result_tell_nothing() -> None:
    """The rows of a result have the same places, whatever lies between them in the peer's table."""
    found = set()
    for others in ([], [0], [0, 3, 4], [6, 9], [0, 3, 6, 8, 9]):
        keys = sorted([2, 5, 7, *others]) + [None] * (6 - len(others))
        both = bw.Table({"k": [1], "a": [1]}), bw.Table({"k": [1]})
        query = queries.Join(both, "k", "inner", "m:1", None, None, 1, "both")
        many, one = query.spec().many, query.spec().one
        left = [many.pack({"key": key, "blob": 2 * key + 1}) for key in (1, 2, 5, 7, 10)]
        right = [one.pack({"absent": 1}) if key is None else one.pack({"key": key}) for key in keys]
        found.add(tuple(raw(query, left, right)))
    (records,) = found
    assert len(records) == 5 and sum(record != 0 for record in records) == 3


@pytest.mark.parametrize("count", range(1, 20))
def test_compaction_keeps_the_order(count: int) -> None:
    def moved(a: Any) -> Any:
        return relational.compacted(list(a), count)

    moved.__annotations__ = {"a": bw.Garbler[bw.u8[count]], "return": bw.Garbler[bw.u8[count]]}
    program, draw = bw.program(moved), random.Random(count)
    for _ in range(4):
        rows = [draw.randrange(256) for _ in range(count)]
        wanted = [row for row in rows if row >= 128]
        assert bw.simulate(program, rows, None).garbler.tolist() == wanted + [0] * (count - len(wanted))


def test_each_party_alone(tmp_path: Path) -> None:
    sales = bw.Table(
        {"email": ["A@x.org ", "b@x.org", "a@X.ORG"], "amount": [5, 7, 1]}, types={"amount": bw.u16}, rows=6
    )
    people = bw.Table({"email": ["a@x.org", "c@x.org"], "vip": [True, False]}, rows=4)
    for table, name in ((sales, "sales"), (people, "people")):
        table.schema.save(tmp_path / f"{name}.json")
        assert bw.Schema.load(tmp_path / f"{name}.json") == table.schema
    theirs, ours = bw.Schema.load(tmp_path / "people.json"), bw.Schema.load(tmp_path / "sales.json")
    asked: dict[str, Any] = {
        "on": "email",
        "agg": {"amount": "sum", "n": ("*", "count")},
        "group_by": "email",
    }
    left, right = parties(
        tmp_path,
        lambda **how: bw.private_join(sales, theirs, **asked, **how),
        lambda **how: bw.private_join(ours, people, **asked, **how),
    )
    # Each party sees its own form of the text.
    assert left.columns == {"email": ["A@x.org "], "amount": [6], "n": [2]}
    assert right.columns == {"email": ["a@x.org"], "amount": [6], "n": [2]}
    assert left.run.promise.statistical_bits == 40

    # Another query is noticed before any input is used.
    left, right = parties(
        tmp_path,
        lambda **how: bw.private_join(sales, theirs, **asked, **how, min_group=3),
        lambda **how: bw.private_join(ours, people, **asked, **how),
    )
    assert isinstance(left, bw.PeerMismatch) and isinstance(right, bw.PeerMismatch)
    # Another type of a column that the query does not use is noticed, too.
    (tmp_path / "people.json").write_text((tmp_path / "people.json").read_text().replace("boolean", "date"))
    other = bw.Schema.load(tmp_path / "people.json")
    left, right = parties(
        tmp_path,
        lambda **how: bw.private_join(sales, other, **asked, **how),
        lambda **how: bw.private_join(ours, people, **asked, **how),
    )
    assert isinstance(left, bw.PeerMismatch) and isinstance(right, bw.PeerMismatch)


def test_only_the_named_party_learns() -> None:
    both = {"k": [0, 1], "x": [3, 4]}, {"k": [1, 2]}
    answer = bw.private_join(*both, on="k", to="right")
    assert answer.columns == {"k": [1], "x": [4]}
    assert answer.run is not None and answer.run.garbler is None and "4" not in repr(answer).partition(";")[0]
    answer = bw.private_aggregate(both[0], both[0], agg={"x": "sum"}, to="left")
    assert answer.columns == {"x": [14]} and answer.run is not None and answer.run.evaluator is None


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"columns": [], "rows": 0, "distinct": 0}',
        '{"columns": [["k", {"type": "number", "bits": 1000000000, "signed": true, "scale": 0, '
        '"is_float": false}]], "rows": 1, "distinct": 1}',
        '{"columns": [["k", {"type": "text", "octets": true}]], "rows": 1, "distinct": 1}',
        '{"columns": [["k", {"type": "key"}]], "rows": 1, "distinct": 1}',
        '{"columns": [["k", {"type": "date"}], ["k", {"type": "date"}]], "rows": 1, "distinct": 1}',
        '{"columns": [["k", {"type": "date"}]], "rows": 99999999999, "distinct": 1}',
    ],
)
def test_a_schema_of_the_peer_is_checked(text: str, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(text)
    with pytest.raises((bw.InvalidInput, bw.UsageError)):
        bw.Schema.load(tmp_path / "schema.json")


def test_rows_with_and_without_a_match_are_of_one_group() -> None:
    left = {"k": [1, 2, 3], "g": ["red", "red", None], "x": [1, 2, 4]}
    tables = bw.Table(left, types={"g": TYPES["g"]}), {"k": [2, 3], "y": [5, 6]}
    agg = {"x": "sum", "y": "sum", "n": ("*", "count")}
    answer = bw.private_join(*tables, on="k", how="left", agg=agg, group_by="g", simulate=True)
    assert answer.columns == {"g": ["red", None], "x": [3, 4], "y": [5, 6], "n": [2, 1]}


def test_made_up_rows_fill_no_group() -> None:
    """The left party gives a group one key of the peer's, twice, and two keys that match nothing."""
    types = {"g": TYPES["g"], "x": bw.u8}
    left = bw.Table({"k": [1, 1, 8, 9], "g": ["red"] * 4, "x": [1, 2, 3, 4]}, types=types)
    right = {"k": [1, 2], "y": [5, 6]}
    for how in ("inner", "left"):
        asked: dict[str, Any] = {
            "on": "k",
            "how": how,
            "group_by": "g",
            "agg": {"y": "sum"},
            "simulate": True,
        }
        assert len(bw.private_join(left, right, **asked)) == 1
        assert len(bw.private_join(left, right, **asked, min_group=2)) == 0
    one = bw.Table({"k": [1, 8, 9], "g": ["red"] * 3}, types={"g": TYPES["g"]})
    many = {"k": [1, 1, 2], "y": [5, 6, 7]}
    asked = {
        "on": "k",
        "how": "left",
        "validate": "1:m",
        "group_by": "g",
        "agg": {"y": "sum"},
        "simulate": True,
    }
    assert len(bw.private_join(one, many, **asked)) == 1
    assert len(bw.private_join(one, many, **asked, min_group=2)) == 0


@pytest.fixture
def many_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes blocks and networks so small that small tables have many of them."""
    matching.shape_of.cache_clear()
    for name, value in (("PLAIN", 2), ("SIZE", 4), ("OVERFLOW", 9), ("BLOCK", 4)):
        monkeypatch.setattr(matching, name, value)
    yield
    matching.shape_of.cache_clear()


SHAPES = [
    matching.Shape(9, 1, 7, 3, 5, 0, 2),
    matching.Shape(9, 1, 1, 0, 2, 0, 0),
    matching.Shape(9, 5, 4, 2, 3, 17, 3),
    matching.Shape(9, 3, 8, 2, 0, 21, 0),
    matching.Shape(9, 3, 16, 3, 4, 41, 1),
    matching.Shape(9, 7, 8, 2, 1, 51, 0),
]


def matched(shape: matching.Shape) -> Any:
    """Returns the program of the matches of both lists."""

    def query(first: Any, second: Any) -> Any:
        *both, ordered = matching.matches(first, second, shape)
        return array_of([array_of([kept(ordered, row) for row in block]) for block in sum(both, [])])

    own = [ArrayType(ArrayType(shape.key(side), shape.size), shape.blocks) for side in range(2)]
    found = ArrayType(ArrayType(shape.found, shape.size), 2 * shape.blocks)
    query.__annotations__ = {
        "first": Owned("garbler", own[0]),
        "second": Owned("evaluator", own[1]),
        "return": Owned("garbler", found),
    }
    return bw.program(query)


def expected(shape: matching.Shape, lists: list[list[int]]) -> list[int]:
    """Returns what the rows of two lists learn, whoever made these lists."""
    points: list[list[int]] = []
    for side, rows in enumerate(lists):
        own = []
        for slot, row in enumerate(rows):
            point = row >> (shape.brought if side else 0) + 1
            if shape.cells:
                # Of all points with these bits, this is the one in the cells that the slot leaves open.
                cell, open_cells = point >> shape.fraction, 1 << shape.depth
                point += (slot - (slot - cell) % open_cells - cell) << shape.fraction
            own.append(point)
        points.append(own)
    found = [0] * (2 * shape.slots)
    if any(a >= b for own in points for a, b in zip(own, own[1:])):
        return found
    low = shape.brought
    for slot, point in enumerate(points[0]):
        if point in points[1]:
            other = points[1].index(point)
            if not (lists[0][slot] & 1 or lists[1][other] >> low & 1):
                found[slot] = found[shape.slots + other] = 1 << low | lists[1][other] & (1 << low) - 1
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_equal_points_are_found_in_any_lists(shape: matching.Shape) -> None:
    """Also in lists of a cheater, who may give any bits."""
    program, draw, nothing = matched(shape), random.Random(repr(shape)), 0
    for turn in range(40):
        lists: list[list[int]] = []
        most = shape.cells << shape.fraction if shape.cells else 1 << shape.fraction - 1
        pool = draw.sample(range(most), min(most, 2 * shape.slots))
        for side in range(2):
            own = [draw.randrange(1 << shape.key(side).width) for _ in range(shape.slots)]
            if turn % 4:
                points = honest(shape, pool, draw)
                brought = {slot: draw.randrange(1 << shape.brought) for slot in points} if side else {}
                lawful = [row for block in shape.keys(side, points, brought) for row in block]
                spoilt = draw.sample(range(shape.slots), min(shape.slots, max(0, turn % 4 - 2)))
                own = [own[slot] if slot in spoilt else row for slot, row in enumerate(lawful)]
            lists.append(own)
        given = [np.array(own, dtype=object).reshape(shape.blocks, shape.size) for own in lists]
        found = np.array(bw.simulate(program, *given).garbler).reshape(-1).tolist()
        assert found == expected(shape, lists), (turn, lists)
        nothing += not any(found)
    assert nothing < 40


@pytest.mark.parametrize("shape", [one for one in SHAPES if one.cells])
@pytest.mark.parametrize("side", [0, 1])
def test_order_is_checked_where_blocks_meet(shape: matching.Shape, side: int) -> None:
    program, low = matched(shape), shape.brought if side else 0

    def found(lists: list[list[int]]) -> list[int]:
        given = [np.array(own, dtype=object).reshape(shape.blocks, shape.size) for own in lists]
        return np.array(bw.simulate(program, *given).garbler).reshape(-1).tolist()

    same = {0: 0, shape.cells - 1: shape.cells - 1 << shape.fraction}
    lawful = [sum(shape.keys(one, same, {}), []) for one in range(2)]
    assert sum(map(bool, found(lawful))) == 4
    for slot in range(1, shape.slots - shape.size):
        lists = [list(own) for own in lawful]
        # The row of this slot repeats the point of the one before.
        lists[side][slot] = (shape.absent(slot - 1) & (1 << shape.given) - 1) << low + 1
        assert not any(found(lists)), slot


def honest(shape: matching.Shape, pool: list[int], draw: random.Random) -> dict[int, int]:
    """Draws keys that fit, and returns their points by slots."""
    while True:
        points = sorted(draw.sample(pool, min(len(pool), draw.randrange(shape.slots + 1))))
        slots = shape.placed(points)
        if slots is not None and (not slots or slots[-1] < shape.slots):
            return dict(zip(slots, points))


@pytest.mark.parametrize("rows, cells, open_cells", [(12, 14, 4), (40, 60, 4), (100, 150, 8), (8, 10, 8)])
def test_keys_fit_as_often_as_the_bound_says(rows: int, cells: int, open_cells: int) -> None:
    draw = random.Random(rows)
    shape = matching.Shape(9, 1, cells + open_cells, open_cells.bit_length() - 1, 6, cells)
    for bits in (9, 20):
        domain = min(cells << 6, 1 << bits)
        failed = 0
        for _ in range(2000):
            points = sorted(shape.point(code, bits) for code in draw.sample(range(1 << bits), rows))
            assert points[-1] < cells << 6 and domain
            failed += shape.placed(points) is None
        assert failed / 2000 <= 2 ** matching.failure(rows, cells, open_cells)


def test_codes_are_spread_once_each() -> None:
    for bits in (1, 2, 9, 10):
        for salt in (b"a", b"b"):
            found = [matching.spread(code, bits, salt) for code in range(1 << bits)]
            assert sorted(found) == list(range(1 << bits))
    assert found != [matching.spread(code, 10, b"a") for code in range(1 << 10)]


@pytest.mark.parametrize(
    "places, copies, width", [(2, False, 2), (8, True, 1), (32, False, 3), (64, True, 2)]
)
def test_networks_move_elements_as_asked(places: int, copies: bool, width: int, many_blocks: None) -> None:
    moves = matching.Moves(places, copies)

    def query(given: Any, nothing: Any) -> Any:
        blocks = matching.reblocked([given.rows], moves.block, places // moves.block)
        return array_of(matching.moved(blocks, given.controls, moves))

    rows = ArrayType(IntegerType(width), places)
    found = ArrayType(ArrayType(IntegerType(width), moves.block), places // moves.block)
    query.__annotations__ = {
        "given": Owned("garbler", StructType("given_rows", (("rows", rows), ("controls", moves.type)))),
        "nothing": Owned("evaluator", IntegerType(1)),
        "return": Owned("garbler", found),
    }
    program, draw = bw.program(query), random.Random(places)
    for _ in range(10):
        values = [draw.randrange(1 << width) for _ in range(places)]
        targets = draw.sample(range(places), draw.randrange(places + 1))
        of = draw.choices(range(places), k=places) if copies else draw.sample(range(places), places)
        sources = dict(zip(targets, of))
        controls = np.array(moves.controls(sources), dtype=object)
        moved = bw.simulate(program, {"rows": values, "controls": controls}, 0).garbler
        moved = np.array(moved).reshape(-1).tolist()
        assert [moved[place] for place in sources] == [values[source] for source in sources.values()]


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("validate", ["m:1", "1:m", "1:1"])
def test_sums_over_many_blocks_are_those_of_pandas(how: str, validate: str, many_blocks: None) -> None:
    agg = AGG if how in ("inner", "left") else {name: of for name, of in AGG.items() if name != "b"}
    kinds = {"g": TYPES["g"], "w": bw.uint(2), "k": bw.uint(9), "a": bw.i16, "b": bw.u8}
    groups = [[], ["g"], ["w"], ["g", "w"]] if len(agg) == 3 else [[], ["g"]]
    for seed, by in enumerate(groups):
        draw = random.Random(f"{seed} {how} {validate}")
        left, right = tables(draw, validate)
        names = {key: place * 36 for place, key in enumerate(draw.sample(range(14), 14))}
        for one in (left, right):
            one["k"] = one["k"].map(names).astype("Int64")
        both = [bw.Table(one, types={name: kinds[name] for name in one}, rows=20) for one in (left, right)]
        answer = bw.private_join(
            *both, on="k", how=how, validate=validate, agg=agg, group_by=by, simulate=True
        )
        whole = aggregated(joined(left, right, how), by, agg)
        assert plain(answer.to_pandas()) == plain(whole), (by, left, right)


def test_a_skewed_table_of_many_rows() -> None:
    """Half of the rows have one key, and the windows of slots are those of real use."""
    draw = random.Random(5)
    keys = draw.sample(range(2**32), 700)
    left = pd.DataFrame(
        {
            "k": [keys[0]] * 300 + keys[:300],
            "a": [draw.randrange(-9, 9) for _ in range(600)],
            "g": draw.choices(["red", "green", "blue"], k=600),
        }
    )
    right = pd.DataFrame({"k": keys[:1] + keys[150:550], "b": range(401)})
    types = {"k": bw.u32, "a": bw.i16, "g": TYPES["g"], "b": bw.u16}
    both = [bw.Table(one, types={name: types[name] for name in one}) for one in (left, right)]
    assert matching.shape_of(600, 32).blocks > 3
    for by in ([], ["g"]):
        agg = {"a": ["sum", "max"], "b": ["sum", "count"]}
        answer = bw.private_join(*both, on="k", agg=agg, group_by=by, simulate=True)
        assert answer.overflow_log2 is not None and -50 < answer.overflow_log2 <= -40
        assert f"2^{answer.overflow_log2:.1f}" in repr(answer)
        assert plain(answer.to_pandas()) == plain(aggregated(left.merge(right, on="k"), by, agg))


def test_each_party_alone_gets_sums_of_few_groups(tmp_path: Path) -> None:
    draw = random.Random(3)
    names = [f"user{number}@x.org" for number in range(500)]
    left = {"name": draw.choices(names[:400], k=350), "x": [draw.randrange(100) for _ in range(350)]}
    right = {"name": names[100:], "vip": [draw.random() < 0.5 for _ in range(400)]}
    sales = bw.Table(left, types={"x": bw.u8}, rows=600, distinct=360)
    people = bw.Table(right)
    asked: dict[str, Any] = {"on": "name", "agg": {"x": "sum"}, "group_by": "vip"}
    found = parties(
        tmp_path,
        lambda **how: bw.private_join(sales, people.schema, **asked, protocol="authenticated", **how),
        lambda **how: bw.private_join(sales.schema, people, **asked, protocol="authenticated", **how),
    )
    whole = pd.DataFrame(left).merge(pd.DataFrame(right), on="name").groupby("vip")["x"].sum()
    for one in found:
        assert one.columns == {"vip": [False, True], "x": whole.tolist()}
        assert one.overflow_log2 <= -40


def test_keys_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "spread", lambda code, bits, salt: code)
    both = [bw.Table({"k": list(range(first, first + 500))}, types={"k": bw.u32}) for first in (7, 0)]
    with pytest.raises(bw.InvalidInput, match="left table: its keys are spread too unevenly") as refused:
        bw.private_join(*both, on="k", agg={"n": ("*", "count")}, simulate=True)
    assert "salt" in str(refused.value.hint)


def test_the_canonical_form_has_its_properties() -> None:
    draw = random.Random("canonical")
    # Letters with marks, of several scripts and cases, ligatures, and forms of one letter.
    pool = "aAäÄßẞſIİıΣσςéE\u0301\u0327ﬁǆǅÅ\u212b가각\u1100\u1161日本語 \u00a0\t-'0٣"
    for _ in range(3000):
        text = "".join(draw.choices(pool, k=draw.randint(0, 6)))
        found = kinds.canonical(text)
        assert kinds.canonical(found) == found, ascii(text)
        assert unicodedata.is_normalized("NFC", found) and found == found.strip()
        for form in ("NFC", "NFD"):
            assert kinds.canonical(unicodedata.normalize(form, text)) == found, ascii(text)
        assert kinds.canonical(f" \t{text}\n") == found
        assert kinds.canonical(text.casefold()) == found, ascii(text)
