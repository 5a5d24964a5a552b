"""The conditions of a party on all results that depend on its table. They are public, and both parties check
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from .errors import UsageError


@dataclass(frozen=True)
class Policy:
    """The conditions of a party on every query over its table.

    Attributes: min_group: the smallest number of rows of this table, and of their keys, on which each row of
        a result may depend. rows: whether a result may show single rows. Without it, `min_group` is at least
        2.

        max_rows: the largest number of rows in a result, or None for any number.
        round_to: numbers of aggregates are rounded to multiples of this number, such as 100 or 0.5.
    """

    min_group: int = 1
    rows: bool = True
    max_rows: int | None = None
    round_to: Any = None

    def __post_init__(self) -> None:
        if self.min_group < 1 or self.max_rows is not None and self.max_rows < 1:
            raise UsageError("a policy with a number below 1", "say min_group and max_rows of at least 1")
        if self.round_to is not None:
            try:
                step = Decimal(str(self.round_to))
            except ArithmeticError:
                step = Decimal(0)
            # A peer's number with a huge exponent would fill the memory.
            is_small = len(step.as_tuple().digits) <= 28 and -28 <= step.adjusted() <= 28
            if not step.is_finite() or step <= 0 or not is_small:
                raise UsageError("this round_to", "give a positive number of at most 28 digits, such as 100")
            object.__setattr__(self, "round_to", str(step.normalize()))

    @property
    def smallest(self) -> int:
        """The smallest number of rows of this table on which a row of a result may depend."""
        return max(self.min_group, 1 if self.rows else 2)

    def json(self) -> dict[str, Any]:
        """Returns the policy as an object of JSON."""
        return asdict(self)

    @staticmethod
    def of_json(found: Mapping[str, Any]) -> Policy:
        """Returns the policy of an object of JSON, which may come from the peer."""
        policy = Policy(**found)
        numbers = policy.min_group, *([] if policy.max_rows is None else [policy.max_rows])
        if {type(one) for one in numbers} != {int} or type(policy.rows) is not bool:
            raise ValueError
        if not isinstance(policy.round_to, (str, type(None))):
            raise ValueError
        return policy

    def __str__(self) -> str:
        parts = []
        if self.smallest > 1:
            parts.append(f"groups of at least {self.smallest} rows")
        if self.max_rows is not None:
            parts.append(f"at most {self.max_rows} rows")
        if self.round_to is not None:
            parts.append(f"numbers rounded to multiples of {self.round_to}")
        return ", ".join(parts) or "no conditions"


FREE = Policy()


def step_of(policies: Sequence[Policy], scale: int) -> int:
    """Returns the step to which a number is rounded, in units of its last digit; 1 for none."""
    units = int(10**scale)
    steps = [ceil(Fraction(one.round_to) * units) for one in policies if one.round_to is not None]
    return max([1, *steps])
