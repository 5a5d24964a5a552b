"""Forks: items for a single use belong to one process, and every process has files of its own."""

from __future__ import annotations

import gc
import multiprocessing
import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import brickwork as bw
import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here"),
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]

PATIENCE = 60.0


@bw.program
def add(total: bw.Garbler[bw.u16], more: bw.Evaluator[bw.u16]) -> bw.Both[bw.u16]:
    return total + more


@bw.program
def over(total: bw.Garbler[bw.u16], limit: bw.Evaluator[bw.u16]) -> bw.Both[bw.u1]:
    return total > limit


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[str]:
    """Runs a function in a fork, which lives until the block ends. Returns its result or exception as
    text."""
    told, tell = os.pipe()
    waits, ends = os.pipe()
    number = os.fork()
    if number == 0:
        try:
            os.close(ends)
            try:
                text = repr(work())
            except BaseException as error:
                text = f"{type(error).__name__}: {error}"
            os.write(tell, text.encode())
            os.close(tell)
            os.read(waits, 1)
        finally:
            os._exit(0)
    os.close(tell)
    os.close(waits)
    try:
        said = b""
        while select.select([told], [], [], PATIENCE)[0] and (part := os.read(told, 4096)):
            said += part
        yield said.decode()
    finally:
        os.close(ends)
        os.close(told)
        os.waitpid(number, 0)


def meet(stores: Any, programs: Any, evaluator: Callable[[bw.Session], object]) -> Any:
    """Begins a session here, as the garbler, with an evaluator on another thread. Returns the session, the
    thread, and the future output of the thread.
    """
    alice, bob = bw.keygen(), bw.keygen()
    listens: list[str] = []
    ready, learned = threading.Event(), []

    def listening(address: str) -> None:
        listens.append(address)
        ready.set()

    def other() -> None:
        try:
            with bw.connect(
                "evaluator",
                programs,
                identity=bob,
                peer=alice.public_key,
                listen="127.0.0.1:0",
                listening=listening,
                **stores[1],
            ) as session:
                learned.append(evaluator(session))
        except BaseException as error:
            learned.append(error)
            ready.set()

    thread = threading.Thread(target=other)
    thread.start()
    assert ready.wait(PATIENCE) and listens
    session = bw.connect(
        "garbler", programs, identity=alice, peer=bob.public_key, connect=listens[0], **stores[0]
    )
    return session, thread, learned


def refusals(session: bw.Session, program: Any) -> list[str]:
    """Returns the error of each function of a session."""
    said = []
    for call in (
        lambda: session.run(program, 1),
        lambda: session.run(program, 1, executions=1),
        lambda: session.fill({program: 1}),
        lambda: session.run(over, 1),
        session.close,
    ):
        try:
            call()
            said.append("done")
        except bw.Error as error:
            said.append(f"{type(error).__name__} {'in each process' in error.hint} {error}"[:60])
    session.leave()
    return said


def test_a_fork_has_no_session() -> None:
    """The child refuses all steps of the session. The child ends without a message, and the session continues
    in the parent."""
    session, thread, learned = meet(
        ({}, {}), {add: 2}, lambda one: [one.run(add, 20).output, one.run(add, 300).output]
    )
    assert session.run(add, 1).output == 21
    held = [session]
    del session

    def in_the_fork() -> object:
        said = refusals(held[0], add)
        # The remaining files are removed, too.
        held.clear()
        gc.collect()
        return said

    with forked(in_the_fork) as said:
        assert said.count("UsageError True a session belongs to the process") == 5, said
        assert held[0].run(add, 2).output == 302
        held[0].close()
    thread.join(PATIENCE)
    assert learned == [[21, 302]]


def test_a_fork_has_no_store(tmp_path: Path) -> None:
    """The store is complete afterwards, and free when its own process has ended, though the fork lives on."""
    stores = []
    for name in ("alice", "bob"):
        bw.keygen(tmp_path / f"{name}.key", store_key=True)
        stores.append({"store": tmp_path / name, "store_key": tmp_path / f"{name}.key"})

    def evaluator(session: bw.Session) -> object:
        session.fill({add: 2})
        return [session.run(add, 20).output, session.run(add, 300).output]

    session, thread, learned = meet(stores, {}, evaluator)
    session.fill({add: 2})
    held = [session]
    del session

    def in_the_fork() -> object:
        said = refusals(held[0], add)
        held.clear()
        gc.collect()
        return said

    with forked(in_the_fork) as said:
        assert said.count("UsageError True a session belongs to the process") == 5, said
        assert held[0].run(add, 1).output == 21
        assert held[0].run(add, 2).output == 302
        held[0].close()
        thread.join(PATIENCE)
        assert learned == [[21, 302]]
        store = bw.Store(tmp_path / "alice", key=tmp_path / "alice.key")
        store.verify()
        # The command needs the lock of the store.
        bw.call("stock", "burn", tmp_path / "alice", all=True, store_key=tmp_path / "alice.key")


def test_what_runs_is_its_process_s_own() -> None:
    """A fork has no thread that would end the task, and does not wait for the task."""
    from brickwork import _native
    from brickwork._tasks import wait

    task = _native.write_examples()
    wait_for = _native.Session()
    with forked(lambda: wait(task)) as said:
        assert said.startswith("UsageError: a session belongs"), said
    with forked(lambda: wait(wait_for.connect("garbler", "{}", [], None))) as said:
        assert said.startswith("UsageError: a session belongs"), said
    assert wait(task).json["examples"]
    # A session that a fork begins belongs to the fork.
    with forked(lambda: bw.simulate(add, 3, 4).garbler) as said:
        assert said == "7"


def named(name: str) -> tuple[str, int, str]:
    program = bw.example(name)
    return name, bw.load(program.path).and_gates, os.fspath(program.path)


def test_processes_of_a_pool_have_files_of_their_own() -> None:
    names = ["millionaires", "psi", "aes128_encrypt", "auction"]
    known = {one.name for one in bw.examples()}
    names = [name for name in names if name in known]
    wanted = {name: bw.example(name).and_gates for name in names}
    assert len(set(wanted.values())) > 1
    with multiprocessing.get_context("fork").Pool(3) as pool:
        found = pool.map(named, names * 3, chunksize=1)
        pool.close()
        pool.join()
    assert [(name, gates) for name, gates, _ in found] == [(name, wanted[name]) for name in names * 3]
    paths = [path for _, _, path in found]
    assert len(set(paths)) == len(paths)
    # A process removes its own files, and those of no other process.
    assert not any(os.path.exists(os.path.dirname(path)) for path in paths)
    here = os.fspath(bw.example(names[0]).path)
    assert os.path.exists(here) and os.path.dirname(here) not in map(os.path.dirname, paths)


def test_a_program_traced_in_a_fork_is_no_other_one() -> None:
    @bw.program
    def here(x: bw.Garbler[bw.u8]) -> bw.Both[bw.u8]:
        return x + 1

    @bw.program
    def there(x: bw.Garbler[bw.u8]) -> bw.Both[bw.u8]:
        return x + 100

    bw.example("millionaires")
    with forked(lambda: bw.simulate(there, 5).garbler) as said:
        assert said == "105"
        assert bw.simulate(here, 5).garbler == 6
