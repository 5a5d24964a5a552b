"""Sessions that go on: what was decoded decides what comes next, and what was not flows on, garbled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NoReturn

from . import _native
from ._flags import flags
from ._tasks import Watch, wait, wait_async
from .errors import UsageError
from .inputs import input_word
from .outputs import output_value
from .ports import Port
from .programs import Program, as_program
from .runs import AnyProgram, Key, Record
from .wires import from_text


class Kept:
    """An output that nobody has decoded: a later step of the same session can take it as an input."""

    def __init__(self, session: Session, port: Port, number: int) -> None:
        self._session, self.port, self._number = session, port, number

    def number_in(self, session: Session) -> int:
        """Returns its number in a session, which must be its own and go on."""
        if session is not self._session:
            raise UsageError("what another session has kept", "carry on what this session has kept")
        return self._number

    def __repr__(self) -> str:
        return f"<kept {self.port.name}: {self.port.type}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("what a session has kept is of that session alone")


@dataclass(frozen=True)
class Step:
    """What a step gave: what this party learned, what was kept by name, and what is promised of it."""

    output: Any = field(repr=False)
    kept: Mapping[str, Kept]
    security: Record


class Session:
    """A session with a peer, as `connect` begins it. It ends with its `with` block, or with `close`."""

    def __init__(self, role: str, programs: list[Program]) -> None:
        self._native = _native.Session()
        self.role = role
        self._programs = programs

    def _task(
        self, program: AnyProgram, input: Any, carry: Mapping[str, Kept], keep: list[str]
    ) -> tuple[Program, _native.Task, list[str]]:
        found = as_program(program)
        if found not in self._programs:
            raise UsageError(
                "a program that this session was not made for", "name all of them when connecting"
            )
        carried = []
        for name, kept in carry.items():
            port = next((port for port in found.inputs if port.name == name), None)
            if port is None:
                raise UsageError(
                    f"there is no input {name}", f"inputs are {', '.join(map(str, found.inputs))}"
                )
            carried.append((port.party, name, kept.number_in(self)))
        own = [port for port in found.inputs_of(self.role) if port.name not in carry]
        word = input_word(input, own, None, {}, self.role) if own else None
        number = self._programs.index(found)
        return found, self._native.step(number, word, carried, keep), keep

    def run(
        self,
        program: AnyProgram,
        input: Any = None,
        *,
        carry: Mapping[str, Kept] | None = None,
        keep: list[str] | None = None,
        deadline: float | None = None,
    ) -> Step:
        """Runs a program once; the peer must run the same one, with the same inputs carried on and kept.

        Args:
            program: one of those that the session was made for.
            input: this party's input, without what is carried on.
            carry: inputs, of either party, that take what an earlier step has kept.
            keep: outputs that nobody decodes.
        """
        found, task, kept = self._task(program, input, carry or {}, keep or [])
        return self._step(found, wait(task, Watch(deadline=deadline)).json, kept)

    async def run_async(
        self,
        program: AnyProgram,
        input: Any = None,
        *,
        carry: Mapping[str, Kept] | None = None,
        keep: list[str] | None = None,
        deadline: float | None = None,
    ) -> Step:
        """Runs a program once, as `run` does, while the event loop goes on."""
        found, task, kept = self._task(program, input, carry or {}, keep or [])
        return self._step(found, (await wait_async(task, Watch(deadline=deadline))).json, kept)

    def _step(self, program: Program, found: dict[str, Any], keep: list[str]) -> Step:
        learned = [port for port in program.outputs_of(self.role) if port.name not in keep]
        ports = {port.name: port for port in program.outputs}
        kept = {name: Kept(self, ports[name], number) for name, number in found["kept"]}
        output = output_value(from_text(found["output_bits"]), learned, None)
        return Step(output, kept, Record(found["security"]))

    def close(self) -> None:
        """Ends the session, in agreement with the peer."""
        wait(self._native.close())

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()


def _connect(
    role: str,
    programs: Mapping[Any, int],
    identity: Key,
    peer: str,
    listen: str | None,
    connect: str | None,
    options: Mapping[str, Any],
) -> tuple[Session, _native.Task]:
    if (listen is None) == (connect is None):
        raise UsageError("a party listens or connects", "give listen='HOST:PORT' or connect='HOST:PORT'")
    times = {as_program(program): count for program, count in programs.items()}
    words = [f"{program.path}={count}" for program, count in times.items()]
    key = identity if isinstance(identity, _native.Identity) else None
    call = {
        "listen": listen,
        "connect": connect,
        "peer": peer,
        "identity": None if key is not None else identity,
        "program": words,
        **options,
    }
    session = Session(role, list(times))
    return session, session._native.connect(role, flags(call), key)


def connect(
    role: str,
    programs: Mapping[Any, int],
    *,
    identity: Key,
    peer: str,
    listen: str | None = None,
    connect: str | None = None,
    listening: Callable[[str], None] | None = None,
    deadline: float | None = None,
    **options: Any,
) -> Session:
    """Begins a session of several steps with a peer, under `duplo`.

    All that the steps can take is made now, before the first input, so that a step takes two round trips.

    Args:
        role: `garbler` or `evaluator`; the peer has the other one.
        programs: how often each program may run. The peer names the same, in the same order.
        identity: this party's key: a file, or an `Identity`.
        peer: the peer's public key, or `@FILE`.
        listen: where to wait for the peer, `HOST:PORT`; port 0 lets the system choose.
        connect: where the peer waits.
        listening: called with `HOST:PORT` once this party listens.
        deadline: seconds that it may take until all is made.
        options: `security`, `threads`, `lanes`, `max_ram`, `timeout`, as for `brickwork session`.
    """
    session, task = _connect(role, programs, identity, peer, listen, connect, options)
    wait(task, Watch(listening=listening, deadline=deadline))
    return session


async def connect_async(
    role: str,
    programs: Mapping[Any, int],
    *,
    identity: Key,
    peer: str,
    listen: str | None = None,
    connect: str | None = None,
    listening: Callable[[str], None] | None = None,
    deadline: float | None = None,
    **options: Any,
) -> Session:
    """Begins a session, as `connect` does, while the event loop goes on."""
    session, task = _connect(role, programs, identity, peer, listen, connect, options)
    await wait_async(task, Watch(listening=listening, deadline=deadline))
    return session
