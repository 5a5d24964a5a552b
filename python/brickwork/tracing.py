"""Records the operations of a program while its Python code runs, as a source of Brickwork's language.

Every operation on secret values becomes a line of the source, and every call of a component becomes a call.
So a program in Python costs the same as that program in the language, because one compiler makes the circuits
of both.
"""

from __future__ import annotations

import inspect
import linecache
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import CodeType
from typing import Any, NoReturn

from .errors import InvalidInput
from .types import Type, parts

_HERE = os.path.dirname(os.path.abspath(__file__))


class SecretUsed(InvalidInput, TypeError):
    """The Python code needs the value of a secret, or a value does not fit where it is used.

    Attributes:
        file: the Python file.
        line: the line in it.
        text: the text of that line.
    """

    def __init__(self, message: str, hint: str, file: str = "", line: int = 0, text: str = "") -> None:
        super().__init__(f"{file}:{line}: `{text}` {message}" if file else message, hint)
        self.file, self.line, self.text = file, line, text


_DEFINED: ContextVar[CodeType | None] = ContextVar("defined", default=None)
"""A function whose definition is refused, and which is never executed."""


@contextmanager
def definition(of: Callable[..., Any]) -> Iterator[None]:
    """Makes errors name the first line of a function, for a function that takes or returns a wrong type."""
    token = _DEFINED.set(getattr(inspect.unwrap(of), "__code__", None))
    try:
        yield
    finally:
        _DEFINED.reset(token)


def _line() -> tuple[str, int]:
    """Returns the file and line of the executed Python code outside this package, or those of a
    definition."""
    if (code := _DEFINED.get()) is not None:
        line = code.co_firstlineno
        # Decorators precede the `def`.
        for number in range(line, line + 20):
            if linecache.getline(code.co_filename, number).lstrip().startswith(("def ", "async def ")):
                return code.co_filename, number
        return code.co_filename, line
    frame = sys._getframe(2)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_HERE + os.sep):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def refuse(message: str, hint: str) -> NoReturn:
    """Raises `SecretUsed` for the executed line of Python code outside this package."""
    file, line = _line()
    text = linecache.getline(file, line).strip()
    error = SecretUsed(message, hint, os.path.basename(file), line, text)
    if (found := _SOURCE.get()) is not None and found.failed is None:
        # An error is remembered even if the program catches it, because the program would otherwise be a
        # different one.
        found.failed = error
    raise error


EXPECTED = ("sorted", "grouped", "keyed")
"""The rules for the keys of a table, the weakest first, as a pragma names them."""


class Body:
    """The lines of a function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.tables: list[tuple[str, str, str]] = []
        """Tables that must keep a rule: their paths, the field of the key, and the rule."""
        self._names = 0

    def name(self) -> str:
        """Returns a new name."""
        self._names += 1
        return f"t{self._names}"

    def let(self, type: Type, expression: str | None = None) -> str:
        """Declares a variable, and returns its name."""
        source().use(type)
        name = self.name()
        value = "" if expression is None else f" = {expression}"
        self.say(f"{type.word} {name}{type.dimensions}{value};")
        return name

    def say(self, line: str) -> None:
        """Adds a line."""
        self.lines.append(f"    {line}")


class Source:
    """A source that grows while a program is traced."""

    def __init__(self) -> None:
        self.functions: dict[object, tuple[str, Type]] = {}
        """Names of functions with the types of their results, by the code and the types from which they were
        made."""
        self.written: dict[object, tuple[object, Any]] = {}
        """For each function that was made a component: the values that it read then, and its written
        statements."""
        self.texts: list[str] = []
        """Functions, callees first."""
        self.tables: dict[str, tuple[tuple[str, str, str], ...]] = {}
        """The rules for tables that are arguments of a function, by the function's name."""
        self.includes: set[str] = set()
        self.failed: SecretUsed | None = None
        """The first error that was raised."""
        self.checks: dict[Fault, list[str]] | None = None
        """The bits that report faults, if faults are to be found. Then components are parts of `main`."""
        self.names: set[str] = set()
        self._integers: dict[str, str] = {}
        self._structs: dict[str, tuple[Type, str]] = {}

    def new_name(self, name: str) -> str:
        """Returns a name that is not used yet, this one if possible."""
        name = _PLAIN.sub("_", name).strip("_") or "component"
        found, number = name, 1
        while found in self.names or is_taken(found):
            number += 1
            found = f"{name}_{number}"
        self.names.add(found)
        return found

    def use(self, type: Type) -> None:
        """Declares the structs of a type."""
        for struct in parts(type):
            known = self._structs.get(struct.name)
            if known is None:
                for _, field in struct.fields:
                    self.use(field)
                fields = " ".join(f"{field.word} {name}{field.dimensions};" for name, field in struct.fields)
                if struct.name in self.names or is_taken(struct.name) or _PLAIN.search(struct.name):
                    refuse(
                        f"names a struct {struct.name}",
                        "a component or the language already uses this name: rename the struct",
                    )
                self.names.add(struct.name)
                for field_name, _ in struct.fields:
                    if is_taken(field_name) or _PLAIN.search(field_name):
                        refuse(
                            f"names a field {field_name}",
                            "the language already uses this name: rename the field",
                        )
                self._structs[struct.name] = (struct, f"typedef struct_t {struct.name} {{ {fields} }}")
            elif known[0] != struct:
                refuse(f"two structs have the name {struct.name}", "give each struct its own name")
        word = type.word
        if word not in self._structs:
            kind = "int_t" if word[0] == "i" else "uint_t"
            width, _, point = word[1:].partition("p")
            pragma = f"/*@ point {point} */ " if point else ""
            self._integers[word] = f"{pragma}typedef {kind} {width} {word}"

    def text(self, head: list[str], main: Body) -> str:
        """Returns the whole source, with the lines of its head after the types."""
        includes = [f'#include "{name}"' for name in sorted(self.includes)]
        types = [*self._integers.values(), *(text for _, text in self._structs.values())]
        lines = ["#parties 2", *includes, *types, *head, "", *self.texts]
        return "\n".join([*lines, "function void main()", "{", *main.lines, "}", ""])


@dataclass(frozen=True)
class Fault:
    """A fault in a line of a program.

    Attributes:
        file: the Python file.
        line: the line in it.
        what: what happened.
    """

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).strip()
        return f"{os.path.basename(self.file)}:{self.line}: `{text}` {self.what}"


def check(what: str, is_wrong: Callable[[], Any]) -> None:
    """Notes a bit that is 1 if a fault occurred in the executed line of Python code outside this package, if
    faults are to be found.
    """
    of = source()
    if of.checks is None:
        return
    checks, of.checks = of.checks, None
    try:
        bit = is_wrong()
    finally:
        of.checks = checks
    checks.setdefault(Fault(*_line(), what), []).append(bit._path)


_TAKEN = frozenset(
    "main void uint_t int_t struct_t typedef function if else for while return int bit uint32 int32 "
    "division less less_signed min max min_signed max_signed abs distance popcount divide shift_right "
    "sort_pair sort fixed_multiply fixed_divide fixed_from fixed_floor fixed_round input1 input2 "
    "output1 output2".split()
)
"""Names of the language and its standard library."""

_PLAIN = re.compile(r"[^A-Za-z0-9_]")
"""A feature that the language does not have."""

_OWN = re.compile(r"t[0-9]+|[ui][0-9]+(p[0-9]+)?")
"""Names that this module makes."""


def is_taken(name: str) -> bool:
    """Returns whether the language, its library or a trace uses this name."""
    return name in _TAKEN or _OWN.fullmatch(name) is not None


def parameter(name: str) -> str:
    """Returns the name of a parameter in the source."""
    plain = _PLAIN.sub("_", name)
    return f"{plain}_" if is_taken(plain) or plain != name else name


_SOURCE: ContextVar[Source | None] = ContextVar("source", default=None)
_BODY: ContextVar[Body | None] = ContextVar("body", default=None)


def source() -> Source:
    """Returns the current source."""
    found = _SOURCE.get()
    if found is None:
        refuse(
            "uses a value of a program whose tracing has ended",
            "use the value only in the function that received it",
        )
    return found


def body() -> Body:
    """Returns the current function."""
    found = _BODY.get()
    if found is None:
        refuse(
            "uses a value of a program whose tracing has ended",
            "use the value only in the function that received it",
        )
    return found


def is_tracing() -> bool:
    """Returns whether a program is being traced."""
    return _SOURCE.get() is not None


@contextmanager
def tracing(of: Source) -> Iterator[Body]:
    """Traces `main` of a source; yields its body."""
    tokens = _SOURCE.set(of), _BODY.set(Body())
    try:
        yield body()
    finally:
        _SOURCE.reset(tokens[0])
        _BODY.reset(tokens[1])


@contextmanager
def function() -> Iterator[Body]:
    """Traces another function of the source; yields its body."""
    token = _BODY.set(Body())
    try:
        yield body()
    finally:
        _BODY.reset(token)
