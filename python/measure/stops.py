"""Measures how long what was asked to stop takes to end: `python python/measure/stops.py [WORD …]`.

Each call is stopped after ever longer times. Printed are the median and the longest of what it took until its
threads had ended, beside the CPU time of all of them meanwhile, which is what counts on a machine that does
other things, too.
With words, only calls that have one of them in their names.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brickwork as bw
from brickwork import _native, runs

ROOT = Path(__file__).parents[2]

Start = Callable[[], _native.Task]

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
}
"""As many as some seconds have."""

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


def calls(folder: Path) -> dict[str, Start]:
    """Returns what is measured."""
    found: dict[str, Start] = {}
    programs = {
        "millionaires": bw.example("millionaires"),
        "aes-128-rounds": bw.load(ROOT / "examples/aes-128-rounds.bwp"),
    }

    def inputs(program: bw.Program, count: int) -> tuple[list[str], list[str]]:
        def bits(role: str) -> list[str]:
            return ["bits:" + "01" * (sum(port.type.width for port in program.inputs_of(role)) // 2)] * count

        return bits("garbler"), bits("evaluator")

    for name, counts in EXECUTIONS.items():
        for protocol, count in counts.items():
            ready = runs._both(
                _native.Task.both,
                "run",
                programs[name],
                *inputs(programs[name], count),
                {"executions": count, "protocol": protocol, "timeout": 60},
            )
            found[f"run {protocol} {name}"] = ready.start
    aes = programs["aes-128-rounds"]
    simulated: Any = _native.Task.simulate
    many = runs._both(simulated, "simulate", aes, *inputs(aes, 20_000), {"executions": 20_000})
    found["simulate"] = many.start

    def command(*words: str) -> Start:
        return lambda: _native.Task.call(list(words))

    for name, text in SOURCES.items():
        path = folder / f"{name}.wir"
        path.write_text(f"#parties 2\ntypedef uint_t 32 w\n{text}")
        found[f"compile {name}"] = command("compile", str(path), "-o", str(folder / "out.bwp"))
    found["plan many slots"] = command("plan", str(folder / "many slots.wir"))
    found["plan --calibrate"] = command("plan", "--calibrate", str(aes.path))
    found["bench garbling"] = command("bench", "garbling")
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, start in calls(Path(folder)).items():
            if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
                continue
            longest = (0.0, 0.0, 0.0, "")
            walls = []
            for after in AFTER:
                task = start()
                if task.wait(after):
                    break
                phase, _, _ = task.progress()
                begin, cpu = time.monotonic(), time.process_time()
                task.stop()
                task.wait(60)
                took, cpu = time.monotonic() - begin, time.process_time() - cpu
                longest = max(longest, (min(took, cpu), took, after, phase))
                walls.append(took)
            least, took, after, phase = longest
            told = {
                "cpu_s": round(least, 3),
                "wall_s": round(took, 3),
                "after_s": round(after, 2),
                "phase": phase,
            }
            median = round(statistics.median(walls), 3) if walls else None
            found = {"call": name, "stops": len(walls), "median_s": median, "longest": told}
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
