"""Joins and sums of tables of two parties: `private_join` and `private_aggregate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .queries import Aggregate, Answer, Join
from .sources import as_table


def private_join(
    left: Any,
    right: Any,
    *,
    on: str | Sequence[str] | Mapping[str, str],
    how: str = "inner",
    validate: str = "m:1",
    agg: Mapping[str, Any] | None = None,
    group_by: str | Sequence[str] | None = None,
    min_group: int = 1,
    to: str = "both",
    simulate: bool = False,
    **options: Any,
) -> Answer:
    """Joins the tables of two parties on equal keys, and aggregates the joined rows if `agg` is given.

    A party on its own gives its own table, and the peer's `Schema` in place of the other table. The left
    party is the garbler.

    Args:
        left: a table, a `Table` with types and bounds, or the peer's `Schema`.
        right: the same for the other party.

        on: the columns of the key, or a mapping from left to right names.

        how: `inner`, `left`, `semi` (rows of the left table that match) or `anti` (those that do not).

        validate: the table in which each key occurs once: the right one (`m:1`), the left one (`1:m`), or
            both (`1:1`).

        agg: aggregates: `{"amount": "sum"}`, `{"amount": ["sum", "mean"]}`, or with a name
            `{"total": ("amount", "sum")}`; `("*", "count")` counts rows.

        group_by: columns of the key or of either table.
        min_group: a group needs this many rows of the table in which keys may occur often. If keys are no
            part of the group, it also needs this many different keys with a match. Groups that do not have
            them are left out.

        to: the party that learns the result: `both`, `left` or `right`.
        simulate: whether to compute in the clear, without a protocol.
        options: those of `bw.run`. For a party on its own, those of `bw.garbler` and `bw.evaluator`.
    """
    tables = as_table(left), as_table(right)
    return Join(tables, on, how, validate, agg, group_by, min_group, to).run(simulate, options)


def private_aggregate(
    left: Any,
    right: Any,
    *,
    agg: Mapping[str, Any],
    group_by: str | Sequence[str] | None = None,
    min_group: int = 1,
    to: str = "both",
    simulate: bool = False,
    **options: Any,
) -> Answer:
    """Aggregates the rows of both tables together, by group. Both have the columns that are named.

    Args:
        left: a table, a `Table` with types and bounds, or the peer's `Schema`.
        right: the same for the other party.

        agg: aggregates, as for `private_join`.
        group_by: columns of both tables.

        min_group: a group is left out if a party has rows in it, but fewer than this.

        to: who learns the result: `both`, `left` or `right`.
        simulate: whether to compute in the clear, without a protocol.
        options: those of `bw.run`. For a party on its own, those of `bw.garbler` and `bw.evaluator`.
    """
    tables = as_table(left), as_table(right)
    return Aggregate(tables, agg, group_by, min_group, to).run(simulate, options)
