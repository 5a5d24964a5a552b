"""Measures the additional cost of a call from Python over the same call from Rust: `python
python/measure/calls.py`.

Both calls run both parties on two threads, in turn. The argument is the number of rounds, and the output has
medians. The calls from Rust are `cargo build --release -p brickwork --example calls`. The output has the
time and the CPU time of all threads for each call. CPU time is more reliable on a machine with other load. It
also has the costs of Python itself: the time of a call without the time in which it waits for the native
part.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import brickwork as bw
import numpy as np
from brickwork import _native, _tasks, runs
from brickwork.inputs import input_word
from brickwork.wires import Reading

ROOT = Path(__file__).parents[2]


class Rust:
    """A process that does the same call for each line."""

    def __init__(self, program: bw.Program, inputs: list[Any], executions: int | None) -> None:
        names, self._files = [], []
        for role, given in zip(("garbler", "evaluator"), inputs):
            word = input_word(given, program.inputs_of(role), executions, Reading(), role)
            assert word is not None
            # The input is in a file, because a command line has no room for rows of a table.
            file = tempfile.NamedTemporaryFile("wb")
            file.write(word.encode() if isinstance(word, str) else word)
            file.flush()
            self._files.append(file)
            names.append(file.name)
        options = json.dumps({} if executions is None else {"executions": executions})
        command: list[Any] = [ROOT / "target/release/examples/calls", program.path, options, *names]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self) -> tuple[float, float]:
        """Calls once. Returns the seconds and the CPU seconds that it took."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        seconds, cpu = map(float, self._process.stdout.readline().split())
        return seconds, cpu

    def close(self) -> None:
        self._process.communicate()


def compared(
    name: str, program: bw.Program, inputs: list[Any], executions: int | None, rounds: int
) -> dict[str, Any]:
    """Calls in turn, and returns the medians."""
    rust = Rust(program, inputs, executions)
    options: Any = {} if executions is None else {"executions": executions}
    times: list[list[float]] = [[], [], [], [], []]
    waited: list[float] = []

    def wait(task: _native.Task, watch: _tasks.Watch | None = None) -> _tasks.Told:
        begin = time.perf_counter()
        told = _tasks.wait(task, watch)
        waited.append(time.perf_counter() - begin)
        return told

    for number in range(rounds + 1):
        of_rust = rust.call()
        waited.clear()
        begin, cpu = time.perf_counter(), time.process_time()
        with mock.patch.object(runs, "wait", wait):
            bw.run(program, *inputs, **options)
        of_python, of_cpu = time.perf_counter() - begin, time.process_time() - cpu
        if number:  # The first call of each warms up.
            for of, seconds in zip(times, (*of_rust, of_python, of_cpu, of_python - sum(waited))):
                of.append(seconds)
    rust.close()
    rust_s, rust_cpu, python_s, python_cpu, itself = (statistics.median(one) for one in times)
    return {
        "call": name,
        "rounds": rounds,
        "python_itself_ms": round(1e3 * itself, 2),
        "clock": _both(rust_s, python_s),
        "cpu": _both(rust_cpu, python_cpu),
    }


def _both(rust: float, python: float) -> dict[str, float]:
    return {
        "rust_ms": round(1e3 * rust, 2),
        "python_ms": round(1e3 * python, 2),
        "more_ms": round(1e3 * (python - rust), 2),
        "more_percent": round(100 * (python / rust - 1), 1),
    }


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    draw = np.random.default_rng(1)
    millionaires, aes = bw.example("millionaires"), bw.load(ROOT / "examples/aes-128-rounds.bwp")
    rows = 10_000
    many = [draw.integers(0, 2**32, rows, dtype=np.uint32) for _ in range(2)]
    blocks = ["bits:" + "01" * 64] * 16
    calls: list[tuple[str, bw.Program, list[Any], int | None, int]] = [
        ("millionaires", millionaires, [5, 7], None, rounds),
        ("16 x AES-128", aes, [blocks, blocks], 16, rounds),
        (f"{rows} x millionaires", millionaires, many, rows, max(rounds // 5, 1)),
    ]
    for call in calls:
        print(json.dumps(compared(*call)), flush=True)


if __name__ == "__main__":
    main()
