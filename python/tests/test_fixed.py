"""Fixed-point numbers at the ports of programs: inputs and outputs are numbers, and never their integers."""

from __future__ import annotations

import math
import pickle
import random
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import brickwork as bw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

money: Any = bw.fixed(32, 16)
wide: Any = bw.fixed(80, 40)
ratio: Any = bw.fixed(8, 8, signed=False)


class Item(bw.Struct):
    price: money
    number: bw.u16
    rates: ratio[2]


class Part(bw.Struct):
    price: money
    quantity: money


@bw.program
def echo(x: bw.Garbler[bw.Array[Item, 2]]) -> bw.Both[bw.Array[Item, 2]]:
    return x


@bw.program
def cost(parts: bw.Garbler[bw.Array[Part, 2]], rate: bw.Evaluator[money]) -> bw.Both[money]:
    return bw.sum(part.price * part.quantity for part in parts) * rate


@bw.program
def one(x: bw.Garbler[money]) -> bw.Both[money]:
    return x


@bw.program
def several(x: bw.Garbler[money[40]]) -> bw.Both[money[40]]:
    return x


@bw.program
def exact(x: bw.Garbler[wide]) -> bw.Both[wide]:
    return x


COLUMNS: dict[str, Any] = {
    "price": [2.5, -0.25],
    "number": [3, 4],
    "rates[0]": [0.5, 0.0],
    "rates[1]": [0.25, 0.75],
}


@pytest.mark.parametrize(
    "table",
    [
        COLUMNS,
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).astype({"price": "float32"}),
        pl.DataFrame(COLUMNS),
        pa.table(COLUMNS),
        pa.table({**COLUMNS, "price": pa.array([Decimal("2.5"), Decimal("-0.25")])}),
        {**COLUMNS, "price": [Fraction(5, 2), Decimal("-0.25")]},
        [
            {"price": 2.5, "number": 3, "rates": [0.5, 0.25]},
            {"price": np.float64(-0.25), "number": 4, "rates": np.array([0, 0.75])},
        ],
    ],
    ids=["columns", "pandas", "float32", "polars", "Arrow", "decimals", "objects", "dicts"],
)
def test_tables_hold_numbers(table: Any) -> None:
    learned = bw.simulate(echo, table).garbler
    assert learned["price"].tolist() == [2.5, -0.25] and learned["price"].dtype == np.float64
    assert learned["rates"].tolist() == [[0.5, 0.25], [0, 0.75]]
    # An output can be an input again.
    assert (bw.simulate(echo, learned).garbler == learned).all()
    assert bw.to_pandas(learned)["rates[1]"].tolist() == [0.25, 0.75]


def test_whole_numbers_are_numbers_too() -> None:
    """800 must not come out as 0.0: an integer is converted as a number, and is not read as a multiple of
    1/65536."""
    table = pd.DataFrame({"price": [100, 200], "quantity": [2, 3]})
    for rate in (1, 1.0, np.int64(1), Decimal(1), Fraction(1), True):
        assert bw.simulate(cost, table, rate).garbler == 800.0
    run = bw.run(cost, table.astype(float) + 0.5, 1)
    assert run.garbler == run.evaluator == 100.5 * 2.5 + 200.5 * 3.5
    assert bw.simulate(one, [3, -2.5], executions=2).garbler.tolist() == [3.0, -2.5]
    assert bw.simulate(several, list(range(40))).garbler.tolist() == list(range(40))
    assert bw.simulate(several, [0.5] * 40).garbler.tolist() == [0.5] * 40
    assert bw.simulate(several, np.arange(40) / 4).garbler.tolist() == [n / 4 for n in range(40)]


@pytest.mark.parametrize(
    "number",
    [0.1, Decimal("0.1"), Fraction(1, 3), 2.0**-17, -(2.0**-17), Decimal("-0.00001"), np.float32(0.1)],
)
def test_a_number_between_two_is_rounded_if_that_is_asked_for(number: Any) -> None:
    exactly = Fraction(number.item() if isinstance(number, np.generic) else number)
    nearest = Fraction(math.floor(exactly * 2**16 + Fraction(1, 2)), 2**16)
    for of, given in [(one, number), (several, [number] * 40), (several, np.array([number] * 40))]:
        with pytest.raises(bw.InvalidInput, match="fixed32.16 cannot hold the value exactly") as error:
            bw.simulate(of, given)
        assert "rounding=True" in error.value.hint and str(number) not in str(error.value)
        found = bw.simulate(of, given, rounding=True).garbler
        assert np.all(np.asarray(found) == float(nearest))
    run = bw.run(one, number, rounding=True)
    assert run.garbler == float(nearest)


@pytest.mark.parametrize(
    "given, says",
    [
        (2**15, "does not fit into fixed32.16"),
        (-(2**15) - 1, "does not fit into fixed32.16"),
        (1e300, "does not fit into fixed32.16"),
        (Decimal("1e999999999"), "does not fit into fixed32.16"),
        (float("nan"), "is empty"),
        (float("inf"), "is infinite, or not a number"),
        (Decimal("Infinity"), "is infinite, or not a number"),
        ("2.5", "is text"),
        (None, "an input of the garbler"),
        ({"x": 1}, "expected a number"),
    ],
)
def test_what_is_no_number_of_the_type_is_refused(given: Any, says: str) -> None:
    with pytest.raises(bw.Error, match=says) as error:
        bw.simulate(one, given)
    assert error.value.hint
    if isinstance(given, (int, float, Decimal)):
        assert "row" not in error.value.args[0]
        with pytest.raises(bw.InvalidInput, match=f"row 3.*{says.replace('is empty', 'is infinite')}"):
            bw.simulate(several, np.array([0] * 3 + [given] + [0] * 36))


def test_the_ends_of_the_range_fit() -> None:
    ends = [-(2.0**15), 2.0**15 - 2.0**-16, 2.0**-16, -(2.0**-16), 0.0]
    assert bw.simulate(one, ends, executions=5).garbler.tolist() == ends
    for number in ends:
        assert bw.simulate(one, number).garbler == number


def test_wide_numbers_are_exact_decimals() -> None:
    largest = Context(prec=100).divide(Decimal(2**79 - 1), Decimal(2**40))
    given = [largest, Decimal(-(2**39)), Decimal("0.5")]
    learned = bw.simulate(exact, given, executions=3).garbler
    assert learned.tolist() == given and all(isinstance(number, Decimal) for number in learned)
    assert bw.to_arrow(learned)["value"].to_pylist() == given
    assert (bw.simulate(exact, learned, executions=3).garbler == learned).all()
    # Decoded numbers stay unchanged, in an array and alone.
    kind = bw.fixed(80, 40)
    assert kind.decode(learned).tolist() == given and kind.decode(given[2]) == given[2]


def test_numbers_beyond_every_float_are_exact() -> None:
    vast: Any = bw.fixed(1200, 100)

    @bw.program
    def sums(a: bw.Garbler[vast[2]], b: bw.Evaluator[vast[2]]) -> bw.Both[vast[2]]:
        return [a[0] + b[0], a[1] + b[1]]

    floats = np.array([2.0**1000, 0.5])
    learned = bw.simulate(sums, floats, [1, Decimal("0.25")]).garbler
    assert learned.tolist() == [Decimal(2**1000 + 1), Decimal("0.75")]
    assert bw.simulate(sums, [2**1098, 1.5], floats).garbler.tolist() == [2**1098 + 2**1000, 2]
    assert vast.decode(2**1199) == 2**1099 and vast.decode([2**1199, 2**99]).tolist() == [2**1099, 0.5]
    with pytest.raises(bw.InvalidInput, match="infinite"):
        bw.simulate(sums, np.array([np.inf, 0.5]), [1, 1])


def test_a_scale_moves_no_point_that_is_part_of_a_type() -> None:
    table = pd.DataFrame({"price": [1.5, 2.5], "quantity": [1, 1]})
    with pytest.raises(bw.UsageError, match="scale: no input has a field of integers .* price") as error:
        bw.run(cost, table, 1, scale={"price": 2})
    assert "bw.fixed need no scale" in error.value.hint


def test_a_program_that_was_saved_keeps_the_point(tmp_path: Path) -> None:
    saved = cost.save(tmp_path / "cost.bwp")
    table = {"price": [100, 0.5], "quantity": [2, 3]}
    for program in (saved, bw.load(tmp_path / "cost.bwp"), pickle.loads(pickle.dumps(saved))):
        assert bw.simulate(program, table, 2).garbler == 403.0
        assert str(program.inputs[1]) == "input2: fixed32.16 (evaluator)"
        assert "fixed32.16" in repr(program) and program.digest == cost.as_program().digest
    # The parties also compare the position of the point.
    other: Any = bw.fixed(32, 15)

    @bw.program
    def elsewhere(x: bw.Garbler[other]) -> bw.Both[other]:
        return x

    assert elsewhere.as_program().digest != one.as_program().digest


def test_files_hold_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("price;number;rates[0];rates[1]\n2,5;3;0,5;0,25\n-0,25;4;0;0,75\n")
    assert bw.simulate(echo, tmp_path / "t.csv").garbler["price"].tolist() == [2.5, -0.25]
    (tmp_path / "x.json").write_text("0.1")
    with pytest.raises(bw.InvalidInput, match="cannot hold this number exactly") as error:
        bw.simulate(one, tmp_path / "x.json")
    assert "rounding=True" in str(error.value) and "--" not in str(error.value)
    assert bw.simulate(one, tmp_path / "x.json", rounding=True).garbler == 6554 / 2**16
    assert bw.simulate(one, bw.Secret(bytearray(b"2.5"))).garbler == 2.5


def test_integers_behind_numbers_are_for_those_who_ask() -> None:
    raw = one.as_program().raw()
    assert str(raw.inputs[0]) == "input1: int32 (garbler)" and raw == one.as_program()
    for program in (raw, pickle.loads(pickle.dumps(raw))):
        assert bw.simulate(program, money.encode(2.5)).garbler == 163840
        assert bw.run(program, 163840).garbler == money.encode(2.5)
    assert bw.simulate(several.as_program().raw(), money.encode(np.full(40, 2.5))).garbler[0] == 163840
    # A program that is made from a raw program is raw, too.
    twice = cost.as_program().raw().repeated(2, hold="garbler")
    assert twice.is_raw and not cost.as_program().repeated(2, hold="garbler").is_raw
    with pytest.raises(bw.InvalidInput, match="has a decimal point"):
        bw.simulate(raw, 2.5)
    with pytest.raises(bw.InvalidInput, match="has no effect on a file or a Secret"):
        bw.simulate(raw, bw.Secret(bytearray(b"2.5")))
    # Columns and series are encoded like arrays, and numbers are decoded already.
    assert money.encode(pd.Series([1, 2.5])).tolist() == [65536, 163840]
    assert money.decode(2.5) == 2.5 and money.decode(np.array([0.5])).tolist() == [0.5]


def test_random_numbers_of_many_types_come_back() -> None:
    draw = random.Random(7)
    for _ in range(12):
        bits = draw.randint(1, 120)
        kind: Any = bw.fixed(bits, draw.randint(1, bits), signed=draw.random() < 0.5)

        def same(x: Any) -> Any:
            return x

        same.__annotations__ = {"x": bw.Garbler[kind], "return": bw.Both[kind]}
        program = bw.program(same).as_program()
        words = [kind.low, kind.high, *(draw.randint(kind.low, kind.high) for _ in range(4))]
        numbers = [Fraction(word, 1 << kind.point) for word in words]
        assert [
            Fraction(found) for found in bw.simulate(program, numbers, executions=6).garbler
        ] == numbers, kind
        assert [bw.simulate(program, number).garbler for number in numbers] == numbers, kind
        assert bw.simulate(program.raw(), words, executions=6).garbler.tolist() == words, kind


def test_a_session_takes_and_gives_numbers() -> None:
    from threading import Thread

    identities = [bw.keygen(), bw.keygen()]
    address: list[str] = []
    learned: dict[str, float] = {}

    def party(role: str, place: dict[str, Any], number: float) -> None:
        own, peer = identities if role == "garbler" else identities[::-1]
        with bw.connect(role, {half: 1}, identity=own, peer=peer.public_key, **place) as session:
            learned[role] = session.run(half, number, rounding=True).output

    @bw.program
    def half(a: bw.Garbler[money], b: bw.Evaluator[money]) -> bw.Both[money]:
        return (a + b) * 0.5

    half.as_program()
    listens = {"listen": "127.0.0.1:0", "listening": address.append}
    first = Thread(target=party, args=("garbler", listens, 0.1))
    first.start()
    while not address:
        first.join(0.01)
    party("evaluator", {"connect": address[0]}, 2.5)
    first.join()
    assert learned["garbler"] == learned["evaluator"] == (6554 / 2**16 + 2.5) / 2
