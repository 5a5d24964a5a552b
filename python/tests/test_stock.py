"""Stock from Python: made, used, interrupted, and still consistent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brickwork as bw
import pytest

PARTY = """
import sys, brickwork as bw
program, key, peer, store, store_key = sys.argv[1:]
try:
    run = bw.garbler(program, [5] * 1400, identity=key, peer=peer, listen="127.0.0.1:0", store=store,
                     store_key=store_key, executions=1400,
                     listening=lambda address: print(address, flush=True))
    print("done", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
except bw.Error as error:
    print("failed", error, flush=True)
"""


ROWS = 1400
"""Executions of the run that is interrupted, as above."""


class Pair:
    """Two parties with keys and stores."""

    def __init__(self, folder: Path, program: bw.Program) -> None:
        self.program = program
        self.keys, self.publics, self.stores, self.store_keys = [], [], [], []
        for name in ("alice", "bob"):
            self.keys.append(str(folder / f"{name}.key"))
            self.publics.append(bw.keygen(self.keys[-1]))
            self.stores.append(str(folder / f"{name}-stock"))
            self.store_keys.append(str(folder / f"{name}.store-key"))
            bw.keygen(self.store_keys[-1], store_key=True)

    def of(self, party: int) -> dict[str, Any]:
        return {
            "identity": self.keys[party],
            "peer": self.publics[1 - party],
            "store": self.stores[party],
            "store_key": self.store_keys[party],
        }

    def both(self, *calls: Callable[..., Any]) -> list[Any]:
        """Calls the garbler's function, which listens, and the evaluator's, which connects, and returns their
        results."""
        found: list[Any] = [None, None]
        meet, told = threading.Event(), []

        def listening(address: str) -> None:
            told.append(address)
            meet.set()

        def first() -> None:
            found[0] = calls[0](listen="127.0.0.1:0", listening=listening, **self.of(0))

        thread = threading.Thread(target=first)
        thread.start()
        assert meet.wait(20)
        found[1] = calls[1](connect=told[0], **self.of(1))
        thread.join(60)
        return found

    def fill(self, count: int) -> None:
        port = free_port()
        place: list[dict[str, Any]] = [{"listen": f"127.0.0.1:{port}"}, {"connect": f"127.0.0.1:{port}"}]

        def make(party: int) -> None:
            role = ("garbler", "evaluator")[party]
            bw.preprocess(role, {self.program: count}, **place[party], **self.of(party))

        thread = threading.Thread(target=make, args=(0,))
        thread.start()
        make(1)
        thread.join(60)

    def verify(self) -> None:
        for store, key in zip(self.stores, self.store_keys):
            bw.Store(store, key=key).verify()

    def left(self) -> list[int]:
        """The number of executions in the stock of the garbler and of the evaluator."""
        stores = [bw.Store(store, key=key) for store, key in zip(self.stores, self.store_keys)]
        return [store.inventory(self.program).programs[0].executions for store in stores]


def free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, millionaires: bw.Program) -> Pair:
    made = Pair(tmp_path_factory.mktemp("stock"), millionaires)
    made.fill(6000)
    return made


def test_programs_run_from_stock(pair: Pair) -> None:
    before = bw.Store(pair.stores[0], key=pair.store_keys[0]).inventory()
    assert len(before)
    runs = pair.both(
        lambda **more: bw.garbler(pair.program, 5, no_top_up=True, **more),
        lambda **more: bw.evaluator(pair.program, 7, no_top_up=True, **more),
    )
    assert runs[0].garbler == runs[1].evaluator == {"garbler_richer": 0, "equal": 0}
    pair.verify()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("after", [0.02, 0.1])
def test_an_interrupted_run_leaves_the_stock_sound(pair: Pair, sent: signal.Signals, after: float) -> None:
    before = pair.left()
    words = [str(pair.program.path), pair.keys[0], pair.publics[1], pair.stores[0], pair.store_keys[0]]
    with subprocess.Popen([sys.executable, "-c", PARTY, *words], stdout=subprocess.PIPE, text=True) as alice:
        assert alice.stdout is not None
        address = alice.stdout.readline().strip()

        def interrupt() -> None:
            time.sleep(after)
            os.kill(alice.pid, sent)

        threading.Thread(target=interrupt).start()
        try:
            bw.evaluator(pair.program, [7] * ROWS, connect=address, executions=ROWS, **pair.of(1))
        except bw.Error as error:
            assert error.code in (4, 6), error
        said = alice.stdout.read().strip()
    assert said in ("interrupted", "done") if sent == signal.SIGINT else said in ("", "done"), said
    pair.verify()
    # Only the items that the run had taken are burned. The rest can be used.
    for was, left in zip(before, pair.left()):
        assert was - ROWS <= left <= was
    runs = pair.both(
        lambda **more: bw.garbler(pair.program, 9, no_top_up=True, **more),
        lambda **more: bw.evaluator(pair.program, 7, no_top_up=True, **more),
    )
    assert runs[0].garbler == {"garbler_richer": 1, "equal": 0}
    pair.verify()
    # Both parties know by now which items the other has burned.
    ours, theirs = pair.left()
    assert ours == theirs and min(before) - ROWS - 1 <= ours < min(before)


def test_unknown_options_are_refused(tmp_path: Path) -> None:
    store = tmp_path / "stock"
    given: dict[str, Any] = {"crowd": 2, "linking": "scmc", "no_top_up": True}
    for name, value in given.items():
        with pytest.raises(bw.UsageError, match=name):
            bw.preprocess("garbler", [], identity="a.key", peer="p", store=store, **{name: value})
    assert not store.exists()
