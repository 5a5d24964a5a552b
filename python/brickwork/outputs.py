"""Outputs of programs: numbers, arrays of numpy, and tables of pandas and Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import columns as tables
from .errors import UsageError, needed
from .ports import Integer, Port, Struct, Type, type_of
from .wires import Bits, Place, Reading, integers


def output_value(bits: Bits, ports: Sequence[Port], executions: int | None) -> Any:
    """Returns the output of a party: an `int`, an array, a structured array or a dict of fields.

    Args:
        bits: the wire bits.
        executions: the number of values along the first axis, or None for a single value.
    """
    kind = type_of(ports)
    if kind is None:
        return None
    values = _value(_by_execution(bits, ports, executions), kind)
    return _single(values) if executions is None else values


def _by_execution(bits: Bits, ports: Sequence[Port], executions: int | None) -> Bits:
    """Returns a row of bits for each execution. The outputs that only one party learns come first, for all
    executions. Then come the outputs that both learn.
    """
    if executions is None:
        return bits.reshape(1, -1)
    parts: dict[int, Bits] = {}
    for both in (False, True):
        group = [number for number, port in enumerate(ports) if (port.party == "both") == both]
        ends = np.cumsum([ports[number].type.width for number in group], dtype=int)
        if group:
            own, bits = np.split(bits, [executions * ends[-1]])
            parts |= dict(zip(group, np.split(own.reshape(executions, -1), ends[:-1], axis=1)))
    return np.hstack([parts[number] for number in range(len(ports))])


def _single(values: Any) -> Any:
    if isinstance(values, dict):
        return {name: _single(value) for name, value in values.items()}
    value = values[0]
    return value.item() if isinstance(value, np.generic) else value


def _value(bits: Bits, kind: Type) -> Any:
    """Returns the values of rows of bits: arrays, or a dict of them by field."""
    if isinstance(kind, Integer):
        return integers(bits, kind)
    if isinstance(kind, Struct):
        return {name: _value(part, of) for (name, of), part in zip(kind.fields, _parts(bits, kind))}
    inner = _value(bits.reshape(-1, kind.element.width), kind.element)
    rows = len(bits)
    if isinstance(inner, dict):
        return _records(inner, rows, kind.length)
    shaped: NDArray[Any] = inner.reshape(rows, kind.length, *inner.shape[1:])
    return shaped


def _parts(bits: Bits, kind: Struct) -> list[Bits]:
    ends = np.cumsum([field.width for _, field in kind.fields])
    return np.split(bits, ends[:-1], axis=1)


def _records(columns: dict[str, Any], rows: int, length: int) -> NDArray[Any]:
    """Returns the elements of an array of structs: a structured array with its fields by name."""
    flat = {
        name: _records(of, len(next(iter(_arrays(of)))), 1)[:, 0] if isinstance(of, dict) else of
        for name, of in columns.items()
    }
    fields = np.dtype([(name, column.dtype, column.shape[1:]) for name, column in flat.items()])
    records = np.empty(rows * length, fields)
    for name, column in flat.items():
        records[name] = column
    return records.reshape(rows, length)


def _arrays(columns: dict[str, Any]) -> list[NDArray[Any]]:
    found: list[NDArray[Any]] = []
    for column in columns.values():
        found += _arrays(column) if isinstance(column, dict) else [column]
    return found


def columns(learned: Any) -> dict[str, NDArray[Any]]:
    """Returns the outputs of a party as columns by name, with a row for each element or execution. Fields of
    structs and elements of arrays are separate columns, `price.net` and `tax[0]`, as in inputs. Numbers
    without a name are the column `value`. For a struct with a `count` and one table, only the first `count`
    rows are returned.

    Args:
        learned: `garbler` or `evaluator` of a run or simulation, or a part of it.
    """
    if isinstance(learned, Mapping):
        arrays = {name: one for name, one in learned.items() if isinstance(one, np.ndarray)}
        rest = {name: one for name, one in learned.items() if name not in arrays}
        if len(arrays) == 1 and set(rest) == {"count"} and not isinstance(rest["count"], Mapping):
            return columns(next(iter(arrays.values()))[: rest["count"]])
    elif not isinstance(learned, np.ndarray) or learned.ndim == 0:
        raise UsageError("this output is not a table", "name an output that is an array or a struct")
    bare = isinstance(learned, np.ndarray) and learned.dtype.names is None
    whole = {"value": learned} if bare else _of_one_row(learned) if _is_one_row(learned) else learned
    named = tables.columns(whole, Place("output", "", Reading()))
    assert isinstance(named, dict)
    if len(set(map(len, named.values()))) > 1:
        raise UsageError(
            "columns of different lengths cannot form a table", "name one of the output's arrays"
        )
    return named


def _is_one_row(learned: Any) -> bool:
    """Returns whether a field is a plain number. Arrays beside it then belong to its row, and are not
    columns."""
    if isinstance(learned, Mapping):
        return any(map(_is_one_row, learned.values()))
    return not isinstance(learned, np.ndarray)


def _of_one_row(learned: Any) -> Any:
    if isinstance(learned, Mapping):
        return {name: _of_one_row(one) for name, one in learned.items()}
    return learned[np.newaxis] if isinstance(learned, np.ndarray) else np.array([learned])


def to_pandas(learned: Any) -> Any:
    """Returns the outputs of a party as a `pandas.DataFrame`, with the columns of `columns`."""
    pandas = needed("pandas", "to_pandas", "pandas")
    return pandas.DataFrame(columns(learned))


_MOST_DIGITS = 76
"""Digits of the widest decimal numbers of Arrow, which hold integers beyond 64 bits."""


def to_arrow(learned: Any) -> Any:
    """Returns the outputs of a party as a `pyarrow.Table`, with the columns of `columns`. Integers beyond 64
    bits are decimal numbers of 76 digits.
    """
    pyarrow = needed("pyarrow", "to_arrow", "'brickwork[arrow]'")

    def one(column: NDArray[Any]) -> Any:
        if column.dtype.kind != "O":
            return pyarrow.array(column)
        if len(column) and isinstance(column[0], Decimal):
            return pyarrow.array(list(column))
        try:
            return pyarrow.array(list(map(Decimal, column)), pyarrow.decimal256(_MOST_DIGITS, 0))
        except pyarrow.ArrowInvalid:
            # The error has no cause, because the cause may repeat the value.
            raise UsageError(
                "the output has an integer of more than 76 digits",
                "Arrow has no type for so many digits; read the output as Python integers",
            ) from None

    return pyarrow.table({name: one(column) for name, column in columns(learned).items()})
