"""Tests of found faults: sums that wrap in a simulation, and tables that a join cannot handle."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import brickwork as bw
import numpy as np
import pandas as pd
import pytest

money: Any = bw.fixed(32, 16)


@bw.component
def added(a: bw.u32, b: bw.u32) -> bw.u32:
    return a + b


@bw.program
def total(a: bw.Garbler[bw.u32[3]], b: bw.Evaluator[bw.u32]) -> bw.Both[bw.u32]:
    return added(bw.sum(a), b)


@bw.program
def product(a: bw.Garbler[money], b: bw.Evaluator[money]) -> bw.Both[money]:
    return a * b


@bw.program
def mixed(a: bw.Garbler[bw.i8], b: bw.Evaluator[bw.i8]) -> bw.Both[bw.i8[5]]:
    return [
        a + b,
        a - b,
        a * b,
        bw.divide(a, b),
        -a,
    ]


@bw.program
def quotient(a: bw.Garbler[bw.u16], b: bw.Evaluator[bw.u8]) -> bw.Both[bw.u8]:
    return bw.divide(a, b)


@bw.program
def ratio(a: bw.Garbler[money], b: bw.Evaluator[money]) -> bw.Both[money]:
    return a / b


@bw.program
def matrix(a: bw.Garbler[bw.u8[2, 2]], b: bw.Evaluator[bw.u8[2]]) -> bw.Both[bw.u8[2]]:
    return a @ b


@bw.program
def nothing(a: bw.Garbler[bw.u8], b: bw.Evaluator[bw.u8]) -> bw.Both[bw.u9]:
    return a.astype(bw.u9) ^ b.astype(bw.u9)


def faults(program: Any, a: Any, b: Any, **options: Any) -> list[str]:
    """Returns the faults of a checked simulation, without the file, and checks that its outputs are those of
    a simulation that is not checked.
    """
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        learned = bw.simulate(program, a, b, check=True, **options)
    plain = bw.simulate(program, a, b, **options)
    assert np.array_equal(learned.garbler, plain.garbler)
    said = [str(fault) for fault in learned.faults]
    assert [str(one.message) for one in warned] == (["\n".join(said)] if said else [])
    return [one.split(": ", 1)[1] for one in said]


def test_sums_and_products_that_wrapped_name_their_lines() -> None:
    large = [2_000_000_000] * 3
    assert faults(total, large, 1) == ["`return added(bw.sum(a), b)` wraps: the result does not fit the type"]
    assert faults(total, [2**32 - 1, 0, 0], 1) == ["`return a + b` wraps: the result does not fit the type"]
    assert faults(total, [2**32 - 2, 0, 0], 1) == []
    fault = bw.simulate(total, [2**32 - 2, 0, 0], 1, check=True).faults
    assert fault == ()
    assert len(faults(product, 300, 300)) == 1 and faults(product, 100, 300) == []
    assert faults(product, -128, 256) == [] and len(faults(product, 128, 256)) == 1
    assert len(faults(matrix, [[1, 2], [200, 100]], [1, 1])) == 1
    assert faults(matrix, [[1, 2], [200, 55]], [1, 1]) == []
    assert faults(nothing, 255, 255) == []


@pytest.mark.parametrize("a", [-128, -127, -1, 0, 1, 5, 127])
@pytest.mark.parametrize("b", [-128, -11, -1, 0, 1, 11, 127])
def test_every_operator_of_numbers_with_a_sign_is_checked(a: int, b: int) -> None:
    exact = {"a + b": a + b, "a - b": a - b, "a * b": a * b, "-a": -a}
    if b:
        exact["bw.divide(a, b)"] = bw.divide(a, b)
    expected = {line for line, value in exact.items() if not -128 <= value <= 127}
    found = faults(mixed, a, b)
    assert {one.split("`")[1].rstrip(",") for one in found if "wraps" in one} == expected
    assert [one for one in found if "divides by zero" in one] == (
        ["`bw.divide(a, b),` divides by zero"] if b == 0 else []
    )


def test_a_secret_is_taken_once() -> None:
    text = bytearray(b"[1, 2, 4294967295]")
    with pytest.warns(bw.Faulty, match="wraps"):
        checked = bw.simulate(total, bw.Secret(text), 1, check=True)
    assert checked.garbler == 3 and len(checked.faults) == 1 and not any(text)


def test_quotients_are_checked() -> None:
    assert faults(quotient, 1000, 4) == [] and len(faults(quotient, 1024, 4)) == 1
    assert any("divides by zero" in one for one in faults(quotient, 1, 0))
    assert faults(ratio, 7, 2) == [] and faults(ratio, -3, 0.5) == []
    assert len(faults(ratio, 20000, 0.5)) == 1
    assert any("divides by zero" in one for one in faults(ratio, 7, 0))


def test_faults_of_all_executions_are_found_and_saved_programs_have_none() -> None:
    assert faults(product, [1, 2, 300], [1, 2, 300], executions=3) != []
    assert faults(product, [1, 2], [1, 2], executions=2) == []
    with pytest.raises(bw.UsageError, match="check=True is possible only for a program in Python"):
        bw.simulate(product.as_program(), 1, 2, check=True)


def test_division_by_zero_is_the_same_with_a_sign() -> None:
    @bw.program
    def both(a: bw.Garbler[bw.i32], b: bw.Evaluator[bw.i32]) -> bw.Both[bw.i32[2]]:
        return [bw.divide(a, b), bw.remainder(a, b)]

    for a in (-7, 7, 0, -(2**31), 2**31 - 1):
        assert bw.simulate(both, a, 0).garbler.tolist() == [-1, a] == both(a, 0)
        assert bw.simulate(both, a, 2).garbler.tolist() == both(a, 2)


class Customer(bw.Struct):
    key: bw.u32


class Payment(bw.Struct):
    key: bw.u32
    amount: bw.u32


class Hits(bw.Struct):
    n: bw.u8
    amount: bw.u32


def taken(x: Any, y: Any) -> Any:
    return Hits(n=1, amount=y.amount)


@bw.component
def spent(c: bw.Array[Customer, 4], t: bw.Array[Payment, 4]) -> Hits:
    hits = bw.tables.join(c, t, "key", taken)
    return Hits(n=bw.sum(hit.n for hit in hits), amount=bw.sum(hit.amount for hit in hits))


@bw.program
def spending(c: bw.Garbler[bw.Array[Customer, 4]], t: bw.Evaluator[bw.Array[Payment, 4]]) -> bw.Both[Hits]:
    return spent(c, t)


@bw.program
def derived(c: bw.Garbler[bw.Array[Customer, 4]], t: bw.Evaluator[bw.Array[Payment, 4]]) -> bw.Both[Hits]:
    return spent(list(c), bw.tables.sort_by(t, "key"))


CUSTOMERS = pd.DataFrame({"key": [1, 2, 3, 4]})
PAYMENTS = pd.DataFrame({"key": [2, 3, 8, 9], "amount": [10, 5, 1, 1]})


@pytest.mark.parametrize(
    "customers, payments, says",
    [
        ([1, 2, 3, 4], [2, 2, 2, 3], "input of the evaluator: input2: rows 1 and 2 have the same key"),
        ([1, 2, 2, 4], [2, 3, 8, 9], "input of the garbler: input1: rows 2 and 3 have the same key"),
        ([1, 4, 3, 2], [2, 3, 8, 9], "input of the garbler: input1: key 3 is smaller than key 2"),
        ([1, 2, 3, 4], [2, 3, 9, 8], "input of the evaluator: input2: key 4 is smaller than key 3"),
        ([1, 2, 3, 4], [0, 3, 8, 9], "input of the evaluator: input2: key 1 marks an empty row"),
    ],
)
def test_a_table_that_a_join_cannot_do_rightly_does_not_leave_its_party(
    customers: list[int], payments: list[int], says: str, tmp_path: Path
) -> None:
    """The join of one row with many gave other sums without an error."""
    c, t = CUSTOMERS.assign(key=customers), PAYMENTS.assign(key=payments)
    saved = spending.save(tmp_path / "spending.bwp")
    t.to_csv(tmp_path / "t.csv", index=False)
    for program in (spending, saved):
        for theirs in (t, tmp_path / "t.csv", t.to_dict("records")):
            for call in (bw.simulate, bw.run):
                with pytest.raises(bw.InvalidInput) as error:
                    call(program, c, theirs)
                assert error.value.args[0].startswith(says)
        role = "garbler" if "garbler" in says else "evaluator"
        with pytest.raises(bw.InvalidInput) as error:
            own, peer = bw.keygen(), bw.keygen()
            party = bw.garbler if role == "garbler" else bw.evaluator
            given = c if role == "garbler" else t
            party(program, given, identity=own, peer=peer.public_key, connect="127.0.0.1:9", timeout=1)
        assert error.value.args[0].startswith(says)
    learned = bw.simulate(spending, CUSTOMERS, PAYMENTS).garbler
    assert learned == {"n": 2, "amount": 15} == bw.run(saved, CUSTOMERS, PAYMENTS).garbler


def test_empty_rows_may_fill_a_table_up() -> None:
    empty = PAYMENTS.assign(key=[0, 0, 2, 3], amount=[0, 0, 10, 5])
    assert bw.simulate(spending, CUSTOMERS, empty).garbler == {"n": 2, "amount": 15}


def test_what_the_program_makes_of_a_table_matches_nothing_if_a_key_is_there_twice() -> None:
    assert bw.simulate(derived, CUSTOMERS, PAYMENTS.iloc[::-1]).garbler == {"n": 2, "amount": 15}
    twice = PAYMENTS.assign(key=[2, 2, 2, 3])
    assert bw.simulate(derived, CUSTOMERS, twice).garbler == {"n": 0, "amount": 0}
    with pytest.warns(bw.Faulty, match="joins a table that is not sorted by its key, or has a key twice"):
        bw.simulate(derived, CUSTOMERS, twice, check=True)

    @bw.program
    def told(t: bw.Garbler[bw.Array[Payment, 4]]) -> bw.Both[bw.u1]:
        return bw.tables.in_order(t, "key", unique=True)

    for keys, expected in [([1, 2, 3, 4], 1), ([0, 0, 3, 4], 1), ([1, 2, 2, 4], 0), ([2, 1, 3, 4], 0)]:
        assert bw.simulate(told, PAYMENTS.assign(key=keys)).garbler == expected


def test_keys_with_a_sign_are_in_their_order() -> None:
    class Entry(bw.Struct):
        key: bw.i16
        n: bw.u8

    @bw.program
    def sums(t: bw.Garbler[bw.Array[Entry, 4]]) -> bw.Both[bw.u8[4]]:
        return [total for _, total in bw.tables.sum_by(t, "key", "n")]

    @bw.program
    def joined(a: bw.Garbler[bw.Array[Entry, 3]], b: bw.Evaluator[bw.Array[Entry, 3]]) -> bw.Both[bw.u8[5]]:
        return bw.tables.join(list(a), list(b), "key", lambda x, y: x.n + y.n)

    assert bw.simulate(sums, {"key": [-3, -3, 0, 5], "n": [1, 2, 0, 4]}).garbler.tolist() == [0, 3, 0, 4]
    with pytest.raises(bw.InvalidInput, match="key 2 is smaller than key 1"):
        bw.simulate(sums, {"key": [3, -3, 0, 5], "n": [1, 2, 0, 4]})
    with pytest.raises(bw.InvalidInput, match="key 3 marks an empty row"):
        bw.simulate(sums, {"key": [-3, -3, 0, 5], "n": [1, 2, 3, 4]})
    table = {"key": [-3, 0, 5], "n": [1, 0, 4]}
    assert sorted(bw.simulate(joined, table, table).garbler.tolist()) == [0, 0, 0, 2, 8]
    wrong = {"key": [0, -3, 5], "n": [0, 1, 4]}
    assert not bw.simulate(joined, wrong, table).garbler.any()
