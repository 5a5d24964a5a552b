"""Measures a join of two parties' tables, and a score of what matches: `python python/measure/join.py ROWS`.

Two drivers, each with its own Ray on this machine, run a job of two lanes. Each party puts its rows into bins
by a public hash of the key. It fills the bins up to one size with empty rows, and sorts them. So the peer
learns the number of rows, and nothing about the keys. A row of the job is a bin. The result is compared with
the same join in the clear.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import brickwork as bw
import numpy as np

IN_BIN, SPARE, BINS_OF_PARTITION = 96, 64, 64
SIZE = IN_BIN + SPARE


class Row(bw.Struct):
    key: bw.u32
    amount: bw.u16


class Score(bw.Struct):
    matches: bw.u16
    amount: bw.u32


@bw.component
def scored(ours: Row, theirs: Row) -> Score:
    larger = bw.max(ours.amount, theirs.amount)
    return Score(matches=1, amount=larger.astype(bw.u32))


@bw.program
def join_and_score(ours: bw.Garbler[Row[SIZE]], theirs: bw.Evaluator[Row[SIZE]]) -> bw.Both[Score]:
    """The number of keys that both parties have, and the sum over them of the larger amount."""
    found = bw.tables.join(ours, theirs, on="key", take=scored)
    return Score(matches=bw.sum(one.matches for one in found), amount=bw.sum(one.amount for one in found))


def table(seed: int, rows: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Draws distinct keys, of which the parties share about half, and amounts."""
    rng = np.random.default_rng(seed)
    keys = rng.choice(2 * rows, rows, replace=False) + 1
    return keys.astype(np.uint64), rng.integers(0, 1 << 16, rows).astype(np.uint64)


def bins(keys: np.ndarray[Any, Any], amounts: np.ndarray[Any, Any], count: int) -> list[list[dict[str, int]]]:
    """Puts the rows of a table into bins, and fills and sorts them."""
    hashed = (keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    into, found = hashed % np.uint64(count), []
    for k in range(count):
        mine = np.flatnonzero(into == k)
        if len(mine) > SIZE:
            raise SystemExit(f"a bin has {len(mine)} rows: more than {SIZE}")
        mine = mine[np.argsort(keys[mine])]
        rows = [{"key": int(keys[row]), "amount": int(amounts[row])} for row in mine]
        found.append([{"key": 0, "amount": 0}] * (SIZE - len(rows)) + rows)
    return found


def party(role: str, folder: Path, address: str | None) -> None:
    """Runs a party of the job, and writes its result."""
    import brickwork.ray as bwray

    peer = "evaluator" if role == "garbler" else "garbler"
    job = bwray.map_partitions(
        bw.Program(folder / "program.bwp"),
        bwray.Files(str(folder / role)),
        bwray.Folder(str(folder / f"{role}-results"), format="json"),
        role=role,
        peer=f"@{folder / peer}.pub",
        identity=folder / f"{role}.key",
        store_key=folder / "store.key",
        folder=folder / f"{role}-job",
        lanes=2,
        listen="127.0.0.1:0" if address is None else None,
        connect=address,
        listening=lambda address: print(address, flush=True),
        timeout=120,
    )
    seconds, bound = job.seconds, job.security.bound_log2
    print(json.dumps({"seconds": seconds, "bins": job.rows, "bound_log2": bound}), flush=True)


def prepare(folder: Path, rows: int) -> tuple[int, int]:
    """Writes both parties' files. Returns the expected result: matches, and the sum of amounts."""
    count = -(-rows // IN_BIN // BINS_OF_PARTITION) * BINS_OF_PARTITION
    tables = {role: table(seed, rows) for seed, role in enumerate(("garbler", "evaluator"))}
    for role, (keys, amounts) in tables.items():
        (folder / f"{role}.pub").write_text(bw.keygen(folder / f"{role}.key"))
        (folder / role).mkdir()
        whole = bins(keys, amounts, count)
        for first in range(0, count, BINS_OF_PARTITION):
            path = folder / role / f"{first:06}.json"
            path.write_text(json.dumps(whole[first : first + BINS_OF_PARTITION]))
    (folder / "store.key").write_text(os.urandom(32).hex())
    (folder / "store.key").chmod(0o600)
    (mine, of_mine), (theirs, of_theirs) = tables.values()
    _, here, there = np.intersect1d(mine, theirs, return_indices=True)
    return len(here), int(np.maximum(of_mine[here], of_theirs[there]).sum())


def measure(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        expected = prepare(folder, rows)
        # The small components have wide interfaces. In one piece, the program takes a third of the bytes.
        program = join_and_score.as_program().save(folder / "program.bwp", cut="whole")
        begun = time.monotonic()
        call = [sys.executable, __file__, "--party"]
        # Workers have the same priority as other processes here.
        alike = {**os.environ, "RAY_worker_niceness": "0"}
        alice = subprocess.Popen([*call, "garbler", name], stdout=subprocess.PIPE, text=True, env=alike)
        assert alice.stdout is not None
        address = alice.stdout.readline().strip()
        words = [*call, "evaluator", name, address]
        bob = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=alike)
        said = [party.communicate()[0].splitlines()[-1] for party in (alice, bob)]
        seconds = time.monotonic() - begun
        parts = [json.loads(path.read_text()) for path in sorted((folder / "evaluator-results").iterdir())]
        found = [one for part in parts for one in part]
        sums = tuple(sum(one[field] for one in found) for field in ("matches", "amount"))
        if sums != expected:
            raise SystemExit(f"found {sums}, and it is {expected}")
        gates = len(found) * program.and_gates
        stock = sum(path.stat().st_size for path in folder.glob("*-job/lane-*/**/*") if path.is_file())
        print(
            f"{rows} rows each, in {len(found)} bins of {SIZE}: {sums[0]} matches, as in the clear; "
            f"{gates / 1e6:.0f} million AND gates in {seconds:.0f} s from the first process to the last; "
            f"both parties keep {stock / 2**20:.0f} MiB afterwards; {said[0]}"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--party"]:
        party(sys.argv[2], Path(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
    else:
        measure(int(sys.argv[1]))
