"""Converts inputs of programs (Python's values, arrays and tables) to the form of the command."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._tasks import look, looking
from .columns import are_columns, columns, has_masked, is_lazy, is_table, lengths, unmasked
from .errors import InvalidInput, UsageError
from .ports import Array, Integer, Port, Struct, Type, leaves, type_of
from .secret import FILES, Secret, SecretFile, secret_file
from .wires import EMPTY, TEXT, Bits, Place, Reading, Scale, integer_bits, to_text


def input_word(
    value: Any, ports: Sequence[Port], executions: int | None, reading: Reading, party: str
) -> str | bytes | None:
    """Returns a party's input: its wire bits, one a byte, or a value in the form of the command's flag.

    Returns None without a value.

    Args:
        value: a Python value, an array, a table, a `SecretFile`, a `Secret`, or the path of a file.
        ports: the party's inputs.
        executions: the number of values, or None for a single value.
    """
    if value is None:
        return None
    if isinstance(value, os.PathLike):
        value = secret_file(value)
    kind = type_of(ports)
    place = Place(f"input of the {party}", ports[0].name if len(ports) == 1 else "", reading)
    if isinstance(value, (SecretFile, Secret)) and reading.raw:
        raise place.wrong(
            "raw() has no effect on a file or a Secret, whose text has numbers",
            'leave raw() out; write "0x…" in the file for the integer behind a number',
        )
    if isinstance(value, SecretFile):
        return value.word()
    if isinstance(value, Secret):
        return value.take()
    if kind is None:
        raise InvalidInput(f"{place.who}: the program takes no input from this party", "leave the input out")
    if executions is None:
        plain = _plain(value, kind, place)
    else:
        plain = _executions(value, kind, executions, place)
    bits = _all_bits(plain, kind)
    look()
    return _json(plain, place) if bits is None else bits.tobytes()


def _all_bits(plain: Any, kind: Type) -> Bits | None:
    """Returns the wire bits of a value, if it consists of arrays, tables and numbers with a point."""
    if isinstance(plain, _Bits):
        return plain.bits
    if not isinstance(plain, dict) or not isinstance(kind, Struct) or set(plain) != set(dict(kind.fields)):
        return None
    parts = []
    for name, of in kind.fields:
        if (part := _all_bits(plain[name], of)) is None:
            return None
        parts.append(part.reshape(-1))
    return np.concatenate(parts)


def check_scale(scale: Scale, ports: Sequence[Port]) -> None:
    """Refuses a scale for a field that these inputs do not have."""
    for name in scale:
        known = [path for port in ports for path in _fields_of(port.type, port.name)]
        wanted = name.split(".")
        if not any(path.split(".")[-len(wanted) :] == wanted for path in known):
            raise UsageError(
                f"scale: no input has a field of integers called {name}",
                f"the fields of integers are {', '.join(known[:20]) or 'none'}; a party's only input "
                "has the name input1 or input2, whatever its parameter is called; "
                "numbers of bw.fixed need no scale",
            )


def _fields_of(kind: Type, name: str) -> Iterator[str]:
    """Yields the paths of all fields of integers. All elements of an array have one path. The scale of a
    fixed-point number is part of its type.
    """
    while isinstance(kind, Array):
        kind = kind.element
    if isinstance(kind, Integer):
        yield from [name] if kind.point == 0 else []
    else:
        for field, of in kind.fields:
            yield from _fields_of(of, f"{name}.{field}")


def _executions(value: Any, kind: Type, executions: int, place: Place) -> Any:
    """Returns a value for each execution, in a form that JSON can hold."""
    several = executions > 1 and are_columns(value)
    if is_table(value) or isinstance(value, np.ndarray) or several:
        rows = _rows(value, kind, place)
    elif (numbers := _numbers(value, kind)) is not None:
        rows = _element_bits(numbers, kind, place)
    else:
        if executions == 1 and not isinstance(value, (list, tuple)):
            value = [value]
        if not isinstance(value, (list, tuple, range)):
            raise place.wrong(
                f"the input is one value, but there are {executions} executions",
                "give a list with one value for each execution",
            )
        return _each(value, kind, place)
    if len(rows) != executions:
        raise place.wrong(
            f"the input has {len(rows)} rows, but there are {executions} executions",
            "give one row for each execution",
        )
    return _Bits(rows)


def _json(value: Any, place: Place) -> str:
    try:
        return json.dumps(value, allow_nan=False, default=_Bits.text)
    except (TypeError, ValueError, AttributeError):
        # The messages of the exceptions may repeat the value, so no exception is chained as the cause.
        pass
    raise place.wrong("the input has a value of an unsupported type", "give numbers, arrays, tables or dicts")


@dataclass(frozen=True)
class _Bits:
    """Wire bits of a part of a value."""

    bits: Bits = field(repr=False)

    def text(self) -> str:
        """Returns the bits in the form that the command reads."""
        return "bits:" + to_text(self.bits)


def _plain(value: Any, kind: Type, place: Place) -> Any:
    """Returns a value in a form that JSON can hold, with arrays and tables as their wire bits."""
    if isinstance(value, os.PathLike):
        value = secret_file(value)
    if isinstance(value, SecretFile):
        return value.word()
    if isinstance(value, Mapping) and isinstance(kind, Struct) and not _fits_as_table(value, kind):
        return _fields(value, kind, place)
    if isinstance(value, (list, tuple, range)) and isinstance(kind, Array):
        if len(value) == kind.length and (numbers := _numbers(value, kind.element)) is not None:
            return _filled(numbers, kind, place)
        return _each(value, kind.element, place)
    if _is_array(value, kind) or isinstance(value, Mapping) and isinstance(kind, Struct):
        return _filled(value, kind, place)
    value = unmasked(value, place)
    if is_lazy(value):
        raise place.wrong(
            f"the rows of this {type(value).__name__} are not computed yet", "call its collect() first"
        )
    if isinstance(value, np.ndarray):
        value = value[()]
    if isinstance(value, np.generic) and not (isinstance(kind, Integer) and isinstance(value, np.floating)):
        value = value.item()
    if isinstance(kind, Integer) and _is_missing(value):
        raise place.wrong(*EMPTY)
    if isinstance(kind, Integer) and isinstance(value, (int, float, np.floating, Decimal, Fraction)):
        if not isinstance(value, int) or kind.point or place.reading.raw:
            return _number(value, kind, place)
    value = _names_no_file(value, place)
    if isinstance(kind, Integer) and isinstance(value, str) and not value.lstrip("-").startswith(_WORDS):
        named = "name a file as pathlib.Path(…) or secret_file(…)" if os.path.isfile(value) else TEXT[1]
        raise place.wrong(TEXT[0], named)
    return int(value) if isinstance(value, bool) else value


_WORDS = ("0x", "0X", "bits:")
"""The prefixes of texts that are numbers in hexadecimal digits, or wire bits."""


def _is_missing(value: Any) -> bool:
    """Returns whether a value represents a missing number: None, NaN, or NA of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # NA of pandas has no truth value.
        return True


def _names_no_file(value: Any, place: Place) -> Any:
    """Returns the value that the caller gave. Refuses strings that the native part would take as the name of
    a file."""
    if isinstance(value, str) and value.lstrip().startswith(FILES):
        raise place.wrong(
            "the input is a text that begins with @ or csv:",
            "name a file as pathlib.Path(…) or secret_file(…)",
        )
    if isinstance(value, Mapping):
        for name, one in value.items():
            _names_no_file(one, place.field(str(name)))
    elif isinstance(value, (list, tuple)):
        for row, one in enumerate(value):
            _names_no_file(one, place.at(row))
    return value


def _each(values: Iterable[Any], kind: Type, place: Place) -> list[Any]:
    """Returns values of one type in a form that JSON can hold."""
    values = list(values)
    try:
        return [_plain(one, kind, place) for one in looking(values)]
    except InvalidInput:
        # The second pass finds the value, to name it in the error.
        for row, one in enumerate(values):
            _plain(one, kind, place.at(row))
        raise


def _number(value: Any, kind: Integer, place: Place) -> _Bits:
    """Returns a single number as its wire bits: a number that may have a point, or the integer that
    represents it."""
    fraction = isinstance(value, (float, np.floating, Decimal, Fraction))
    if fraction and kind.point == 0 and place.digits() is None:
        raise place.wrong("the value has a decimal point", place.how_to_scale())
    return _Bits(integer_bits(np.array([value]), kind, replace(place, alone=True)))


_MANY = 32
"""Lists with at least this many numbers become arrays: a debugger shows shorter ones as they are."""


def _numbers(value: Any, kind: Type) -> NDArray[Any] | None:
    """Returns a list of Python integers, one a row, as an array. Returns None for anything else."""
    if not isinstance(value, (list, tuple, range)) or len(value) < _MANY or has_masked(value):
        return None
    while isinstance(kind, Array):
        kind = kind.element
    if isinstance(kind, Struct):
        return None
    try:
        found = np.asarray(value)
    except (ValueError, OverflowError):
        return None
    if found.dtype.kind == "O" and set(map(type, found.reshape(-1))) == {int}:
        return found
    of_floats = kind.point > 0 and found.dtype.kind == "f" and set(map(type, value)) <= {float}
    return found if found.dtype.kind in "iub" or of_floats else None


def _fields(value: Mapping[str, Any], kind: Struct, place: Place) -> dict[str, Any]:
    """Returns the fields of a struct. The native part names unknown and missing values."""
    fields, array = dict(kind.fields), _table_field(kind)

    def plain_field(name: str, one: Any) -> Any:
        if name == array:
            return one
        here = place.field(str(name))
        return _plain(one, fields[name], here) if name in fields else _names_no_file(one, here)

    plain = {name: plain_field(name, one) for name, one in value.items()}
    if array is None or array not in value:
        return plain
    if not _is_array(value[array], fields[array]):
        return {**plain, array: _plain(value[array], fields[array], place.field(array))}
    # The remaining elements of the array are 0, and `count` is the number of given elements.
    filled = _filled(value[array], kind, place)
    if "count" in filled and plain.get("count", 0) > filled["count"]:
        raise place.wrong(
            f"count is larger than the number of rows, {filled['count']}",
            "leave count out, or give as many rows",
        )
    return {**plain, **filled, "count": plain["count"]} if "count" in plain else {**plain, **filled}


def _is_array(value: Any, kind: Type) -> bool:
    """Returns whether a value is an array or table, and not a Python value."""
    return (
        is_table(value)
        or isinstance(kind, Array)
        and are_columns(value)
        or isinstance(value, np.ndarray)
        and value.ndim > 0
    )


def _filled(value: Any, kind: Type, place: Place) -> Any:
    """Returns an array or table as the value that it fills: an array, or a struct whose only array it is."""
    if isinstance(kind, Array):
        bits = _rows(value, kind.element, place)
        if len(bits) != kind.length:
            raise place.wrong(
                f"the table has {len(bits)} rows, but the program takes {kind.length}",
                "give exactly that number",
            )
        return _Bits(bits)
    if isinstance(kind, Struct) and (name := _table_field(kind)) is not None:
        array = dict(kind.fields)[name]
        assert isinstance(array, Array)
        if len(kind.fields) == 1:
            return {name: _filled(value, array, place.field(name))}
        bits = _rows(value, array.element, place.field(name))
        if len(bits) > array.length:
            raise place.wrong(
                f"the table has {len(bits)} rows, but the program takes at most {array.length}",
                "give fewer rows",
            )
        padded = np.zeros((array.length, bits.shape[1]), np.uint8)
        padded[: len(bits)] = bits
        return {name: _Bits(padded), "count": len(bits)}
    raise place.wrong(
        f"the input is an array or table, but the program takes {kind}",
        "`Program.inputs` shows the types of a program's inputs",
    )


def _table_field(kind: Struct) -> str | None:
    """Returns the field that a table fills: the only array, perhaps beside a `count`."""
    arrays = [name for name, field in kind.fields if isinstance(field, Array)]
    rest = [name for name, field in kind.fields if not isinstance(field, Array)]
    return arrays[0] if len(arrays) == 1 and rest in ([], ["count"]) else None


def _fits_as_table(value: Mapping[str, Any], kind: Struct) -> bool:
    """Returns whether a mapping contains columns of the struct's array, and not the struct's fields."""
    name = _table_field(kind)
    return name is not None and name not in value and are_columns(value)


def _rows(value: Any, kind: Type, place: Place) -> Bits:
    """Returns the wire bits of a table or array, a row for each element of this type."""
    found = columns(value, place)
    if isinstance(found, np.ndarray):
        return _element_bits(found, kind, place)
    if isinstance(kind, Integer):
        if len(found) != 1:
            raise place.wrong(
                f"the table has {len(found)} columns, but the program takes one",
                "give only the column that the program needs",
            )
        return _element_bits(next(iter(found.values())), kind, place)
    wanted = dict(leaves(kind))
    if missing := [name for name in wanted if name not in found]:
        raise place.wrong(
            f"the table has no column {missing[0]!r}",
            f"the program takes the columns {', '.join(sorted(wanted))}",
        )
    # The message contains no name, because a name may be a value if a table was read without its header.
    if not place.reading.extra and (unknown := [k for k, name in enumerate(found, 1) if name not in wanted]):
        raise place.wrong(
            f"the program has no field for column {unknown[0]}",
            "leave this column out, or give ignore_extra_columns=True",
        )
    long = lengths({name: found[name] for name in wanted})
    if len(set(long.values())) > 1:
        raise place.wrong(
            f"the columns have different lengths: {long}", "give each row a value in each column"
        )
    # All memory is allocated at once, because wide tables are large.
    bits = np.empty((next(iter(long.values()), 0), sum(leaf.bits for leaf in wanted.values())), np.uint8)
    base = 0
    for name, leaf in looking(wanted.items()):
        bits[:, base : base + leaf.bits] = integer_bits(found[name], leaf, place.field(name))
        base += leaf.bits
    return bits


def _element_bits(values: NDArray[Any], kind: Type, place: Place) -> Bits:
    """Returns the bits of elements of a type: integers, or nested arrays of them."""
    shape: list[int] = []
    while isinstance(kind, Array):
        shape.append(kind.length)
        kind = kind.element
    if isinstance(kind, Struct):
        raise place.wrong(
            f"the input has numbers without names, but the program takes {kind}",
            "give a table with these columns",
        )
    if values.shape[1:] != tuple(shape):
        raise place.wrong(
            f"the input is an array of shape {values.shape}, "
            f"but the program takes elements of shape {tuple(shape)}",
            "`Program.inputs` shows the types of a program's inputs",
        )
    flat = integer_bits(values.reshape(-1), kind, place)
    return flat.reshape(len(values), kind.bits * int(np.prod(shape, dtype=int)))
