"""Parties that are alone with their table: the exchange of schemas, and the cost before a run."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import brickwork as bw
import pytest
from brickwork import exchange
from conftest import parties

SALES = {"email": ["A@x.org", "b@x.org", "a@X.ORG"], "amount": [5, 7, 1]}
PEOPLE = {"email": ["a@x.org", "c@x.org"], "vip": [True, False]}
QUERY = "SELECT vip, SUM(amount) AS s FROM sales JOIN people USING (email) GROUP BY vip"


def sales(**more: Any) -> bw.Table:
    return bw.Table(SALES, types={"amount": bw.u16}, **{"rows": 6, **more})


def people(**more: Any) -> bw.Table:
    return bw.Table(PEOPLE, **{"rows": 4, **more})


def asked(tmp_path: Path, ours: dict[str, Any], theirs: dict[str, Any]) -> list[Any]:
    """Asks both parties; each is alone with its table."""
    first: dict[str, Any] = {"query": QUERY, "mine": {"sales": sales()}, "role": "garbler"}
    second: dict[str, Any] = {"query": QUERY, "mine": {"people": people()}, "role": "evaluator"}
    return parties(
        tmp_path,
        lambda **how: bw.sql(**{**first, **ours}, **how),
        lambda **how: bw.sql(**{**second, **theirs}, **how),
    )


def test_schemas_are_exchanged_before_the_query_runs(tmp_path: Path) -> None:
    # Spaces and line breaks are no part of a query.
    left, right = asked(tmp_path, {"query": QUERY.replace(" ", "\n ")}, {})
    assert left.columns == right.columns == {"vip": [True], "s": [6]}
    assert left.run.promise.statistical_bits == 40
    # Nobody learns the numbers of rows, but their bounds.
    assert [port.type for port in left.program.inputs] == [port.type for port in right.program.inputs]


def test_the_cost_is_told_before_the_query_runs(tmp_path: Path) -> None:
    left, right = asked(tmp_path, {"query": f"EXPLAIN {QUERY}"}, {"query": f"explain {QUERY}"})
    assert left.and_gates == right.and_gates
    ran = asked(tmp_path, {}, {})[0]
    assert left.and_gates == ran.program.and_gates
    assert abs(left.bytes - ran.run.bytes) < 0.05 * ran.run.bytes
    text = str(left)
    assert "vip: learned by garbler and evaluator" in text and "malicious" in text and "2^-40" in text


def test_each_run_has_a_salt_of_its_own(tmp_path: Path) -> None:
    names = set()
    for _ in range(2):
        left, right = asked(tmp_path, {"query": f"EXPLAIN {QUERY}"}, {"query": f"EXPLAIN {QUERY}"})
        # The salt is a part of the digest in the program's name.
        name = str(left.plan).split("query_")[1][:32]
        assert name == str(right.plan).split("query_")[1][:32]
        names.add(name)
    assert len(names) == 2


DIFFERENCES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"query": QUERY.replace("SUM", "MAX")}, {}, "query"),
    ({"min_group": 2}, {}, "min_group"),
    ({}, {"to": "garbler"}, "another to"),
    ({}, {"reveal": {"s": "garbler"}}, "reveal"),
    ({"evaluator": {"people": people(rows=5).schema}}, {}, "rows 4, and 5 was agreed"),
    ({"evaluator": {"people": people(rows=4, distinct=3).schema}}, {}, "distinct 4, and 3 was agreed"),
    ({"evaluator": {"people": people(policy=bw.Policy(min_group=3)).schema}}, {}, "policy no conditions"),
    ({"evaluator": {"people": people(types={"email": bw.text(9)}).schema}}, {}, "column email"),
    ({"evaluator": {"folk": people().schema}}, {}, "folk does not exist"),
]


@pytest.mark.parametrize("ours, theirs, named", DIFFERENCES)
def test_a_difference_is_named(
    tmp_path: Path, ours: dict[str, Any], theirs: dict[str, Any], named: str
) -> None:
    left, right = asked(tmp_path, ours, theirs)
    assert isinstance(left, bw.PeerMismatch) and named in str(left)
    assert isinstance(right, bw.PeerMismatch)


def test_an_expected_schema_that_fits_changes_nothing(tmp_path: Path) -> None:
    left, right = asked(tmp_path, {"evaluator": {"people": people().schema}}, {})
    assert left.columns == right.columns == {"vip": [True], "s": [6]}


def test_the_peers_policy_comes_with_its_schema(tmp_path: Path) -> None:
    strict = {"people": people(policy=bw.Policy(min_group=2))}
    left, right = asked(tmp_path, {}, {"mine": strict})
    assert left.columns == right.columns == {"vip": [], "s": []}
    for party in asked(
        tmp_path, {"query": f"EXPLAIN {QUERY}"}, {"query": f"EXPLAIN {QUERY}", "mine": strict}
    ):
        assert party.policies["evaluator"] == "groups of at least 2 rows"


def test_a_peer_that_describes_nonsense_is_refused(tmp_path: Path) -> None:
    bomb = exchange._packed({"tables": "x" * 100_000})
    for words in (bomb, bomb * 0, bomb ^ 1):
        how: dict[str, Any] = {"query": QUERY, "mine": {"sales": sales()}, "role": "garbler"}
        left, _ = parties(
            tmp_path,
            lambda how=how, **at: bw.sql(**how, **at),
            lambda words=words, **at: bw.evaluator(exchange.descriptions, words, **at),
        )
        assert isinstance(left, bw.InvalidInput) and "malformed" in str(left)


def test_calls_that_do_not_fit_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {},
        {"mine": {"sales": sales()}},
        {"mine": {"sales": sales()}, "role": "left"},
        {"mine": {"sales": sales()}, "role": "garbler", "garbler": {"sales": sales()}},
        {"mine": {"sales": sales()}, "role": "garbler", "evaluator": {"people": people()}},
        {"mine": {"sales": sales()}, "role": "garbler", "over": threading.Lock()},
    ]
    for one in wrong:
        with pytest.raises(bw.UsageError):
            bw.sql(QUERY, **one)
    large = bw.Table({"g": ["a"]}, types={"g": bw.category([f"value {n * n * 7919}" for n in range(9000)])})
    with pytest.raises(bw.UsageError, match="fit"):
        bw.sql(
            QUERY,
            mine={"sales": large},
            role="garbler",
            identity=bw.keygen(),
            peer="brickwork1:x",
            connect="h:1",
        )


def test_a_query_is_explained_for_both_parties_here() -> None:
    found = bw.sql(f"EXPLAIN {QUERY} REVEAL s TO evaluator", {"sales": sales()}, {"people": people()})
    assert found.learners == {"vip": ("garbler", "evaluator"), "s": ("evaluator",)}
    assert found.and_gates > 0 and found.bytes > 0 and found.seconds > 0
    slow = bw.sql(
        f"EXPLAIN {QUERY}", {"sales": sales()}, {"people": people()}, bandwidth="1Mbit", rtt="100ms"
    )
    assert slow.seconds > found.seconds
