"""Measures how long stopped calls take to end: `python python/measure/stops.py [WORD …]`.

Each call is stopped after ever longer times. The output has the median and the longest time until the threads
of a call had ended. Beside it is the CPU time of all threads meanwhile, which is more reliable on a busy
machine. Calls that begin with `Ctrl-C`, `cancel` and `deadline` measure the time from the key press, the
cancellation of a task or the deadline until Python has raised the exception. The others stop the native part
itself. With words, only calls with one of these words in their names are measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import brickwork as bw
import numpy as np
from brickwork import _native, runs
from brickwork._flags import as_json
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]


class Stopped(NamedTuple):
    """The end of a call: its seconds, its CPU seconds, and its phase."""

    wall: float
    cpu: float
    phase: str


Stop = Callable[[float], Stopped | None]
"""Starts a call and stops it after this many seconds. Returns None if it ended earlier."""

AFTER = [0.05 * 1.35**step for step in range(18)]
"""Seconds, to eight."""

EXECUTIONS = {
    "millionaires": {
        "duplo": 100_000,
        "authenticated": 100_000,
        "lego": 5_000,
        "jimu": 5_000,
        "semi-honest": 300_000,
        "compgc": 100_000,
    },
    "aes-128-rounds": {
        "duplo": 256,
        "authenticated": 400,
        "lego": 20,
        "jimu": 20,
        "semi-honest": 3_000,
        "compgc": 1_000,
    },
    "larger": {
        "duplo": 400_000,
        "authenticated": 400_000,
        "lego": 20_000,
        "jimu": 20_000,
        "semi-honest": 1_000_000,
        "compgc": 400_000,
    },
}
"""The number for some seconds of work; the larger numbers are for the millionaires."""

SOURCES = {
    "a large product": "#input 1 uint_t 2048\n#input 2 uint_t 2048\n#output 1 uint_t 2048\n"
    "function void main() { output1 = input1 * input2 * input1; }\n",
    "a long loop": "#input 1 w\n#input 2 w\n#output 1 w\n"
    "function void main()\n{\n    w x = input1;\n"
    "    for (w i = 0; i < 60000; i++) x = (x + input2) ^ i;\n    output1 = x;\n}\n",
    "many slots": "#input 1 w\n#input 2 w\n#output 1 w\nfunction w f(w a, w b) { return a * b + a; }\n"
    "function void main()\n{\n    w x = input1;\n"
    "    for (w i = 0; i < 30000; i++) x = f(x, input2) ^ i;\n    output1 = x;\n}\n",
}
"""Programs that take long to compile."""


def of_task(start: Callable[[], _native.Task]) -> Stop:
    """Stops the native part."""

    def stop(after: float) -> Stopped | None:
        task = start()
        if task.wait(after):
            return None
        phase, _, _ = task.progress()
        begin, cpu = time.monotonic(), time.process_time()
        task.stop()
        task.wait(60)
        return Stopped(time.monotonic() - begin, time.process_time() - cpu, phase)

    return stop


class Clock:
    """Notes the time at which a call should end."""

    def __init__(self) -> None:
        self._wanted: tuple[float, float] | None = None

    def wants(self) -> None:
        self._wanted = time.monotonic(), time.process_time()

    def ends(self) -> Stopped:
        assert self._wanted is not None
        wall, cpu = self._wanted
        return Stopped(time.monotonic() - wall, time.process_time() - cpu, "")


def by_key(call: Callable[..., Any]) -> Stop:
    """Presses Ctrl-C."""

    def stop(after: float) -> Stopped | None:
        clock = Clock()

        def press() -> None:
            clock.wants()
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(after, press)
        try:
            timer.start()
            call()
            timer.cancel()
            # The key may have been pressed already.
            timer.join()
        except KeyboardInterrupt:
            return clock.ends()
        return None

    return stop


def by_cancelling(call: Callable[..., Any]) -> Stop:
    """Cancels a task of an event loop."""

    async def play(after: float) -> Stopped | None:
        clock, task = Clock(), asyncio.ensure_future(call())
        await asyncio.wait([task], timeout=after)
        if task.done():
            return None
        clock.wants()
        task.cancel()
        await asyncio.wait([task])
        return clock.ends()

    return lambda after: asyncio.run(play(after))


def by_deadline(call: Callable[..., Any]) -> Stop:
    """Sets a deadline."""

    def stop(after: float) -> Stopped | None:
        clock = Clock()
        timer = threading.Timer(after, clock.wants)
        try:
            timer.start()
            call(deadline=after)
            timer.cancel()
        except bw.Deadline:
            timer.join()
            return clock.ends()
        return None

    return stop


def inputs(program: bw.Program, count: int) -> tuple[list[str], list[str]]:
    """Returns this many inputs of both parties."""

    def bits(role: str) -> list[str]:
        return ["bits:" + "01" * (sum(port.type.width for port in program.inputs_of(role)) // 2)] * count

    return bits("garbler"), bits("evaluator")


def of_parties() -> dict[str, Stop]:
    """Returns runs of every protocol, and each way to stop them."""
    found: dict[str, Stop] = {}
    programs = {
        "millionaires": bw.example("millionaires"),
        "aes-128-rounds": bw.load(ROOT / "examples/aes-128-rounds.bwp"),
    }
    for name, counts in EXECUTIONS.items():
        program = programs.get(name, programs["millionaires"])
        for protocol, count in counts.items():
            options: Any = {"executions": count, "protocol": protocol, "timeout": 60}
            given = inputs(program, count)
            ready = runs._both(program, *given, options)
            found[f"run {protocol} {name}"] = of_task(ready.start)
            if name != "aes-128-rounds":
                # An array is read at once, so the run itself is stopped.
                numbers = np.arange(count, dtype=np.uint32)
                sync = _called(bw.run, program, numbers, options)
                found[f"Ctrl-C {protocol} {name}"] = by_key(sync)
                found[f"deadline {protocol} {name}"] = by_deadline(sync)
                later = _called(bw.run_async, program, numbers, options)
                found[f"cancel {protocol} {name}"] = by_cancelling(later)
    aes = programs["aes-128-rounds"]
    options = {"executions": 20_000}
    words = runs._words(aes, *inputs(aes, 20_000), options)
    found["simulate"] = of_task(lambda: _native.simulate(aes.native, as_json(options), *words))
    found["plan --calibrate"] = of_task(lambda: _native.plan(aes.native, as_json({"calibrate": True})))
    return found


def _called(call: Any, program: bw.Program, both: NDArray[np.uint32], options: Any) -> Callable[..., Any]:
    return lambda **more: call(program, both, both, **options, **more)


def of_compiler(folder: Path) -> dict[str, Stop]:
    """Returns calls that compile, plan and measure."""
    found: dict[str, Stop] = {}
    for name, text in SOURCES.items():
        path = folder / f"{name}.wir"
        path.write_text(f"#parties 2\ntypedef uint_t 32 w\n{text}")
        request = as_json({"file": path, "output": folder / "out.bwp"})
        found[f"compile {name}"] = of_task(partial(_native.compile, request))
    many = bw.load(folder / "many slots.wir")
    found["plan many slots"] = of_task(lambda: _native.plan(many.native, "{}"))
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, stop in {**of_parties(), **of_compiler(Path(folder))}.items():
            if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
                continue
            stops: list[tuple[float, Stopped]] = []
            for after in AFTER:
                if (stopped := stop(after)) is None:
                    break
                stops.append((after, stopped))
            if not stops:
                continue
            after, longest = max(stops, key=lambda one: min(one[1].wall, one[1].cpu))
            found = {
                "call": name,
                "stops": len(stops),
                "median_s": round(statistics.median(one.wall for _, one in stops), 3),
                "longest_s": round(max(one.wall for _, one in stops), 3),
                "most_cpu": {
                    "cpu_s": round(longest.cpu, 3),
                    "wall_s": round(longest.wall, 3),
                    "after_s": round(after, 2),
                    "phase": longest.phase,
                },
            }
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
