"""The teaching examples run."""

from __future__ import annotations

import queue
import runpy
import socket
import threading
from pathlib import Path
from typing import Any

import brickwork as bw
import pytest

FOLDER = Path(__file__).parents[1] / "examples"


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / f"{name}.py"))


@pytest.mark.parametrize("name", ["both_here", "tables", "stock_ahead", "session", "own_transport"])
def test_examples_of_both_parties_run(name: str) -> None:
    if name == "tables":
        pytest.importorskip("pandas")
    example(name)["main"]()


def test_two_processes_meet(tmp_path: Path) -> None:
    keys = [str(tmp_path / f"{name}.key") for name in ("alice", "bob")]
    publics = [bw.keygen(key) for key in keys]
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    main = example("two_processes")["main"]
    learned: queue.Queue[Any] = queue.Queue()
    first = threading.Thread(
        target=lambda: learned.put(main("garbler", keys[0], publics[1], address, "1250000"))
    )
    first.start()
    assert main("evaluator", keys[1], publics[0], address, "1000000") == 1
    first.join(60)
    assert learned.get(timeout=1) == 1


def test_examples_are_short() -> None:
    examples = sorted(FOLDER.glob("*.py"))
    assert len(examples) == 6
    for file in examples:
        assert len(file.read_text().splitlines()) <= 40, file
