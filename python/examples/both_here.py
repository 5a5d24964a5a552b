"""Both parties in this process: the shortest run."""

import brickwork as bw


@bw.program
def richer(mine: bw.Garbler[bw.u32], theirs: bw.Evaluator[bw.u32]) -> bw.Both[bw.u1]:
    return mine > theirs


def main() -> None:
    run = bw.run(richer, garbler=1_250_000, evaluator=1_000_000)
    # Both parties learn whether the garbler has more, and nothing else.
    assert (run.garbler, run.evaluator) == (1, 1)
    print(run.promise.statistical_bits)


if __name__ == "__main__":
    main()
