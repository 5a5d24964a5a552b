"""What a program takes and gives, and how values of numpy, tables and Python become that.

A value's wire bits are its fields and elements one after the other, each integer with its least significant
bit first. Arrays and tables are turned into them, and out of them, a column at a time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InvalidInput
from .secret import Secret, SecretFile

Bits = NDArray[np.uint8]
"""Wire bits, one a byte: shape (rows, width)."""


@dataclass(frozen=True)
class Integer:
    """An integer of `bits` bits, in two's complement if `signed`."""

    bits: int
    signed: bool

    @property
    def width(self) -> int:
        return self.bits

    def __str__(self) -> str:
        return f"{'int' if self.signed else 'uint'}{self.bits}"


@dataclass(frozen=True)
class Array:
    """`length` elements of one type."""

    element: Type
    length: int

    @property
    def width(self) -> int:
        return self.element.width * self.length

    def __str__(self) -> str:
        return f"{self.element}[{self.length}]"


@dataclass(frozen=True)
class Struct:
    """Named fields, in the order of their wires."""

    fields: tuple[tuple[str, Type], ...]

    @property
    def width(self) -> int:
        return sum(field.width for _, field in self.fields)

    def __str__(self) -> str:
        return "{" + ", ".join(f"{name}: {field}" for name, field in self.fields) + "}"


Type = Integer | Array | Struct


@dataclass(frozen=True)
class Port:
    """A named input of `party`, or an output that `party` learns: garbler, evaluator, both or nobody."""

    name: str
    party: str
    type: Type

    def __str__(self) -> str:
        return f"{self.name}: {self.type} ({self.party})"


def type_from_json(value: Any) -> Type:
    """Returns the type that the native part describes."""
    ((kind, what),) = value.items()
    if kind in ("uint", "int"):
        return Integer(what, kind == "int")
    if kind == "array":
        return Array(type_from_json(what[0]), what[1])
    return Struct(tuple((name, type_from_json(field)) for name, field in what))


def type_of(ports: Sequence[Port]) -> Type | None:
    """Returns the type of a party's whole value: that of its one port, or a struct of several."""
    if not ports:
        return None
    if len(ports) == 1:
        return ports[0].type
    return Struct(tuple((port.name, port.type) for port in ports))


Scale = Mapping[str, int]
"""Digits behind the decimal point, by the name of a field or column."""


def input_word(
    value: Any, ports: Sequence[Port], executions: int | None, scale: Scale, party: str, extra: bool = False
) -> str | None:
    """Returns a party's input as the flag of the command takes it, or None if there is none.

    Args:
        value: a Python value, an array, a table, a `SecretFile` or a `Secret`.
        ports: the party's inputs.
        executions: how many values there are, if it is not one by itself.
        extra: whether columns that the program does not know are left out.
    """
    if value is None:
        return None
    if isinstance(value, SecretFile):
        return value.word()
    if isinstance(value, Secret):
        return value.take()
    kind = type_of(ports)
    place = Place(f"input of the {party}", "", scale, extra)
    if kind is None:
        raise InvalidInput(f"{place.who}: the program takes none", "leave it out")
    if executions is None:
        return _json(_plain(value, kind, place), place)
    if _is_table(value) or isinstance(value, np.ndarray):
        rows = _rows(value, kind, place)
        if len(rows) != executions:
            raise InvalidInput(
                f"{place}: {len(rows)} rows for {executions} executions", "give a row for each"
            )
        return _json([_text(row) for row in rows], place)
    if executions == 1 and not isinstance(value, (list, tuple)):
        value = [value]
    return _json([_plain(one, kind, place) for one in value], place)


def _json(value: Any, place: Place) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        # What they say may repeat the value.
        raise place.wrong(
            "a value of no type that is taken", "give numbers, arrays, tables or dicts"
        ) from None


@dataclass(frozen=True)
class Place:
    """Whose value, and which part of it: for messages, which never repeat a value."""

    who: str
    path: str
    scale: Scale
    extra: bool

    def field(self, name: str) -> Place:
        return Place(self.who, f"{self.path}.{name}" if self.path else name, self.scale, self.extra)

    def digits(self) -> int | None:
        """Returns the digits behind the point of what is here, if any were given for it."""
        for name, digits in self.scale.items():
            if self.path == name or self.path.endswith("." + name):
                return digits
        return None

    def wrong(self, what: str, hint: str, row: int | None = None) -> InvalidInput:
        where = str(self) if row is None else f"{self}, row {row}"
        return InvalidInput(f"{where}: {what}", hint)

    def __str__(self) -> str:
        return f"{self.who}: {self.path}" if self.path else self.who


def _plain(value: Any, kind: Type, place: Place) -> Any:
    """Returns a value as JSON can hold it, with arrays and tables as their wire bits."""
    if isinstance(value, SecretFile):
        return value.word()
    if isinstance(value, Mapping) and isinstance(kind, Struct) and not _fits_as_table(value, kind):
        return _fields(value, kind, place)
    if isinstance(value, (list, tuple, range)) and isinstance(kind, Array):
        return [_plain(one, kind.element, place) for one in value]
    if _is_array(value, kind) or isinstance(value, Mapping) and isinstance(kind, Struct):
        return _filled(value, kind, place)
    if isinstance(value, (np.generic, np.ndarray)):
        return value.item()
    return int(value) if isinstance(value, bool) else value


def _fields(value: Mapping[str, Any], kind: Struct, place: Place) -> dict[str, Any]:
    """Returns the fields of a struct. What is unknown or missing the native part names."""
    fields, array = dict(kind.fields), _table_field(kind)
    plain = {
        name: _plain(one, fields[name], place.field(name)) if name in fields and name != array else one
        for name, one in value.items()
    }
    if array is None or array not in value:
        return plain
    if not _is_array(value[array], fields[array]):
        return {**plain, array: _plain(value[array], fields[array], place.field(array))}
    # The rest of the array is 0, and `count` says how much of it counts.
    filled = _filled(value[array], kind, place)
    if "count" in filled and plain.get("count", 0) > filled["count"]:
        raise place.wrong(f"count is more than the {filled['count']} rows", "leave it out, or give that many")
    return {**plain, **filled, "count": plain["count"]} if "count" in plain else {**plain, **filled}


def _is_array(value: Any, kind: Type) -> bool:
    """Whether it is an array or table, and not a Python value."""
    return _is_table(value) or _is_columns(value, kind) or isinstance(value, np.ndarray) and value.ndim > 0


def _filled(value: Any, kind: Type, place: Place) -> Any:
    """Returns an array or table as what it fills: an array, or a struct whose only array it is."""
    if isinstance(kind, Array):
        bits = _rows(value, kind.element, place)
        if len(bits) != kind.length:
            raise place.wrong(
                f"{len(bits)} rows, and the program takes {kind.length}", "give exactly as many"
            )
        return _text(bits)
    if isinstance(kind, Struct) and (name := _table_field(kind)) is not None:
        array = dict(kind.fields)[name]
        assert isinstance(array, Array)
        if len(kind.fields) == 1:
            return {name: _filled(value, array, place.field(name))}
        bits = _rows(value, array.element, place.field(name))
        if len(bits) > array.length:
            raise place.wrong(f"{len(bits)} rows, and the program takes {array.length} at most", "give fewer")
        padded = np.zeros((array.length, bits.shape[1]), np.uint8)
        padded[: len(bits)] = bits
        return {name: _text(padded), "count": len(bits)}
    raise place.wrong(
        f"an array or table, and the program takes {kind}", "`Program.inputs` shows what it takes"
    )


def _table_field(kind: Struct) -> str | None:
    """Returns the field that a table fills: the only array, perhaps beside a `count`."""
    arrays = [name for name, field in kind.fields if isinstance(field, Array)]
    rest = [name for name, field in kind.fields if not isinstance(field, Array)]
    return arrays[0] if len(arrays) == 1 and rest in ([], ["count"]) else None


def _fits_as_table(value: Mapping[str, Any], kind: Struct) -> bool:
    """Whether a mapping is columns of the struct's array, and not the struct's fields."""
    name = _table_field(kind)
    return name is not None and name not in value and _is_columns(value, dict(kind.fields)[name])


def _is_columns(value: Any, kind: Type) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(kind, Array)
        and all(
            isinstance(column, (list, tuple, np.ndarray)) or _is_column(column) for column in value.values()
        )
    )


def _is_column(value: Any) -> bool:
    return (
        hasattr(value, "to_numpy")
        or hasattr(value, "__arrow_c_array__")
        or hasattr(value, "__arrow_c_stream__")
    )


def _is_table(value: Any) -> bool:
    """Whether it is a table of pandas, polars, Arrow or another library that speaks Arrow, or a column of
    one.
    """
    return _is_column(value) and not isinstance(value, np.ndarray)


def _columns(value: Any, place: Place) -> dict[str, Any] | NDArray[Any]:
    """Returns the columns of a table by name, or a single column."""
    if isinstance(value, np.ndarray):
        if value.dtype.names is None:
            return value
        return {name: value[name] for name in value.dtype.names}
    if isinstance(value, Mapping):
        return {str(name): _column(column, place.field(str(name))) for name, column in value.items()}
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):  # pandas, polars
        names = [str(name) for name in value.columns]
        return {name: _column(value[column], place.field(name)) for name, column in zip(names, value.columns)}
    if hasattr(value, "to_numpy") and not hasattr(value, "column_names"):
        return _column(value, place)
    try:
        import pyarrow
    except ImportError as e:
        raise place.wrong("an Arrow table", "pip install 'brickwork[arrow]', or give numpy arrays") from e
    table = pyarrow.table(value)
    return {name: _column(table.column(name), place.field(name)) for name in table.column_names}


def _column(value: Any, place: Place) -> NDArray[Any]:
    """Returns a column as an array, of integers, booleans or numbers; nulls are refused."""
    if not isinstance(value, np.ndarray):
        null = _first_null(value)
        if null is not None:
            raise place.wrong(
                "is empty", "fill in what is missing, or leave the row out, before it is used", null
            )
        value = value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)
    return np.asarray(value)


def _first_null(column: Any) -> int | None:
    """Returns the number of the first row without a value, if there is one."""
    if isinstance(column, (list, tuple)):
        return next((row for row, one in enumerate(column) if one is None), None)
    if hasattr(column, "isna"):  # pandas
        nulls = np.asarray(column.isna())
    elif hasattr(column, "is_null"):  # polars, Arrow
        nulls = np.asarray(
            column.is_null().to_numpy() if hasattr(column.is_null(), "to_numpy") else column.is_null()
        )
    else:
        return None
    return int(np.argmax(nulls)) if nulls.any() else None


def _rows(value: Any, kind: Type, place: Place) -> Bits:
    """Returns the wire bits of a table or array, a row for each element of this type."""
    columns = _columns(value, place)
    if isinstance(columns, np.ndarray):
        return _element_bits(columns, kind, place)
    if isinstance(kind, Integer):
        if len(columns) != 1:
            raise place.wrong(
                f"{len(columns)} columns, and the program takes one", "name the column that is meant"
            )
        return _element_bits(next(iter(columns.values())), kind, place)
    leaves = _leaves(kind, "")
    known = {name for name, _ in leaves}
    if missing := [name for name, _ in leaves if name not in columns]:
        raise place.wrong(
            f"there is no column {missing[0]!r}", f"the program takes {', '.join(sorted(known))}"
        )
    if not place.extra and (unknown := [name for name in columns if name not in known]):
        raise place.wrong(
            f"the program does not know the column {unknown[0]!r}",
            "leave it out, or say ignore_extra_columns=True",
        )
    lengths = {name: len(columns[name]) for name, _ in leaves}
    if len(set(lengths.values())) > 1:
        raise place.wrong(f"columns of different lengths: {lengths}", "give each row a value in each")
    bits = [_element_bits(columns[name], leaf, place.field(name)) for name, leaf in leaves]
    return np.hstack(bits) if bits else np.zeros((0, 0), np.uint8)


def _leaves(kind: Type, name: str) -> list[tuple[str, Integer]]:
    """Returns the integers of a type, with the names of their columns."""
    if isinstance(kind, Integer):
        return [(name, kind)]
    if isinstance(kind, Array):
        return [leaf for i in range(kind.length) for leaf in _leaves(kind.element, f"{name}[{i}]")]
    return [leaf for field, of in kind.fields for leaf in _leaves(of, f"{name}.{field}" if name else field)]


def _element_bits(values: NDArray[Any], kind: Type, place: Place) -> Bits:
    """Returns the bits of elements of a type: integers, or nested arrays of them."""
    shape: list[int] = []
    while isinstance(kind, Array):
        shape.append(kind.length)
        kind = kind.element
    if isinstance(kind, Struct):
        raise place.wrong(
            f"numbers without names, and the program takes {kind}", "give a table with these columns"
        )
    if values.shape[1:] != tuple(shape):
        raise place.wrong(
            f"an array of shape {values.shape}, and the program takes elements of shape {tuple(shape)}",
            "`Program.inputs` shows what it takes",
        )
    rows = len(values)
    flat = integer_bits(_whole(values.reshape(-1), place), kind, place)
    return flat.reshape(rows, kind.bits * int(np.prod(shape, dtype=int)))


def _whole(values: NDArray[Any], place: Place) -> NDArray[Any]:
    """Returns integers, with the decimal point moved if a scale says so; numbers without one are refused."""
    digits = place.digits()
    if values.dtype.kind == "f":
        if digits is None:
            raise place.wrong("numbers with a decimal point", "say scale={NAME: DIGITS}, or give integers")
        wrong = ~np.isfinite(values)
        if not wrong.any():
            # What has no more digits is the nearest number to itself, rounded to them.
            wrong = np.round(values, digits) != values
        if not wrong.any():
            moved = np.rint(values * 10.0**digits)
            wrong = np.abs(moved) > 2.0**53
            if not wrong.any():
                return moved.astype(np.int64)
        row = int(np.argmax(wrong))
        raise place.wrong(
            f"is no number of {digits} digits behind the point", "round it before it is used", row
        )
    if values.dtype.kind not in "biuO":
        raise place.wrong(f"values of type {values.dtype}", "give integers")
    if digits is None:
        return values
    scaled: NDArray[Any] = values.astype(object) * 10**digits
    return scaled


def integer_bits(values: NDArray[Any], kind: Integer, place: Place) -> Bits:
    """Returns the bits of integers, shape (rows, kind.bits), the least significant bit first."""
    low = -(1 << kind.bits - 1) if kind.signed else 0
    high = (1 << kind.bits - int(kind.signed)) - 1
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    if values.dtype.kind == "O" and not all(isinstance(one, (int, np.integer)) for one in values):
        row = next(row for row, one in enumerate(values) if not isinstance(one, (int, np.integer)))
        raise place.wrong("is no integer", "give integers", row)
    if len(values) and (values.min() < low or values.max() > high):
        row = int(np.argmax((values < low) | (values > high)))
        raise place.wrong(f"does not fit into {kind}", f"it takes {low} to {high}", row)
    octets = -(-kind.bits // 8)
    if kind.bits <= 64:
        words = values.astype(np.int64 if kind.signed else np.uint64).view(np.uint64).astype("<u8")
        octet = words.view(np.uint8).reshape(-1, 8)[:, :octets]
    else:
        joined = b"".join((int(one) & ((1 << kind.bits) - 1)).to_bytes(octets, "little") for one in values)
        octet = np.frombuffer(joined, np.uint8).reshape(-1, octets)
    bits: Bits = np.unpackbits(octet, axis=1, bitorder="little")[:, : kind.bits]
    return bits


def to_text(bits: Bits) -> str:
    """Returns wire bits as characters 0 and 1."""
    return (bits.reshape(-1) + ord("0")).tobytes().decode("ascii")


def from_text(text: str) -> Bits:
    """Returns the wire bits that are these characters."""
    return np.frombuffer(text.encode("ascii"), np.uint8) - ord("0")


def _text(bits: Bits) -> str:
    """Returns wire bits as the command reads them."""
    return "bits:" + to_text(bits)


def output_value(bits: Bits, ports: Sequence[Port], executions: int | None) -> Any:
    """Returns what a party learns: an `int`, an array, a structured array or a dict of fields.

    Args:
        bits: the wire bits.
        executions: how many values there are, along the first axis, if it is not one by itself.
    """
    kind = type_of(ports)
    if kind is None:
        return None
    values = _value(_by_execution(bits, ports, executions), kind)
    return _single(values) if executions is None else values


def _by_execution(bits: Bits, ports: Sequence[Port], executions: int | None) -> Bits:
    """Returns a row of bits for each execution. They come with all executions of what one party alone learns
    before those of what both do.
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
    return int(value) if isinstance(value, (np.integer, int)) else value


def _value(bits: Bits, kind: Type) -> Any:
    """Returns the values of rows of bits: arrays, or a dict of them by field."""
    if isinstance(kind, Integer):
        return _integers(bits, kind)
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
    """Returns the elements of an array of structs: a structured array, its fields by name."""
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


def _integers(bits: Bits, kind: Integer) -> NDArray[Any]:
    """Returns the integers of rows of bits, in the smallest type of numpy that holds them; Python's
    beyond 64.
    """
    if kind.bits > 64:
        octets = np.packbits(bits, axis=1, bitorder="little")
        values = [int.from_bytes(row.tobytes(), "little") for row in octets]
        if kind.signed:
            values = [value - (value >> kind.bits - 1 << kind.bits) for value in values]
        return np.array(values, dtype=object)
    size = next(size for size in (8, 16, 32, 64) if size >= kind.bits)
    wide = np.zeros((len(bits), size), np.uint8)
    wide[:, : kind.bits] = bits
    if kind.signed and len(bits):
        wide[:, kind.bits :] = bits[:, kind.bits - 1 :]
    octets = np.packbits(wide, axis=1, bitorder="little")
    dtype = np.dtype(f"<{'i' if kind.signed else 'u'}{size // 8}")
    return np.ascontiguousarray(octets).view(dtype).reshape(-1).astype(dtype.newbyteorder("="))
