"""Finds the values that a function reads besides its arguments: names of its module and of enclosing
functions, attributes of classes and modules, and the values that its called functions read.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
import types
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from .types import Owned, Type

_CONSTANT = frozenset(
    [int, float, complex, str, bytes, bool, type(None), type(...), range, Decimal, Fraction]
)
"""The types of values that differ whenever their value differs."""


class _MayChange(Exception):
    """A value may change although it stays the same object."""


def reads(*roots: Any) -> tuple[object, ...] | None:
    """Returns the values that functions read: the functions do the same as long as these are equal. Returns
    None if one of them, such as a list, may change and stay the same object.
    """
    reading = _Reading()
    try:
        for root in roots:
            reading.look(root, frozenset())
    except (_MayChange, RecursionError):
        return None
    return tuple(reading.found)


def is_itself_alone(one: Any) -> bool:
    """Returns whether an object is equal only to itself and may still change, because its class does not
    define equality.
    """
    if isinstance(one, types.MethodType):
        return is_itself_alone(one.__self__)
    if isinstance(one, tuple):
        return any(map(is_itself_alone, one))
    if isinstance(one, (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)):
        return False
    if type(one) in _CONSTANT or isinstance(one, Enum):
        return False
    says = next(base for base in type(one).__mro__ if "__eq__" in vars(base))
    return says is object and not _is_ours(type(one))


_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def _is_ours(of: type) -> bool:
    return of.__module__.partition(".")[0] == __package__


def _is_description(of: type) -> bool:
    """Returns whether a class is a frozen dataclass of this package, whose values do not change."""
    parameters = getattr(of, "__dataclass_params__", None)
    return parameters is not None and parameters.frozen and _is_ours(of)


@functools.cache
def _is_known(module: str) -> bool:
    """Returns whether a module belongs to this package or to Python's library, whose functions do not
    change."""
    if module in sys.builtin_module_names:
        return True
    path = os.path.abspath(getattr(sys.modules.get(module), "__file__", None) or "")
    return path.startswith(_HERE) or path.startswith(_LIBRARY) and "-packages" not in path


class _Reading:
    def __init__(self) -> None:
        self.found: list[object] = []
        self._seen: set[tuple[int, frozenset[str]]] = set()

    def look(self, one: Any, names: frozenset[str]) -> None:
        """Records a value that code reads. `names` has all names in that code: it may read attributes of the
        value that are called so."""
        kind = type(one)
        if kind in _CONSTANT or isinstance(one, (Type, Owned, Enum)) or _is_description(kind):
            self.found.append((kind, one))
            return
        if isinstance(one, tuple):
            self.found.append((kind, len(one)))
            for part in one:
                self.look(part, names)
            return
        if (id(one), names) in self._seen:
            return
        self._seen.add((id(one), names))
        if isinstance(one, types.FunctionType):
            self._function(one)
        elif isinstance(one, type):
            self._class(one, names)
        elif isinstance(one, types.ModuleType):
            self._attributes(vars(one), names, names)
        elif isinstance(one, types.MethodType):
            self.look(one.__func__, names)
            self.look(one.__self__, names)
        elif _is_ours(kind) and hasattr(one, "__wrapped__"):  # a component
            self.look(one.__wrapped__, names)
        elif not isinstance(one, types.BuiltinFunctionType) or not _is_free(one):
            raise _MayChange

    def _function(self, of: types.FunctionType) -> None:
        if _is_known(of.__globals__.get("__name__", "")):
            self.found.append(of)
            return
        self.found.append(of.__code__)
        names, of_module = _names(of.__code__)
        self._attributes(of.__globals__, of_module, names)
        for cell in of.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:
                self.found.append("empty")
            else:
                self.look(content, names)
        self.look(of.__defaults__, names)
        self.look(tuple((of.__kwdefaults__ or {}).items()), names)

    def _class(self, of: type, names: frozenset[str]) -> None:
        self.found.append(of)
        for base in of.__mro__:
            if not _is_known(base.__module__):
                methods = {name for name, one in vars(base).items() if isinstance(one, types.FunctionType)}
                self._attributes(vars(base), names | methods, names | methods)

    def _attributes(self, of: Any, wanted: frozenset[str], names: frozenset[str]) -> None:
        """Notes the existing attributes; `names` are the candidates for each of them in turn."""
        for name in sorted(wanted):
            if name in of:
                self.found.append(name)
                one = of[name]
                if isinstance(one, (staticmethod, classmethod)):
                    one = one.__func__
                self.look(one.fget if isinstance(one, property) else one, names)


def _is_free(of: types.BuiltinFunctionType) -> bool:
    """Returns whether a function is no method of an object, which it could change."""
    return of.__self__ is None or isinstance(of.__self__, types.ModuleType)


@functools.cache
def _names(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """Returns all names that code and the functions within it use, and those that they look up in the module.
    The other names are attributes. So a variable of the module with the same name is not read.
    """
    names, of_module = {*code.co_names}, set()
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_NAME" or "GLOBAL" in step.opname:
            of_module.add(str(step.argval))
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            inner_names, inner_of_module = _names(inner)
            names |= inner_names
            of_module |= inner_of_module
    return frozenset(names), frozenset(of_module)
