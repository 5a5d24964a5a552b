"""Columns of tables of numpy, pandas, polars, Arrow and other libraries with their interfaces, and of
Python."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .wires import EMPTY, Place

Column = NDArray[Any]


def is_table(value: Any) -> bool:
    """Returns whether a value is a table of pandas, polars, Arrow or another library that supports Arrow, or
    a column of such a table.
    """
    return not isinstance(value, np.ndarray) and any(
        hasattr(value, name) for name in ("to_numpy", "__arrow_c_array__", "__arrow_c_stream__")
    )


def is_lazy(value: Any) -> bool:
    """Returns whether a value is a table whose rows are computed on request, like a LazyFrame of polars."""
    return not is_table(value) and callable(getattr(value, "collect", None))


def are_columns(value: Any) -> bool:
    """Returns whether a value is a mapping of columns."""
    return isinstance(value, Mapping) and all(
        isinstance(column, (list, tuple, np.ndarray)) or is_table(column) or are_columns(column)
        for column in value.values()
    )


def columns(value: Any, place: Place) -> dict[str, Column] | Column:
    """Returns the columns of a table by name, with columns within structs and arrays as `price.net` and
    `tax[0]`. If the table is a single column, returns an array with as many dimensions as the column has.

    Raises:
        InvalidInput: a value is missing; it names column and row.
    """
    if isinstance(value, np.ndarray):
        value = unmasked(value, place)
        return value if value.dtype.names is None else _named(_fields(value))
    if isinstance(value, Mapping):
        return _named((str(name), column(one, place.field(str(name)))) for name, one in value.items())
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):  # pandas, polars
        names = _once([str(name) for name in value.columns], place)
        named = ((name, column(value[key], place.field(name))) for name, key in zip(names, value.columns))
        return _named(named)
    if hasattr(value, "to_numpy") and not hasattr(value, "column_names"):
        found = column(value, place)
        return found if isinstance(found, np.ndarray) else _named(found.items())
    return _of_arrow(value, place)


def _once(names: list[str], place: Place) -> list[str]:
    """Returns these names of columns, and refuses a name that occurs twice."""
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise place.wrong(
            f"the column {twice[0]!r} occurs more than once", "keep only one of them, or rename the other"
        )
    return names


def _named(found: Any) -> dict[str, Column]:
    """Returns columns by name, with the columns of structs and arrays as separate columns."""
    apart: dict[str, Column] = {}
    for name, one in found:
        apart |= dict(_apart(name, one))
    return apart


def _apart(name: str, one: Any) -> Iterator[tuple[str, Column]]:
    if isinstance(one, Mapping):
        for field, inner in one.items():
            yield from _apart(f"{name}.{field}", inner)
    elif one.dtype.names is not None:
        for field, inner in _fields(one):
            yield from _apart(f"{name}.{field}", inner)
    elif one.ndim > 1:
        for place in range(one.shape[1]):
            yield from _apart(f"{name}[{place}]", one[:, place])
    else:
        yield name, one


def _fields(records: Column) -> list[tuple[str, Column]]:
    return [(name, records[name]) for name in records.dtype.names or ()]


def column(value: Any, place: Place) -> Column | dict[str, Any]:
    """Returns a column as an array, or a column of structs as columns by field. Nulls are refused."""
    if isinstance(value, np.ndarray):
        return np.asarray(unmasked(value, place))
    if isinstance(value, Mapping):
        return {str(name): column(one, place.field(str(name))) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        # This line checks all values without a loop in Python.
        _refuse_null(np.fromiter(map(operator.is_, value, repeat(None)), bool, len(value)), place)
        if has_masked(value):
            value = [unmasked(one, place.at(row)) for row, one in enumerate(value)]
        return _of_list(value, place)
    if hasattr(value, "struct") and str(getattr(value, "dtype", "")).startswith("Struct"):  # polars
        inner = value.struct.unnest()
        return {name: column(inner[name], place.field(name)) for name in inner.columns}
    if _is_arrow_array(value):
        # A chunked column converts values of every kind in the same way.
        value = _pyarrow(place).chunked_array([value])
    if hasattr(value, "to_numpy"):
        _refuse_null(_nulls(value), place)
        if hasattr(value, "type") and hasattr(value, "chunks"):  # Arrow
            return _column_of_arrow(value, place)
        return np.asarray(value.to_numpy())
    return _column_of_arrow(_pyarrow(place).chunked_array(value), place)


def _of_list(values: Sequence[Any], place: Place) -> Column:
    """Returns numbers of Python as an array. For some integers numpy would make floats, which would round
    them."""
    found = np.asarray(values)
    if found.dtype.kind == "f" and found.ndim == 1:
        kinds = set(map(type, values))
        if kinds <= {int, bool}:
            return np.array(values, dtype=object)
        for row, one in enumerate(values if int in kinds else ()):
            if isinstance(one, int) and abs(one) > 2**53:
                raise place.wrong(
                    "a list mixes decimals with an integer that a float cannot hold exactly",
                    "give only integers, or use Decimal",
                    row,
                )
    return found


def has_masked(values: Sequence[Any]) -> bool:
    """Returns whether one of these values is masked, or is an array whose elements may be masked: numpy would
    ignore the mask."""
    return any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, values)))


def unmasked(value: Any, place: Place) -> Any:
    """Returns a masked array without its mask, which must mask nothing. Any other value is returned
    unchanged."""
    if not isinstance(value, np.ma.MaskedArray):
        return value
    if value.dtype.names is not None:
        for name in value.dtype.names:
            unmasked(value[name], place.field(name))
    else:
        mask = np.asarray(np.ma.getmaskarray(value))
        if value.ndim == 0:
            if mask.any():
                raise place.wrong(*EMPTY)
            return value.data
        _refuse_null(np.asarray(mask.any(axis=tuple(range(1, mask.ndim)))), place)
    return np.asarray(value.data)


def _nulls(value: Any) -> NDArray[np.bool_]:
    if hasattr(value, "isna"):  # pandas
        return np.asarray(value.isna())
    nulls = value.is_null()  # polars, Arrow
    return np.asarray(nulls.to_numpy() if hasattr(nulls, "to_numpy") else nulls)


def _refuse_null(nulls: NDArray[np.bool_], place: Place) -> None:
    if nulls.any():
        row = int(np.argmax(nulls))
        raise place.wrong(*EMPTY, row)


def _is_arrow_array(value: Any) -> bool:
    """Returns whether a value is an array of pyarrow in one piece."""
    ours = type(value).__module__.partition(".")[0] == "pyarrow"
    return ours and hasattr(value, "type") and not hasattr(value, "chunks")


def _pyarrow(place: Place) -> Any:
    try:
        import pyarrow
    except ImportError as e:
        raise place.wrong(
            "reading an Arrow table needs the package pyarrow",
            "pip install 'brickwork[arrow]', or give numpy arrays",
        ) from e
    return pyarrow


def _of_arrow(value: Any, place: Place) -> dict[str, Column] | Column:
    """Returns the columns of an object of Arrow, or of an object with only Arrow's interfaces."""
    pyarrow = _pyarrow(place)
    if hasattr(value, "column_names") or isinstance(value, pyarrow.RecordBatchReader):
        table = pyarrow.table(value) if not isinstance(value, pyarrow.Table) else value
        names = _once(table.column_names, place)
        named = ((name, column(table.column(name), place.field(name))) for name in names)
        return _named(named)
    array = hasattr(value, "__arrow_c_array__") and not hasattr(value, "__arrow_c_stream__")
    whole = pyarrow.chunked_array([pyarrow.array(value)] if array else value)
    found = column(whole, place)
    return found if isinstance(found, np.ndarray) else _named(found.items())


def _column_of_arrow(value: Any, place: Place) -> Column | dict[str, Any]:
    """Returns a column of Arrow: structs become columns by field, and lists of one length become rows."""
    pyarrow = _pyarrow(place)
    if pyarrow.types.is_struct(value.type):
        names = [value.type.field(number).name for number in range(value.type.num_fields)]
        return {name: column(inner, place.field(name)) for name, inner in zip(names, value.flatten())}
    if pyarrow.types.is_fixed_size_list(value.type) or pyarrow.types.is_list(value.type):
        joined = value.combine_chunks()
        lengths = set(joined.value_lengths().to_numpy().tolist())
        if len(lengths) > 1:
            raise place.wrong(
                "the rows are lists of different lengths", "give each row the same number of elements"
            )
        inner = column(pyarrow.chunked_array([joined.flatten()]), place)
        if isinstance(inner, np.ndarray):
            return inner.reshape(len(value), next(iter(lengths), 0), *inner.shape[1:])
        raise place.wrong(
            "lists of structs are not supported", "give one column for each field of the struct"
        )
    return np.asarray(value.to_numpy())


def lengths(of: Mapping[str, Column]) -> dict[str, int]:
    """Returns the length of each column."""
    return {name: len(one) for name, one in of.items()}
