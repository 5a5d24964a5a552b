"""Functions for keys, plans, stores, examples and the doctor. Most have the name of their command."""

from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from . import _native
from ._flags import as_json, flags
from ._tasks import Watch, wait
from .errors import UsageError, from_json, needed
from .pages import Page
from .programs import Program, as_program, compile, compiler_options
from .runs import AnyProgram, Record


def call(*words: str | os.PathLike[str], **options: Any) -> Record:
    """Calls a command that has no function here, such as `call("stock", "burn", folder, all=True)` or
    `call("bench", "garbling", rounds=5)`. Returns its JSON.

    `pip` installs the program `brickwork` with this package. `bench` needs `brickwork-bench` from
    `tools/bench`.
    """
    line = [*(os.fspath(word) for word in words), *flags(options)]
    if line[:1] == ["bench"]:
        return _by_another("brickwork-bench", "measures", "tools/bench", line[1:])
    if line and (function := _FUNCTIONS.get(line[0])) is not None:
        # Other users of this machine can read the arguments of a process, which may be inputs.
        raise UsageError("another function does this", f"call brickwork.{function}")
    return _by_another("brickwork", "has the commands", "crates/cli", line)


_FUNCTIONS = {
    "run": "run",
    "garbler": "garbler",
    "evaluator": "evaluator",
    "session": "connect",
    "simulate": "simulate",
}
"""For each command that takes inputs, the function to use instead."""


def _by_another(name: str, does: str, folder: str, line: list[str]) -> Record:
    """Calls another program of the project, and returns its JSON."""
    # pip installs the command beside the interpreter, whose folder may not be in PATH.
    program = shutil.which(name) or shutil.which(name, path=os.path.dirname(sys.executable))
    if program is None:
        raise UsageError(
            f"the program {name}, which {does}, is not in PATH",
            f"cargo install --locked --path {folder} --bin {name}",
        )
    words = [program, *line, "--json"]
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = json.loads(ended.stdout)
    if "error" in found:
        raise from_json(json.dumps(found["error"]))
    return Record(found)


@overload
def keygen() -> _native.Identity: ...


@overload
def keygen(path: str | os.PathLike[str], *, store_key: bool = False) -> str: ...


def keygen(path: str | os.PathLike[str] | None = None, *, store_key: bool = False) -> _native.Identity | str:
    """Makes a key pair, or the key of a store.

    Args:
        path: a new file for the private key; without one it stays in memory.
        store_key: whether to make the key of a store, which needs a file.

    Returns:
        the public key, for the peer, if there is a file; otherwise an `Identity` with the key pair. For a
        store it is the name of the file.
    """
    if path is None:
        if store_key:
            raise UsageError("the key of a store needs a file", "give the name of a new file")
        return _native.Identity.generate()
    made = wait(_native.new_key(path, store_key)).json
    return str(made["store_key" if store_key else "public_key"])


@dataclass(frozen=True)
class Link:
    """The connection between two parties, such as `Link("1Gbit", "20ms")`: bandwidth each way, and round-trip
    time."""

    bandwidth: str | None = None
    rtt: str | None = None


class Plan(Record, Page):
    """A prediction; `text` is the output of the command for it."""

    def __init__(self, fields: Mapping[str, Any], text: str, program: _native.Program) -> None:
        super().__init__(fields)
        self.text = text
        self._program = program

    def record(self) -> Mapping[str, Any]:
        """Returns the JSON of the page, with the program in the cut that the plan proposes."""
        cut = self._fields.get("cut", "given")
        return {**self._fields, "program": wait(_native.describe(self._program, cut)).json}

    def __repr__(self) -> str:
        return self.text.rstrip()


def plan(program: AnyProgram, *, link: Link | None = None, **options: Any) -> Plan:
    """Predicts bytes, round trips, time and memory of a run, as `brickwork plan` with flags of these
    names.
    """
    program = as_program(program)
    native = program.native
    if source := {name: options.pop(name) for name in _COMPILER if name in options}:
        native = _native.Program()
        wait(native.load(os.fspath(program.path), program.map, as_json(compiler_options(**source))))
    for name in ("workers", "inline", "component", "accept"):
        if isinstance(options.get(name), (int, str)):
            options[name] = [options[name]]
    line = {} if link is None else {"bandwidth": link.bandwidth, "rtt": link.rtt}
    told = wait(_native.plan(native, as_json({**line, **options})))
    return Plan(told.json, told.human, native)


_COMPILER = ("builtin", "aes", "struct_order", "warnings_as_errors")
"""The options of the compiler that `plan` takes besides those of the cut."""


def counts(programs: Mapping[Any, int] | Iterable[str]) -> tuple[list[str], list[tuple[Any, int]]]:
    """Returns arguments for making stock, and programs with the number of their executions."""
    if not isinstance(programs, Mapping):
        return list(programs), []
    return [], [(as_program(program).native, count) for program, count in programs.items()]


def preprocess(
    role: str,
    components: Mapping[Any, int] | Iterable[str],
    *,
    identity: str | os.PathLike[str],
    peer: str,
    store: str | os.PathLike[str],
    listen: str | None = None,
    connect: str | None = None,
    deadline: float | None = None,
    **options: Any,
) -> Record:
    """Makes stock with the peer, as `brickwork preprocess`.

    Args:
        components: the number of executions of each program, or arguments `FILE[:NAME]=COUNT`.
    """
    words, programs = counts(components)
    for name in ("maker", "worker_at"):
        if isinstance(options.get(name), str):
            options[name] = [options[name]]
    peers = {"identity": identity, "peer": peer, "store": store, "listen": listen, "connect": connect}
    given = as_json({**peers, "component": words, **options})
    task = _native.preprocess(role, given, programs, dict(options.get("map") or {}))
    return Record(wait(task, Watch(deadline=deadline)).json)


class Inventory(Record):
    """The contents of a store. In a notebook it is a table of its parts, with a row for each kind of item of
    each epoch.

    Attributes:
        rows: that table, as a list of dicts.
    """

    def __init__(self, fields: Mapping[str, Any], text: str) -> None:
        super().__init__(fields)
        self._text = text

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "epoch": epoch["id"][:12],
                "protocol": epoch["protocol"],
                "condition": epoch["condition"],
                "item": batch["name"],
                "left": batch["left"],
                "items": batch["items"],
                "bytes": batch["bytes"],
                "bound_log2": batch["bound_log2"],
            }
            for epoch in self._fields["epochs"]
            for batch in epoch["batches"]
        ]

    def to_pandas(self) -> Any:
        """Returns the table as a `pandas.DataFrame`."""
        pandas = needed("pandas", "to_pandas", "pandas")
        return pandas.DataFrame(self.rows)

    def __repr__(self) -> str:
        return self._text.rstrip()

    def _repr_html_(self) -> str:
        rows = self.rows
        if not rows:
            return f"<pre>{html.escape(self._text.rstrip())}</pre>"
        head = "".join(f"<th>{name}</th>" for name in rows[0])

        def cells(row: Mapping[str, Any]) -> str:
            words = ("" if one is None else html.escape(str(one)) for one in row.values())
            return "".join(f"<td>{word}</td>" for word in words)

        body = "".join(f"<tr>{cells(row)}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Store:
    """A folder with stock of one pair of parties.

    Args:
        path: the folder.
        key: the file with the store's key.
    """

    def __init__(self, path: str | os.PathLike[str], key: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path)
        self._key = key

    def inventory(self, *programs: AnyProgram) -> Inventory:
        """Returns the contents, as `brickwork stock ls`.

        Args:
            programs: for each of these, the result also has the number of executions in stock.
        """
        read = [as_program(one) for one in programs]
        told = wait(_native.stock_ls(self._options(), [(os.fspath(one.path), one.native) for one in read]))
        return Inventory(told.json, told.human)

    def fill(
        self,
        role: str,
        programs: Mapping[Any, int] | Iterable[str],
        *,
        identity: str | os.PathLike[str],
        peer: str,
        listen: str | None = None,
        connect: str | None = None,
        deadline: float | None = None,
        **options: Any,
    ) -> Record:
        """Makes stock in this store with the peer, as `preprocess` does. The peer fills its store at the same
        time."""
        place = {"store": self.path, "listen": listen, "connect": connect, "deadline": deadline}
        key = {} if self._key is None else {"store_key": self._key}
        return preprocess(role, programs, identity=identity, peer=peer, **place, **key, **options)  # type: ignore[arg-type]

    def verify(self) -> Record:
        """Reads everything, and names altered and missing items."""
        return Record(wait(_native.stock_verify(self._options())).json)

    def _options(self) -> str:
        return as_json({"store": self.path, "store_key": self._key})

    def __repr__(self) -> str:
        return f"Store({os.fspath(self.path)!r})"


def info(program: AnyProgram) -> Record:
    """Describes a program, as `brickwork info`: its ports, components, slots, gates and digest."""
    return Record(as_program(program).info())


def doctor(
    program: AnyProgram | None = None,
    *,
    role: str | None = None,
    input: Any = None,
    map: Mapping[str, str] | None = None,
    **options: Any,
) -> Record:
    """Finds problems before work starts.

    Args:
        input: this party's value in the form of the command's flag.
    """
    place = None
    if program is not None:
        of = as_program(program)
        place = os.fspath(of.path), {**of.map, **(map or {})}
    text = None if input is None else str(input)
    return Record(wait(_native.doctor(place, role, text, as_json(options))).json)


def examples() -> list[Record]:
    """Lists the programs that come with the compiler."""
    return list(Record(wait(_native.write_examples()).json).examples)


def example(name: str) -> Program:
    """Returns a program that comes with the compiler, from its source."""
    with tempfile.TemporaryDirectory(prefix="brickwork-") as folder:
        wait(_native.write_examples(name, folder))
        source = Path(folder) / f"{name}.wir"
        if "#parties" not in source.read_text(encoding="utf-8"):
            raise UsageError(
                f"{name} is a library, not a program", f'`#include "{name}.wir"` finds it in a source'
            )
        return compile(source)


def demo_cheat(attack: str | None = None, runs: int = 100) -> Record:
    """Lists the attacks on the protocol, or runs one of them here. Returns its results and the predicted
    frequencies.

    Another program plays the attacks, since this package contains no hook for a cheater. It is
    `brickwork-demo-cheat`, which `cargo install --locked --path crates/adversary --bin brickwork-demo-cheat`
    installs.
    """
    line = [*([attack] if attack else []), f"--runs={runs}"]
    return _by_another("brickwork-demo-cheat", "plays the attacks", "crates/adversary", line)


def harden() -> None:
    """Keeps the memory of this process out of core dumps, and hidden from other processes of this user."""
    _native.harden()
