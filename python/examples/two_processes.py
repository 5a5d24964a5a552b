"""Two processes with keys, which `brickwork keygen` makes: run this twice, on one machine or two.

`two_processes.py garbler alice.key BOB-PUBLIC-KEY 0.0.0.0:7000 1250000`
`two_processes.py evaluator bob.key ALICE-PUBLIC-KEY alice.example:7000 1000000`
"""

import sys

import brickwork as bw


@bw.program
def richer(mine: bw.Garbler[bw.u32], theirs: bw.Evaluator[bw.u32]) -> bw.Both[bw.u1]:
    return mine > theirs


def main(role: str, identity: str, peer: str, address: str, wealth: str) -> int:
    if role == "garbler":
        run = bw.garbler(richer, int(wealth), identity=identity, peer=peer, listen=address)
        return int(run.garbler)
    run = bw.evaluator(richer, int(wealth), identity=identity, peer=peer, connect=address)
    return int(run.evaluator)


if __name__ == "__main__":
    print("the garbler has more:", main(*sys.argv[1:]))
