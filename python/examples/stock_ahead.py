"""Stock ahead of the program: the slow part is done before any input is known."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import brickwork as bw

richer = bw.example("millionaires")


async def play(role: str, wealth: list[int], **place: Any) -> list[Any]:
    async with bw.connect_async(role, **place) as session:
        await session.fill_async({richer: 2})
        # Later, one program after another runs from this stock.
        return [(await session.run_async(richer, own)).output for own in wealth]


async def both(folder: Path) -> None:
    alice, bob = bw.keygen(), bw.keygen()
    bw.keygen(folder / "key", store_key=True)
    meet: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    ours = {"identity": alice, "peer": bob.public_key, "store": folder / "a", "store_key": folder / "key"}
    theirs = {"identity": bob, "peer": alice.public_key, "store": folder / "b", "store_key": folder / "key"}
    first = asyncio.ensure_future(
        play("garbler", [5, 9], listen="127.0.0.1:0", listening=meet.set_result, **ours)
    )
    learned = await play("evaluator", [7, 8], connect=await meet, **theirs)
    assert [one["garbler_richer"] for one in learned] == [0, 1] and learned == await first


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(both(Path(folder)))


if __name__ == "__main__":
    main()
