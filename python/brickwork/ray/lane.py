"""The worker of a lane, in an actor."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import Any

from .. import _native, errors
from .._tasks import wait
from ..commands import harden
from ..inputs import input_word
from ..outputs import output_value
from ..programs import Program
from ..runs import outputs_of
from ..wires import Reading
from .files import Sink, Source

_PATIENCE = 30.0
"""Seconds that a worker may take until it listens."""

_LOOK_EVERY = 0.5
"""Seconds between two checks whether the parent lives."""


def cause(error: BaseException) -> str:
    """Returns the reason of a worker's end for the coordinator: only its kind."""
    if isinstance(error, errors.PeerCheated):
        return "check"
    return "stock" if isinstance(error, errors.StockError) else "line"


class Lane:
    """One attempt of a lane. Its methods return the events for the coordinator.

    Args:
        request: the request for a worker of the lane, but for its attempt and its address.
        compiled: the program, as a `.bwp` file.
        source: the source of this party's inputs, if it has any.
        sink: the sink of this party's outputs.
    """

    def __init__(
        self, request: Mapping[str, Any], compiled: bytes, source: Source | None, sink: Sink
    ) -> None:
        harden()
        self._request, self._compiled = dict(request), compiled
        self._role: str = request["request"]["role"]
        self._program: Program | None = None
        self._source, self._sink = source, sink
        self._worker: _native.Worker | None = None
        self._meeting: _native.Task | None = None
        self._task: _native.Task | None = None
        self._stopped = False
        self._doing = "nothing"

    def stop(self) -> None:
        """Asks the worker to stop in the middle of any work. This method is called while another method
        works."""
        self._stopped = True
        if self._task is not None:
            self._task.stop()

    def _begun(self, task: _native.Task) -> _native.Task:
        """Stores the current task. The request to stop may have come earlier."""
        self._task = task
        if self._stopped:
            task.stop()
        return task

    def start(self, attempt: int, listen: str | None, connect: str | None) -> str | None:
        """Begins to connect to the peer's worker. Returns this worker's address if it listens."""
        place = {"listen": listen} if listen is not None else {"connect": connect}
        self._doing = "meeting the peer"
        self._worker = self._made(attempt, place)
        self._meeting = self._begun(self._worker.meet())
        if listen is None:
            return None
        end = time.monotonic() + _PATIENCE
        while (address := self._meeting.address()) is None:
            if self._meeting.wait(0.01):
                wait(self._meeting)
            if time.monotonic() > end:
                raise errors.ConnectionFailed("a worker does not listen", "check that its port is free")
        return f"{address[0]}:{address[1]}"

    def node(self) -> str:
        """Returns the machine of this worker and of its lane's store."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def meet(self) -> None:
        """Waits for the connection to the peer's worker."""
        assert self._meeting is not None
        wait(self._meeting)
        self._doing = "nothing"

    def fill(self, partitions: int) -> None:
        """Makes stock."""
        assert self._worker is not None
        self._doing = "making stock"
        wait(self._begun(self._worker.fill(partitions)))
        self._doing = "nothing"

    def run(self, partition: int, rows: int) -> float:
        """Runs a partition. Its outputs are durable when this returns. Returns seconds."""
        assert self._worker is not None
        begun = time.monotonic()
        self._doing = f"partition {partition}"
        program = self._program = self._program or self._read()
        word = None
        if self._source is not None and (own := program.inputs_of(self._role)):
            word = input_word(self._source.read(partition), own, rows, Reading(), self._role)
        done = wait(self._begun(self._worker.run(partition, word)))
        outputs = output_value(outputs_of(done)[self._role], program.outputs_of(self._role), rows)
        self._sink.write(partition, outputs)
        self._doing = "nothing"
        return time.monotonic() - begun

    def look(self, attempt: int, partition: int) -> bool:
        """Returns whether stock may have been taken for a partition, without a connection to the peer.

        Args:
            attempt: the lane's last attempt, which used the store if nothing is lost.
        """
        return bool(wait(self._made(attempt, None).look(partition)).json)

    def status(self) -> str:
        """Returns a description of the current task."""
        return self._doing

    def _made(self, attempt: int, address: Mapping[str, str | None] | None) -> _native.Worker:
        request = {**self._request, "attempt": attempt, "address": address}
        try:
            return _native.Worker(json.dumps(request), self._compiled)
        except _native.Failed as failed:
            raise errors.from_json(failed.args[0]) from None

    def _read(self) -> Program:
        """Returns the program, for the types of its inputs and outputs."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.bwp")
            with open(path, "wb") as file:
                file.write(self._compiled)
            return Program(path)


def _say(method: str, error: BaseException) -> None:
    """Writes the reason why a worker ends, for people of this party. It goes to the worker's log, which Ray
    can show at the driver. An error of this package contains no value. For another error, only the kind is
    written.
    """
    kind = type(error).__name__
    why = f"{kind}: {error}" if isinstance(error, errors.Error) else kind
    print(f"brickwork: the lane has failed in {method}: {why}", file=sys.stderr, flush=True)


def end_with_parent() -> None:
    """Ends this process once its parent has ended. A raylet that dies before it ends a worker leaves the
    worker running. The worker would keep the lane's store locked, and each later attempt would be lost.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Guarded:
    """A `Lane` whose errors are events, so that no exception of a worker passes through Ray."""

    def __init__(self, *arguments: Any) -> None:
        end_with_parent()
        self._lane = Lane(*arguments)

    def call(self, method: str, *arguments: Any) -> tuple[str, Any]:
        """Returns `done` with the result of a method, or `gone` with the reason of its failure."""
        try:
            return "done", getattr(self._lane, method)(*arguments)
        except BaseException as error:
            _say(method, error)
            return "gone", cause(error)
