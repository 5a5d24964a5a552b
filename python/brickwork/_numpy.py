"""Defines the behaviour of numpy with secrets: its operators are those of Python, and its functions are
refused with a suggestion.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from .tracing import refuse

Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]

_UNARY: Mapping[str, Unary] = {
    "negative": operator.neg,
    "positive": operator.pos,
    "invert": operator.invert,
    "absolute": operator.abs,
}
"""Python's operators of one operand, by numpy's names."""

_BINARY: Mapping[str, tuple[Binary, str]] = {
    "add": (operator.add, "__radd__"),
    "subtract": (operator.sub, "__rsub__"),
    "multiply": (operator.mul, "__rmul__"),
    "divide": (operator.truediv, "__rtruediv__"),
    "floor_divide": (operator.floordiv, "__rfloordiv__"),
    "remainder": (operator.mod, "__rmod__"),
    "power": (operator.pow, "__rpow__"),
    "divmod": (divmod, "__rdivmod__"),
    "matmul": (operator.matmul, "__rmatmul__"),
    "bitwise_and": (operator.and_, "__rand__"),
    "bitwise_or": (operator.or_, "__ror__"),
    "bitwise_xor": (operator.xor, "__rxor__"),
    "left_shift": (operator.lshift, "__rlshift__"),
    "right_shift": (operator.rshift, "__rrshift__"),
    "less": (operator.lt, "__gt__"),
    "less_equal": (operator.le, "__ge__"),
    "greater": (operator.gt, "__lt__"),
    "greater_equal": (operator.ge, "__le__"),
    "equal": (operator.eq, "__eq__"),
    "not_equal": (operator.ne, "__ne__"),
}
"""Python's operators of two operands, by numpy's names, each with the method of the second operand that
implements it."""

_INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(["where", "select", "choose"], "bw.where(condition, a, b), which computes both"),
    **dict.fromkeys(["sum", "add.reduce", "nansum"], "bw.sum(values)"),
    **dict.fromkeys(["min", "amin", "minimum", "minimum.reduce", "fmin", "nanmin"], "bw.min(values)"),
    **dict.fromkeys(["max", "amax", "maximum", "maximum.reduce", "fmax", "nanmax"], "bw.max(values)"),
    "clip": "bw.min(bw.max(x, low), high)",
    "sort": "bw.sort(values)",
    **dict.fromkeys(["dot", "inner", "vdot"], "bw.dot(a, b), or a @ b"),
    **dict.fromkeys(["mean", "average"], "bw.sum(values), divided by the number of values"),
    "any": "bw.any(conditions)",
    "all": "bw.all(conditions)",
    "array_equal": "a == b",
    "logical_and": "a & b, of bits",
    "logical_or": "a | b, of bits",
    "logical_xor": "a ^ b, of bits",
    "logical_not": "~a, of bits",
    "square": "x * x",
    "floor": "x.floor()",
    **dict.fromkeys(["rint", "round", "around"], "x.round()"),
    "bitwise_count": "bw.popcount(x)",
    **dict.fromkeys(["concatenate", "append", "hstack"], "[*a, *b]"),
    **dict.fromkeys(["stack", "vstack"], "[a, b]"),
    **dict.fromkeys(["flip", "flipud"], "a[::-1]"),
}
"""The suggestion for a function of numpy."""


def _refused(name: str) -> NoReturn:
    instead = _INSTEAD.get(name)
    refuse(
        f"gives a secret to np.{name}",
        f"write {instead}"
        if instead
        else "numpy cannot compute with secrets: use operators and functions of bw, element by element",
    )


def operate(of: object, ufunc: Any, method: str, inputs: tuple[Any, ...], more: Mapping[str, Any]) -> Any:
    """Applies the operator of a function of numpy, for an operand that is a number or an array of numpy. `of`
    is the secret operand.
    """
    name: str = ufunc.__name__
    if method != "__call__":
        _refused(f"{name}.{method}")
    if more:
        _refused(name)
    if len(inputs) == 1 and name in _UNARY:
        return _UNARY[name](of)
    if len(inputs) == 2 and name in _BINARY:
        forward, backward = _BINARY[name]
        # numpy asks the operands in their order, so an operand before this one is not a secret.
        return forward(*inputs) if inputs[0] is of else getattr(of, backward)(inputs[0])
    _refused(name)


def call(function: Any) -> NoReturn:
    """Refuses a function of numpy."""
    _refused(getattr(function, "__name__", "function"))
