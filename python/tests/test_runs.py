"""Runs of both parties here, and runs of one party with a peer in another process."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import brickwork as bw
import numpy as np
import pytest
from brickwork import _tasks
from brickwork._flags import Options
from brickwork.inputs import input_word
from brickwork.wires import Reading

RICHER = {"garbler_richer": 1, "equal": 0}
LONG: Options = {"executions": 100_000, "timeout": 60}
"""For the millionaires this takes many seconds."""


@pytest.mark.parametrize("protocol", ["duplo", "authenticated", "semi-honest", "compgc", "lego", "jimu"])
def test_every_protocol_runs_in_one_call(millionaires: bw.Program, protocol: str) -> None:
    run = bw.run(millionaires, garbler=1_250_000, evaluator=1_000_000, protocol=protocol)
    assert run.garbler == run.evaluator == RICHER
    assert run.json["protocol"] == protocol and run.bytes > 1000 and run.seconds > 0
    assert "1250000" not in repr(run) and "outputs" not in run.json and "output_bits" not in run.json
    if protocol in ("duplo", "authenticated", "lego", "jimu"):
        assert run.promise.bound_log2 <= -40 and run.promise["statistical_bits"] == 40


def test_a_pickled_run_has_outputs_and_no_inputs(millionaires: bw.Program) -> None:
    run = bw.run(millionaires, garbler=1_234_567_891, evaluator=1_234_567_889)
    pickled = pickle.dumps(run)
    for secret in (1_234_567_891, 1_234_567_889):
        for form in (str(secret).encode(), f"{secret:x}".encode(), f"{secret:b}".encode()):
            assert form not in pickled
        assert secret.to_bytes(4, "little") not in pickled and secret.to_bytes(4, "big") not in pickled
    again = pickle.loads(pickled)
    assert (again.garbler, again.evaluator, again.json) == (run.garbler, run.evaluator, run.json)


def test_a_run_is_what_the_command_says(millionaires: bw.Program) -> None:
    planned = bw.plan(millionaires, executions=1)
    run = bw.run(millionaires, 3, 4, executions=1)
    assert run.garbler["equal"].tolist() == [0]
    exact = {phase.name: (phase.garbler_sent_bytes, phase.evaluator_sent_bytes) for phase in run.phases}
    assert {p.name: (p.garbler_sent_bytes, p.evaluator_sent_bytes) for p in planned.phases} == exact
    assert "round trips" in repr(planned)


class Account(bw.Struct):
    key: bw.u64


class Exposure(bw.Struct):
    key: bw.u64
    amount: bw.u32


@bw.component
def both(a: Account, e: Exposure) -> Exposure:
    return Exposure(key=a.key, amount=e.amount)


@bw.component
def more(a: Exposure, b: Exposure) -> Exposure:
    return Exposure(key=a.key | b.key, amount=a.amount + b.amount)


@bw.program
def overlap(
    a: bw.Garbler[bw.Array[Account, 60]], e: bw.Evaluator[bw.Array[Exposure, 60]]
) -> bw.Both[Exposure]:
    return reduce(more, bw.tables.join(a, e, "key", both))


def test_a_plan_and_a_run_take_the_same_cut(tmp_path: Path) -> None:
    """The search for a cut has the same limits in a plan and in a run, and depends on no clock."""
    keys = np.arange(1, 61)
    for program in (overlap, overlap.save(tmp_path / "overlap.bwp")):
        plan = bw.plan(program)
        run = bw.run(program, {"key": keys}, {"key": keys, "amount": keys})
        assert run.garbler["amount"] == keys.sum()
        assert run.json["cut"] == plan.cut
        assert run.bytes == sum(one.garbler_sent_bytes + one.evaluator_sent_bytes for one in plan.phases)
        assert plan.cut == bw.plan(program).cut


def test_a_program_is_compiled_once(tmp_path: Path) -> None:
    @bw.program
    def counts(x: bw.Garbler[bw.u5[100]], y: bw.Evaluator[bw.u5[100]]) -> bw.Both[bw.u12[25]]:
        return [bw.count([value == place for value in [*x, *y]]).astype(bw.u12) for place in range(25)]

    def cpu(call: Callable[[], Any]) -> float:
        began = time.process_time()
        call()
        return time.process_time() - began

    program, x = counts.as_program(), np.arange(100) % 25
    compiled = min(cpu(lambda: bw.load(program.path)) for _ in range(3))
    calls: list[Callable[[], Any]] = [program.info, program.raw, lambda: bw.simulate(counts, x, x)]
    for call in [*calls, lambda: bw.run(counts, x, x, protocol="semi-honest")]:
        assert min(cpu(call) for _ in range(3)) < compiled / 2
    # For a large source it takes long even to find its functions, so a search for cuts skips it.
    saved = counts.save(tmp_path / "counts.bwp")
    plain = min(cpu(lambda: bw.run(saved, x, x)) for _ in range(3))
    assert min(cpu(lambda: bw.run(program, x, x)) for _ in range(3)) < plain + compiled / 2


def test_one_input_is_held_over_all_executions() -> None:
    class Model(bw.Struct):
        weights: bw.i16[3]
        bias: bw.i16

    @bw.program
    def score(m: bw.Garbler[Model], x: bw.Evaluator[bw.i16[3]]) -> bw.Both[bw.i16]:
        return bw.dot(m.weights, x) + m.bias

    rows = np.arange(15).reshape(5, 3) - 7
    model = {"weights": [2, -3, 5], "bias": 11}
    expected = (rows @ [2, -3, 5] + 11).tolist()
    many = score.as_program().repeated(5, hold="garbler")
    assert many.and_gates == 5 * score.as_program().and_gates
    # The model exists once, so nobody can give another model for a row.
    assert str(many.inputs[0]) == str(score.as_program().inputs[0])
    assert [str(port.type) for port in many.inputs_of("evaluator")] == ["int16[3][5]"]
    assert bw.simulate(many, model, rows).garbler.tolist() == expected
    for protocol in ("duplo", "semi-honest", "authenticated"):
        run = bw.run(many, model, rows, protocol=protocol)
        assert run.garbler.tolist() == run.evaluator.tolist() == expected
    with pytest.raises(bw.UsageError):
        score.as_program().repeated(5, hold="nobody")


def test_parties_with_tables_of_different_lengths_are_told_so() -> None:
    def of(rows: int) -> Any:
        def mine(x: Any, y: Any) -> Any:
            return bw.sum(row.key for row in x) + y

        mine.__annotations__ = {
            "x": bw.Garbler[bw.Array[Account, rows]],
            "y": bw.Evaluator[bw.u64],
            "return": bw.Both[bw.u64],
        }
        return bw.program(mine).as_program()

    keys, said = [bw.keygen(), bw.keygen()], {}
    address: list[str] = []

    def party(role: str, program: Any, value: Any, **place: Any) -> None:
        own, peer = keys if role == "garbler" else keys[::-1]
        call = bw.garbler if role == "garbler" else bw.evaluator
        with pytest.raises(bw.PeerMismatch) as error:
            call(program, value, identity=own, peer=peer.public_key, **place)
        said[role] = str(error.value)

    programs, table = (of(3), of(4)), {"key": [1, 2, 3]}
    place = {"listen": "127.0.0.1:0", "listening": address.append}
    first = threading.Thread(target=party, args=("garbler", programs[0], table), kwargs=place)
    first.start()
    while not address and first.is_alive():
        first.join(0.01)
    party("evaluator", programs[1], 5, connect=address[0])
    first.join()
    for text in said.values():
        assert "the garbler has input1[3], but the evaluator has input1[4]" in text


def parties(folder: Path) -> tuple[str, str, bw.Identity]:
    """Makes keys: a file for the evaluator, with its public key, and a key in memory for the garbler."""
    path = str(folder / "bob.key")
    public = bw.keygen(path)
    identity = bw.keygen()
    return path, public, identity


def test_two_parties_meet(millionaires: bw.Program, tmp_path: Path) -> None:
    path, public, identity = parties(tmp_path)
    secret = tmp_path / "alice.json"
    secret.write_text("1250000")
    told: list[str] = []
    meet = threading.Event()

    def listening(address: str) -> None:
        told.append(address)
        meet.set()

    found: dict[str, bw.Run] = {}

    def alice() -> None:
        found["alice"] = bw.garbler(
            millionaires,
            bw.secret_file(secret),
            identity=identity,
            peer=public,
            listen="127.0.0.1:0",
            listening=listening,
        )

    thread = threading.Thread(target=alice)
    thread.start()
    assert meet.wait(10)
    bob = bw.evaluator(millionaires, 7, identity=path, peer=identity.public_key, connect=told[0])
    thread.join(10)
    assert bob.evaluator == found["alice"].garbler == RICHER
    assert bob.garbler is None and found["alice"].evaluator is None
    assert bob.bytes == found["alice"].bytes


def test_two_parties_meet_in_an_event_loop(millionaires: bw.Program, tmp_path: Path) -> None:
    path, public, identity = parties(tmp_path)

    async def both() -> tuple[bw.Run, bw.Run]:
        meet: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        alice = asyncio.create_task(
            bw.garbler_async(
                millionaires,
                5,
                identity=identity,
                peer=public,
                listen="127.0.0.1:0",
                listening=meet.set_result,
            )
        )
        bob = bw.evaluator_async(millionaires, 7, identity=path, peer=identity.public_key, connect=await meet)
        return await asyncio.gather(alice, bob)

    for run in asyncio.run(both()):
        assert (run.garbler or run.evaluator) == {"garbler_richer": 0, "equal": 0}


def test_a_cancelled_party_ends_and_its_peer_sees_a_closed_line(
    millionaires: bw.Program, tmp_path: Path
) -> None:
    path, public, identity = parties(tmp_path)
    events: list[str] = []

    async def both() -> None:
        meet: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def alice() -> None:
            try:
                await bw.garbler_async(
                    millionaires,
                    [1] * 100_000,
                    identity=identity,
                    peer=public,
                    listen="127.0.0.1:0",
                    listening=meet.set_result,
                    **LONG,
                )
            except asyncio.CancelledError:
                events.append("alice is cancelled")
                raise

        async def bob() -> None:
            address = await meet
            # On a busy machine, the other process may be gone before this one has started.
            with pytest.raises(
                bw.ConnectionFailed, match="the peer closed the connection|no program listens"
            ):
                await bw.evaluator_async(
                    millionaires,
                    [2] * 100_000,
                    identity=path,
                    peer=identity.public_key,
                    connect=address,
                    **LONG,
                )
            events.append("bob sees it")

        garbler, evaluator = asyncio.create_task(alice()), asyncio.create_task(bob())
        await meet
        await asyncio.sleep(0.5)
        events.append("cancel")
        garbler.cancel()
        with pytest.raises(asyncio.CancelledError):
            await garbler
        await evaluator

    asyncio.run(both())
    # Without the cancellation, the run would take minutes.
    assert events[0] == "cancel" and sorted(events[1:]) == ["alice is cancelled", "bob sees it"]


@pytest.mark.parametrize(
    "call",
    [
        lambda program: bw.run("big.wir", 1, 1, deadline=0.3),
        lambda program: bw.simulate(program, [1] * 600_000, [2] * 600_000, executions=600_000, deadline=0.3),
    ],
    ids=["compiling", "simulating"],
)
def test_a_deadline_stops_whatever_is_done(
    millionaires: bw.Program, call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ports = "#input 1 uint_t 4096\n#input 2 uint_t 4096\n#output 1 uint_t 4096\n"
    (tmp_path / "big.wir").write_text(
        f"#parties 2\n{ports}function void main() {{ output1 = input1 * input2 * input1; }}"
    )
    with pytest.raises(bw.Deadline) as error:
        call(millionaires)
    assert isinstance(error.value, TimeoutError) and error.value.code == 4


@pytest.mark.parametrize(
    "value, executions",
    [
        (np.arange(40, dtype=np.uint32), 40),
        ({"input1": np.arange(40, dtype=np.uint32)}, 40),
        ([{"input1": 1}, {"input1": 2}], 2),
        (["0x1", "0x2"], 2),
        (3, None),
    ],
    ids=["array", "columns", "dicts", "texts", "number"],
)
def test_what_makes_inputs_looks_whether_it_is_to_end(
    millionaires: bw.Program, value: Any, executions: int | None
) -> None:
    ports = millionaires.inputs_of("garbler")
    value = {ports[0].name: value["input1"]} if isinstance(value, dict) else value

    def make() -> str | bytes | None:
        return input_word(value, ports, executions, Reading(), "garbler")

    with pytest.raises(bw.Deadline):
        _tasks.Watch(deadline=-1.0).prepare(make)
    cancelled = threading.Event()
    token = _tasks._CANCELLED.set(cancelled)
    try:
        cancelled.set()
        with pytest.raises(asyncio.CancelledError):
            make()
    finally:
        _tasks._CANCELLED.reset(token)


def test_looks_come_every_thousand_elements() -> None:
    cancelled = threading.Event()
    token = _tasks._CANCELLED.set(cancelled)
    passed = 0
    try:
        with pytest.raises(asyncio.CancelledError):
            for number in _tasks.looking(range(10**9)):
                cancelled.set()
                passed = number
    finally:
        _tasks._CANCELLED.reset(token)
    assert passed == 1023


@pytest.mark.parametrize(
    "protocol, executions",
    [
        ("duplo", 100_000),
        ("authenticated", 100_000),
        ("lego", 5_000),
        ("jimu", 5_000),
        ("semi-honest", 300_000),
        ("compgc", 100_000),
    ],
)
def test_a_deadline_stops_a_run_of_every_protocol(
    millionaires: bw.Program, protocol: str, executions: int
) -> None:
    inputs = [[number] * executions for number in (1, 2)]
    with pytest.raises(bw.Deadline):
        bw.run(millionaires, *inputs, executions=executions, protocol=protocol, timeout=60, deadline=0.5)


class Endless:
    """A task that does not react to a stop."""

    def __init__(self, events: list[str], interrupted: int = 0) -> None:
        self.events, self._interrupted = events, interrupted
        self.gone = threading.Event()

    def wait(self, seconds: float) -> bool:
        if self._interrupted and self.events.count("stop") == 1:
            self._interrupted -= 1
            if not self._interrupted:
                self.events.append("second Ctrl-C")
                raise KeyboardInterrupt
        return self.gone.wait(min(seconds, 5))

    def stop(self) -> None:
        self.events.append("stop")

    def address(self) -> None:
        return None


class Interrupting(_tasks.Watch):
    def look(self, task: Any) -> None:
        raise KeyboardInterrupt


def test_a_second_ctrl_c_does_not_wait() -> None:
    events: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        _tasks.wait(Endless(events, interrupted=3), Interrupting())  # type: ignore[arg-type]
    assert events == ["stop", "second Ctrl-C"]


def test_a_loop_goes_on_while_a_cancelled_task_ends() -> None:
    events: list[str] = []
    task = Endless(events)

    async def both() -> None:
        waiting = asyncio.create_task(_tasks.wait_async(task))  # type: ignore[arg-type]
        await asyncio.sleep(0.1)
        waiting.cancel()
        await asyncio.sleep(0.1)
        events.append("the loop goes on")
        assert not waiting.done()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        events.append("over")

    asyncio.run(both())
    task.gone.set()
    assert events == ["stop", "the loop goes on", "over"]


def test_python_goes_on_meanwhile(millionaires: bw.Program) -> None:
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=count)
    thread.start()
    bw.run(millionaires, list(range(2000)), list(range(2000)), executions=2000)
    done.set()
    thread.join()
    assert ticks > 10


PEER = """
import sys, brickwork as bw
print("ready", flush=True)
try:
    bw.garbler(sys.argv[1], [1] * 100_000, identity=sys.argv[2], peer=sys.argv[3], listen="127.0.0.1:0",
               listening=lambda address: print(address, flush=True), executions=100_000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_peer_is_seen_at_once(
    millionaires: bw.Program, tmp_path: Path, sent: signal.Signals
) -> None:
    path, public, _ = parties(tmp_path)
    alice_path = str(tmp_path / "alice.key")
    alice_public = bw.keygen(alice_path)
    command = [sys.executable, "-c", PEER, str(millionaires.path), alice_path, public]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as alice:
        assert alice.stdout is not None and alice.stdout.readline() == "ready\n"
        address = alice.stdout.readline().strip()
        timer = threading.Timer(1.0, lambda: os.kill(alice.pid, sent))
        timer.start()
        with pytest.raises(bw.ConnectionFailed) as error:
            bw.evaluator(
                millionaires,
                [2] * 100_000,
                identity=path,
                peer=alice_public,
                connect=address,
                executions=100_000,
            )
        assert error.value.code == 4 and error.value.hint
        rest = alice.stdout.read()
    assert rest == ("interrupted\n" if sent == signal.SIGINT else "")


def test_a_listener_without_a_peer_is_interrupted(millionaires: bw.Program, tmp_path: Path) -> None:
    path, public, identity = parties(tmp_path)
    with pytest.raises(bw.Deadline):
        bw.garbler(millionaires, 1, identity=identity, peer=public, listen="127.0.0.1:0", deadline=0.2)


def test_the_log_and_the_bar_are_pythons(
    millionaires: bw.Program,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, public, identity = parties(tmp_path)
    caplog.set_level(logging.INFO, "brickwork")
    with pytest.raises(bw.Deadline):
        bw.garbler(millionaires, 424242, identity=identity, peer=public, listen="127.0.0.1:0", deadline=0.2)
    assert any("waiting for the peer" in record.getMessage() for record in caplog.records)
    bw.run(millionaires, 424242, 1, progress=True)
    shown = capsys.readouterr()
    assert "B" in shown.err and "424242" not in shown.err + shown.out + caplog.text


def test_a_peer_with_another_program_is_refused(
    millionaires: bw.Program, echo: bw.Program, tmp_path: Path
) -> None:
    path, public, identity = parties(tmp_path)

    async def both() -> tuple[Any, ...]:
        meet: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        alice = asyncio.create_task(
            bw.garbler_async(
                millionaires,
                5,
                identity=identity,
                peer=public,
                listen="127.0.0.1:0",
                listening=meet.set_result,
            )
        )
        bob = bw.evaluator_async(echo, 7, identity=path, peer=identity.public_key, connect=await meet)
        return await asyncio.gather(alice, bob, return_exceptions=True)

    for error in asyncio.run(both()):
        assert isinstance(error, bw.PeerMismatch) and error.code == 7 and "program" in str(error)


def _flags(command: str) -> set[str]:
    """Returns the flags that the help of a command lists."""
    help = subprocess.run(["brickwork", command, "--help"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ +(?:-\w, )?--([a-z-]+)", help, re.MULTILINE)
    return {name.replace("-", "_") for name in found}


def test_options_are_the_flags_of_the_command() -> None:
    flags = _flags("run")
    beside = {
        "garbler",
        "evaluator",
        "json",
        "quiet",
        "log",
        "log_format",
        "help",
        "report",
        "report_outputs",
        "audit",
        "rotate",
    }
    assert flags - beside == set(Options.__annotations__)
    for command in ("garbler", "evaluator"):
        flags = _flags(command)
        own = {"input", "identity", "peer", "listen", "connect", "keep"}
        assert (flags - beside - own) <= set(Options.__annotations__)


def test_identities_stay_where_they_are() -> None:
    identity = bw.keygen()
    assert "PRIVATE" not in repr(identity)
    with pytest.raises(TypeError):
        pickle.dumps(identity)


def test_a_plan_is_the_commands(millionaires: bw.Program) -> None:
    plan = bw.plan(millionaires, link=bw.Link("100Mbit", "20ms"), executions=10)
    assert plan.executions == 10
    assert bw.info(millionaires).digest == bw.call("info", millionaires.path).digest == millionaires.digest
    assert bw.info(millionaires).and_gates == millionaires.and_gates


@pytest.mark.parametrize("protocol", ["compgc", "semi-honest"])
def test_a_protocol_warns_once_and_by_its_name(
    millionaires: bw.Program, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Both parties run in this process, and their user reads one warning."""
    bw.run(millionaires, 7, 5, protocol=protocol)
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(said) == 1 and f"--protocol {protocol}" in said[0], said
