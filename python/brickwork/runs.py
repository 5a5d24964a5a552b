"""Runs programs: both parties in this process, or one of them with a peer elsewhere."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._flags import Options, as_json
from ._tasks import Told, Watch, aside, wait, wait_async
from .errors import UsageError
from .inputs import check_scale, input_word
from .outputs import output_value
from .pages import Page
from .programs import HasChecks, HasProgram, Program, as_program
from .tracing import Fault
from .wires import Bits, Reading

if TYPE_CHECKING:
    from typing_extensions import Unpack

AnyProgram = Program | HasProgram | str | os.PathLike[str]
Key = _native.Identity | str | os.PathLike[str]


class Record(Mapping[str, Any]):
    """An object of the command's JSON, whose fields are attributes as well."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = dict(fields)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the run has no output {name}, only {', '.join(self._fields)}") from None

    def __getitem__(self, name: str) -> Any:
        return _record(self._fields[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> str:
        return f"Record({', '.join(self._fields)})"


def _record(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    return [_record(one) for one in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Outputs:
    """The outputs of both parties, which are shown only on request."""

    garbler: Any = field(repr=False)
    evaluator: Any = field(repr=False)
    faults: tuple[Fault, ...] = ()
    """The faults that a simulation with `check` found, each with its line."""


class Run(Page):
    """The result of a run. Outputs are in `garbler` and `evaluator`, and are shown only on request.

    Attributes:
        garbler: the garbler's output: an `int`, an array, a structured array or a dict of fields; None if
            it learns nothing, or is the peer.
        evaluator: the evaluator's output.
        json: the output of `brickwork run --json`, without the outputs of the program.
    """

    def __init__(self, program: Program, told: Told, executions: int | None) -> None:
        self.program = program
        self.garbler: Any = None
        self.evaluator: Any = None
        self._executions = executions
        self._bits: dict[str, tuple[NDArray[np.uint8], int]] = {}
        for role, bits in outputs_of(told).items():
            self._bits[role] = np.packbits(bits), len(bits)
            setattr(self, role, output_value(bits, program.outputs_of(role), executions))
        self.json: dict[str, Any] = told.json

    def record(self) -> Mapping[str, Any]:
        """Returns the JSON of the page, with the program in the cut that was run."""
        described = self.program.described(self.json.get("cut", "given"))
        return {**self.json, "outputs": None, "program": described}

    def _outputs_of_record(self) -> Any:
        bits = {
            role: np.unpackbits(packed, count=count).tobytes() for role, (packed, count) in self._bits.items()
        }
        return self.program.meaning(bits, self._executions)

    @property
    def promise(self) -> Record:
        """The promise of the run, with its buckets."""
        return Record(self.json["promise"])

    @property
    def phases(self) -> list[Record]:
        """Each phase with its seconds, and the bytes that each party sent."""
        return [Record(phase) for phase in self.json["phases"]]

    @property
    def bytes(self) -> int:
        """All bytes that both parties sent."""
        return sum(p.garbler_sent_bytes + p.evaluator_sent_bytes for p in self.phases)

    @property
    def seconds(self) -> float:
        """Seconds from meeting the peer to the outputs."""
        return float(sum(phase.seconds for phase in self.phases))

    def __repr__(self) -> str:
        bound = self.json["promise"].get("bound_log2")
        promise = "" if bound is None else f", a cheater succeeds with 2^{bound:.1f}"
        return f"<brickwork.Run {self.json['protocol']}: {self.bytes:,} bytes, {self.seconds:.3f} s{promise}>"


BOTH = ("garbler", "evaluator")


def outputs_of(told: Told) -> dict[str, Bits]:
    """Returns the output bits of a task, by role."""
    found = zip(BOTH, told.bits)
    return {role: np.frombuffer(bits, np.uint8) for role, bits in found if bits is not None}


@dataclass(frozen=True)
class _Ready:
    """A call whose arguments are complete; it has not begun."""

    program: Program
    executions: int | None
    start: Callable[[], _native.Task]

    def wait(self, watch: Watch) -> Run:
        return self.run(wait(self.start(), watch))

    async def wait_async(self, watch: Watch) -> Run:
        return self.run(await wait_async(self.start(), watch))

    def run(self, told: Told) -> Run:
        return Run(self.program, told, self.executions)


def run(
    program: AnyProgram,
    garbler: Any = None,
    evaluator: Any = None,
    *,
    progress: bool = False,
    deadline: float | None = None,
    **options: Unpack[Options],
) -> Run:
    """Runs both parties here, on two threads over TLS on loopback, with temporary keys.

    Args:
        program: a program, a traced function, or a file of either.
        garbler: the garbler's input: a Python value, an array, a table, `secret_file(…)` or a `Secret`.
        evaluator: the evaluator's input.
        progress: whether to show a bar by `tqdm`.
        deadline: seconds after which the run is stopped.
        options: flags of `brickwork run`.

    Raises:
        Error: for each error of the command; its class and `code` tell the kind.
    """
    watch = Watch(progress, deadline=deadline)
    return watch.prepare(_both, program, garbler, evaluator, options).wait(watch)


async def run_async(
    program: AnyProgram,
    garbler: Any = None,
    evaluator: Any = None,
    *,
    progress: bool = False,
    deadline: float | None = None,
    **options: Unpack[Options],
) -> Run:
    """Runs both parties, as `run` does, while the event loop continues. Cancelling it stops the run."""
    watch = Watch(progress, deadline=deadline)
    ready = await aside(watch.prepare, _both, program, garbler, evaluator, options)
    return await ready.wait_async(watch)


def simulate(
    program: AnyProgram,
    garbler: Any = None,
    evaluator: Any = None,
    *,
    executions: int | None = None,
    scale: Mapping[str, int] | None = None,
    ignore_extra_columns: bool = False,
    rounding: bool = False,
    check: bool = False,
    deadline: float | None = None,
) -> Outputs:
    """Computes in the clear, without any protocol.

    Args:
        check: whether to look for faults of a program in Python: sums, differences and products that wrapped,
            divisions by zero, and tables that are out of order. `Outputs.faults` has them, with their lines,
            and a `Faulty` warning reports them.
    """
    options: Options = {
        "scale": scale or {},
        "ignore_extra_columns": ignore_extra_columns,
        "rounding": rounding,
    }
    if executions is not None:
        options["executions"] = executions
    watch = Watch(deadline=deadline)
    own, checked = watch.prepare(_checkable, program, check)
    # The input is taken once for both simulations, because a `Secret` cannot be taken a second time.
    words = watch.prepare(_words, own, garbler, evaluator, options)

    def bits_of(of: Program) -> dict[str, Bits]:
        task = watch.prepare(_native.simulate, of.native, as_json(options), *words)
        return outputs_of(wait(task, watch))

    bits = bits_of(own)
    outputs = Outputs(*(output_value(bits[role], own.outputs_of(role), executions) for role in BOTH))
    if checked is None:
        return outputs
    of, faults = checked
    found = bits_of(of)["garbler"].reshape(-1, len(faults))
    met = tuple(fault for number, fault in enumerate(faults) if found[:, number].any())
    if met:
        warnings.warn("\n".join(map(str, met)), Faulty, stacklevel=2)
    return replace(outputs, faults=met)


class Faulty(UserWarning):
    """A fault was found in a checked simulation."""


def _checkable(program: AnyProgram, check: bool) -> tuple[Program, tuple[Program, list[Fault]] | None]:
    """Returns a program and, if requested, the program that finds its faults, unless it can have none."""
    if check and not isinstance(program, HasChecks):
        raise UsageError(
            "check=True is possible only for a program in Python, before it is compiled",
            "give the function that @bw.program decorates",
        )
    return as_program(program), program.checked() if check and isinstance(program, HasChecks) else None


def _both(program: AnyProgram, garbler: Any, evaluator: Any, options: Options) -> _Ready:
    program, json = as_program(program, options.get("map")), as_json(options)
    words = _words(program, garbler, evaluator, options)
    native = program.native
    return _Ready(program, options.get("executions"), lambda: _native.run_both(native, json, *words))


def _words(program: Program, garbler: Any, evaluator: Any, options: Options) -> list[str | bytes | None]:
    """Takes the inputs of both parties in the form of the native part."""
    check_scale(options.get("scale", {}), program.inputs)
    return [_word(value, program, role, options) for role, value in zip(BOTH, (garbler, evaluator))]


def _word(value: Any, program: Program, role: str, options: Options) -> str | bytes | None:
    if value is None and program.inputs_of(role):
        raise UsageError(
            f"the program needs an input of the {role}",
            "give the input; `Program.inputs` shows the types of a program's inputs",
        )
    reading = Reading(
        options.get("scale", {}),
        options.get("ignore_extra_columns", False),
        options.get("rounding", False),
        program.is_raw,
    )
    return input_word(value, program.inputs_of(role), options.get("executions"), reading, role)


class Line(Protocol):
    """A connection that the caller made, such as a `socket.socket`.

    It must be private and authenticated, because a run over it uses neither TLS nor keys.
    """

    def recv(self, size: int, /) -> bytes:
        """Waits for bytes, and returns at most `size` of them; none at the end."""

    def sendall(self, data: bytes, /) -> object:
        """Sends all of these bytes."""


def _party(
    role: str,
    program: AnyProgram,
    value: Any,
    identity: Key | None,
    peer: str | None,
    ways: tuple[str | None, str | None, Line | None],
    keep: bool,
    options: Options,
) -> _Ready:
    listen, connect, over = ways
    if sum(way is not None for way in ways) != 1:
        raise UsageError(
            "a party listens, connects, or has a connection",
            "give one of listen='HOST:PORT', connect='HOST:PORT' and over=connection",
        )
    if over is None and (identity is None or peer is None):
        raise UsageError(
            "identity or peer is missing", "give this party's key and the public key of the peer"
        )
    program = as_program(program, options.get("map"))
    check_scale(options.get("scale", {}), program.inputs_of(role))
    key = identity if isinstance(identity, _native.Identity) else None
    peers = {"listen": listen, "connect": connect, "keep": keep, "peer": peer}
    # A key that is not in memory is in a file.
    json = as_json({**options, **peers, "identity": None if key is not None else identity})
    word = _word(value, program, role, options)
    native = program.native

    def start() -> _native.Task:
        return _native.run_party(role, native, json, key, word, over)

    return _Ready(program, options.get("executions"), start)


def garbler(
    program: AnyProgram,
    input: Any = None,
    *,
    identity: Key | None = None,
    peer: str | None = None,
    listen: str | None = None,
    connect: str | None = None,
    over: Line | None = None,
    keep: bool = False,
    listening: Callable[[str], None] | None = None,
    progress: bool = False,
    deadline: float | None = None,
    **options: Unpack[Options],
) -> Run:
    """Runs the garbler; the peer runs elsewhere.

    Args:
        program: a program, a traced function, or a file of either; the peer needs the same.
        input: this party's input.
        identity: this party's key, as `keygen` makes it: a file, or an `Identity`.
        peer: the peer's public key, or `@FILE`.
        listen: the address at which to wait for the peer, `HOST:PORT`; port 0 lets the system choose.
        connect: the address at which the peer waits.
        over: a connection that the caller made, such as a socket with a timeout, for one run; nothing else
            protects the run, and `identity` and `peer` may be left out;
        keep: whether to continue to wait after a peer that does not match.
        listening: called with `HOST:PORT` once this party listens.
        progress: whether to show a bar by `tqdm`.
        deadline: seconds after which it is stopped.
        options: flags of `brickwork garbler`.
    """
    watch = Watch(progress, listening, deadline)
    return watch.prepare(
        _party, "garbler", program, input, identity, peer, (listen, connect, over), keep, options
    ).wait(watch)


def evaluator(
    program: AnyProgram,
    input: Any = None,
    *,
    identity: Key | None = None,
    peer: str | None = None,
    listen: str | None = None,
    connect: str | None = None,
    over: Line | None = None,
    keep: bool = False,
    listening: Callable[[str], None] | None = None,
    progress: bool = False,
    deadline: float | None = None,
    **options: Unpack[Options],
) -> Run:
    """Runs the evaluator; the arguments are those of `garbler`."""
    watch = Watch(progress, listening, deadline)
    return watch.prepare(
        _party, "evaluator", program, input, identity, peer, (listen, connect, over), keep, options
    ).wait(watch)


async def garbler_async(
    program: AnyProgram,
    input: Any = None,
    *,
    identity: Key | None = None,
    peer: str | None = None,
    listen: str | None = None,
    connect: str | None = None,
    over: Line | None = None,
    keep: bool = False,
    listening: Callable[[str], None] | None = None,
    progress: bool = False,
    deadline: float | None = None,
    **options: Unpack[Options],
) -> Run:
    """Runs the garbler, as `garbler` does, while the event loop continues. Cancelling it stops the run."""
    watch = Watch(progress, listening, deadline)
    ready = await aside(
        watch.prepare,
        _party,
        "garbler",
        program,
        input,
        identity,
        peer,
        (listen, connect, over),
        keep,
        options,
    )
    return await ready.wait_async(watch)


async def evaluator_async(
    program: AnyProgram,
    input: Any = None,
    *,
    identity: Key | None = None,
    peer: str | None = None,
    listen: str | None = None,
    connect: str | None = None,
    over: Line | None = None,
    keep: bool = False,
    listening: Callable[[str], None] | None = None,
    progress: bool = False,
    deadline: float | None = None,
    **options: Unpack[Options],
) -> Run:
    """Runs the evaluator, as `evaluator` does, while the event loop continues."""
    watch = Watch(progress, listening, deadline)
    ready = await aside(
        watch.prepare,
        _party,
        "evaluator",
        program,
        input,
        identity,
        peer,
        (listen, connect, over),
        keep,
        options,
    )
    return await ready.wait_async(watch)
