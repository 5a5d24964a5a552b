"""Components and operators of programs in Python, where Python's own rules would mislead."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import brickwork as bw
import pytest
from brickwork import tables

offset = 1
table = [1, 2, 3]


def with_offset(x: Any) -> Any:
    return x + offset


class Policy:
    rate = 3
    scale = 2

    @staticmethod
    def scaled(x: Any) -> Any:
        return x * Policy.scale


@bw.component
def of_global(x: bw.u8) -> bw.u8:
    return x + offset


@bw.component
def of_callee(x: bw.u8) -> bw.u8:
    return with_offset(x)


@bw.component
def of_class(x: bw.u8) -> bw.u8:
    return x * Policy.rate


@bw.component
def of_method(x: bw.u8) -> bw.u8:
    return Policy.scaled(x)


@bw.component
def of_list(x: bw.u8) -> bw.u8:
    return x + table[0]


@bw.component
def of_component(x: bw.u8) -> bw.u8:
    return of_global(x)


def change(name: str, number: int) -> None:
    global offset
    if name in ("global", "callee", "component"):
        offset = number
    elif name == "class":
        Policy.rate = number
    elif name == "method":
        Policy.scale = number
    else:
        table[0] = number


PARTS: dict[str, Any] = {
    "global": of_global,
    "callee": of_callee,
    "class": of_class,
    "method": of_method,
    "list": of_list,
    "component": of_component,
}


@pytest.mark.parametrize("name", PARTS)
def test_a_component_that_reads_what_changes_is_refused(name: str) -> None:
    def program(numbers: list[int]) -> bw.Traced[..., Any]:
        @bw.program
        def all_of(x: bw.Garbler[bw.u8]) -> bw.Both[bw.u8[3]]:
            found = []
            for number in numbers:
                change(name, number)
                found.append(PARTS[name](x))
            return found

        return all_of

    try:
        with pytest.raises(bw.SecretUsed, match="now behaves differently") as error:
            bw.simulate(program([1, 2, 3]), 10)
        assert "argument" in error.value.hint
        inner = name == "component"
        assert error.value.text == ("return of_global(x)" if inner else "found.append(PARTS[name](x))")
        same = program([2, 2, 2])
        assert bw.simulate(same, 10).garbler.tolist() == same(10)
    finally:
        change(name, 1)


def test_a_component_within_a_function_is_no_other_one() -> None:
    @bw.program
    def closure(x: bw.Garbler[bw.u8]) -> bw.Both[bw.u8[3]]:
        k = 0

        @bw.component
        def add(y: bw.u8) -> bw.u8:
            return y + k

        found = []
        for k in range(1, 4):  # noqa: B007
            found.append(add(x))
        return found

    with pytest.raises(bw.SecretUsed, match="calls the component add, which now behaves differently"):
        bw.simulate(closure, 10)

    @bw.program
    def argument(x: bw.Garbler[bw.u8]) -> bw.Both[bw.u8[3]]:
        @bw.component
        def add(y: bw.u8, k: int) -> bw.u8:
            return y + k

        return [add(x, k) for k in range(1, 4)]

    assert bw.simulate(argument, 10).garbler.tolist() == [11, 12, 13]


def test_an_object_that_may_change_is_no_argument() -> None:
    class Settings:
        offset = 1

    @dataclass(frozen=True)
    class Fixed:
        offset: int

    @bw.component
    def add(x: bw.u8, of: Any) -> bw.u8:
        return x + of.offset

    @bw.program
    def changing(x: bw.Garbler[bw.u8]) -> bw.Both[bw.u8]:
        return add(x, Settings())

    @bw.program
    def values(x: bw.Garbler[bw.u8]) -> bw.Both[bw.u8[2]]:
        return [add(x, Fixed(1)), add(x, Fixed(2))]

    with pytest.raises(bw.SecretUsed, match="a Settings, whose content may change"):
        bw.simulate(changing, 10)
    assert bw.simulate(values, 10).garbler.tolist() == [11, 12]


def test_what_stays_is_traced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A component is traced again at another call only if it reads a value that may change and stay the same
    object."""
    again = []
    whole = bw.Component._trace_again

    def noted(of: Any, *arguments: Any) -> None:
        again.append(of.__name__)
        whole(of, *arguments)

    monkeypatch.setattr(bw.Component, "_trace_again", noted)

    @bw.program
    def often(x: bw.Garbler[bw.u8]) -> bw.Both[bw.u8]:
        for part in (of_global, of_callee, of_class, of_method, of_component, of_list):
            x = part(part(x))
        return x

    assert bw.simulate(often, 1).garbler == often(1) % 256
    assert set(again) == {"of_list"}


NUMBERS = [
    bw.fixed(8, 4),
    bw.fixed(8, 8),
    bw.fixed(9, 1),
    bw.fixed(32, 8),
    bw.fixed(8, 4, signed=False),
    bw.i8,
    bw.i2,
    bw.u8,
]


@pytest.mark.parametrize("type", NUMBERS, ids=repr)
def test_shifts_move_bits_wherever_the_point_is(type: Any) -> None:
    amounts = [0, 1, 2, type.point, type.width - 1, type.width, type.width + 3]
    both = bw.Both[type[2 * len(amounts)]]

    @bw.program
    def shifts(x: bw.Garbler[type]) -> both:  # type: ignore[valid-type]
        return [x >> amount for amount in amounts] + [x << amount for amount in amounts]

    def wrapped(number: int) -> int:
        low: int = number & (1 << type.width) - 1
        return low - (1 << type.width) if type.signed and low > type.high else low

    for number in {type.low, type.high, 0, 1, type.low // 3, type.high // 3, type.low + 1}:
        found = bw.simulate(shifts.as_program().raw(), number).garbler.tolist()
        wanted = [number >> amount for amount in amounts] + [wrapped(number << amount) for amount in amounts]
        assert found == wanted, number


def refused(body: Callable[[Any], Any], of: Any = bw.u8[5]) -> bw.SecretUsed:
    @bw.program
    def program(xs: bw.Garbler[of]) -> bw.Both[bw.u8]:
        return body(xs)

    with pytest.raises(bw.SecretUsed) as error:
        bw.simulate(program, [0] * 5)
    return error.value


@pytest.mark.parametrize(
    "body, hint",
    [
        (lambda xs: sum(x > 3 for x in xs), "bw.count(conditions)"),
        (lambda xs: bw.sum(x > 3 for x in xs), "bw.count(conditions)"),
        (lambda xs: (xs[0] > 3) + 1, ".astype(bw.u8)"),
        (lambda xs: (xs[0] > 3) - (xs[1] > 3), "bw.count"),
        (lambda xs: 1 - (xs[0] > 3), "bw.count"),
        (lambda xs: (xs[0] > 3) * (xs[1] > 3), "bw.count"),
        (lambda xs: bw.dot([xs[0] > 3], [xs[1] > 3]), "bw.count"),
        (lambda xs: bw.all(xs), "one bit"),
        (lambda xs: bw.any(xs), "one bit"),
        (lambda xs: bw.count(xs), "one bit"),
        (lambda xs: bw.not_(xs[0]), "one bit"),
        (lambda xs: bw.min(xs[0]), "several values"),
        (lambda xs: bw.max(xs[0]), "several values"),
        (lambda xs: bw.sum(xs[0]), "several values"),
        (lambda xs: bw.max([]), "at least one"),
        (lambda xs: bw.min([]), "at least one"),
    ],
)
def test_bits_are_no_numbers(body: Callable[[Any], Any], hint: str) -> None:
    error = refused(body)
    assert hint in error.hint, error


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 31])
def test_conditions_are_counted(rows: int) -> None:
    def hits(xs: Any) -> Any:
        return bw.count(x > 3 for x in xs)

    narrow, of = bw.uint(rows.bit_length()), bw.u8[rows]

    @bw.program
    def counts(
        xs: bw.Garbler[of],
    ) -> tuple[bw.Garbler[narrow], bw.Evaluator[bw.u32]]:
        return hits(xs), bw.count((x > 3 for x in xs), bw.u32)

    for given in ([9] * rows, [0] * rows, [9, 0] * rows, [0, 0, 9] * rows):
        found = bw.simulate(counts, given[:rows])
        assert found.garbler == found.evaluator == hits(given[:rows])


def test_a_program_in_the_clear_may_be_asked_what_is_not_so() -> None:
    def larger(a: Any, b: Any) -> Any:
        return bw.where(bw.not_(a < b), a, b)

    @bw.program
    def program(a: bw.Garbler[bw.u8], b: bw.Evaluator[bw.u8]) -> bw.Both[bw.u8]:
        return larger(a, b)

    for a, b in [(1, 2), (2, 1), (3, 3)]:
        assert bw.simulate(program, a, b).garbler == program(a, b) == max(a, b)
    assert bw.all([2, 1]) and not bw.all([2, 0]) and bw.any([0, 2]) and not bw.any([])


class Entry(bw.Struct):
    key: bw.u8


class Hits(bw.Struct):
    count: bw.u8


smallest = [3]
"""A list may change, so a component that reads it is traced again at each call."""

tables_of_the_notebook = {"customers": "a.parquet"}


@bw.component
def matches(x: bw.Array[Entry, 3], y: bw.Array[Entry, 3]) -> bw.u8:
    found = tables.join(x, y, "key", lambda a, b: Hits(count=smallest[0]))
    return bw.sum(hit.count for hit in found)


@bw.component
def large(x: bw.Array[Entry, 3], y: bw.Array[Entry, 3]) -> bw.u8:
    def wanted(row: Any) -> Any:
        return row.key > smallest[0]

    return bw.sum(row.key for row in bw.tables.keep(x, wanted))


@pytest.mark.parametrize("of", [matches, large], ids=["join", "keep"])
def test_a_component_may_use_functions_of_tables(of: Any) -> None:
    """Functions that are made at each call have one text, so they are one function of the source."""

    @bw.program
    def twice(x: bw.Garbler[Entry[3]], y: bw.Evaluator[Entry[3]]) -> bw.Both[bw.u8[3]]:
        return [of(x, y), of(y, x), of(x, y)]

    x, y = ([{"key": key} for key in keys] for keys in ((1, 4, 9), (2, 4, 9)))
    expected = [6, 6, 6] if of is matches else [13, 13, 13]
    assert bw.simulate(twice, x, y).garbler.tolist() == expected
    inner = "match" if of is matches else "filter"
    assert twice.source.count(f" {inner}(") - twice.source.count(f"= {inner}(") == 1

    try:
        with pytest.raises(bw.SecretUsed, match="now behaves differently"):

            @bw.program
            def changing(x: bw.Garbler[Entry[3]], y: bw.Evaluator[Entry[3]]) -> bw.Both[bw.u8[2]]:
                first = of(x, y)
                smallest[0] = 5
                return [first, of(x, y)]

            changing.as_program()
    finally:
        smallest[0] = 3


def test_an_attribute_is_no_variable_of_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """A component reads no global variable that merely has the name of an attribute in it."""
    again = []
    monkeypatch.setattr(bw.Component, "_trace_again", lambda of, *arguments: again.append(of.__name__))
    monkeypatch.setitem(globals(), "min", tables_of_the_notebook)

    @bw.component
    def smaller(x: bw.u8) -> bw.u8:
        return bw.min(x, 5)

    @bw.program
    def often(x: bw.Garbler[bw.u8]) -> bw.Both[bw.u8]:
        return smaller(smaller(x))

    assert bw.simulate(often, 9).garbler == 5
    assert again == []


def test_tables_of_different_rows_are_not_merged() -> None:
    class Left(bw.Struct):
        key: bw.u8
        amount: bw.u8

    class Right(bw.Struct):
        amount: bw.u8
        key: bw.u8

    @bw.program
    def merged(a: bw.Garbler[Left[2]], b: bw.Evaluator[Right[2]]) -> bw.Both[Left[4]]:
        return tables.merge_by(a, b, "key")

    with pytest.raises(bw.SecretUsed, match="merges rows of"):
        merged.as_program()


def test_rows_may_be_kept_by_what_is_plain() -> None:
    class Row(bw.Struct):
        key: bw.u8
        amount: bw.u8

    for wanted in (False, True):

        @bw.program
        def kept(rows: bw.Garbler[Row[2]]) -> bw.Both[Row[2]]:
            return tables.keep(rows, lambda row: wanted)  # noqa: B023

        found = bw.simulate(kept, [{"key": 1, "amount": 2}, {"key": 3, "amount": 4}]).garbler
        assert found["amount"].tolist() == ([2, 4] if wanted else [0, 0])


SOURCE = """#parties 2
{}typedef uint_t 8 u8
#input 1 u8
#output 1 u8
function void main() {{ output1 = input1 + {}; }}
"""


@pytest.mark.parametrize("included", [False, True])
def test_a_program_whose_file_has_changed_is_refused(tmp_path: Path, included: bool) -> None:
    path, part = tmp_path / "program.wir", tmp_path / "part.wir"

    def write(number: int) -> None:
        if included:
            path.write_text(SOURCE.format('#include "part.wir"\n', "more()"))
            part.write_text(f"function uint_t 8 more() {{ return {number}##8; }}\n")
        else:
            path.write_text(SOURCE.format("", f"{number}##8"))

    write(1)
    program = bw.load(path)
    pickled = pickle.dumps(program)
    assert bw.simulate(program, 5).garbler == 6
    write(1)
    assert bw.simulate(program, 5).garbler == 6 and pickle.loads(pickled) == program
    write(22)
    for use in (
        lambda: bw.simulate(program, 5),
        lambda: bw.run(program, 5),
        lambda: bw.plan(program),
        program.info,
        lambda: program.save(tmp_path / "saved.bwp"),
        lambda: pickle.loads(pickled),
    ):
        with pytest.raises(bw.InvalidInput, match="has changed since it was"):
            use()
    assert bw.simulate(bw.load(path), 5).garbler == 27


def test_programs_of_a_session_that_are_one_are_added_up(tmp_path: Path) -> None:
    from brickwork.session import _counted

    first, second = tmp_path / "first.bwp", tmp_path / "second.bwp"
    path = tmp_path / "program.wir"
    path.write_text(SOURCE.format("", "1##8"))
    assert bw.load(path).save(first) == bw.load(path).save(second)
    counted = _counted({first: 1, bw.load(second): 2})
    assert [(program.path, count) for program, count in counted.items()] == [(first, 3)]


def test_what_is_listed_is_a_program_or_said_to_be_a_library() -> None:
    kinds = set()
    for one in bw.examples():
        try:
            assert bw.example(one.name).and_gates > 0
            kinds.add("program")
        except bw.UsageError as error:
            assert "is a library" in str(error) and one.name in error.hint
            kinds.add("library")
    assert kinds == {"program", "library"}
