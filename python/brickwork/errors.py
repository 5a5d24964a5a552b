"""The errors of the package, as exceptions. Each has the exit code that the command would end with, and a
hint."""

from __future__ import annotations

import difflib
import importlib
import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from . import _native


class Error(Exception):
    """The base class of all errors: a refusal of Brickwork, or a failure.

    Attributes:
        code: the exit code of the command for the same error, 1 to 7.
        hint: the remedy.
    """

    code: int = 1
    stands: Mapping[str, Any] | None = None
    """The state of a job of many lanes, if the error is about a job."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = str(self.args[0])
        return f"{message}\nhint: {self.hint}" if self.hint else message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.hint), self.__dict__


class ResourceError(Error):
    """This machine lacks memory, disk, threads or permission."""

    code = 1


class UsageError(Error, ValueError):
    """A call with arguments that do not exist, do not fit, or exclude each other."""

    code = 2


class InvalidInput(Error, ValueError):
    """A program, value, table or key that is malformed or does not fit the others."""

    code = 3


class CompileError(InvalidInput):
    """A source has errors.

    Attributes:
        diagnostics: for each error its `file`, `line`, `column`, `message` and `hint`, as in
        docs/reference/cli.md.
    """

    diagnostics: list[dict[str, Any]] = []

    def __str__(self) -> str:
        lines = [super().__str__()]
        for found in self.diagnostics:
            lines.append(f"  {found['file']}:{found['line']}:{found['column']}: {found['message']}")
            lines += [f"      {line}" for line in (found["text"], found["hint"]) if line]
        return "\n".join(lines)


class ConnectionFailed(Error, ConnectionError):
    """The peer is absent, silent, has another key, or ended the connection; or the connection broke.

    Attributes:
        standing: how far a run had come, or None if none had begun. `phase` was running.

            If `input_left`, the peer can compute with this party's input, though not read it.

            If `peer_may_have_outputs`, the peer may know its result.

            If `deniable`, a peer that cheats may have seen that it would be caught.
    """

    code = 4
    standing: Mapping[str, Any] | None = None


class PeerCheated(Error):
    """The peer broke the protocol. Do not run again with this peer before the cause is known.

    Each check has a class of its own, in `CHEATS`.

    Attributes:
        part: the part of the protocol that the check belongs to.
        check: the name of the check that the peer failed.
    """

    code = 5
    part: str = ""
    check: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        # The name of the check alone determines the error's class.
        return _cheat, (self.part, self.check, self.args[0], self.hint), self.__dict__


class StockError(Error):
    """The stock has too few items, or the store cannot be trusted, belongs to another pair, or is in use."""

    code = 6


class PeerMismatch(Error):
    """The parties differ in version, program, cut, parameters, or in whether they use a store."""

    code = 7


def _cheats() -> dict[tuple[str, str], type[PeerCheated]]:
    def of(part: str, check: str, says: str) -> type[PeerCheated]:
        body = {
            "part": part,
            "check": check,
            "__doc__": f"{says[0].upper()}{says[1:]}.",
            "__module__": __name__,
        }
        return type(check, (PeerCheated,), body)

    return {(part, check): of(part, check, says) for part, check, says in _native.checks()}


CHEATS: Mapping[tuple[str, str], type[PeerCheated]] = MappingProxyType(_cheats())
"""The class of each check, by the part of the protocol and the name of the check."""


def _cheat(part: str, check: str, message: str, hint: str) -> PeerCheated:
    return CHEATS.get((part, check), PeerCheated)(message, hint)


_BY_CODE: dict[int, type[Error]] = {
    kind.code: kind
    for kind in (
        ResourceError,
        UsageError,
        InvalidInput,
        ConnectionFailed,
        PeerCheated,
        StockError,
        PeerMismatch,
    )
}


_WORDS = [
    (re.compile(r"--scale ([\w.]+)=(\d+)"), r'scale={"\1": \2}'),
    (re.compile("--rounding"), "rounding=True"),
    (re.compile("`brickwork info FILE`"), "`Program.inputs`"),
    (re.compile("write an @ before it, or csv: if it is a table"), "give pathlib.Path(…) or secret_file(…)"),
]
"""The command's names of flags, for the arguments of Python."""


def nearest(name: str, known: Sequence[str], what: str) -> str:
    """Returns a hint with the known names that are most similar to an unknown name, or with all known
    names."""
    close = difflib.get_close_matches(name.lower(), [one.lower() for one in known], 2, 0.6)
    similar = [one for one in known if one.lower() in close]
    if similar:
        return f"did you mean {' or '.join(similar)}?"
    return f"{what} are {', '.join(known)}" if known else f"there are no {what}"


def needed(module: str, what: str, package: str) -> Any:
    """Imports a package that only one feature of this package needs.

    Raises:
        UsageError: the package is not installed; `package` is its name for pip.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"{what} needs {module.split('.')[0]}", f"pip install {package}") from error


def _in_python(text: str) -> str:
    for of_the_command, ours in _WORDS:
        text = of_the_command.sub(ours, text)
    return text


def from_json(text: str) -> Error:
    """Returns the exception for the JSON of an error."""
    found = json.loads(text)
    kind = _BY_CODE.get(found["code"], Error)
    message, hint = _in_python(found["message"]), _in_python(found["hint"])
    if "diagnostics" in found:
        error = CompileError(message, hint)
        error.diagnostics = found["diagnostics"]
        return error
    if "check" in found:
        failed: Error = _cheat(found["check"]["part"], found["check"]["name"], message, hint)
    else:
        failed = kind(message, hint)
    if isinstance(failed, ConnectionFailed):
        failed.standing = found.get("standing")
    if "stands" in found:
        failed.stands = found["stands"]
    return failed
