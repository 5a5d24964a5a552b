"""The cost of a query, and everything that its result reveals, before it runs: `EXPLAIN`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import commands
from .queries import ROLES, SIDES, Query
from .runs import Record

_PLANNED = (
    "protocol",
    "accept",
    "security",
    "post_quantum",
    "threads",
    "lanes",
    "max_ram",
    "bandwidth",
    "rtt",
    "cot",
)
"""The options of a run on which its cost depends."""


@dataclass(frozen=True)
class Explanation:
    """The answer to `EXPLAIN`. Its text is for people.

    Attributes:
        learners: for each column of the result, the parties that learn it.
        rows: the largest number of rows in the result.
        policies: each party's policy in words.

        and_gates: the AND gates of the program.
        bytes: the bytes that both parties will send.
        seconds: the predicted time on this machine.

        collision_log2: the logarithm of the probability that two different text keys have the same hash, or
        None.
        plan: the whole prediction, with the promise.
    """

    learners: dict[str, tuple[str, ...]]
    rows: int
    policies: dict[str, str]
    and_gates: int
    bytes: int
    seconds: float
    collision_log2: float | None
    plan: commands.Plan

    @property
    def promise(self) -> Record:
        """The promise of the run."""
        return Record(self.plan["promise"])

    def json(self) -> dict[str, Any]:
        """Returns the explanation as an object of JSON."""
        return {
            "learners": {name: list(roles) for name, roles in self.learners.items()},
            "rows": self.rows,
            "policies": self.policies,
            "and_gates": self.and_gates,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "collision_log2": self.collision_log2,
            "promise": self.plan.record()["promise"],
        }

    def __str__(self) -> str:
        lines = [f"Result: at most {self.rows:,} rows"]
        lines += [f"  {name}: learned by {' and '.join(roles)}" for name, roles in self.learners.items()]
        lines += [f"Policy of the {role}: {policy}" for role, policy in self.policies.items()]
        lines.append(f"Cost: {self.and_gates:,} AND gates, {self.bytes:,} bytes, about {self.seconds:.2g} s")
        bound = self.promise.get("bound_log2")
        model = self.promise["model"]
        promise = f"Promise: {model}" + (
            f"; a cheater succeeds with probability at most 2^{bound:.1f}" if bound is not None else ""
        )
        lines.append(promise)
        if self.collision_log2 is not None:
            wrong = f"2^{self.collision_log2:.1f}"
            lines.append(f"Two different text keys are taken for one with probability at most {wrong}")
        return "\n".join(lines)

    __repr__ = __str__


def explained(query: Query, options: Mapping[str, Any]) -> Explanation:
    """Returns the cost of a query, and which party learns which values, without a run."""
    work = query.prepared()
    plan = commands.plan(work.program, **{name: options[name] for name in _PLANNED if name in options})
    sent = [phase.garbler_sent_bytes + phase.evaluator_sent_bytes for phase in plan["phases"]]
    return Explanation(
        {
            one.name: tuple(ROLES[SIDES[side]] for side in range(2) if query.learns(one, side))
            for one in query.outputs
        },
        work.bounds,
        {ROLES[SIDES[side]]: str(policy) for side, policy in enumerate(query.policies)},
        plan["and_gates"],
        sum(sent),
        plan["seconds"],
        query.collision,
        plan,
    )
