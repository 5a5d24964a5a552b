"""Programs: compiled from sources, read from files, or traced."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from . import _native
from ._flags import as_json
from ._tasks import wait
from .errors import InvalidInput, UsageError
from .pages import Page
from .ports import Port, type_from_json, without_points

if TYPE_CHECKING:
    from .tracing import Fault


@runtime_checkable
class HasProgram(Protocol):
    """An object that can be turned into a program, such as a traced function."""

    def as_program(self) -> Program: ...


@runtime_checkable
class HasChecks(Protocol):
    """An object that can report faults of its program, such as a traced function."""

    def checked(self) -> tuple[Program, list[Fault]] | None: ...


class Program(Page):
    """A program in a file: a `.wir` source, a `.bwp`, or a circuit of any format that the command reads.

    Both parties must use the same program; `digest` identifies it. The file is compiled once, for all uses.

    Args:
        path: the file.
        map: the parties of inputs of a Bristol or SCD circuit, such as `{"in2": "garbler"}`.
    """

    def __init__(self, path: str | os.PathLike[str], map: Mapping[str, str] | None = None) -> None:
        self.path = Path(path)
        self.map = dict(map or {})
        self._files = _files(self.path)
        self.native = _native.Program()
        found = self._read(self.native)
        self.digest: str = found["digest"]
        self.and_gates: int = found["and_gates"]
        self.inputs: tuple[Port, ...] = _ports(found["inputs"])
        self.outputs: tuple[Port, ...] = _ports(found["outputs"])
        self.is_raw = False

    def raw(self) -> Program:
        """Returns the same program, with the integers of fixed-point numbers as inputs and outputs."""
        other = object.__new__(Program)
        vars(other).update(vars(self))
        other.is_raw = True
        other.inputs, other.outputs = (
            tuple(replace(port, type=without_points(port.type)) for port in ports)
            for ports in (self.inputs, self.outputs)
        )
        return other

    def _read(self, into: _native.Program) -> Any:
        return wait(into.load(os.fspath(self.path), self.map, "{}")).json

    def unchanged(self) -> Program:
        """Returns this program, after a check that its file still holds the program that was loaded.

        Raises:
            InvalidInput: the file holds another program.
        """
        files = _files(self.path)
        if files != self._files:
            if self._read(_native.Program())["digest"] != self.digest:
                raise InvalidInput(
                    f"the program in {self.path} has changed since it was loaded",
                    "load the file again: bw.load(…)",
                )
            self._files = files
        return self

    def inputs_of(self, party: str) -> list[Port]:
        """Returns the inputs of a party, `garbler` or `evaluator`."""
        return [port for port in self.inputs if port.party == party]

    def outputs_of(self, party: str) -> list[Port]:
        """Returns the outputs of a party."""
        return [port for port in self.outputs if port.party in (party, "both")]

    def info(self) -> dict[str, Any]:
        """Returns the output of `brickwork info --json` for this program."""
        return self.described("given")

    def meaning(self, bits: Mapping[str, bytes], executions: int | None) -> Any:
        """Returns the values of the parties' output bits, in the form of the command's JSON."""
        parties = (bits.get(party) for party in ("garbler", "evaluator"))
        return wait(self.native.outputs(executions, *parties)).json

    def described(self, cut: str) -> dict[str, Any]:
        """Returns the output of `info` for this program in another cut, such as one that a run names."""
        return dict(wait(_native.describe(self.unchanged().native, cut)).json)

    def record(self) -> Mapping[str, Any]:
        return self.info()

    def save(self, path: str | os.PathLike[str], cut: str | None = None) -> Program:
        """Writes the program to a `.bwp` file, which can be sent to the peer, and returns the program in that
        file.

        Args:
            cut: `whole` for one piece, from which stock is then made, or another value of `--cut`.
        """
        return self._written(path, cut=cut)

    def repeated(self, times: int, hold: str) -> Program:
        """Returns a program that evaluates this program several times and uses one input of a party for all
        evaluations, such as one model for many rows. This input is given once. So nobody needs to trust that
        a party gives the same input for each evaluation. Each input of the other party, and each output,
        becomes an array.

        Args:
            times: the number of evaluations.
            hold: the party whose input is the same in all, `garbler` or `evaluator`.
        """
        return self._written(new_file(), repeat=times, hold=hold)

    def _written(self, path: str | os.PathLike[str], **options: Any) -> Program:
        """Returns the program that these options make of this program. Its fixed-point numbers are read in
        the same way."""
        request = as_json({"file": self.unchanged().path, "output": path, **options})
        wait(_native.compile(request, self.native))
        other = Program(path)
        return other.raw() if self.is_raw else other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map_) for map_ in (map(str, self.inputs), map(str, self.outputs)))
        return f"<brickwork.Program {self.digest[:16]}: {inputs} -> {outputs}; {self.and_gates:,} AND gates>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _same, (self.path, self.map, self.digest, self.is_raw)


def _same(path: Path, map: Mapping[str, str], digest: str, is_raw: bool) -> Program:
    """Returns a pickled program, after a check that its file still holds it."""
    program = Program(path, map)
    if program.digest != digest:
        raise InvalidInput(
            f"the program in {path} has changed since it was pickled", "load the file again: bw.load(…)"
        )
    return program.raw() if is_raw else program


_INCLUDE = re.compile(rb'^[ \t]*#include[ \t]+"([^"\n]+)"', re.MULTILINE)


def _files(path: Path) -> dict[Path, tuple[int, ...] | None]:
    """Returns a value that changes whenever a program's file, or a file that it includes, is written to."""
    found: dict[Path, tuple[int, ...] | None] = {}
    left = [path]
    while left:
        if (one := left.pop()) in found:
            continue
        try:
            about = os.stat(one)
            found[one] = about.st_mtime_ns, about.st_size, about.st_ino
            if one.suffix == ".wir":
                left += [one.parent / os.fsdecode(name) for name in _INCLUDE.findall(one.read_bytes())]
        except (OSError, ValueError):
            # This is a file of the standard library, or a missing file, for which the reader reports the
            # error.
            found[one] = None
    return found


def _ports(found: Iterable[Mapping[str, Any]]) -> tuple[Port, ...]:
    return tuple(Port(port["name"], port["party"], type_from_json(port["type"])) for port in found)


def load(path: str | os.PathLike[str], map: Mapping[str, str] | None = None) -> Program:
    """Reads a program, source or circuit. The content of the file determines which."""
    return Program(path, map)


def as_program(
    program: Program | HasProgram | str | os.PathLike[str], map: Mapping[str, str] | None = None
) -> Program:
    """Returns a program, given a program or the name of one. With a map, the inputs belong to these
    parties."""
    if map and isinstance(program, Program):
        return program if {**program.map, **map} == program.map else Program(program.path, map)
    if isinstance(program, Program):
        return program.unchanged()
    if isinstance(program, HasProgram):
        return program.as_program()
    if not isinstance(program, (str, os.PathLike)):
        what = getattr(program, "__name__", type(program).__name__)
        raise UsageError(
            f"{what} is not a program",
            "write @bw.program above its def"
            if callable(program)
            else "give a program, or the path of its file",
        )
    return Program(program, map)


def compile(
    source: str | os.PathLike[str],
    *,
    inline: Iterable[str] = (),
    component: Iterable[str] = (),
    builtin: Mapping[str, str] | None = None,
    aes: bool = False,
    struct_order: str | None = None,
    warnings_as_errors: bool = False,
) -> Program:
    """Compiles a `.wir` source, as `brickwork compile` does with flags of these names.

    Raises:
        CompileError: the source has errors; its `diagnostics` name file, line and column.
    """
    options = {
        "inline": list(inline),
        "component": list(component),
        **compiler_options(builtin, aes, struct_order, warnings_as_errors),
    }
    output = new_file()
    wait(_native.compile(as_json({"file": source, "output": output, "source": options})))
    return Program(output)


def compiler_options(
    builtin: Mapping[str, str] | None = None,
    aes: bool = False,
    struct_order: str | None = None,
    warnings_as_errors: bool = False,
) -> dict[str, Any]:
    """Returns options of the compiler in the form of the native part."""
    if struct_order not in (None, "declared", "reverse"):
        raise UsageError(f"struct_order is {struct_order!r}", "it is declared or reverse")
    return {
        "builtins": dict(builtin or {}),
        "aes": aes,
        "reverse_structs": struct_order == "reverse",
        "warnings_as_errors": warnings_as_errors,
    }


_NUMBERS = itertools.count(1)
_FOLDER: tuple[int, str] | None = None
"""The folder for files of this process, with the number of the process: a fork has a folder of its own."""


def new_file() -> str:
    """Returns the name of a new `.bwp` file of this process, which is removed when the process ends. Programs
    are no secrets."""
    global _FOLDER
    if _FOLDER is None or _FOLDER[0] != os.getpid():
        _FOLDER = os.getpid(), tempfile.mkdtemp(prefix="brickwork-")
        # Removes the folder at the end of this process, but not at the end of a fork. (A worker of a pool
        # calls no `atexit`.)
        Finalize(None, shutil.rmtree, (_FOLDER[1], True), exitpriority=0)
    return os.path.join(_FOLDER[1], f"{next(_NUMBERS)}.bwp")


def _forked() -> None:
    """Forgets the state of the parent process after a fork, even if both have the same process number."""
    global _FOLDER
    _FOLDER = None
    _native.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
