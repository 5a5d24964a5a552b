"""The command `brickwork` that pip installs with the package."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import brickwork as bw
import pytest


@pytest.fixture
def command(tmp_path: Path) -> str:
    """Returns a script as pip writes it."""
    script = tmp_path / "brickwork"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nfrom brickwork_command import main\nsys.exit(main())\n"
    )
    script.chmod(0o700)
    return str(script)


def test_pip_installs_the_command() -> None:
    (entry,) = metadata.entry_points(group="console_scripts", name="brickwork")
    assert entry.value == "brickwork_command:main"


def test_the_command_is_the_same(command: str, tmp_path: Path) -> None:
    def said(*words: str, code: int = 0) -> str:
        ended = subprocess.run([command, *words], capture_output=True, text=True, timeout=120, cwd=tmp_path)
        assert ended.returncode == code, ended.stderr
        return ended.stdout + ended.stderr

    assert said("--version").startswith(f"brickwork {bw.__version__} (")
    said("examples", "millionaires")
    # It starts two processes of itself.
    run = ["run", "millionaires.wir", "--garbler", "7", "--evaluator", "5", "--json"]
    report = json.loads(said(*run))
    assert report["outputs"]["garbler"] == {"garbler_richer": 1, "equal": 0}
    assert "hint:" in said("run", "nothing.wir", code=3)
    assert "Usage: brickwork info" in said("info", code=2)


def test_control_c_ends_the_command(command: str, tmp_path: Path) -> None:
    bw.keygen(tmp_path / "own.key")
    key = bw.keygen(tmp_path / "peer.key")
    subprocess.run([command, "examples", "millionaires"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    words = ["garbler", "millionaires.wir", "--listen", "127.0.0.1:0", "--input", "1"]
    line = [command, *words, "--identity", "own.key", "--peer", str(key)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as waiting:
        try:
            assert waiting.stderr is not None and "waiting for the peer" in waiting.stderr.readline()
            waiting.send_signal(signal.SIGINT)
            assert waiting.wait(30) != 0
        finally:
            waiting.kill()
