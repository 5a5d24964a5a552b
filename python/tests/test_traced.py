"""Programs written in Python: their results, their costs, and their errors."""

from __future__ import annotations

import json
import math
import operator
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import brickwork as bw
import numpy as np
import pytest
from conftest import lacking

ROOT = Path(__file__).parents[2]


@bw.component
def larger(a: bw.u32, b: bw.u32) -> bw.u32:
    return bw.where(a < b, b, a)


@bw.program
def auction(mine: bw.Garbler[bw.u32[8]], theirs: bw.Evaluator[bw.u32[8]]) -> bw.Both[bw.u32]:
    best = mine[0]
    for x in [*mine, *theirs]:
        best = larger(best, x)
    return best


class Row(bw.Struct):
    key: bw.u16
    amounts: bw.i12[2]


@bw.program
def rows(
    table: bw.Garbler[Row[3]], limit: bw.Garbler[bw.i12], key: bw.Evaluator[bw.u16]
) -> tuple[bw.Garbler[bw.u8], bw.Evaluator[Row]]:
    found = Row(key=0, amounts=[0, 0])
    over = []
    for row in table:
        same = row.key == key
        found = bw.where(same, row, found)
        over.append(bw.any(amount > limit for amount in row.amounts).astype(bw.u8))
    return bw.sum(over), found.replace(key=found.key + 1)


def test_a_program_is_what_its_python_is() -> None:
    mine, theirs = [7, 90, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 89, 13, 14, 15]
    assert auction(mine, theirs) == 90
    learned = bw.simulate(auction, mine, theirs)
    assert learned.garbler == learned.evaluator == 90
    assert bw.run(auction, np.array(mine), theirs).evaluator == 90
    table = {"key": [5, 6, 7], "amounts[0]": [1, -2, 300], "amounts[1]": [-4, 99, 5]}
    learned = bw.simulate(rows, {"table": table, "limit": 50}, 6)
    assert learned.garbler == 2
    assert learned.evaluator["key"] == 7 and learned.evaluator["amounts"].tolist() == [-2, 99]


def test_components_are_components() -> None:
    (found,) = [c for c in auction.as_program().info()["components"] if c["name"] == "larger"]
    assert found["slots"] == 16 and found["and_gates"] == 64


LIBRARY: list[tuple[str, Callable[[Any, Any], Any], str]] = [
    ("a + b", lambda a, b: a + b, "u16"),
    ("a - b", lambda a, b: a - b, "u16"),
    ("a * b", lambda a, b: a * b, "u16"),
    ("a ** b", lambda a, b: a.wide_mul(b), "u32"),
    ("a / b", lambda a, b: a // b, "u16"),
    ("a % b", lambda a, b: a % b, "u16"),
    ("a & b", lambda a, b: a & b, "u16"),
    ("a | b", lambda a, b: a | b, "u16"),
    ("a ^ ~b", lambda a, b: a ^ ~b, "u16"),
    ("a < b", lambda a, b: a < b, "u1"),
    ("a >= b", lambda a, b: a >= b, "u1"),
    ("a != b", lambda a, b: a != b, "u1"),
    ("a << 3", lambda a, b: a << 3, "u16"),
    ("a >> b{0:4}", lambda a, b: a >> b[0:4], "u16"),
    ("min(a, b)", bw.min, "u16"),
    ("max(a, b)", bw.max, "u16"),
    ("popcount(a)", lambda a, b: bw.popcount(a), "u16"),
]


@pytest.mark.parametrize("text, python, result", LIBRARY, ids=[text for text, *_ in LIBRARY])
def test_both_languages_cost_the_same(
    text: str, python: Callable[[Any, Any], Any], result: str, compiled: Callable[[str], bw.Program]
) -> None:
    wide = {"u1": bw.u1, "u16": bw.u16, "u32": bw.u32}[result]

    @bw.program
    def traced(a: bw.Garbler[bw.u16], b: bw.Evaluator[bw.u16]) -> bw.Both[wide]:
        return python(a, b)

    written = compiled(f"""
#parties 2
#include "integers.wir"
typedef uint_t 16 u16
#input 1 u16
#input 2 u16
#output 1 uint_t {result[1:]}
#output 2 uint_t {result[1:]}
function void main() {{ u16 a = input1; u16 b = input2; output1 = {text}; output2 = output1; }}
""")
    assert traced.as_program().and_gates == written.and_gates
    assert (written.and_gates > 0) == (text not in ("a ^ ~b", "a << 3"))
    for a, b in [(0, 1), (65535, 65535), (12345, 678), (3, 40000)]:
        assert bw.simulate(traced, a, b).garbler == bw.simulate(written, a, b).garbler


def test_sorting_and_products_cost_what_the_library_says() -> None:
    @bw.program
    def sorted_(a: bw.Garbler[bw.u16[8]]) -> bw.Both[bw.u16[8]]:
        return bw.sort(a)

    assert sorted_.as_program().and_gates == 19 * 2 * 16
    values = random.Random(1).choices(range(65536), k=8)
    assert bw.simulate(sorted_, values).evaluator.tolist() == sorted(values)

    @bw.program
    def product(a: bw.Garbler[bw.u16[2][3]], b: bw.Evaluator[bw.u16[2][2]]) -> bw.Both[bw.u16[2][3]]:
        return a @ b

    a, b = np.arange(6).reshape(3, 2), np.array([[7, 8], [9, 10]])
    assert (bw.simulate(product, a, b).garbler == a @ b).all()


def test_fixed_point_numbers_have_a_point() -> None:
    decimal = bw.fixed(32)

    @bw.program
    def tip(price: bw.Garbler[decimal], people: bw.Evaluator[decimal]) -> bw.Both[decimal]:
        return price * 1.125 / people

    assert bw.simulate(tip, 20, 4).garbler == 5.625


def test_arrays_are_looked_at_in_secret() -> None:
    @bw.program
    def look(
        a: bw.Garbler[bw.u8[4]], i: bw.Evaluator[bw.u2]
    ) -> tuple[bw.Garbler[bw.u8[4]], bw.Evaluator[bw.u8]]:
        return a.with_at(i, 99), a.at(i)

    learned = bw.simulate(look, [5, 6, 7, 8], 2)
    assert learned.evaluator == 7 and learned.garbler.tolist() == [5, 6, 99, 8]


def refused(body: Callable[..., Any], types: tuple[Any, Any] = (bw.u8, bw.u8)) -> bw.SecretUsed:
    def outer(a, b):  # type: ignore[no-untyped-def]
        return body(a, b)

    outer.__annotations__ = {"a": bw.Garbler[types[0]], "b": bw.Evaluator[types[1]], "return": bw.Both[bw.u8]}
    with pytest.raises(bw.SecretUsed) as error:
        bw.program(outer).source
    assert error.value.hint and error.value.file == "test_traced.py" and error.value.line > 1
    return error.value


def python_if(a: Any, b: Any) -> Any:
    if a < b:
        return a
    return b


def python_while(a: Any, b: Any) -> Any:
    while a != b:
        a = a - 1
    return a


def python_assert(a: Any, b: Any) -> Any:
    assert a == b
    return a


@pytest.mark.parametrize(
    "body, hint",
    [
        (python_if, "bw.where"),
        (python_while, "bw.where"),
        (python_assert, "bw.where"),
        (lambda a, b: a and b, "& | for"),
        (lambda a, b: a or b, "& | for"),
        (lambda a, b: not a, "& | for"),
        (lambda a, b: a if b else 1, "bw.where"),
        (lambda a, b: bool(a), "bw.where"),
        (lambda a, b: min(a, b), "bw.min"),
        (lambda a, b: [1, 2, 3][a], "array.at"),
        (lambda a, b: sum(range(a)), "run to a number"),
        (lambda a, b: int(a), "decoded"),
        (lambda a, b: float(a), "decoded"),
        (lambda a, b: {a: b}, "bw.where"),
        (lambda a, b: 3 in a, "bw.any"),
        (lambda a, b: a in [1, b], "bw.any"),
        (lambda a, b: a / b, "//"),
        (lambda a, b: round(a), "x.round()"),
        (lambda a, b: round(a, 2), "round_to"),
        (lambda a, b: math.floor(a), "x.floor()"),
        (lambda a, b: math.ceil(a), "x.floor()"),
        (lambda a, b: divmod(a, b), "a % b"),
        (lambda a, b: divmod(7, b), "a % b"),
        (lambda a, b: a**2, "x * x"),
        (lambda a, b: 2**b, "x * x"),
        (lambda a, b: a @ b, "for arrays"),
        (lambda a, b: a + 256, "0 to 255"),
        (lambda a, b: a + 1.5, "whole"),
        (lambda a, b: a + "1", "whole"),
        (lambda a, b: a[b], "shift"),
        (lambda a, b: bw.where(a, a, b), "one bit"),
        (lambda a, b: a.astype(bw.u4), "truncate"),
        (lambda a, b: setattr(a, "type", 1), "row.replace"),
        (lambda a, b: operator.setitem(a, 0, b), "with_at"),
        (lambda a, b: f"{a:d}", "decoded"),
    ],
)
def test_what_a_secret_cannot_do_is_said(body: Callable[..., Any], hint: str) -> None:
    error = refused(body)
    assert hint in error.hint, error
    assert error.text in Path(__file__).read_text()


def test_types_must_be_the_same() -> None:
    error = refused(lambda a, b: a + b, (bw.u8, bw.u16))
    assert "bw.u8 + bw.u16" in str(error) and "astype" in error.hint
    error = refused(lambda a, b: a // b, (bw.i8, bw.i8))
    assert "bw.divide" in error.hint


def test_a_component_sees_its_arguments_alone() -> None:
    def leaking(a: Any, b: Any) -> Any:
        @bw.component
        def inner(x: bw.u8) -> bw.u8:
            return x + b

        return inner(a)

    assert "as an argument" in refused(leaking).hint


def test_what_was_refused_stays_refused() -> None:
    """Python code that catches the error would continue with another program."""

    @bw.program
    def swallowing(a: bw.Garbler[bw.u8], b: bw.Evaluator[bw.u8]) -> bw.Both[bw.u8]:
        try:
            if a < b:
                return a
        except TypeError:
            pass
        return b

    with pytest.raises(bw.SecretUsed, match="if a < b"):
        swallowing.source


def test_plain_arguments_that_are_equal_are_not_the_same() -> None:
    @bw.component
    def kind(x: bw.u8, of: object) -> bw.u8:
        return x + (1 if of is True else 2)

    @bw.program
    def kinds(a: bw.Garbler[bw.u8]) -> bw.Both[bw.u8[3]]:
        return [kind(a, True), kind(a, 1), kind(a, 1.0)]

    assert bw.simulate(kinds, 10).garbler.tolist() == [11, 12, 12] == kinds(10)


def test_a_component_returns_what_it_says() -> None:
    @bw.component
    def wrong(x: bw.u8) -> bw.u16:
        return x

    @bw.component
    def right(x: bw.u8) -> bw.u16[2]:
        return [x.astype(bw.u16), 7]

    assert "bw.u16" in str(refused(lambda a, b: wrong(a)))

    @bw.program
    def both(a: bw.Garbler[bw.u8]) -> bw.Both[bw.u16[2]]:
        return right(a)

    assert bw.simulate(both, 200).garbler.tolist() == [200, 7]


def test_components_within_components_and_names_of_all_kinds() -> None:
    @bw.component
    def outer(t1: bw.u8, struct_t: bw.u8, größe: bw.u8) -> bw.u8:
        @bw.component
        def inner(u8: bw.u8, main: bw.u8) -> bw.u8:
            return u8 + main

        return inner(t1, struct_t) + größe

    nameless = bw.component(lambda x: x * 2)

    @bw.program
    def named(t1: bw.Garbler[bw.u8], typedef: bw.Evaluator[bw.u8]) -> bw.Both[bw.u8]:
        return nameless(outer(t1, typedef, t1))

    assert bw.simulate(named, 3, 4).garbler == 20

    class larger(bw.Struct):  # A component has this name, too.
        x: bw.u8

    @bw.program
    def clash(a: bw.Garbler[larger], b: bw.Evaluator[bw.u32]) -> bw.Both[bw.u32]:
        return larger_of(b, b)

    larger_of = bw.component(lambda x, y: bw.max(x, y))
    assert bw.simulate(clash, {"x": 1}, 5).garbler == 5


def test_numbers_of_numpy_are_plain_ones() -> None:
    @bw.program
    def mixed(a: bw.Garbler[bw.u8[2]]) -> bw.Both[bw.u8[4]]:
        three = np.int64(3)
        return [three + a[0], a[0] + three, a[np.int64(1)], (np.array([[1, 2]]) @ a)[0]]

    assert bw.simulate(mixed, [10, 20]).garbler.tolist() == [13, 13, 20, 50]


def test_operators_of_numpy_are_pythons() -> None:
    """Each gives the same result as the function of the same name on plain numbers, on whichever side the
    secret is."""
    names = "add subtract multiply floor_divide remainder bitwise_and bitwise_or bitwise_xor".split()
    asked = "less less_equal greater greater_equal equal not_equal".split()
    both = [getattr(np, name) for name in (*names, *asked)]

    @bw.program
    def operated(a: bw.Garbler[bw.u8]) -> bw.Both[bw.u8[42]]:
        found = [
            one.astype(bw.u8) for of in both for one in (of(np.uint8(100), a), of(a, np.int64(100)), of(a, a))
        ]
        return found

    learned = bw.simulate(operated, 7).garbler.tolist()
    hundred, seven = np.uint8(100), np.uint8(7)
    with np.errstate(over="ignore"):
        pairs = [(hundred, seven), (seven, hundred), (seven, seven)]
        assert learned == [int(of(x, y)) for of in both for x, y in pairs]

    @bw.program
    def single(a: bw.Garbler[bw.i8]) -> bw.Both[bw.i8[3]]:
        return [np.negative(a), np.invert(a), np.absolute(a)]

    assert bw.simulate(single, -7).garbler.tolist() == [7, 6, 7]


WIDTHS: list[tuple[Any, Any, str]] = [
    (bw.u8, bw.u16, "write .astype(bw.u16) behind the bw.u8"),
    (bw.i32, bw.u8, "write .astype(bw.i32) behind the bw.u8"),
    (bw.u8, bw.i8, "write .astype(bw.i9) behind both"),
    (bw.fixed(16, 8), bw.u8, "write .astype(bw.fixed(17, 8)) behind both"),
    (bw.fixed(32, 8), bw.i16, "write .astype(bw.fixed(32, 8)) behind the bw.i16"),
    (bw.u8, bw.u8[2], "take the elements or fields of the bw.u8[2] one by one"),
]


@pytest.mark.parametrize("one, other, instead", WIDTHS)
def test_widths_that_differ_are_told_how_to_meet(one: Any, other: Any, instead: str) -> None:
    def both(a: Any, b: Any) -> Any:
        return a + b

    both.__annotations__ = {"a": bw.Garbler[one], "b": bw.Evaluator[other], "return": bw.Both[one]}
    with pytest.raises(bw.SecretUsed) as error:
        bw.program(both).source
    assert f"has {one!r} + {other!r}" in str(error.value) and error.value.hint.endswith(instead)
    if isinstance(other, bw.types.IntegerType):
        joined = one.joined(other)

        def met(a: Any, b: Any) -> Any:
            return a.astype(joined) + b.astype(joined)

        met.__annotations__ = {**both.__annotations__, "return": bw.Both[joined]}
        assert bw.simulate(bw.program(met), 3, 4).garbler == 7


def test_what_is_returned_too_wide_or_too_narrow_is_told() -> None:
    @bw.program
    def narrow(a: bw.Garbler[bw.u8]) -> bw.Both[bw.u16]:
        return a

    @bw.program
    def wide(a: bw.Garbler[bw.u16]) -> bw.Both[bw.u8]:
        return a

    with pytest.raises(bw.SecretUsed, match=r"\.astype\(bw\.u16\) behind this value"):
        narrow.source
    with pytest.raises(bw.SecretUsed, match=r"use bw\.u16 for both, or keep its low bits with \.truncate"):
        wide.source


OF_NUMPY: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "where": (lambda a, x: np.where(x[0] < x[1], x[0], 3), r"bw\.where\(condition, a, b\)"),
    "sum": (lambda a, x: np.sum(x), r"bw\.sum"),
    "add.reduce": (lambda a, x: np.add.reduce(x), r"bw\.sum"),
    "maximum": (lambda a, x: np.maximum(x[0], 3), r"bw\.max"),
    "sort": (lambda a, x: np.sort(x), r"bw\.sort"),
    "dot": (lambda a, x: np.dot(x, a), r"bw\.dot"),
    "concatenate": (lambda a, x: np.concatenate([a, x]), r"\[\*a, \*b\]"),
    "logical_and": (lambda a, x: np.logical_and(x[0] < 1, x[1] < 1), "a & b"),
    "sin": (lambda a, x: np.sin(x[0]), "numpy cannot compute with secrets"),
    "cumsum": (lambda a, x: np.cumsum(x), "numpy cannot compute with secrets"),
    "add": (lambda a, x: np.add(x[0], 1, out=np.zeros(1)), "numpy cannot compute with secrets"),
}


@pytest.mark.parametrize("name", OF_NUMPY)
def test_functions_of_numpy_say_what_to_write(name: str) -> None:
    call, instead = OF_NUMPY[name]

    @bw.program
    def calls(x: bw.Garbler[bw.u8[3]]) -> bw.Both[bw.u8]:
        return call(np.arange(3), x)

    with pytest.raises(bw.SecretUsed, match=f"np\\.{name}\nhint: .*{instead}") as error:
        calls.source
    assert error.value.file == "test_traced.py" and "np." in error.value.text


@pytest.mark.parametrize(
    "of",
    [
        lambda a, row: a + a,
        lambda a, row: np.arange(3) + a,
        lambda a, row: 2 * a,
        lambda a, row: -a,
        lambda a, row: a < a,
        lambda a, row: row < row,
        lambda a, row: row @ a,
    ],
)
def test_arrays_and_records_have_no_arithmetic(of: Any) -> None:
    class Pair(bw.Struct):
        key: bw.u8

    @bw.program
    def calls(a: bw.Garbler[bw.u8[3]], row: bw.Garbler[Pair]) -> bw.Both[bw.u8]:
        return of(a, row)

    with pytest.raises(bw.SecretUsed, match=r"does not have\nhint: .*for x, y in zip|multipl"):
        calls.source


def test_what_changes_each_time_is_refused() -> None:
    counter = iter(range(100))

    @bw.program
    def changing(a: bw.Garbler[bw.u8]) -> bw.Both[bw.u8]:
        return a + next(counter)

    with pytest.raises(bw.UsageError, match="behaves differently in each call"):
        changing.source


def test_inputs_and_outputs_need_owners() -> None:
    def nobody(a: bw.u8) -> bw.Both[bw.u8]:
        return a

    with pytest.raises(bw.UsageError, match="annotation of a does not say which party"):
        bw.program(nobody).source

    def silent(a: bw.Garbler[bw.u8]) -> bw.u8:
        return a

    with pytest.raises(bw.UsageError, match="which party learns the result"):
        bw.program(silent).source


def test_a_program_is_saved_and_the_same_everywhere(tmp_path: Path) -> None:
    saved = auction.save(tmp_path / "auction.bwp")
    assert saved.digest == auction.as_program().digest == bw.load(tmp_path / "auction.bwp").digest
    whole = saved.save(tmp_path / "whole.bwp", cut="whole")
    assert whole.digest != saved.digest and whole.info()["slots"] == 1
    assert (whole.inputs, whole.outputs) == (saved.inputs, saved.outputs)


def command(*words: str, cwd: Path) -> dict[str, Any]:
    """Calls the command, if it is built, with this Python first in PATH."""
    built = ROOT / "target" / "release" / "brickwork"
    if not built.exists():
        lacking("the command is not built: cargo build --release")
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    done = subprocess.run([built, *words, "--json"], cwd=cwd, env=environment, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_command_takes_programs_in_python(tmp_path: Path) -> None:
    source = tmp_path / "auction.py"
    source.write_text("""
import brickwork as bw

@bw.program
def higher(mine: bw.Garbler[bw.u32], theirs: bw.Evaluator[bw.u32]) -> bw.Both[bw.u32]:
    return bw.max(mine, theirs)

@bw.program
def wrong(mine: bw.Garbler[bw.u32]) -> bw.Both[bw.u32]:
    return mine if mine > 3 else 3
""")
    run = command("run", "auction.py:higher", "--garbler", "5", "--evaluator", "7", cwd=tmp_path)
    assert run["outputs"] == {"garbler": 7, "evaluator": 7}
    error = command("info", "auction.py:wrong", cwd=tmp_path)["error"]
    assert error["code"] == 3 and "auction.py:10" in error["message"] and "bw.where" in error["hint"]
    assert "higher, wrong" in command("info", "auction.py", cwd=tmp_path)["error"]["message"]
    assert "no program lower" in command("info", "auction.py:lower", cwd=tmp_path)["error"]["message"]
    nowhere = command("info", "nowhere.py", cwd=tmp_path)["error"]["message"]
    assert nowhere == "nowhere.py is not a Python file"


@pytest.mark.parametrize(
    "fault, message",
    [
        ("1 / 0", "faulty.py:3: ZeroDivisionError: division by zero"),
        ("def (", "faulty.py:3: SyntaxError: "),
        ("import json; json.loads('')", "faulty.py:3: JSONDecodeError: "),
        ("import nothing_of_that_name", "faulty.py:3: ModuleNotFoundError: "),
    ],
)
def test_a_file_with_a_fault_of_its_own_is_named_with_its_line(
    fault: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "faulty.py").write_text(f"import brickwork as bw\n\n{fault}\n")
    error = command("info", "faulty.py:one", cwd=tmp_path)["error"]
    assert error["code"] == 3 and error["message"].startswith(message), error
    assert error["hint"] == "`python3 faulty.py` shows where the error comes from"


POINTS = [(32, 16, True), (32, 8, True), (16, 12, True), (24, 5, False), (8, 8, False), (8, 8, True)]


@pytest.mark.parametrize("width, point, signed", POINTS)
def test_fixed_point_numbers_against_fractions(width: int, point: int, signed: bool) -> None:
    decimal = bw.fixed(width, point, signed)
    finer, coarser = bw.fixed(width + 9, point + 5, signed), bw.fixed(width, point - 3, signed)

    fields = {
        "sum": decimal,
        "product": decimal,
        "quotient": decimal,
        "finer": finer,
        "coarser": coarser,
        "rounded": bw.types.IntegerType(width - point + 1, signed),
        "smaller": bw.u1,
    }
    learned = bw.types.StructType("results", tuple(fields.items()))

    def results(a: Any, b: Any) -> Any:
        return {
            "sum": a + b,
            "product": a * b,
            "quotient": a / b,
            "finer": a.astype(finer),
            "coarser": a.round_to(coarser),
            "rounded": a.round(),
            "smaller": a < b,
        }

    results.__annotations__ = {
        "a": bw.Garbler[decimal],
        "b": bw.Evaluator[decimal],
        "return": bw.Both[learned],
    }
    program = bw.program(results).as_program().raw()
    draw, one = random.Random(width), 1 << point
    for _ in range(12):
        a, b = (draw.randint(decimal.low, decimal.high) or 1 for _ in range(2))
        found = bw.simulate(program, a, b).garbler
        assert found["sum"] == decimal.wrap(a + b)
        assert found["product"] == decimal.wrap(math.floor(Fraction(a * b, one) + Fraction(1, 2)))
        quotient = int(Fraction(a * one, b))  # The quotient is rounded towards zero.
        assert found["quotient"] == quotient or not decimal.low <= quotient <= decimal.high
        assert Fraction(found["finer"], 1 << point + 5) == Fraction(a, one)
        assert found["coarser"] == math.floor(Fraction(a, 8) + Fraction(1, 2))
        assert found["rounded"] == math.floor(Fraction(a, one) + Fraction(1, 2))
        assert found["smaller"] == (a < b)


def test_plain_numbers_become_fixed_point_ones_exactly_or_not_at_all() -> None:
    money = bw.fixed(32, 8)
    assert money.encode(2.5) == 640 and money.encode(Decimal("-2.25")) == -576
    assert money.encode([[1, 0.5]]).tolist() == [[256, 128]] and money.decode(640) == 2.5
    assert money.encode(Fraction(1, 3), rounding=True) == 85
    assert (money.decode(money.encode(np.array([0.25, -7.5]))) == [0.25, -7.5]).all()
    for wrong, why in [
        (0.1, "cannot hold"),
        (2.0**23, "cannot hold"),
        (float("nan"), "not a finite number"),
        (float("inf"), "not a finite number"),
        ("2.5", "not a finite number"),
        ([1.0, None], "not a finite number"),
    ]:
        with pytest.raises(bw.InvalidInput, match=why) as error:
            money.encode(wrong)
        assert str(wrong) not in str(error.value), "values are not repeated"
    assert money.encode(2.0**23 - 2.0**-8) == money.high

    @bw.program
    def taxed(price: bw.Garbler[money], rate: bw.Evaluator[money]) -> bw.Both[money]:
        return price * (rate + Decimal("0.125"))

    assert bw.simulate(taxed, 80, Decimal(1)).garbler == 90.0
    assert "exactly" in str(refused(lambda a, b: a + 0.3, (money, money)))
    assert "round_to" in refused(lambda a, b: a.astype(bw.i32), (money, money)).hint
    assert "a / b" in refused(lambda a, b: a // b, (money, money)).hint
    assert "at least" in refused(lambda a, b: a.astype(bw.fixed(32, 9)), (money, money)).hint
    with pytest.raises(bw.UsageError, match="behind the point"):
        bw.fixed(8, 9)


@pytest.mark.parametrize("name", ["type", "replace"])
def test_fields_have_names_that_records_do_not_have(name: str) -> None:
    wrong: Any = type("wrong", (bw.Struct,), {"__annotations__": {name: bw.u8}})
    with pytest.raises(bw.UsageError, match=f"has a field {name}"):
        wrong[3]

    @bw.program
    def named(a: bw.Garbler[Way]) -> bw.Both[bw.u8]:
        return a.path + a.home + a.at

    assert bw.simulate(named, {"path": 1, "home": 2, "at": 3}).garbler == 6


class Way(bw.Struct):
    path: bw.u8
    home: bw.u8
    at: bw.u8


def test_a_component_has_parameters_with_names() -> None:
    with pytest.raises(bw.UsageError, match="any number of arguments"):
        bw.component(lambda *values: values[0])


def test_what_is_returned_wrongly_names_the_function() -> None:
    @bw.component
    def narrow(a: bw.u8) -> bw.u8:
        return a.astype(bw.u16)

    @bw.program
    def nothing(a: bw.Garbler[bw.u8]) -> bw.Both[bw.u8]:
        pass

    @bw.program
    def wide(a: bw.Garbler[bw.u8]) -> bw.Both[bw.u8]:
        return narrow(a)

    class Struct(bw.Struct):
        min: bw.u8

    @bw.program
    def named(a: bw.Garbler[Struct]) -> bw.Both[bw.u8]:
        return a.min

    for traced, begin, words in [
        (nothing, "def nothing(", "has None where bw.u8 is needed"),
        (wide, "def narrow(", "has bw.u16 where bw.u8 is needed"),
        (named, "def named(", "names a field min"),
    ]:
        with pytest.raises(bw.SecretUsed, match=re.escape(words)) as error:
            traced.source
        found = error.value
        assert found.file == "test_traced.py" and found.text.startswith(begin) and found.line > 1
    with pytest.raises(bw.SecretUsed) as error:
        refused_return()
    assert error.value.file == "test_traced.py"


def refused_return() -> str:
    """A function of one line, which has no `def`."""
    body: Any = lambda a: None  # noqa: E731
    body.__annotations__ = {"a": bw.Garbler[bw.u8], "return": bw.Both[bw.u8]}
    return bw.program(body).source
