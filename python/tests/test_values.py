"""Conversion of values of numpy, tables and Python."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import brickwork as bw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from brickwork import ports
from brickwork.inputs import input_word
from brickwork.outputs import output_value
from brickwork.ports import Array, Integer
from brickwork.wires import Place, Reading, from_text, integer_bits, integers

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
        input_word(table, echo.inputs_of("garbler"), None, Reading(), "garbler")
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
    assert input_word(structured, [kind], None, Reading(), "garbler") == input_word(
        {"a": [1, 2, 3], "b": [-4, 5, 6]}, [kind], None, Reading(), "garbler"
    )


@pytest.mark.parametrize("bits", [1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 200])
@pytest.mark.parametrize("signed", [False, True])
def test_integers_come_back(bits: int, signed: bool) -> None:
    kind = Integer(bits, signed)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    values = [low, high, 0, high // 3, low // 3]
    place = Place("input", "", Reading())
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
    assert "price.net, row 2: the value does not fit into int12" in refused(changed)
    changed = frame(COLUMNS).astype({"id": float})
    assert "id: the column has whole numbers of type float64" in refused(changed)
    changed.loc[1, "id"] = float("nan")
    assert "id, row 1: the value is empty" in refused(changed)
    assert "id, row 1: the value is empty" in refused(
        pl.DataFrame(COLUMNS | {"id": [31337, None, 1], "big": [1, 2, 3]})
    )
    assert "id, row 0: the value is empty" in refused(
        pa.table(COLUMNS | {"id": [None, 31337, 1], "big": [1, 2, 3]})
    )
    assert "no column 'id'" in refused(frame(COLUMNS).drop(columns="id"))
    assert "has no field for column 6" in refused(frame(COLUMNS).assign(**{"31337": 1}))
    assert "the table has 6 rows, but the program takes at most 5" in refused(
        {name: column * 2 for name, column in COLUMNS.items()}
    )
    assert "count is larger than the number of rows, 3" in refused({"rows": COLUMNS, "count": 4})
    assert "different lengths" in refused(COLUMNS | {"id": [1, 2]})
    assert "id, row 0: the value is text" in refused(frame(COLUMNS).assign(id=["31337", 1, 2]))
    assert "rows: the input has numbers without names" in refused({"rows": np.full((5, 2), 31337)})
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
    with pytest.raises(bw.InvalidInput, match="amount, row 1: the value has more than 2 digits"):
        bw.simulate(program, table.assign(amount=[0.1, 0.125, 3.0]), scale={"amount": 2})
    with pytest.raises(bw.InvalidInput, match="amount, row 2: the value is infinite, or not a number"):
        bw.simulate(program, table.assign(amount=[0.1, 0.12, float("inf")]), scale={"amount": 2})


def test_several_executions_have_a_row_each(millionaires: bw.Program) -> None:
    ours, theirs = np.array([5, 7, 9], np.uint32), [7, 7, 7]
    learned = bw.simulate(millionaires, ours, theirs, executions=3).garbler
    assert learned["garbler_richer"].tolist() == [0, 0, 1] and learned["equal"].tolist() == [0, 1, 0]
    assert bw.simulate(millionaires, 8, 7, executions=1).evaluator["garbler_richer"].tolist() == [1]
    with pytest.raises(bw.InvalidInput, match="3 rows, but there are 4 executions"):
        bw.simulate(millionaires, ours, [1, 2, 3, 4], executions=4)


def test_executions_of_outputs_for_one_and_for_both_are_put_together() -> None:
    """Outputs for one party alone come first, for all executions."""
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


class OnlyStream:
    """An object that supports Arrow's interface for streams, and nothing else."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._of.__arrow_c_stream__(requested_schema)


NESTED = pa.table(
    {
        "id": pa.array(COLUMNS["id"], pa.uint16()),
        "price": pa.array(
            [
                {"net": net, "tax": [a, b]}
                for net, a, b in zip(*(COLUMNS[name] for name in list(COLUMNS)[1:4]))
            ],
            pa.struct({"net": pa.int16(), "tax": pa.list_(pa.uint16(), 2)}),
        ),
        "big": pa.array([1, 2, 2**63 - 1], pa.uint64()),
    }
)
"""The same table with a struct, and with a list of one length in it."""


@pytest.mark.parametrize(
    "table",
    [
        NESTED,
        NESTED.to_reader(),
        OnlyStream(NESTED),
        OnlyStream(pa.chunked_array([NESTED.to_batches()[0].to_struct_array()])),
        pl.from_arrow(NESTED),
        {"id": OnlyStream(NESTED["id"]), "price": NESTED["price"], "big": NESTED["big"]},
        {"id": COLUMNS["id"], "price": {"net": COLUMNS["price.net"], "tax": [[1, 40000], [2, 5], [3, 6]]}}
        | {"big": pl.Series([1, 2, 2**63 - 1])},
    ],
    ids=["Arrow", "reader", "stream", "stream of structs", "polars", "columns that stream", "dict"],
)
def test_structs_and_arrays_in_columns_are_found(echo: bw.Program, table: Any) -> None:
    flat = {**COLUMNS, "big": [1, 2, 2**63 - 1]}
    assert input_word(table, echo.inputs_of("garbler"), None, Reading(), "garbler") == input_word(
        flat, echo.inputs_of("garbler"), None, Reading(), "garbler"
    )


def test_columns_that_stream_need_no_other_interface(millionaires: bw.Program) -> None:
    ours, theirs = OnlyStream(pa.chunked_array([[5], [7, 9]])), pl.Series([7, 7, 7])
    learned = bw.simulate(millionaires, ours, theirs, executions=3).garbler
    assert learned["garbler_richer"].tolist() == [0, 0, 1]
    with pytest.raises(bw.InvalidInput, match="row 1: the value is empty"):
        bw.simulate(millionaires, OnlyStream(pa.chunked_array([[5, None, 9]])), theirs, executions=3)


def test_a_path_is_a_file_that_python_does_not_read(echo: bw.Program, tmp_path: Path) -> None:
    names = list(COLUMNS)
    rows = [",".join(str(COLUMNS[name][row]) for name in names) for row in range(3)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join([",".join(names), *rows]) + "\n")
    for given in (path, bw.secret_file(path), {"rows": path}):
        check(bw.simulate(echo, given, -5).garbler)
    assert input_word(path, echo.inputs_of("garbler"), None, Reading(), "garbler") == f"@{path}"


WIDE = Array(
    ports.Struct((("a", Integer(32, False)), ("b", Integer(70, True)), ("c", Array(Integer(16, True), 2)))),
    4,
)
"""A table with a column beyond 64 bits, and with an array."""


def learned(table: Any) -> Any:
    """The output of a party that gets its input back."""
    port = bw.Port("x", "garbler", WIDE)
    bits = input_word(table, [port], None, Reading(), "garbler")
    assert isinstance(bits, bytes)
    return output_value(np.frombuffer(bits, np.uint8), [port], None)


def test_outputs_become_tables_and_these_inputs() -> None:
    table: dict[str, Any] = {
        "a": [1, 2, 3, 2**32 - 1],
        "b": [0, -1, -(2**69), 2**69 - 1],
        "c": [[0, -1], [5, 6], [7, 8], [9, -32768]],
    }
    found = learned(table)
    flat = {"a": table["a"], "b": table["b"], "c[0]": [0, 5, 7, 9], "c[1]": [-1, 6, 8, -32768]}
    for one in (bw.columns(found), bw.to_pandas(found), bw.to_arrow(found).to_pydict()):
        assert {name: [int(number) for number in column] for name, column in dict(one).items()} == flat
    # Columns in the form of each library can be inputs again.
    for given in (found, bw.columns(found), bw.to_pandas(found), pl.DataFrame(bw.columns(found))):
        assert (learned(given) == found).all()
    decimals = bw.to_arrow(found)
    port = [bw.Port("x", "garbler", WIDE)]
    assert input_word(decimals, port, None, Reading({"b": 0}), "garbler") == input_word(
        found, port, None, Reading(), "garbler"
    )
    with pytest.raises(bw.InvalidInput, match="b, row 0: the value is not an integer"):
        input_word(decimals, port, None, Reading(), "garbler")


def test_outputs_of_several_executions_are_tables(millionaires: bw.Program, echo: bw.Program) -> None:
    of_both = bw.simulate(millionaires, [5, 7], [7, 5], executions=2).garbler
    assert bw.to_pandas(of_both).to_dict("list") == {"garbler_richer": [0, 1], "equal": [0, 0]}
    answer = bw.simulate(echo, COLUMNS, -5)
    # `count` is 3, so only three of the five rows belong to the table.
    assert bw.to_pandas(answer.garbler["all"])["price.net"].tolist() == COLUMNS["price.net"]
    assert bw.columns(answer.evaluator)["price.tax[1]"].tolist() == [5]
    assert bw.columns(np.array([3, 4]))["value"].tolist() == [3, 4]
    for wrong in (7, None, {"a": np.arange(2), "b": np.arange(3)}):
        with pytest.raises(bw.UsageError):
            bw.columns(wrong)


@pytest.mark.parametrize(
    "kind, values, digits",
    [
        (Integer(100, True), np.array([Decimal("0.25"), Decimal("-1e20"), 3], object), 2),
        (Integer(64, True), np.array([-(2**40), 2**40], np.int64), 3),
        (Integer(64, False), np.array([2**60 + 2**59, 3], np.uint64), 1),
        (Integer(200, True), np.array([-(2**63), 2**63 - 1], np.int64), 30),
        (Integer(40, True), np.array([True, False]), 9),
        (Integer(90, False), [2**70, 5] * 20, 4),
    ],
    ids=["decimals", "int64", "uint64", "wide", "bool", "Python's"],
)
def test_a_scale_moves_the_point_exactly(kind: Integer, values: Any, digits: int) -> None:
    place = Place("input", "x", Reading({"x": digits}))
    expected = [
        int(Fraction(str(one)) * 10**digits) if isinstance(one, Decimal) else int(one) * 10**digits
        for one in values
    ]
    found = integer_bits(np.asarray(values), kind, place)
    assert integers(found, kind).tolist() == expected


@pytest.mark.parametrize("wrong", [Decimal("0.125"), Decimal("NaN"), Decimal("Infinity"), 1.5, "31337", None])
def test_what_a_scale_would_round_is_refused(wrong: Any) -> None:
    place = Place("input", "x", Reading({"x": 2}))
    values = np.array([Decimal("31337.25"), 1, wrong, Decimal("1e-3")], object)
    with pytest.raises(bw.InvalidInput, match="x, row 2: the value (is|has)") as error:
        integer_bits(values, Integer(32, True), place)
    shown = "".join(traceback.format_exception(error.value))
    assert "31337" not in shown.split("InvalidInput", 1)[1] and error.value.__cause__ is None


def lines_in_python(work: Callable[[], Any]) -> int:
    """Counts the executed lines of Python; a loop counts each time."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


ROWS_OF_A_LARGE_TABLE = 1_000_000


@pytest.mark.parametrize("way", ["an array", "executions"])
def test_a_million_rows_go_in_and_out_without_a_loop(way: str) -> None:
    rows, draw = ROWS_OF_A_LARGE_TABLE, np.random.default_rng(1)
    kind = ports.Struct((("a", Integer(32, False)), ("b", Integer(12, True)), ("c", Integer(70, False))))
    executions = rows if way == "executions" else None
    port = [bw.Port("x", "both", kind if executions else Array(kind, rows))]
    table = {
        "a": draw.integers(0, 2**32, rows, dtype=np.uint32),
        "b": draw.integers(-(2**11), 2**11, rows, dtype=np.int64).astype(object),
        "c": draw.integers(0, 2**62, rows, dtype=np.int64).astype(object) << 8,
    }
    found: list[Any] = []

    def there_and_back() -> None:
        bits = input_word(table, port, executions, Reading(), "garbler")
        assert isinstance(bits, bytes)
        found.append(output_value(np.frombuffer(bits, np.uint8), port, executions))

    # A loop over the rows of one column would execute a million lines and more.
    assert lines_in_python(there_and_back) < 5_000
    assert lines_in_python(lambda: [one for one in range(10_000)]) > 5_000, "the measure can fail"
    for name, column in table.items():
        assert (found[0][name] == column).all()


def test_a_whole_call_with_a_million_rows_has_no_loop(millionaires: bw.Program) -> None:
    draw = np.random.default_rng(2)
    ours, theirs = (draw.integers(0, 2**32, ROWS_OF_A_LARGE_TABLE, dtype=np.uint32) for _ in range(2))
    found: list[Any] = []

    def call() -> None:
        found.append(bw.simulate(millionaires, ours, theirs, executions=len(ours)).garbler)

    # A check for Ctrl-C executes a few lines each time.
    assert lines_in_python(call) < 100_000
    assert (found[0]["garbler_richer"] == (ours > theirs)).all()
    assert (found[0]["equal"] == (ours == theirs)).all()


@pytest.mark.parametrize("values", [range(100_000), [2**65 + 1] * 100_000], ids=["small", "large"])
def test_lists_of_numbers_are_no_loop_either(values: Any) -> None:
    port = [bw.Port("x", "both", Integer(80, False))]
    found: list[Any] = []

    def there() -> None:
        found.append(input_word(list(values), port, len(values), Reading(), "garbler"))

    assert lines_in_python(there) < 5_000
    assert output_value(np.frombuffer(found[0], np.uint8), port, len(values)).tolist() == list(values)


@pytest.fixture(scope="module")
def weighed(compiled: Callable[[str], bw.Program]) -> bw.Program:
    """Returns a struct of an array."""
    return compiled("""#parties 2
typedef uint_t 32 w
typedef struct_t row { w key; w weights[2]; }
#input 1 row[2]
#output 1 row[2]
function void main() { output1 = input1; }
""")


@pytest.mark.parametrize("name", ["weights", "input1.weights"])
@pytest.mark.parametrize("kind", [int, float])
def test_a_scale_is_for_all_elements_in_whatever_form(
    weighed: bw.Program, kind: type[int] | type[float], name: str
) -> None:
    weights = [[kind(1), kind(2)], [kind(3), kind(4)]]
    for given in (
        [{"key": 7, "weights": row} for row in weights],
        {"key": [7, 7], "weights": weights},
        {"key": [7, 7], "weights[0]": [kind(1), kind(3)], "weights[1]": [kind(2), kind(4)]},
        {"key": np.array([7, 7]), "weights": np.array(weights)},
        pd.DataFrame({"key": [7, 7], "weights[0]": [kind(1), kind(3)], "weights[1]": [kind(2), kind(4)]}),
        pa.table({"key": [7, 7], "weights": weights}),
    ):
        learned = bw.simulate(weighed, given, scale={name: 1}).garbler
        assert learned["weights"].tolist() == [[10, 20], [30, 40]] and learned["key"].tolist() == [7, 7]


def test_a_scale_is_for_the_input_itself(compiled: Callable[[str], bw.Program]) -> None:
    numbers = compiled("""#parties 2
typedef uint_t 32 w
#input 1 w[40]
#output 1 w[40]
function void main() { output1 = input1; }
""")
    for given in (
        list(range(40)),
        [float(number) for number in range(40)],
        [Decimal(number) for number in range(40)],
        np.arange(40),
        np.arange(40.0),
        pd.Series(range(40)),
        pd.Series(np.arange(40.0)),
    ):
        assert bw.simulate(numbers, given, scale={"input1": 2}).garbler.tolist() == list(range(0, 4000, 100))
    many = [list(range(40))] * 40
    for value in (many, np.array(many)):
        learned = bw.simulate(numbers, value, executions=40, scale={"input1": 2}).garbler
        assert learned.tolist() == [list(range(0, 4000, 100))] * 40


@pytest.mark.parametrize(
    "value, words",
    [
        (None, "the value is empty"),
        (float("nan"), "the value is empty"),
        (77.5, "the value has a decimal point"),
        (Decimal("77.5"), "the value has a decimal point"),
        (np.float32(77.5), "the value has a decimal point"),
    ],
)
def test_rows_are_named_in_lists_too(weighed: bw.Program, value: Any, words: str) -> None:
    rows = [{"key": 1, "weights": [1, 2]}, {"key": 2, "weights": [3, value]}]
    with pytest.raises(bw.InvalidInput) as error:
        bw.simulate(weighed, rows)
    assert f"input1[1].weights[1]: {words}" in str(error.value) and "77" not in str(error.value)
    assert error.value.hint


def test_a_float_in_a_column_is_named(weighed: bw.Program) -> None:
    with pytest.raises(bw.InvalidInput, match=r"weights\[0\], row 1: the value has a decimal point"):
        bw.simulate(weighed, {"key": [1, 2], "weights": [[1.0, 2.0], [3.5, 4.0]]})


def test_hints_speak_of_python(millionaires: bw.Program, tmp_path: Path) -> None:
    with pytest.raises(bw.UsageError, match="an input of the garbler") as missing:
        bw.simulate(millionaires, None, 5)
    (tmp_path / "alice.json").write_text("5")
    with pytest.raises(bw.InvalidInput) as named:
        bw.simulate(millionaires, str(tmp_path / "alice.json"), 5)
    with pytest.raises(bw.InvalidInput) as wide:
        bw.simulate(millionaires, 2**32, 5)
    with pytest.raises(bw.InvalidInput) as decimal:
        bw.simulate(millionaires, 7.5, 5)
    hints = [error.value.hint for error in (missing, named, wide, decimal)]
    assert "Program.inputs" in hints[0] and "secret_file" in hints[1] and "Program.inputs" in hints[2]
    assert 'scale={"input1": 2}' in hints[3], hints
    assert not any("--" in hint or "info FILE" in hint or "@" in hint for hint in hints), hints


class Measured(bw.Struct):
    v: bw.i64


@bw.program
def measured(x: bw.Garbler[bw.Array[Measured, 3]]) -> bw.Both[bw.Array[Measured, 3]]:
    return x


@pytest.mark.parametrize(
    "table, says, hint",
    [
        (pd.DataFrame([[1, 2]] * 3, columns=["v", "v"]), "the column 'v' occurs more than once", "rename"),
        (pa.table([[1], [2]], names=["v", "v"]), "the column 'v' occurs more than once", "rename"),
        (pd.DataFrame({"v": [1.0, np.inf, 3.0]}), "v, row 1: the value is infinite", "replace"),
        ({"v": np.array([1.0, 2.0, np.nan])}, "v, row 2: the value is infinite, or not a number", "replace"),
        (pd.DataFrame({"v": [1.0, 2.0, 3.5]}), "v, row 2: the value has a decimal point", 'scale={"v": 2}'),
        (
            pd.DataFrame({"v": [1.0, 2.0, 3.0]}),
            "v: the column has whole numbers of type float64",
            'scale={"v": 2}',
        ),
        (pd.DataFrame({"v": ["a", "b", "c"]}), "v, row 0: the value is text", "pandas.to_numeric"),
        (pd.DataFrame({"v": ["1", "2", "3"]}), "v, row 0: the value is text", "pandas.to_numeric"),
        ({"v": np.array(["1", "2", "3"])}, "v: the value is text", "pandas.to_numeric"),
        ([{"v": "1"}, {"v": "2"}, {"v": "3"}], "input1[0].v: the value is text", "pandas.to_numeric"),
        (pl.DataFrame({"v": [1, 2, 3]}).lazy(), "rows of this LazyFrame", "collect()"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(table: Any, says: str, hint: str) -> None:
    with pytest.raises(bw.InvalidInput) as error:
        bw.simulate(measured, table)
    assert says in str(error.value) and hint in error.value.hint


def test_a_scale_for_no_field_is_refused_whatever_is_given() -> None:
    for given in (1.5, 3):
        with pytest.raises(bw.UsageError, match="integers called x") as error:
            bw.run(one, given, scale={"x": 2})
        assert "the fields of integers are input1;" in error.value.hint and "parameter" in error.value.hint
    with pytest.raises(bw.UsageError, match="called v.x"):
        bw.simulate(measured, {"v": [1, 2, 3]}, scale={"v.x": 2})
    assert bw.simulate(measured, {"v": [1, 2, 3]}, scale={"input1.v": 1}).garbler["v"].tolist() == [
        10,
        20,
        30,
    ]


def test_one_value_is_not_that_of_several_executions() -> None:
    for value in (7, "x", {"v": 7}):
        with pytest.raises(bw.InvalidInput, match="one value, but there are 3 executions") as error:
            bw.run(one, value, executions=3)
        assert "a list with one value for each" in error.value.hint


def test_what_is_no_program_is_named() -> None:
    def undecorated(a: bw.Garbler[bw.u32]) -> bw.Both[bw.u32]:
        return a

    with pytest.raises(bw.UsageError, match="undecorated is not a program") as error:
        bw.run(undecorated, 1)  # type: ignore[arg-type]
    assert "@bw.program" in error.value.hint
    with pytest.raises(bw.UsageError, match="int is not a program"):
        bw.info(7)  # type: ignore[arg-type]


LEFT_OUT: dict[str, tuple[str, Callable[[], Any]]] = {
    "pandas": ("to_pandas needs pandas", lambda: bw.to_pandas(np.arange(3))),
    "pyarrow": ("to_arrow needs pyarrow", lambda: bw.to_arrow(np.arange(3))),
    "tqdm.auto": ("progress needs tqdm", lambda: bw.run(bw.example("millionaires"), 1, 2, progress=True)),
}


@pytest.mark.parametrize("module", LEFT_OUT)
def test_what_is_not_installed_is_named(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only numpy is required; a missing optional package is named in the error with the command that installs
    it."""
    monkeypatch.setitem(sys.modules, module, None)
    says, call = LEFT_OUT[module]
    with pytest.raises(bw.UsageError, match=f"{says}\nhint: pip install .*{module.split('.')[0][-5:]}"):
        call()


@bw.program
def three(x: bw.Garbler[bw.i64[3]]) -> bw.Both[bw.i64[3]]:
    return x


@bw.program
def one(x: bw.Garbler[bw.i64]) -> bw.Both[bw.i64]:
    return x


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_floats_of_few_bits_are_moved_exactly_or_refused(kind: str) -> None:
    """A float that is nearest to two decimals is refused, because it could mean either."""
    digits, whole = {"float16": (1, 1000), "float32": (2, 1000000), "float64": (2, 10**13)}[kind]
    scale = {"input1": digits}
    for numbers in ([100.5, -3.5, 0.0], [0.5, 1.5, 17.0]):
        wanted = [round(number * 10**digits) for number in numbers]
        column = np.array(numbers, kind)
        for given in (column, pd.Series(column), {"input1": column}):
            assert bw.simulate(three, given, scale=scale).garbler.tolist() == wanted
    tenth = np.array([0.1, 0.2, -0.3], kind)
    assert bw.simulate(three, tenth, scale={"input1": 1}).garbler.tolist() == [1, 2, -3]
    for number in (100.5, tenth[0]):
        moved = bw.simulate(one, np.dtype(kind).type(number), scale=scale).garbler
        assert moved == round(float(number) * 10**digits)
    for far in (whole * 10, whole * 7):
        values = np.array([1, far, 2], kind)
        assert np.isfinite(values).all()
        with pytest.raises(
            bw.InvalidInput, match=r"input1, row 1: the value is a float\d\d, which cannot distinguish"
        ):
            bw.simulate(three, values, scale={"input1": digits + (kind == "float64")})


@pytest.mark.parametrize("many", [3, 40])
def test_what_is_masked_is_empty(echo: bw.Program, many: int) -> None:
    """Where a value is masked, the array is refused. A mask without a masked value is ignored."""
    types = bw.u8[many]

    @bw.program
    def row(x: bw.Garbler[types]) -> bw.Both[types]:
        return x

    plain = list(range(many))
    mask = [place == 1 for place in plain]
    given: Any
    single: Any
    whole: Any = np.ma.array(plain)
    for given in (whole, list(whole), {"x": whole}, np.ma.array(plain, mask=[False] * many)):
        assert bw.simulate(row, given).garbler.tolist() == plain
    hidden: Any = np.ma.array([999 if masked else 7 for masked in mask], mask=mask)
    for given in (hidden, list(hidden), tuple(hidden), {"x": hidden}, {"x": list(hidden)}):
        with pytest.raises(bw.InvalidInput, match="is empty") as error:
            bw.simulate(row, given)
        assert "999" not in str(error.value)
    with pytest.raises(bw.InvalidInput, match="row 1: the value is empty"):
        bw.simulate(row, np.ma.array([plain, plain], mask=[[False] * many, mask]), executions=2)
    with pytest.raises(bw.InvalidInput, match="is empty"):
        bw.simulate(row, [plain, np.ma.array(plain, mask=mask)], executions=2)
    for single in (np.ma.masked, np.ma.array(7, mask=True), pd.NA):
        with pytest.raises(bw.InvalidInput, match="the value is empty"):
            bw.simulate(one, single)
    assert bw.simulate(one, np.ma.array(7)).garbler == 7
    for nested in (hidden, list(hidden), np.ma.masked):
        with pytest.raises(bw.InvalidInput, match="is empty"):
            bw.fixed(16, 4).encode(nested)
    assert bw.fixed(16, 4).encode(np.ma.array([1.5, 2])).tolist() == [24, 32]


def test_fields_that_are_masked_are_named() -> None:
    class Row(bw.Struct):
        key: bw.u8
        amount: bw.u8

    @bw.program
    def rows(x: bw.Garbler[Row[2]]) -> bw.Both[Row[2]]:
        return x

    records: Any = np.ma.array([(1, 2), (3, 4)], dtype=[("key", "u1"), ("amount", "u1")])
    assert bw.simulate(rows, records).garbler["amount"].tolist() == [2, 4]
    records = np.ma.array(records.data, mask=[(False, False), (False, True)])
    with pytest.raises(bw.InvalidInput, match="amount, row 1: the value is empty"):
        bw.simulate(rows, records)


@pytest.mark.parametrize(
    "given",
    [
        pa.array([5, 6, 7]),
        pa.array([4, 5, 6, 7])[1:],
        pa.array([5, 6, 7], pa.uint8()),
        {"input1": pa.array([5, 6, 7])},
        pa.chunked_array([[5], [6, 7]]),
        pa.array([5, 6, 7]).dictionary_encode(),
        pa.array([Decimal(5), Decimal(6), Decimal(7)], pa.decimal128(5, 0)),
    ],
    ids=["whole", "slice", "uint8", "named", "chunks", "dictionary", "decimal"],
)
def test_arrow_arrays_go_in(given: Any) -> None:
    scale = {"input1": 0} if "decimal" in str(getattr(given, "type", "")) else {}
    assert bw.simulate(three, given, scale=scale).garbler.tolist() == [5, 6, 7]


def test_arrow_arrays_of_structs_and_lists_go_in() -> None:
    class Row(bw.Struct):
        key: bw.u8
        tax: bw.u8[2]

    @bw.program
    def rows(x: bw.Garbler[Row[2]]) -> bw.Both[Row[2]]:
        return x

    of = pa.struct([("key", pa.uint8()), ("tax", pa.list_(pa.uint8(), 2))])
    found = bw.simulate(rows, pa.array([(1, [2, 3]), (4, [5, 6])], of)).garbler
    assert found["key"].tolist() == [1, 4] and found["tax"].tolist() == [[2, 3], [5, 6]]
    with pytest.raises(bw.InvalidInput, match="row 1: the value is empty"):
        bw.simulate(three, pa.array([5, None, 7]))


@pytest.mark.parametrize("word", ["@{}", "csv:{}", " @{}", "csv:-"])
def test_a_text_among_values_names_no_file(word: str, tmp_path: Path) -> None:
    """Values may come from somebody else, who must not choose which file of this machine is read."""
    path = tmp_path / "ours.csv"
    path.write_text("x\n5\n6\n7\n")
    assert bw.simulate(three, bw.secret_file(path)).garbler.tolist() == [5, 6, 7]
    assert bw.simulate(three, path).garbler.tolist() == [5, 6, 7]
    text = word.format(path)

    class Row(bw.Struct):
        key: bw.u8
        rows: bw.u8[3]

    @bw.program
    def nested(x: bw.Garbler[Row]) -> bw.Both[Row]:
        return x

    for program, given in (
        (three, text),
        (three, [text, 1, 2]),
        (three, np.array(text)),
        (nested, {"key": 1, "rows": text}),
        (nested, {"key": text, "rows": [5, 6, 7]}),
        (nested, {"key": 1, "rows": [5, 6, 7], "more": [{"what": text}]}),
        (nested, text),
    ):
        with pytest.raises(bw.InvalidInput, match="begins with @ or csv:") as error:
            bw.simulate(program, given)
        assert "ours" not in str(error.value)
    for raw in (text, json.dumps(text), json.dumps({"key": 1, "rows": text}), '{"rows": "\\u0040ours"}'):
        with pytest.raises(bw.InvalidInput, match="names a file"):
            bw.simulate(nested, bw.Secret(bytearray(raw.encode())))
    kept = {"key": 1, "rows": path}
    assert bw.simulate(nested, kept).garbler["rows"].tolist() == [5, 6, 7]


def test_a_secret_that_is_no_text_is_erased_and_not_shown() -> None:
    buffer = bytearray(b'{"salary": 123456}\xff')
    with pytest.raises(bw.InvalidInput, match="not text in UTF-8") as error:
        bw.simulate(one, bw.Secret(buffer))
    assert not any(buffer)
    found: BaseException | None = error.value
    while found is not None:
        assert "123456" not in repr(found) + repr(found.args)
        found = found.__cause__ or found.__context__
    with pytest.raises(bw.InvalidInput, match="of an unsupported type") as other:
        bw.simulate(one, {"salary": {1: float("inf")}})
    assert other.value.__context__ is None


class Wide(bw.Struct):
    key: bw.i128
    amount: bw.i128


class Table(bw.Struct):
    count: bw.u8
    rows: bw.Array[Wide, 3]


def test_columns_of_nothing_and_of_wide_integers() -> None:
    @bw.program
    def table(x: bw.Garbler[Table]) -> bw.Both[Table]:
        return x

    empty = pd.DataFrame({"key": np.array([], float), "amount": np.array([], int)})
    assert int(bw.simulate(table, empty).garbler["count"]) == 0
    wide = {"key": [2**63, -1, 5], "amount": [1, 2, 3]}
    found = bw.simulate(table, wide).garbler["rows"]
    assert found["key"].tolist() == [2**63, -1, 5]
    for number in (2**53 + 1, -(2**60)):
        with pytest.raises(bw.InvalidInput, match="key, row 0: a list mixes decimals"):
            bw.simulate(table, {"key": [number, 1.0, 2.0], "amount": [1, 2, 3]}, scale={"key": 0})


def test_shares_need_no_mask(tmp_path: Path) -> None:
    source = tmp_path / "shared.wir"
    source.write_text(
        "#parties 2\n#input 1 uint_t 8[2]\n#input 2 uint_t 8\n#shared output child uint_t 8\n"
        "function void main() { child = input1[0] + input1[1] + input2; }\n"
    )
    program = bw.compile(source)
    shares = set()
    for given in ([3, 4], np.array([3, 4], np.uint8)):
        for _ in range(8):
            done = bw.simulate(program, given, 5)
            assert int(done.garbler) ^ int(done.evaluator) == 12
            shares.add(int(done.garbler))
    assert len(shares) > 1
