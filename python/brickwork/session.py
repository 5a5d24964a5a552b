"""Sessions of several steps: a step may depend on decoded outputs, and a later step can take garbled values
of earlier ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from . import _native
from ._flags import SessionOptions, as_json
from ._tasks import Told, Watch, aside, wait, wait_async
from .commands import counts
from .errors import UsageError
from .inputs import check_scale, input_word
from .outputs import output_value
from .ports import Port
from .programs import Program, as_program
from .runs import AnyProgram, Key, Record, outputs_of
from .wires import Reading, Scale

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Kept:
    """An output that nobody has decoded: a later step of the same session can take it as an input."""

    def __init__(self, session: Session, port: Port, number: int) -> None:
        self._session, self.port, self._number = session, port, number

    def number_in(self, session: Session) -> int:
        """Returns the number of the value in a session. The session must be its own and must not have
        ended."""
        if session is not self._session:
            raise UsageError(
                "this value belongs to another session", "use a value that this session has kept"
            )
        return self._number

    def __repr__(self) -> str:
        return f"<kept {self.port.name}: {self.port.type}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a kept value cannot leave its session")


@dataclass(frozen=True)
class Step:
    """The result of a step.

    Attributes:
        output: this party's output, in the form of a run's.
        kept: the kept outputs, by name.
        promise: the promise of this step.
        made: a description of the items that the stock lacked and that were made; None if it lacked none, or
            if all were made when the session began.
    """

    output: Any = field(repr=False)
    kept: Mapping[str, Kept]
    promise: Record
    made: str | None


@dataclass(frozen=True)
class _Wish:
    """A requested step."""

    program: Program
    number: int
    word: str | bytes | None
    executions: int | None
    carried: list[tuple[str, str, int]]
    keep: list[str]


class Session:
    """A session with a peer, as `connect` begins it.

    The session ends with its `with` or `async with` block, or with `close`. On an exception it ends at once,
    and the peer sees a closed connection.
    """

    def __init__(self, role: str, programs: list[Program]) -> None:
        self._native = _native.Session()
        self.role = role
        self._numbers = {program: number for number, program in enumerate(programs)}
        self._task: _native.Task | None = None

    def run(
        self,
        program: AnyProgram,
        input: Any = None,
        *,
        executions: int | None = None,
        carry: Mapping[str, Kept] | None = None,
        keep: list[str] | None = None,
        scale: Scale | None = None,
        ignore_extra_columns: bool = False,
        rounding: bool = False,
        progress: bool = False,
        deadline: float | None = None,
    ) -> Step:
        """Runs a program once. The peer must run the same program, with the same inputs carried on and kept.

        Args:
            program: with a store any program; without a store, one of the session's programs.
            input: this party's input, without values that are carried on.
            executions: the number of runs side by side, with a row of input and output for each.
            carry: for inputs of either party, the kept output of an earlier step.
            keep: outputs that nobody decodes.
            scale: digits behind the decimal point, by column.
            ignore_extra_columns: whether columns that the program does not have are ignored.
            rounding: whether a number that a fixed-point type cannot hold is rounded to the nearest.
        """
        watch = Watch(progress, deadline=deadline)
        reading = Reading(scale or {}, ignore_extra_columns, rounding)
        wish = watch.prepare(self._wish, program, input, executions, carry or {}, keep or [], reading)
        return self._step(wish, wait(self._started(wish), watch))

    async def run_async(
        self,
        program: AnyProgram,
        input: Any = None,
        *,
        executions: int | None = None,
        carry: Mapping[str, Kept] | None = None,
        keep: list[str] | None = None,
        scale: Scale | None = None,
        ignore_extra_columns: bool = False,
        rounding: bool = False,
        progress: bool = False,
        deadline: float | None = None,
    ) -> Step:
        """Runs a program once, as `run` does, while the event loop continues."""
        watch = Watch(progress, deadline=deadline)
        reading = Reading(scale or {}, ignore_extra_columns, rounding)
        wish = await aside(
            watch.prepare, self._wish, program, input, executions, carry or {}, keep or [], reading
        )
        return self._step(wish, await wait_async(self._started(wish), watch))

    def fill(
        self, programs: Mapping[Any, int], *, progress: bool = False, deadline: float | None = None
    ) -> Record:
        """Makes stock in a session with a store. The peer must ask for the same stock.

        Args:
            programs: the number of executions of each program, or arguments `FILE[:NAME]=COUNT`.
        """
        watch = Watch(progress, deadline=deadline)
        task = self._started_as(self._native.fill(*watch.prepare(counts, programs)))
        return Record(wait(task, watch).json)

    async def fill_async(
        self, programs: Mapping[Any, int], *, progress: bool = False, deadline: float | None = None
    ) -> Record:
        """Makes stock, as `fill` does, while the event loop continues."""
        watch = Watch(progress, deadline=deadline)
        asked = await aside(watch.prepare, counts, programs)
        return Record((await wait_async(self._started_as(self._native.fill(*asked)), watch)).json)

    def _wish(
        self,
        program: AnyProgram,
        input: Any,
        executions: int | None,
        carry: Mapping[str, Kept],
        keep: list[str],
        reading: Reading,
    ) -> _Wish:
        found = as_program(program)
        reading = replace(reading, raw=found.is_raw)
        if found not in self._numbers:
            self._numbers[found] = wait(self._native.add(found.native)).json
        carried = []
        for name, kept in carry.items():
            port = next((port for port in found.inputs if port.name == name), None)
            if port is None:
                raise UsageError(
                    f"the program has no input {name}", f"its inputs are {', '.join(map(str, found.inputs))}"
                )
            carried.append((port.party, name, kept.number_in(self)))
        own = [port for port in found.inputs_of(self.role) if port.name not in carry]
        check_scale(reading.scale, own)
        word = input_word(input, own, executions, reading, self.role) if own else None
        return _Wish(found, self._numbers[found], word, executions, carried, keep)

    def _started(self, wish: _Wish) -> _native.Task:
        return self._started_as(
            self._native.step(wish.number, wish.word, wish.executions, wish.carried, wish.keep)
        )

    def _started_as(self, task: _native.Task) -> _native.Task:
        self._task = task
        return task

    def _step(self, wish: _Wish, told: Told) -> Step:
        learned = [port for port in wish.program.outputs_of(self.role) if port.name not in wish.keep]
        ports = {port.name: port for port in wish.program.outputs}
        kept = {name: Kept(self, ports[name], number) for name, number in told.json["kept"]}
        output = output_value(outputs_of(told)[self.role], learned, wish.executions)
        return Step(output, kept, Record(told.json["promise"]), told.json["made_on_the_spot"])

    def close(self) -> None:
        """Ends the session, in agreement with the peer."""
        wait(self._native.close())

    async def close_async(self) -> None:
        """Ends the session, as `close` does, while the event loop continues."""
        await wait_async(self._native.close())

    def leave(self) -> None:
        """Ends the session at once, in the middle of any work: the peer sees a closed connection."""
        if self._task is not None:
            self._task.stop()
        self._native.leave()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.leave()

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.close_async()
        else:
            await asyncio.to_thread(self.leave)


def _counted(programs: Mapping[Any, int]) -> dict[Program, int]:
    """Returns the number of runs of each program. Two may be the same, from two files or with two names."""
    times: dict[Program, int] = {}
    for program, count in programs.items():
        found = as_program(program)
        times[found] = times.get(found, 0) + count
    return times


def _connect(
    role: str,
    programs: Mapping[Any, int],
    identity: Key,
    peer: str,
    listen: str | None,
    connect: str | None,
    options: Mapping[str, Any],
) -> tuple[Session, Callable[[], _native.Task]]:
    if (listen is None) == (connect is None):
        raise UsageError(
            "give a party either listen or connect",
            "give listen='HOST:PORT' at one party, and connect='HOST:PORT' at the other",
        )
    times = _counted(programs)
    key = identity if isinstance(identity, _native.Identity) else None
    peers = {"listen": listen, "connect": connect, "peer": peer}
    json = as_json({**options, **peers, "identity": None if key is not None else identity})
    natives = [(program.native, count) for program, count in times.items()]
    session = Session(role, list(times))
    return session, lambda: session._native.connect(role, json, natives, key)


def connect(
    role: str,
    programs: Mapping[Any, int] | None = None,
    *,
    identity: Key,
    peer: str,
    listen: str | None = None,
    connect: str | None = None,
    listening: Callable[[str], None] | None = None,
    progress: bool = False,
    deadline: float | None = None,
    **options: Unpack[SessionOptions],
) -> Session:
    """Begins a session of several steps with a peer.

    Without a store, all items for the steps are made now, before the first input. So a step takes two round
    trips. Only `duplo` and `authenticated` have sessions without a store. With a store, any program runs on
    the items in stock, in every protocol with stock.

    Args:
        role: `garbler` or `evaluator`; the peer has the other one.
        programs: without a store, the number of runs of each program; the peer names the same list.
        identity: this party's key: a file, or an `Identity`.
        peer: the peer's public key, or `@FILE`.
        listen: the address at which to wait for the peer, `HOST:PORT`; port 0 lets the system choose.
        connect: the address at which the peer waits.
        listening: called with `HOST:PORT` once this party listens.
        progress: whether to show a bar by `tqdm`.
        deadline: the longest time in seconds until all items are made.
        options: `protocol`, `store`, `store_key`, `no_top_up`, `post_quantum`, `security`, `threads`,
            `lanes`, `max_ram`, `timeout`, as for `brickwork garbler`.
    """
    watch = Watch(progress, listening, deadline)
    session, begin = watch.prepare(_connect, role, programs or {}, identity, peer, listen, connect, options)
    wait(begin(), watch)
    return session


class Connecting(Coroutine[Any, Any, Session]):
    """A session that is about to begin: `await` it, or enter it by `async with`."""

    def __init__(self, of: Coroutine[Any, Any, Session]) -> None:
        self._of = of
        self._session: Session | None = None

    def send(self, value: Any) -> Any:
        return self._of.send(value)

    def throw(self, *error: Any) -> Any:
        return self._of.throw(*error)

    def close(self) -> None:
        self._of.close()

    def __await__(self) -> Generator[Any, Any, Session]:
        return self._of.__await__()

    async def __aenter__(self) -> Session:
        self._session = await self._of
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.__aexit__(kind, error, trace)


def connect_async(
    role: str,
    programs: Mapping[Any, int] | None = None,
    *,
    identity: Key,
    peer: str,
    listen: str | None = None,
    connect: str | None = None,
    listening: Callable[[str], None] | None = None,
    progress: bool = False,
    deadline: float | None = None,
    **options: Unpack[SessionOptions],
) -> Connecting:
    """Begins a session, as `connect` does, while the event loop continues: `async with connect_async(…) as
    s`, or `s = await connect_async(…)`.
    """

    async def begin() -> Session:
        watch = Watch(progress, listening, deadline)
        session, start = await aside(
            watch.prepare, _connect, role, programs or {}, identity, peer, listen, connect, options
        )
        await wait_async(start(), watch)
        return session

    return Connecting(begin())
