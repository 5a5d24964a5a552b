"""The package's own types: they pass a type checker, and the stub agrees with the module."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TYPED = """
import brickwork as bw

class Row(bw.Struct):
    key: bw.u32
    amounts: bw.i16[4]

@bw.component
def larger(a: bw.u32, b: bw.u32) -> bw.u32:
    return bw.where(a < b, b, a)

@bw.component
def total(rows: bw.Array[Row, 8]) -> bw.u32:
    return bw.sum(row.key for row in rows)

@bw.program
def program(
    mine: bw.Garbler[bw.u32[8]], theirs: bw.Evaluator[Row[8]], grid: bw.Garbler[bw.u8[3, 2]]
) -> tuple[bw.Both[bw.u32], bw.Evaluator[Row]]:
    best = larger(mine[0], mine[1])
    return best, Row(key=total(theirs), amounts=[1, 2, 3, 4]).replace(key=best)

bw.run(program, {"mine": [1] * 8, "grid": [[1, 2]] * 3})
"""
"""A program as users write them."""

MISTAKES = {
    "bw.u32x": 'Module has no attribute "u32x"',
    "larger(1)": 'Missing positional argument "b"',
    "Row(kee=1, amounts=[])": 'Unexpected keyword argument "kee"',
    "bw.run(3)": "incompatible type",
    "bw.run(program, exectuions=3)": 'Unexpected keyword argument "exectuions"',
}
"""The errors that a type checker reports about them."""


def test_a_type_checker_understands_programs(tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(TYPED)
    lines = ["import brickwork as bw", "from typed import Row, larger, program", *MISTAKES]
    (tmp_path / "mistakes.py").write_text("\n".join(lines))
    command = ["mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), "typed.py", "mistakes.py"]
    done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True)
    assert "typed.py" not in done.stdout, done.stdout
    for number, told in enumerate(MISTAKES.values(), 3):
        said = [line for line in done.stdout.splitlines() if line.startswith(f"mistakes.py:{number}:")]
        assert any(told in line for line in said), done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ["mypy", "--config-file", "pyproject.toml"],
        ["mypy.stubtest", "--concise", "brickwork._native", "brickwork._widths"],
        ["ruff", "check", "python"],
        ["ruff", "format", "--check", "python"],
    ],
    ids=["mypy", "stubtest", "lints", "format"],
)
def test_types_are_true(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_words_are_spelled_right() -> None:
    typos = Path(sys.executable).with_name("typos")
    done = subprocess.run([typos, "--format", "brief"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
