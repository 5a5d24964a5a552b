"""Programs that the tests run."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import brickwork as bw
import pytest

ROOT = Path(__file__).parents[2]


def lacking(what: str) -> NoReturn:
    """Skips a test that lacks something of the machine, or fails it where `BRICKWORK_CI` is set."""
    if os.environ.get("BRICKWORK_CI"):
        pytest.fail(what)
    pytest.skip(what)


def pytest_configure(config: pytest.Config) -> None:
    """Builds the programs that some tests call, one after the other. Together they would share features."""
    if (cargo := shutil.which("cargo")) is None:
        return
    command = ["--package", "brickwork-cli", "--package", "brickwork-bench"]
    # It is selected together with this package, so it is built from the same crates as in the tests of its
    # own crate.
    cheat = ["--package", "brickwork-adversary", "--package", "brickwork-py", "--bin", "brickwork-demo-cheat"]
    for what in (command, cheat):
        subprocess.run([cargo, "build", "--release", "--quiet", *what], cwd=ROOT, check=True)
    os.environ["PATH"] = os.pathsep.join([str(ROOT / "target" / "release"), os.environ["PATH"]])


ECHO = """
#parties 2
typedef uint_t 16 u16
typedef int_t 12 i12
typedef uint_t 70 wide
typedef struct_t price { i12 net; u16 tax[2]; }
typedef struct_t row { u16 id; price price; wide big; }
typedef struct_t table { uint_t 3 count; row rows[5]; }
typedef struct_t answer { table all; i12 least; }
#input 1 table
#input 2 i12
#output 1 answer
#output 2 row
function void main()
{
    output1.all = input1;
    output1.least = input2;
    output2 = input1.rows[1];
}
"""
"""Returns its inputs: a struct of all of them to the garbler, and a row of it to the evaluator."""


@pytest.fixture(scope="session")
def millionaires() -> bw.Program:
    return bw.example("millionaires")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bw.Program]:
    """Compiles the text of a source."""

    def compile_text(text: str) -> bw.Program:
        path: Path = tmp_path_factory.mktemp("source") / "program.wir"
        path.write_text(text)
        return bw.compile(path)

    return compile_text


@pytest.fixture(scope="session")
def echo(compiled: Callable[[str], bw.Program]) -> bw.Program:
    return compiled(ECHO)


def parties(tmp_path: Path, *calls: Callable[..., Any]) -> list[Any]:
    """Calls both parties' functions, each with its key and the peer's, and returns results and errors."""
    keys = [bw.keygen(), bw.keygen()]
    address: list[str] = []
    listening = threading.Event()
    found: list[Any] = [None, None]

    def said(place: str) -> None:
        address.append(place)
        listening.set()

    def party(side: int, **where: Any) -> None:
        try:
            found[side] = calls[side](identity=keys[side], peer=keys[1 - side].public_key, **where)
        except bw.Error as error:
            found[side] = error

    other = threading.Thread(target=lambda: party(0, listen="127.0.0.1:0", listening=said))
    other.start()
    assert listening.wait(60)
    party(1, connect=address[0])
    other.join(60)
    return found
