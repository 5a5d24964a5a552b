"""The package in use, as a user types it: both parties in a cell, one party, sessions, tables, plans."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brickwork as bw
import pandas as pd
import pyarrow as pa
import pytest

JOIN = """
#parties 2
typedef uint_t 16 key
typedef struct_t table { key rows[4]; }
#input 1 table
#input 2 table
#output 1 key
#output 2 key
function key row(key count, key a, table b)
{
    for (key i = 0; i < 4; i++) if (a == b.rows[i]) count = count + 1;
    return count;
}
function void main()
{
    output1 = 0;
    for (key i = 0; i < 4; i++) output1 = row(output1, input1.rows[i], input2);
    output2 = output1;
}
"""
"""The number of keys that both tables have."""

TYPED = {
    1: """
r = bw.run(p, garbler=1_250_000, evaluator=1_000_000)  # two threads, loopback TLS, keys for the occasion
r.garbler, r.promise.bound_log2
""",
    2: """
with bw.secret_file("alice.json") as x:  # one party; read and erased by the native part, never a Python value
    r = bw.garbler(p, x, listen="0.0.0.0:7000", identity="alice.key", peer="brickwork1:...")
""",
    3: """
p = bw.compile("join.wir", component={"row"});  p.save("join.bwp")
""",
    4: """
@bw.component
def larger(a: bw.u32, b: bw.u32) -> bw.u32: return bw.where(a < b, b, a)
@bw.program
def auction(mine: bw.Garbler[bw.u32[8]], theirs: bw.Evaluator[bw.u32[8]]) -> bw.Both[bw.u32]:
    best = mine[0]
    for x in [*mine, *theirs]: best = larger(best, x)
    return best
""",
    5: """
r = bw.run(q, garbler=df, evaluator=arrow_table)  # numpy, pandas, Arrow, dict; outputs are numpy
""",
    6: """
c = bw.plan(p, executions=1000, link=bw.Link("1Gbit", "20ms"));  c  # draws itself, as r does
c.report("r.html")
""",
    7: """
with bw.connect(role="garbler", store="stock", store_key="k", **peer) as link:
    link.fill({p: 1000});  r = link.run(p, x);  s = bw.Store("stock", key="k")  # inventory as a table
""",
    8: """
async def party():
    return await bw.garbler_async(p, x, **peer)
""",
}


def typed(number: int, names: dict[str, Any], **other: str) -> dict[str, Any]:
    """Executes an example with these names. Some words of it, such as a key, are replaced."""
    text = TYPED[number]
    for word, here in other.items():
        text = text.replace({"port": "0.0.0.0:7000", "key": "brickwork1:..."}[word], here)
    exec(compile(text, f"example-{number}", "exec"), names)
    return names


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


def beside(work: Callable[[], Any], other: Callable[[], Any]) -> tuple[Any, Any]:
    """Calls both functions, the second on a thread of its own, and returns their results."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(other()))
    thread.start()
    given = work()
    thread.join(60)
    return given, found[0]


def test_both_parties_in_a_cell(millionaires: bw.Program) -> None:
    r = typed(1, {"bw": bw, "p": millionaires})["r"]
    assert r.garbler == {"garbler_richer": 1, "equal": 0} and r.promise.bound_log2 <= -40


def test_one_party(millionaires: bw.Program, here: Path) -> None:
    (here / "alice.json").write_text("1250000")
    alice, bob, place = bw.keygen("alice.key"), bw.keygen(), free_port()
    names, theirs = beside(
        lambda: typed(2, {"bw": bw, "p": millionaires}, port=place, key=bob.public_key),
        lambda: bw.evaluator(millionaires, 7, identity=bob, peer=alice, connect=place),
    )
    assert names["r"].garbler == theirs.evaluator == {"garbler_richer": 1, "equal": 0}
    with pytest.raises(ValueError, match="has ended"):
        bw.run(millionaires, names["x"], 7)
    with pytest.raises(bw.InvalidInput, match="is not a file"), bw.secret_file("nowhere.json"):
        pass


def test_a_source_is_compiled_into_components(here: Path) -> None:
    (here / "join.wir").write_text(JOIN)
    p = typed(3, {"bw": bw})["p"]
    assert [c["name"] for c in p.info()["components"] if c["slots"] == 4] == ["row"]
    assert bw.load("join.bwp").digest == p.digest
    given = {"rows": [1, 5, 7, 9]}, {"rows": [2, 5, 9, 11]}
    assert bw.simulate(p, *given).garbler == 2


def test_a_program_is_a_function() -> None:
    q = typed(4, {"bw": bw})["auction"]
    mine, theirs = [3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8]
    assert q(mine, theirs) == 9
    df, arrow_table = pd.DataFrame({"bid": mine}), pa.table({"bid": theirs})
    r = typed(5, {"bw": bw, "q": q, "df": df, "arrow_table": arrow_table})["r"]
    assert r.garbler == r.evaluator == 9


def test_a_plan_draws_itself(millionaires: bw.Program, here: Path) -> None:
    c = typed(6, {"bw": bw, "p": millionaires})["c"]
    assert "round trips" in repr(c) and "<iframe" in c._repr_html_()
    assert (here / "r.html").read_text() == c.page()


@bw.program
def add(a: bw.Garbler[bw.u16], b: bw.Evaluator[bw.u16]) -> bw.Both[bw.u16]:
    return a + b


def test_a_session_from_stock(here: Path) -> None:
    alice, bob, place = bw.keygen(), bw.keygen(), free_port()
    for key in ("k", "l"):
        bw.keygen(here / key, store_key=True)
    peer = {"listen": place, "identity": alice, "peer": bob.public_key}

    def other() -> Any:
        theirs = {"connect": place, "identity": bob, "peer": alice.public_key}
        with bw.connect(role="evaluator", store="other", store_key="l", **theirs) as link:  # type: ignore[arg-type]
            link.fill({add: 1000})
            return link.run(add, 4).output

    names, learned = beside(lambda: typed(7, {"bw": bw, "p": add, "x": 3, "peer": peer}), other)
    assert names["r"].output == learned == 7
    assert names["s"].inventory(add).programs[0].executions >= 999


def test_a_party_in_an_event_loop(millionaires: bw.Program) -> None:
    alice, bob, place = bw.keygen(), bw.keygen(), free_port()
    peer = {"listen": place, "identity": alice, "peer": bob.public_key}
    party = typed(8, {"bw": bw, "p": millionaires, "x": 5, "peer": peer})["party"]

    async def both() -> Any:
        theirs = bw.evaluator_async(millionaires, 7, identity=bob, peer=alice.public_key, connect=place)
        return await asyncio.gather(party(), theirs)

    ours, others = asyncio.run(both())
    assert json.dumps(ours.garbler) == json.dumps(others.evaluator) == '{"garbler_richer": 0, "equal": 0}'
