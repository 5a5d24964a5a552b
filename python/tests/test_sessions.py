"""Sessions of several steps, between two tasks of an event loop."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import brickwork as bw
import numpy as np
import pytest


@bw.program
def add(total: bw.Garbler[bw.u16], more: bw.Evaluator[bw.u16]) -> bw.Both[bw.u16]:
    return total + more


@bw.program
def over(total: bw.Garbler[bw.u16], limit: bw.Evaluator[bw.u16]) -> bw.Both[bw.u1]:
    return total > limit


Play = Callable[[bw.Session], Coroutine[Any, Any, Any]]


def play(
    garbler: Play,
    evaluator: Play,
    programs: dict[Any, int] | None = None,
    theirs: dict[Any, int] | None = None,
    stores: tuple[Any, Any] = ({}, {}),
    **options: Any,
) -> Any:
    """Runs both sides of a session, and returns the result or exception of each."""

    async def both() -> Any:
        alice, bob = bw.keygen(), bw.keygen()
        meet: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def ours() -> Any:
            try:
                async with bw.connect_async(
                    "garbler",
                    programs,
                    identity=alice,
                    peer=bob.public_key,
                    listen="127.0.0.1:0",
                    listening=meet.set_result,
                    **stores[0],
                    **options,
                ) as session:
                    return await garbler(session)
            finally:
                if not meet.done():
                    meet.cancel()

        async def others() -> Any:
            async with bw.connect_async(
                "evaluator",
                theirs or programs,
                identity=bob,
                peer=alice.public_key,
                connect=await meet,
                **stores[1],
                **options,
            ) as session:
                return await evaluator(session)

        return await asyncio.gather(ours(), others(), return_exceptions=True)

    return asyncio.run(both())


def test_what_is_kept_flows_on() -> None:
    async def steps(session: bw.Session, inputs: list[Any]) -> list[Any]:
        first = await session.run_async(add, inputs[0], keep=["output"])
        assert first.output is None and first.promise.bound_log2 <= -40
        total = first.kept["output"]
        with pytest.raises(TypeError):
            pickle.dumps(total)
        second = await session.run_async(add, inputs[1], carry={"input1": total}, keep=["output"])
        last = await session.run_async(over, inputs[2], carry={"input1": second.kept["output"]})
        with pytest.raises(bw.UsageError, match="as often as this session allows"):
            await session.run_async(over, inputs[2], carry={"input1": total})
        await session.close_async()
        with pytest.raises(bw.UsageError, match="has ended"):
            await session.run_async(add, inputs[1], carry={"input1": total})
        return [last.output]

    found = play(
        lambda session: steps(session, [1000, None, None]),
        lambda session: steps(session, [20, 300, 1319]),
        {add: 3, over: 1},
    )
    assert found == [[1], [1]]


def test_another_program_is_refused_at_once() -> None:
    async def nothing(session: bw.Session) -> None:
        raise AssertionError("they have met")

    for error in play(nothing, nothing, {add: 1}, {over: 1}):
        assert isinstance(error, bw.PeerMismatch)


def test_what_a_session_does_not_have_is_refused() -> None:
    sessions: list[bw.Session] = []

    async def refusing(session: bw.Session) -> None:
        with pytest.raises(bw.UsageError, match="was not named when the session began"):
            await session.run_async(over, 1)
        with pytest.raises(bw.UsageError, match="no input"):
            kept = bw.Kept(session, add.as_program().outputs[0], 0)
            await session.run_async(add, 1, carry={"nothing": kept})
        with pytest.raises(bw.UsageError, match="another session"):
            await session.run_async(
                add, 1, carry={"input1": bw.Kept(bw.Session("garbler", []), kept.port, 0)}
            )
        with pytest.raises(bw.UsageError, match="does not belong to this session"):
            await session.run_async(add, 1, carry={"input1": kept})
        with pytest.raises(bw.InvalidInput):
            await session.run_async(add, 70000)
        sessions.append(session)
        while len(sessions) < 2:
            await asyncio.sleep(0.01)
        step = await session.run_async(add, 7)
        assert step.output == 14

    assert play(refusing, refusing, {add: 1}) == [None, None]


@pytest.fixture
def stores(tmp_path: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """A store for each party, with its key."""
    found = []
    for name in ("alice", "bob"):
        key = tmp_path / f"{name}.store-key"
        bw.keygen(key, store_key=True)
        found.append({"store": tmp_path / f"{name}-stock", "store_key": key})
    return found[0], found[1]


@pytest.mark.parametrize("protocol", ["duplo", "lego", "jimu", "semi-honest", "compgc"])
def test_sessions_run_from_stock_whatever_comes(
    protocol: str, stores: tuple[dict[str, Path], dict[str, Path]]
) -> None:
    async def steps(session: bw.Session, inputs: list[Any]) -> list[Any]:
        made = await session.fill_async({add: 6})
        assert made.steps
        first = await session.run_async(add, inputs[0])
        many = await session.run_async(add, inputs[1], executions=3)
        assert first.made is None and many.made is None
        # The store has no stock for this program.
        other = await session.run_async(over, inputs[0])
        if protocol == "duplo":
            assert other.made
        if protocol in ("duplo", "lego", "jimu"):
            assert other.promise.bound_log2 <= -40
        return [first.output, many.output.tolist(), other.output]

    found = play(
        lambda session: steps(session, [1000, [1, 2, 3]]),
        lambda session: steps(session, [20, np.array([10, 20, 65535])]),
        stores=stores,
        protocol=protocol,
    )
    assert found == [[1020, [11, 22, 2], 1]] * 2, found
    for place in stores:
        store = bw.Store(place["store"], key=place["store_key"])
        inventory = store.inventory(add)
        assert inventory.to_pandas()["protocol"].unique().tolist() == [protocol]
        assert any(row["left"] < row["items"] for row in inventory.rows)
        assert repr(inventory).startswith("pair ") and inventory._repr_html_().startswith("<table>")
        # Four of six executions ran. `over` took items of another program: OTs serve any program, and so do
        # gates, of which both programs have 15.
        assert inventory.programs[0].executions == {"duplo": 2, "lego": 0, "jimu": 0}.get(protocol, 1)
        store.verify()


def test_what_a_session_from_stock_keeps_flows_on(stores: tuple[dict[str, Path], dict[str, Path]]) -> None:
    async def steps(session: bw.Session, inputs: list[Any]) -> int:
        await session.fill_async({add: 2, over: 1})
        first = await session.run_async(add, inputs[0], keep=["output"])
        last = await session.run_async(over, inputs[1], carry={"input1": first.kept["output"]})
        found: int = last.output
        return found

    found = play(
        lambda session: steps(session, [1000, None]),
        lambda session: steps(session, [20, 1019]),
        stores=stores,
    )
    assert found == [1, 1]

    async def kept(session: bw.Session) -> None:
        await session.run_async(add, 1, keep=["output"])

    for error in play(kept, kept, stores=stores, protocol="semi-honest"):
        assert isinstance(error, bw.Error)


def test_a_session_may_rest_on_lattices() -> None:
    async def step(session: bw.Session) -> Any:
        return (await session.run_async(add, 7)).output

    assert play(step, step, {add: 1}, post_quantum=True) == [14, 14]


@pytest.mark.parametrize(
    "options, why",
    [
        ({"protocol": "lego"}, "needs a store"),
        ({"protocol": "jimu"}, "needs a store"),
        ({"protocol": "semi-honest"}, "needs a store"),
        ({"protocol": "compgc"}, "needs a store"),
        ({"store": "stock", "post_quantum": True}, "post-quantum cannot be used with a store"),
        ({"store": "stock", "protocol": "semi-honest", "security": 40}, "--security has no effect"),
        ({}, "needs its programs"),
    ],
)
def test_what_no_session_does_is_refused(options: dict[str, Any], why: str) -> None:
    place: dict[str, Any] = {"identity": bw.keygen(), "peer": bw.keygen().public_key, "listen": "127.0.0.1:0"}
    programs = {} if not options or "store" in options else {add: 1}
    with pytest.raises(bw.UsageError, match=why):
        bw.connect("garbler", programs, **place, **options)
    if "store" in options:
        with pytest.raises(bw.UsageError, match="named when they run"):
            bw.connect("garbler", {add: 1}, **place, store="stock")


def test_a_session_is_left_at_an_exception_and_the_peer_sees_it() -> None:
    events: list[str] = []

    async def fails(session: bw.Session) -> None:
        await session.run_async(add, 1)
        events.append("alice fails")
        raise RuntimeError("as a test wants it")

    async def waits(session: bw.Session) -> None:
        await session.run_async(add, 2)
        try:
            await session.run_async(add, 2)
        finally:
            events.append("bob sees it")

    found = play(fails, waits, {add: 2})
    assert isinstance(found[0], RuntimeError) and isinstance(found[1], bw.ConnectionFailed)
    assert events == ["alice fails", "bob sees it"]


def test_a_step_that_is_stopped_ends_its_session() -> None:
    stopped: list[str] = []

    async def fails(session: bw.Session) -> None:
        await session.run_async(add, 1)
        with pytest.raises(bw.Deadline):
            await session.run_async(add, 1, deadline=0.2)
        stopped.append("alice")
        with pytest.raises(bw.UsageError, match="has ended"):
            await session.run_async(add, 1)

    async def waits(session: bw.Session) -> None:
        await session.run_async(add, 2)
        while not stopped:
            await asyncio.sleep(0.01)
        with pytest.raises(bw.ConnectionFailed):
            await session.run_async(add, 2)

    play(fails, waits, {add: 3})
    assert stopped


def test_without_an_event_loop(stores: tuple[dict[str, Path], dict[str, Path]]) -> None:
    alice, bob = bw.keygen(), bw.keygen()
    meet, told, learned = threading.Event(), [], {}

    def listening(address: str) -> None:
        told.append(address)
        meet.set()

    def party(role: str, identity: bw.Identity, peer: str, place: dict[str, Any], input: int) -> None:
        with bw.connect(role, identity=identity, peer=peer, **place) as session:
            session.fill({add: 2})
            learned[role] = session.run(add, input).output
        with pytest.raises(bw.UsageError, match="has ended"):
            session.run(add, input)

    first: dict[str, Any] = {"listen": "127.0.0.1:0", "listening": listening, **stores[0]}
    thread = threading.Thread(target=party, args=("garbler", alice, bob.public_key, first, 3))
    thread.start()
    assert meet.wait(20)
    party("evaluator", bob, alice.public_key, {"connect": told[0], **stores[1]}, 4)
    thread.join(20)
    assert learned == {"garbler": 7, "evaluator": 7}
