"""The package's own types: what a type checker says, and that the stub tells the truth."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command",
    [
        ["mypy", "--config-file", "pyproject.toml"],
        ["mypy.stubtest", "--concise", "brickwork._native"],
        ["ruff", "check", "python"],
        ["ruff", "format", "--check", "python"],
    ],
    ids=["mypy", "stubtest", "lints", "format"],
)
def test_types_are_true(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
