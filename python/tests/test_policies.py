"""The parties that learn a column, and the conditions of a party on what leaves its table."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import brickwork as bw
import pytest
from conftest import parties

TYPES: dict[str, Any] = {
    "k": bw.u8,
    "x": bw.i8,
    "y": bw.u8,
    "g": bw.category(["red", "blue"]),
    "p": bw.decimal(6, 2),
}
JOINED = "FROM a JOIN b ON a.k = b.k"


def table(policy: bw.Policy | None = None, rows: int | None = None, **columns: list[Any]) -> bw.Table:
    types = {name: TYPES[name] for name in columns}
    return bw.Table(columns, types=types, rows=rows, policy=policy or bw.Policy())


def asked(query: str, a: bw.Table, b: bw.Table, **more: Any) -> bw.Answer:
    options: dict[str, Any] = {"simulate": True, **more}
    found: bw.Answer = bw.sql(query, {"a": a}, {"b": b}, **options)
    return found


def test_each_column_is_for_the_party_that_the_query_names() -> None:
    a, b = table(k=[1, 2, 2], x=[3, 4, 5]), table(k=[1, 2], g=["red", "blue"])
    query = f"SELECT g, SUM(x) AS s, COUNT(*) AS n {JOINED} GROUP BY g "
    answer = asked(query + "REVEAL s TO garbler, n TO evaluator", a, b, simulate=False)
    assert answer.parties["garbler"].columns == {"g": ["blue", "red"], "s": [9, 3]}
    assert answer.parties["evaluator"].columns == {"g": ["blue", "red"], "n": [2, 1]}
    assert answer.run is not None
    # Nothing else comes out: a category, a count and its record's bit, each perhaps with a bit for null.
    assert max(int(row).bit_length() for row in answer.run.evaluator) <= 1 + 1 + 2 + 1
    alone = asked(query + "REVEAL TO evaluator", a, b)
    assert alone.parties["garbler"].columns is None
    assert alone.parties["evaluator"].columns == {"g": ["blue", "red"], "s": [9, 3], "n": [2, 1]}
    by_mapping = asked(query, a, b, reveal={"s": "garbler", "g": "garbler", "n": "evaluator"})
    assert sorted((by_mapping.parties["evaluator"].columns or {})["n"]) == [1, 2]
    for wrong in ("REVEAL q TO garbler", "REVEAL TO nobody"):
        with pytest.raises(bw.UsageError):
            asked(query + wrong, a, b)


@pytest.mark.parametrize("query", [f"SELECT y {JOINED}", f"SELECT SUM(y) AS s {JOINED} GROUP BY a.k"])
def test_the_order_of_rows_does_not_tell_hidden_columns(query: str) -> None:
    a = table(k=[1, 2, 3], x=[0, 0, 0])
    outputs = []
    for y in ([5, 6, 7], [7, 5, 6]):
        found = asked(query, a, table(k=[1, 2, 3], y=y), simulate=False)
        assert found.run is not None
        outputs.append([int(row) for row in found.run.garbler])
    assert outputs[0] == outputs[1]


def test_the_order_of_one_keys_rows_does_not_tell_the_peers_other_keys() -> None:
    left = table(k=[5, 5, 5, 5], x=[0, 1, 2, 3])
    outputs = []
    for keys in ([5, 6, 7], [3, 5, 7], [3, 4, 5]):
        found = bw.private_join(left, table(k=keys, y=[9, 9, 9]), on="k", simulate=False)
        assert found.run is not None
        outputs.append([int(row) for row in found.run.garbler])
    assert outputs[0] == outputs[1] == outputs[2]


def test_a_hidden_group_does_not_show_by_its_place() -> None:
    query = "SELECT SUM(x) AS s FROM (SELECT x, g FROM a UNION ALL SELECT x, g FROM b) GROUP BY g"
    outputs = []
    for g in (["red", "blue"], ["blue", "red"]):
        found = asked(query, table(x=[5, 6], g=g), table(x=[0], g=["red"]), simulate=False)
        assert found.run is not None
        outputs.append([int(row) for row in found.run.evaluator])
    assert outputs[0] == outputs[1]


GROUPS = bw.Policy(min_group=3)


def test_small_groups_stay_hidden() -> None:
    # The peer repeats a key, and has keys that match nothing: neither makes a group larger.
    a = table(k=[1, 1, 1, 1, 7, 8, 9, 2, 3, 4], g=["red"] * 7 + ["blue"] * 3)
    b = table(GROUPS, k=[1, 2, 3, 4], y=[1, 2, 3, 4])
    found = asked(f"SELECT g, COUNT(*) AS n {JOINED} GROUP BY g", a, b)
    assert found.columns == {"g": ["blue"], "n": [3]}
    # So does an expression of both parties.
    found = asked(f"SELECT g, COUNT(*) AS n {JOINED} WHERE b.y + a.k > 1 GROUP BY g", a, b)
    assert found.columns == {"g": ["blue"], "n": [3]}
    # Without the policy both are shown.
    found = asked(f"SELECT g, COUNT(*) AS n {JOINED} GROUP BY g", a, table(k=[1, 2, 3, 4], y=[1, 2, 3, 4]))
    assert found.columns == {"g": ["blue", "red"], "n": [3, 4]}


def test_an_aggregate_of_few_values_stays_hidden() -> None:
    a = table(k=[1, 2, 3, 4, 5, 6], g=["red"] * 3 + ["blue"] * 3)
    b = table(GROUPS, k=[1, 2, 3, 4, 5, 6], y=[9, None, None, 1, 2, 3])
    query = f"SELECT g, SUM(y) AS s {JOINED} GROUP BY g"
    assert asked(query, a, b, validate="1:1").columns == {"g": ["blue"], "s": [6]}
    mixed = f"SELECT g, SUM(y) AS s {JOINED} WHERE a.k <> b.y GROUP BY g"
    assert asked(mixed, a, b, validate="1:1").columns == {"g": ["blue"], "s": [6]}
    union = "SELECT SUM(y) AS s FROM (SELECT y FROM a UNION ALL SELECT y FROM b)"
    mine = table(k=[1, 2, 3], y=[1, 1, 1])
    assert asked(union, mine, b).columns == {"s": [18]}
    few = table(GROUPS, k=[1, 2, 3], y=[5, None, None])
    assert asked(union, mine, few).columns == {"s": []}


REFUSED = {
    f"SELECT y {JOINED}": "shows rows",
    f"SELECT a.k + b.y AS z {JOINED}": "shows rows",
    f"SELECT MIN(y) AS m {JOINED}": "value of one row",
    f"SELECT MAX(y - 1) AS m {JOINED} WHERE a.k < b.y": "value of one row",
    f"SELECT SUM(y) AS s {JOINED}": "count as often as the peer",
    f"SELECT SUM(y) AS s {JOINED} WHERE a.k < b.y": "count as often as the peer",
    f"SELECT a.k, COUNT(*) AS n {JOINED} GROUP BY a.k": "groups by the key",
    f"SELECT a.k, COUNT(*) AS n {JOINED} WHERE a.k < b.y GROUP BY a.k": "groups by the key",
    f"SELECT SUM(y * a.x) AS s {JOINED}": "single out a row",
    f"SELECT SUM(y * y) AS s {JOINED}": "single out a row",
    f"SELECT SUM(CASE WHEN y = 3 THEN y END) AS s {JOINED}": "single out a row",
    f"SELECT COUNT(CASE WHEN y = 3 THEN y END) AS s {JOINED}": "single out a row",
    f"SELECT a.g, COUNT(*) AS n {JOINED} GROUP BY a.g HAVING SUM(y * a.x) > 1": "single out a row",
    "SELECT COUNT(*) AS n FROM a ANTI JOIN b ON a.k = b.k": "which rows match",
}


@pytest.mark.parametrize("query", REFUSED)
@pytest.mark.parametrize("policy", [GROUPS, bw.Policy(rows=False)])
def test_a_policy_for_groups_refuses_what_shows_a_row(query: str, policy: bw.Policy) -> None:
    a, b = table(k=[1, 2], x=[1, 2], g=["red", "blue"]), table(policy, k=[1, 2], y=[3, 4])
    with pytest.raises(bw.UsageError) as refused:
        asked(query, a, b)
    assert REFUSED[query] in str(refused.value) and "evaluator's policy" in str(refused.value)
    # The same holds for a party alone that has the schema of the peer only.
    with pytest.raises(bw.UsageError):
        bw.sql(query, {"a": a}, {"b": b.schema})


def test_frames_keep_policies_too() -> None:
    a, b = table(k=[1, 2], x=[1, 2]), table(GROUPS, k=[1, 2], y=[3, 4])
    asked_for: list[dict[str, Any]] = [{}, {"agg": {"y": "max"}}, {"agg": {"y": "sum"}}]
    for more in (*asked_for, {"how": "anti", "agg": {"x": "sum"}}):
        with pytest.raises(bw.UsageError):
            bw.private_join(a, b, on="k", simulate=True, **more)
    assert bw.private_join(a, b, on="k", agg={"x": "sum"}, simulate=True).columns == {"x": []}


@pytest.mark.parametrize(
    "step, expected", [("10", [20, 30, -10, 0]), ("7", [21, 28, -7, 0]), ("1000", [0] * 4)]
)
def test_numbers_are_rounded(step: str, expected: list[int]) -> None:
    x = [21, 25, -8, 3]
    a = table(bw.Policy(round_to=step), k=[1, 2, 3, 4], x=x, g=["red"] * 4)
    b = table(k=[1, 2, 3, 4], y=[1, 2, 3, 4])
    found = asked(f"SELECT y, SUM(x) AS s, MIN(x) AS m {JOINED} GROUP BY y ORDER BY y", a, b)
    assert found.columns == {"y": [1, 2, 3, 4], "s": expected, "m": expected}
    # HAVING uses the rounded numbers, never the exact ones.
    found = asked(f"SELECT y, SUM(x) AS s {JOINED} GROUP BY y HAVING SUM(x) > 22 ORDER BY y", a, b)
    assert (found.columns or {})["s"] == [one for one in expected if one > 22]
    with pytest.raises(bw.UsageError):
        asked(f"SELECT AVG(x) AS m {JOINED}", a, b)


def test_decimals_are_rounded_in_their_own_units() -> None:
    a = table(bw.Policy(round_to="0.5"), k=[1, 2], p=[Decimal("1.20"), Decimal("1.30")])
    found = asked(f"SELECT SUM(p) AS s, COUNT(*) AS n {JOINED}", a, table(k=[1, 2], y=[1, 2]))
    assert found.columns == {"s": [Decimal("2.50")], "n": [2]}


def test_a_result_has_no_more_rows_than_allowed() -> None:
    a, b = table(k=[1, 2, 3], x=[5, 7, 6]), table(bw.Policy(max_rows=2), k=[1, 2, 3], y=[1, 2, 3])
    with pytest.raises(bw.UsageError, match="at most 2 rows"):
        asked(f"SELECT x {JOINED}", a, b)
    with pytest.raises(bw.UsageError, match="LIMIT 2"):
        asked(f"SELECT x {JOINED} ORDER BY x LIMIT 3", a, b)
    assert asked(f"SELECT x {JOINED} ORDER BY x DESC LIMIT 2", a, b).columns == {"x": [7, 6]}


@pytest.mark.parametrize("policy", [{"min_group": 2}, {"rows": False}, {"max_rows": 2}, {"round_to": "10"}])
def test_the_peer_cannot_leave_a_policy_out(tmp_path: Path, policy: dict[str, Any]) -> None:
    query = f"SELECT COUNT(*) AS n {JOINED}"
    ours = table(bw.Policy(**policy), rows=4, k=[1, 2], y=[3, 4])
    theirs = table(rows=4, k=[1, 2], x=[3, 4])
    forged = ours.schema.json()
    forged["policy"] = bw.Policy().json()
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    cheater = bw.Schema.load(tmp_path / "forged.json")
    found = parties(
        tmp_path,
        lambda **how: bw.sql(query, {"a": theirs}, {"b": cheater}, **how),
        lambda **how: bw.sql(query, {"a": theirs.schema}, {"b": ours}, **how),
    )
    assert all(isinstance(one, bw.PeerMismatch) for one in found)
    found = parties(
        tmp_path,
        lambda **how: bw.sql(query, {"a": theirs}, {"b": ours.schema}, **how),
        lambda **how: bw.sql(query, {"a": theirs.schema}, {"b": ours}, **how),
    )
    assert [one.columns for one in found] == [{"n": [2 if "round_to" not in policy else 0]}] * 2


@pytest.mark.parametrize("wrong", [{"min_group": 0}, {"max_rows": 0}, {"round_to": "-1"}, {"round_to": "x"}])
def test_a_policy_without_a_meaning_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(bw.UsageError):
        bw.Policy(**wrong)


def test_the_order_is_checked_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brickwork.queries.Query.run", lambda *_: pytest.fail("it runs"))
    query = f"SELECT g, COUNT(*) AS n {JOINED} GROUP BY g ORDER BY n REVEAL n TO garbler"
    with pytest.raises(bw.UsageError, match="ORDER BY n, which a party does not learn"):
        asked(query, table(k=[1, 2], g=["red", "blue"]), table(k=[1, 2]))


@pytest.mark.parametrize("step", ["1E+999999999", "1E-999999999", "-1", "NaN", "x"])
def test_a_step_has_a_size_that_fits_into_memory(step: str) -> None:
    with pytest.raises(bw.UsageError):
        bw.Policy(round_to=step)
    assert bw.Policy(round_to="0.50").round_to == "0.5"


def test_a_cheaters_category_is_a_null() -> None:
    kind = bw.category(["red", "blue"])
    assert [kind.value(code) for code in range(4)] == ["red", "blue", None, None]
