"""A session whose second step depends on the first: a sum that nobody sees is carried on."""

import asyncio
from typing import Any

import brickwork as bw


@bw.program
def add(total: bw.Garbler[bw.u16], more: bw.Evaluator[bw.u16]) -> bw.Both[bw.u16]:
    return total + more


@bw.program
def over(total: bw.Garbler[bw.u16], limit: bw.Evaluator[bw.u16]) -> bw.Both[bw.u1]:
    return total > limit


async def play(role: str, first: int, second: int | None, **place: Any) -> Any:
    # All items for the steps are made before the first input.
    async with bw.connect_async(role, {add: 1, over: 1}, **place) as session:
        kept = (await session.run_async(add, first, keep=["output"])).kept["output"]
        return (await session.run_async(over, second, carry={"input1": kept})).output


async def both() -> None:
    alice, bob = bw.keygen(), bw.keygen()
    meet: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    ours = {"identity": alice, "peer": bob.public_key, "listen": "127.0.0.1:0"}
    first = asyncio.ensure_future(play("garbler", 40, None, listening=meet.set_result, **ours))
    theirs = {"identity": bob, "peer": alice.public_key, "connect": await meet}
    assert await play("evaluator", 2, 41, **theirs) == await first == 1


def main() -> None:
    asyncio.run(both())


if __name__ == "__main__":
    main()
