"""Waits for tasks that run on a thread of their own. Ctrl-C, cancelled tasks and deadlines end them."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from . import _native, errors

P = ParamSpec("P")
T = TypeVar("T")

_LOG = logging.getLogger("brickwork")
_native.keep_log()
_LEVELS = {"ERROR": logging.ERROR, "WARN": logging.WARNING, "INFO": logging.INFO, "DEBUG": logging.DEBUG}

_SLICE = 0.05
"""Seconds between two checks for signals. Each check takes some 0.2 ms if other threads use the cores."""

_PATIENCE = 10.0
"""Seconds that this code waits for a thread that was asked to stop, unless somebody presses Ctrl-C again. The
thread ends within 0.2 seconds.
"""


class Deadline(errors.Error, TimeoutError):
    """The call took longer than its `deadline`, and was stopped."""

    code = 4


@dataclass(frozen=True)
class Told:
    """The result of a task.

    Attributes:
        json: the object of the command's `--json`.
        human: the text for people.
        bits: the output bits of the garbler and of the evaluator, one a byte, if this process has them.
    """

    json: Any
    human: str
    bits: tuple[bytes | None, bytes | None]


_END: ContextVar[float | None] = ContextVar("end", default=None)
"""The time at which the preparation must have ended, by the monotonic clock."""


def _refuse_after(end: float | None) -> None:
    if end is not None and time.monotonic() > end:
        raise Deadline(
            "the call took longer than its deadline allows, and was stopped",
            "raise the deadline, or ask for less",
        )


class Watch:
    """The work while a task runs: its log lines are delivered, and its progress is shown.

    Args:
        progress: whether to show a bar by `tqdm`.
        listening: called once with `HOST:PORT` at which the task listens, if it listens.
        deadline: the longest time in seconds; no limit if None.
    """

    def __init__(
        self,
        progress: bool = False,
        listening: Callable[[str], None] | None = None,
        deadline: float | None = None,
    ) -> None:
        self._bar: Any = _bar() if progress else None
        self._listening = listening
        self._end = _END.get() if deadline is None else time.monotonic() + deadline

    def prepare(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls a function that prepares a task. The preparation has the same deadline as the task."""
        token = _END.set(self._end)
        try:
            return work(*args, **kwargs)
        finally:
            _END.reset(token)

    def look(self, task: _native.Task) -> None:
        """Checks a task, between two slices of waiting."""
        _pass_log_on()
        if self._listening is not None and (address := task.address()) is not None:
            listening, self._listening = self._listening, None
            listening(f"{address[0]}:{address[1]}")
        if self._bar is not None:
            phase, done, total = task.progress()
            self._bar.set_description(phase, refresh=False)
            self._bar.total = total or None
            self._bar.update(done - self._bar.n)
        _refuse_after(self._end)

    def close(self) -> None:
        """Delivers the remaining lines of the log."""
        _pass_log_on()
        if self._bar is not None:
            self._bar.close()


def _bar() -> Any:
    tqdm = errors.needed("tqdm.auto", "progress", "tqdm, or leave progress out").tqdm
    return tqdm(unit="B", unit_scale=True, leave=False)


def _pass_log_on() -> None:
    for line in _native.log():
        fields = json.loads(line)
        level = _LEVELS.get(fields.pop("level", ""), logging.INFO)
        _LOG.log(level, "%s", fields.pop("message", ""), extra={"brickwork": fields})


def _result(task: _native.Task) -> Told:
    try:
        text, human = task.result()
    except _native.Failed as failed:
        raise errors.from_json(failed.args[0]) from None
    return Told(json.loads(text or "null"), human, task.bits())


_CANCELLED: ContextVar[threading.Event | None] = ContextVar("cancelled", default=None)
"""The event is made for a thread that works for a task of an event loop. It is set when that task is
cancelled."""


def look() -> None:
    """Checks whether the preparation on this thread must end, because its deadline is over or its task was
    cancelled. Code in Python that works for milliseconds calls this in between.
    """
    cancelled = _CANCELLED.get()
    if cancelled is not None and cancelled.is_set():
        raise asyncio.CancelledError
    _refuse_after(_END.get())


def looking(items: Iterable[T]) -> Iterator[T]:
    """Passes these items on, and checks for a stop from time to time."""
    for place, item in enumerate(items):
        if place % 1024 == 0:
            look()
        yield item


def wait(task: _native.Task, watch: Watch | None = None) -> Told:
    """Waits for a task, and returns its result.

    Ctrl-C, and any other exception raised meanwhile, stops the task. Items that the task burned stay burned,
    and the peer sees a closed connection.
    """
    watch = watch or Watch()
    try:
        while not task.wait(_SLICE):
            watch.look(task)
            look()
        watch.look(task)
    except BaseException:
        task.stop()
        end = time.monotonic() + _PATIENCE
        # The wait is in slices, so that Ctrl-C is noticed here, too.
        while not task.wait(_SLICE) and time.monotonic() < end:
            pass
        raise
    finally:
        watch.close()
    return _result(task)


async def wait_async(task: _native.Task, watch: Watch | None = None) -> Told:
    """Waits for a task as `wait` does, while the event loop continues. If the waiting is cancelled, the task
    is stopped.
    """
    watch = watch or Watch()
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def tell() -> None:
        task.wait(float("inf"))
        try:
            loop.call_soon_threadsafe(ended.set)
        except RuntimeError:  # The loop is closed, so nothing waits.
            pass

    threading.Thread(target=tell, name="brickwork-wait", daemon=True).start()

    async def has_ended(seconds: float) -> bool:
        try:
            await asyncio.wait_for(ended.wait(), seconds)
        except asyncio.TimeoutError:
            return False
        return True

    try:
        while not await has_ended(_SLICE):
            watch.look(task)
        watch.look(task)
    except BaseException:
        task.stop()
        # A second cancellation means that the user does not want to wait for the task.
        await has_ended(_PATIENCE)
        raise
    finally:
        watch.close()
    return _result(task)


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs the preparation of a task, such as compiling and the reading of tables, on a thread of its own,
    while the event loop continues. If the waiting is cancelled, the preparation is stopped.
    """
    cancelled = threading.Event()
    token = _CANCELLED.set(cancelled)
    try:
        return await asyncio.to_thread(work, *args, **kwargs)
    except asyncio.CancelledError:
        cancelled.set()
        raise
    finally:
        _CANCELLED.reset(token)
