"""Values of numpy, tables and Python, in and out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import brickwork as bw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from brickwork.ports import Array, Integer, Place, from_text, input_word, integer_bits, output_value

COLUMNS = {
    "id": [7, 65535, 0],
    "price.net": [-2048, 2047, -1],
    "price.tax[0]": [1, 2, 3],
    "price.tax[1]": [40000, 5, 6],
    "big": [2**70 - 1, 0, 2**65],
}
ROWS = [
    {"id": 7, "price": {"net": -2048, "tax": [1, 40000]}, "big": hex(2**70 - 1)},
    {"id": 65535, "price": {"net": 2047, "tax": [2, 5]}, "big": 0},
    {"id": 0, "price": {"net": -1, "tax": [3, 6]}, "big": hex(2**65)},
]


def check(answer: Any) -> None:
    rows = answer["all"]["rows"]
    assert answer["all"]["count"] == 3 and rows.shape == (5,)
    assert rows["id"][:3].tolist() == COLUMNS["id"] and rows["id"].dtype == np.uint16
    assert rows["price"]["net"][:3].tolist() == COLUMNS["price.net"]
    assert rows["price"]["net"].dtype == np.int16
    assert rows["price"]["tax"][:3].tolist() == [[1, 40000], [2, 5], [3, 6]]
    assert rows["big"][:3].tolist() == COLUMNS["big"]
    assert not rows["id"][3:].any() and not rows["price"]["tax"][3:].any()


def frame(columns: dict[str, list[int]]) -> pd.DataFrame:
    return pd.DataFrame({name: np.array(values, object) for name, values in columns.items()})


@pytest.mark.parametrize(
    "table",
    [
        {"rows": ROWS},
        {"rows": ROWS, "count": 3},
        COLUMNS,
        {"rows": COLUMNS, "count": np.int64(3)},
        frame(COLUMNS),
        {"rows": frame(COLUMNS)},
    ],
    ids=["plain", "counted", "columns", "in a struct", "pandas", "pandas in a struct"],
)
def test_tables_become_what_the_program_takes(echo: bw.Program, table: Any) -> None:
    learned = bw.simulate(echo, table, -5)
    check(learned.garbler)
    assert learned.garbler["least"] == -5
    assert learned.evaluator["id"] == 65535 and learned.evaluator["price"]["tax"].tolist() == [2, 5]


def test_libraries_of_tables_agree(echo: bw.Program) -> None:
    narrow = {name: values for name, values in COLUMNS.items() if name != "big"} | {"big": [1, 2, 2**63 - 1]}
    words = {
        input_word(table, echo.inputs_of("garbler"), None, {}, "garbler")
        for table in (
            narrow,
            {name: np.array(column) for name, column in narrow.items()},
            pd.DataFrame(narrow),
            pl.DataFrame(narrow),
            pa.table(narrow),
            pa.table(narrow).to_reader(),
        )
    }
    assert len(words) == 1
    structured = np.zeros(3, [("a", "u1"), ("b", "i4")])
    structured["a"], structured["b"] = [1, 2, 3], [-4, 5, 6]
    kind = bw.Port(
        "x", "garbler", Array(bw.ports.Struct((("a", Integer(8, False)), ("b", Integer(9, True)))), 3)
    )
    assert input_word(structured, [kind], None, {}, "garbler") == input_word(
        {"a": [1, 2, 3], "b": [-4, 5, 6]}, [kind], None, {}, "garbler"
    )


@pytest.mark.parametrize("bits", [1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 200])
@pytest.mark.parametrize("signed", [False, True])
def test_integers_come_back(bits: int, signed: bool) -> None:
    kind = Integer(bits, signed)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    values = [low, high, 0, high // 3, low // 3]
    place = Place("input", "", {}, False)
    array = np.array(values, dtype=object if bits > 62 else np.int64)
    found = integer_bits(array, kind, place)
    plain = [[value >> bit & 1 for bit in range(bits)] for value in values]
    assert found.tolist() == plain
    text = "".join(str(bit) for row in plain for bit in row)
    learned = output_value(from_text(text), [bw.Port("x", "both", Array(kind, 5))], None)
    assert (
        learned.tolist() == values
        and output_value(from_text(text), [bw.Port("x", "both", kind)], 5).tolist() == values
    )
    for outside in (low - 1, high + 1):
        with pytest.raises(bw.InvalidInput, match="row 1.* does not fit"):
            integer_bits(np.array([low, outside], object), kind, place)


def test_what_does_not_fit_is_named_and_not_shown(echo: bw.Program) -> None:
    def refused(table: Any, **options: Any) -> str:
        with pytest.raises(bw.InvalidInput) as error:
            bw.simulate(echo, table, -5, **options)
        assert error.value.hint and "31337" not in str(error.value)
        return str(error.value)

    changed = frame(COLUMNS)
    changed.loc[2, "price.net"] = 31337
    assert "price.net, row 2: does not fit into int12" in refused(changed)
    changed = frame(COLUMNS).astype({"id": float})
    assert "id: numbers with a decimal point" in refused(changed)
    changed.loc[1, "id"] = float("nan")
    assert "id, row 1: is empty" in refused(changed)
    assert "id, row 1: is empty" in refused(
        pl.DataFrame(COLUMNS | {"id": [31337, None, 1], "big": [1, 2, 3]})
    )
    assert "id, row 0: is empty" in refused(pa.table(COLUMNS | {"id": [None, 31337, 1], "big": [1, 2, 3]}))
    assert "no column 'id'" in refused(frame(COLUMNS).drop(columns="id"))
    assert "does not know the column 'more'" in refused(frame(COLUMNS).assign(more=31337))
    assert "6 rows, and the program takes 5" in refused(
        {name: column * 2 for name, column in COLUMNS.items()}
    )
    assert "count is more than the 3 rows" in refused({"rows": COLUMNS, "count": 4})
    assert "different lengths" in refused(COLUMNS | {"id": [1, 2]})
    assert "is no integer" in refused(frame(COLUMNS).assign(id=["31337", 1, 2]))
    assert "rows: numbers without names" in refused({"rows": np.full((5, 2), 31337)})
    with_more = bw.simulate(echo, frame(COLUMNS).assign(more=1), -5, ignore_extra_columns=True)
    check(with_more.garbler)


def test_decimals_are_moved_and_never_rounded(compiled: Callable[[str], bw.Program]) -> None:
    program = compiled("""
#parties 2
typedef struct_t row { uint_t 32 amount; uint_t 8 kind; }
typedef struct_t table { row rows[3]; }
#input 1 table
#output 1 table
function void main() { output1 = input1; }
""")
    table = pd.DataFrame({"amount": [0.1, 12.5, 1234567.89], "kind": [1, 2, 3]})
    found = bw.simulate(program, table, scale={"amount": 2}).garbler
    assert found["rows"]["amount"].tolist() == [10, 1250, 123456789]
    whole = bw.simulate(program, table.assign(amount=[1, 2, 3]), scale={"amount": 2}).garbler
    assert whole["rows"]["amount"].tolist() == [100, 200, 300]
    with pytest.raises(bw.InvalidInput, match="amount, row 1: is no number of 2 digits"):
        bw.simulate(program, table.assign(amount=[0.1, 0.125, 3.0]), scale={"amount": 2})
    with pytest.raises(bw.InvalidInput, match="amount, row 2: is no number of 2 digits"):
        bw.simulate(program, table.assign(amount=[0.1, 0.12, float("inf")]), scale={"amount": 2})


def test_several_executions_have_a_row_each(millionaires: bw.Program) -> None:
    ours, theirs = np.array([5, 7, 9], np.uint32), [7, 7, 7]
    learned = bw.simulate(millionaires, ours, theirs, executions=3).garbler
    assert learned["garbler_richer"].tolist() == [0, 0, 1] and learned["equal"].tolist() == [0, 1, 0]
    assert bw.simulate(millionaires, 8, 7, executions=1).evaluator["garbler_richer"].tolist() == [1]
    with pytest.raises(bw.InvalidInput, match="3 rows for 4 executions"):
        bw.simulate(millionaires, ours, [1, 2, 3, 4], executions=4)


def test_executions_of_outputs_for_one_and_for_both_are_put_together() -> None:
    """What one party learns alone comes first, of all executions."""
    ports = [
        bw.Port("x", "both", Integer(2, False)),
        bw.Port("own", "garbler", Integer(3, True)),
        bw.Port("y", "both", Integer(1, False)),
    ]
    # Twice `own`, then twice x and y.
    bits = from_text("110001101010")
    learned = output_value(bits, ports, 2)
    assert {name: of.tolist() for name, of in learned.items()} == {"x": [1, 2], "own": [3, -4], "y": [1, 0]}
    assert output_value(from_text("101101"), ports, None) == {"x": 1, "own": 3, "y": 1}


def test_a_million_rows_go_in_and_out(compiled: Callable[[str], bw.Program]) -> None:
    rows = 1_000_000
    kind = Array(Integer(32, False), rows)
    values = np.random.default_rng(1).integers(0, 2**32, rows, dtype=np.uint32)
    word = input_word(values, [bw.Port("x", "garbler", kind)], None, {}, "garbler")
    assert word is not None
    text = json.loads(word).removeprefix("bits:")
    learned = output_value(from_text(text), [bw.Port("x", "both", kind)], None)
    assert learned.dtype == np.uint32 and (learned == values).all()
