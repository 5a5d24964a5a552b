"""Sessions of several steps, between two tasks of an event loop."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Coroutine
from typing import Any

import brickwork as bw
import pytest


@bw.program
def add(total: bw.Garbler[bw.u16], more: bw.Evaluator[bw.u16]) -> bw.Both[bw.u16]:
    return total + more


@bw.program
def over(total: bw.Garbler[bw.u16], limit: bw.Evaluator[bw.u16]) -> bw.Both[bw.u1]:
    return total > limit


Play = Callable[[bw.Session], Coroutine[Any, Any, Any]]


def play(
    garbler: Play, evaluator: Play, programs: dict[Any, int], theirs: dict[Any, int] | None = None
) -> Any:
    """Runs both sides of a session; what each returns, or raises."""

    async def both() -> Any:
        alice, bob = bw.keygen(), bw.keygen()
        meet: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def ours() -> Any:
            session = await bw.connect_async(
                "garbler",
                programs,
                identity=alice,
                peer=bob.public_key,
                listen="127.0.0.1:0",
                listening=meet.set_result,
            )
            return await garbler(session)

        async def others() -> Any:
            session = await bw.connect_async(
                "evaluator", theirs or programs, identity=bob, peer=alice.public_key, connect=await meet
            )
            return await evaluator(session)

        return await asyncio.gather(ours(), others(), return_exceptions=True)

    return asyncio.run(both())


def test_what_is_kept_flows_on() -> None:
    async def steps(session: bw.Session, inputs: list[Any]) -> list[Any]:
        first = await session.run_async(add, inputs[0], keep=["output"])
        assert first.output is None and first.security.bound_log2 <= -40
        total = first.kept["output"]
        with pytest.raises(TypeError):
            pickle.dumps(total)
        second = await session.run_async(add, inputs[1], carry={"input1": total}, keep=["output"])
        last = await session.run_async(over, inputs[2], carry={"input1": second.kept["output"]})
        with pytest.raises(bw.UsageError, match="as often as it may"):
            await session.run_async(over, inputs[2], carry={"input1": total})
        await asyncio.to_thread(session.close)
        with pytest.raises(bw.UsageError, match="over"):
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
        with pytest.raises(bw.UsageError, match="was not made for"):
            await session.run_async(over, 1)
        with pytest.raises(bw.UsageError, match="no input"):
            kept = bw.Kept(session, add.as_program().outputs[0], 0)
            await session.run_async(add, 1, carry={"nothing": kept})
        with pytest.raises(bw.UsageError, match="another session"):
            await session.run_async(
                add, 1, carry={"input1": bw.Kept(bw.Session("garbler", []), kept.port, 0)}
            )
        with pytest.raises(bw.UsageError, match="nothing of this session"):
            await session.run_async(add, 1, carry={"input1": kept})
        with pytest.raises(bw.InvalidInput):
            await session.run_async(add, 70000)
        sessions.append(session)
        while len(sessions) < 2:
            await asyncio.sleep(0.01)
        step = await session.run_async(add, 7)
        assert step.output == 14

    assert play(refusing, refusing, {add: 1}) == [None, None]
