"""Secret values. Nobody knows their values before a run. While a program is traced, a value is only a name in
the source.

The operations on values are in `integers`, `arrays` and `functions`.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from . import _numpy
from .tracing import Body, body, refuse, source
from .types import IntegerType, Type

if TYPE_CHECKING:
    from .integers import Integer

BIT = IntegerType(1)


class Value:
    """A secret value.

    Args:
        type: its type.
        path: its place in the source: a variable, or an element or field of a variable.
        home: the function that it belongs to.
    """

    __slots__ = ("type", "_path", "_home")
    type: Type
    _path: str
    _home: Body

    def __init__(self, type: Type, path: str, home: Body | None = None) -> None:
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_home", home or body())

    def __repr__(self) -> str:
        return f"<secret {self.type!r}>"

    def __bool__(self) -> bool:
        refuse(
            "asks whether a secret is true",
            "its value is unknown while the program is traced: write bw.where(condition, a, b) for "
            "`if`, which computes both; & | for `and` `or`, bw.not_(x) for `not`; bw.min and bw.max for "
            "`min` and `max`; bw.any(x == item for item in items) for `in`; for `while`, a number of rounds "
            "that is always enough; for `assert`, a bit among the outputs",
        )

    def __index__(self) -> int:
        refuse(
            "uses a secret as an index or a number of rounds",
            "write array.at(secret) to look at all elements; for `range`, run to a number that is "
            "always enough",
        )

    def __int__(self) -> int:
        refuse("converts a secret to a plain number", "only returned values are decoded")

    __float__ = __int__
    __complex__ = __int__

    def __hash__(self) -> int:
        refuse("uses a secret as a key", "compare all entries, with bw.where and ==")

    def __contains__(self, item: object) -> bool:
        refuse("asks whether a secret is in something", "write bw.any(item == x for x in items)")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        refuse("changes a value", "values cannot change: row.replace(field=x) makes a new row")

    def __setitem__(self, place: object, value: object) -> NoReturn:
        refuse("changes a value", "values cannot change: array.with_at(place, x) makes a new array")

    def __format__(self, form: str) -> str:
        if form:
            refuse("formats a secret", "only returned values are decoded; `{x!r}` shows its type")
        return repr(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        return _numpy.operate(self, ufunc, method, inputs, more)

    def __array_function__(self, function: Any, types: Any, args: Any, more: Any) -> Any:
        _numpy.call(function)

    def __eq__(self, other: object) -> Integer:  # type: ignore[override]
        return self._equals(other)

    def __ne__(self, other: object) -> Integer:  # type: ignore[override]
        return ~self._equals(other)

    def _equals(self, other: object) -> Integer:
        """Returns whether another value is the same, with all of its elements and fields."""
        raise NotImplementedError


class Compound(Value):
    """A value of several parts. Operators apply to each part."""

    __slots__ = ()

    def _alone(self) -> Any:
        refuse(
            f"uses an operator that {self.type!r} does not have",
            "work on elements, as in [x + y for x, y in zip(a, b)], and on fields, as in row.key < 5",
        )

    def _with_another(self, other: object, /) -> Any:
        self._alone()

    __neg__ = __pos__ = __invert__ = __abs__ = _alone
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _with_another
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _with_another
    __divmod__ = __rdivmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _with_another
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _with_another
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _with_another
    __lt__ = __le__ = __gt__ = __ge__ = _with_another


def here(value: Value) -> str:
    """Returns the path of a value that belongs to the current function."""
    if value._home is not body():
        refuse(
            "uses a value of another function",
            "give the value to the component as an argument: a component can read only its arguments",
        )
    return value._path


def plain(number: object) -> int | None:
    """Returns an integer of Python or numpy as an `int`, and None for anything else."""
    if isinstance(number, Value):
        return None
    try:
        return operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        return None


def is_secret(values: Iterable[object]) -> bool:
    """Returns whether one of these values is secret."""
    return builtins.any(isinstance(one, Value) for one in values)


def variable(of: Value) -> str:
    """Returns the path of a value that is a variable of its own, which keeps its width when it is shifted."""
    path = here(of)
    return path if path.isidentifier() else body().let(of.type, path)


def fold(values: Iterable[Any], join: Callable[[Any, Any], Any], empty: Any) -> Any:
    """Joins values in pairs, so that the depth is small."""
    row = list(values)
    if not row:
        return empty
    while len(row) > 1:
        pairs = [join(a, b) for a, b in zip(row[::2], row[1::2])]
        row = pairs + row[len(pairs) * 2 :]
    return row[0]


def library(file: str, function: str, type: Type, *arguments: Value) -> str:
    """Calls a function of the standard library. Returns the path of the result, which has this type."""
    source().includes.add(file)
    source().use(type)
    return body().let(type, f"{function}({', '.join(here(one) for one in arguments)})")


def own_component(name: str, of: Callable[..., Any], *arguments: Value) -> Any:
    """Calls a function of this package as a component of its own."""
    from .traced import component

    if name not in _COMPONENTS:
        _COMPONENTS[name] = component(of)
    return _COMPONENTS[name](*arguments)


_COMPONENTS: dict[str, Callable[..., Any]] = {}
