"""Expressions of SQL, as sqlglot reads them, become `Expression`s with exact types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction
from functools import reduce
from typing import Any

from .errors import UsageError
from .expressions import (
    BOOLEAN,
    Expression,
    calculated,
    chosen,
    logical,
    number,
    number_between,
    rescaled,
    widened,
)
from .kinds import Boolean, Date, Key, Kind, Number, Text, Timestamp, Unfit

AGGREGATES = ("count", "sum", "mean", "min", "max", "distinct")

_SUPPORTED = "docs/guides/sql.md lists the supported SQL; compute other columns before, on your own table"

_INSTEAD = {
    "Div": "multiply by a decimal number, as in x * 0.01, or divide the result",
    "IntDiv": "divide the result, or add the column to your table before",
    "Mod": "add the column to your table before",
    "Like": "compare whole texts by =, or add a boolean column to your table before",
    "ILike": "compare whole texts by =, or add a boolean column to your table before",
    "Window": "take GROUP BY; window functions have no counterpart",
    "Subquery": "join the other table, or compute the value before",
    "Exists": "write a SEMI JOIN b ON a.key = b.key",
    "With": "write one SELECT, and prepare your own table before",
    "Join": "say JOIN, LEFT JOIN, SEMI JOIN or ANTI JOIN; for RIGHT JOIN exchange the tables and parties",
    "Offset": "take a larger LIMIT, and leave rows of the result out",
    "Round": "round the result, or the column before",
    "Lower": "texts of bw.key compare without case; otherwise add the column to your table before",
    "Upper": "texts of bw.key compare without case; otherwise add the column to your table before",
    "Cast": "give the column its type by bw.Table(frame, types={…})",
    "Union": "write SELECT … FROM (SELECT … FROM a UNION ALL SELECT … FROM b)",
    "Delete": "only SELECT reads tables",
    "Insert": "only SELECT reads tables",
    "Stddev": "take SUM(x), SUM(x * x) and COUNT(x), and compute it from the result",
    "Variance": "take SUM(x), SUM(x * x) and COUNT(x), and compute it from the result",
}
"""The remedy for some refused parts of SQL."""


def refuse(what: Any, instead: str = "") -> UsageError:
    """Returns the refusal of a part of SQL, with what to write in its place."""
    text = what if isinstance(what, str) else f"{type(what).__name__}, in {what.sql()}"
    return UsageError(
        f"this SQL is not supported: {text}", instead or _INSTEAD.get(type(what).__name__, _SUPPORTED)
    )


_TEXT = Key()


def _is_text(of: Expression) -> bool:
    return of.op == "constant" and of.kind == _TEXT


def _is_null(of: Expression) -> bool:
    return of.op == "constant" and of.value is None


def _constant(text: str, kind: Kind) -> Expression:
    """Returns a text as a constant of a type."""
    try:
        value: Any = text
        if isinstance(kind, Date):
            value = date.fromisoformat(text)
        elif isinstance(kind, Timestamp):
            value = datetime.fromisoformat(text)
        elif isinstance(kind, (Number, Boolean)):
            raise TypeError
        return Expression(kind, "constant", (), text if isinstance(kind, Key) else kind.code(value))
    except Unfit as unfit:
        raise UsageError(f"the constant '{text}' {unfit.what}", "correct it") from None
    except (ValueError, TypeError):
        raise UsageError(f"'{text}', compared with {kind}", "give a constant of that type") from None


def unified(parts: Sequence[Expression]) -> list[Expression]:
    """Returns the expressions converted to one type: numbers get the same number of digits after the point,
    and constants get the type of the other expressions."""
    kinds = [one.kind for one in parts if not _is_text(one) and not _is_null(one)]
    if not kinds:
        kinds = [one.kind for one in parts if not _is_null(one)] or [BOOLEAN]
    kind = kinds[0]
    for other in kinds[1:]:
        joined = kind.joined(other)
        if joined is None or isinstance(kind, Timestamp) and kind != other:
            raise UsageError(f"{kind} beside {other}", "give both one type: bw.Table(frame, types={…})")
        kind = joined
    found = []
    for one in parts:
        if _is_null(one):
            one = Expression(kind, "constant", (), None)
        elif _is_text(one):
            one = _constant(one.value, kind)
        if isinstance(kind, Number) and not _is_null(one):
            one = rescaled(one, kind.scale)
        found.append(widened(one, kind) if isinstance(kind, Text) else one)
    return found


class Translator:
    """Translates expressions of one query.

    Args:
        column: gives the cell of a column.
        counted: the bits of a number of rows.
    """

    def __init__(self, exp: Any, column: Callable[[Any], Expression], counted: int) -> None:
        self.exp, self.column, self.counted = exp, column, counted
        self.compares = {
            exp.EQ: ("=", False, False),
            exp.NEQ: ("=", False, True),
            exp.LT: ("<", False, False),
            exp.GTE: ("<", False, True),
            exp.GT: ("<", True, False),
            exp.LTE: ("<", True, True),
        }
        self.calculates = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
        self.aggregates = {
            exp.Count: "count",
            exp.Sum: "sum",
            exp.Avg: "mean",
            exp.Min: "min",
            exp.Max: "max",
        }

    def condition(self, of: Any) -> Expression:
        """Returns a condition."""
        found = self.translated(of)
        if _is_null(found):
            return Expression(BOOLEAN, "constant")
        if not isinstance(found.kind, Boolean):
            raise UsageError(f"{of.sql()}, which is {found.kind} and no condition", "compare it")
        return found

    def typed(self, of: Any) -> Expression:
        """Returns an expression for the result, whose type is certain."""
        found = self.translated(of)
        if not any(one.op == "cell" or one.op in AGGREGATES for one in found.walk()):
            raise refuse(f"the constant {of.sql()} as a column", "add it to the result")
        return found

    def number(self, of: Any) -> Expression:
        found = self.translated(of)
        if _is_null(found):
            return Expression(number_between(0, 0, 0), "constant")
        if not isinstance(found.kind, Number):
            raise UsageError(f"{of.sql()}, which is {found.kind}", "only numbers are calculated with")
        return found

    def translated(self, of: Any) -> Expression:
        exp = self.exp
        if isinstance(of, exp.Paren):
            return self.translated(of.this)
        if isinstance(of, exp.Column):
            return self.column(of)
        if isinstance(of, exp.Literal):
            return Expression(_TEXT, "constant", (), of.this) if of.is_string else _number(of.this)
        if isinstance(of, exp.Boolean):
            return Expression(BOOLEAN, "constant", (), int(of.this))
        if isinstance(of, exp.Null):
            return Expression(BOOLEAN, "constant")
        if isinstance(of, exp.Cast):
            return self.cast(of)
        if isinstance(of, exp.Neg):
            return calculated("-", number(0), self.number(of.this))
        if (op := self.calculates.get(type(of))) is not None:
            return calculated(op, self.number(of.this), self.number(of.expression))
        if type(of) in self.compares:
            return self.compared(of.this, of.expression, *self.compares[type(of)])
        if isinstance(of, (exp.And, exp.Or)):
            parts = self.condition(of.this), self.condition(of.expression)
            return logical("and" if isinstance(of, exp.And) else "or", *parts)
        if isinstance(of, exp.Not):
            return logical("not", self.condition(of.this))
        if isinstance(of, exp.Is):
            return self.is_(of)
        if isinstance(of, exp.Between):
            _refuse_more(of, "this", "low", "high")
            low = self.compared(of.this, of.args["low"], "<", False, True)
            return logical("and", low, self.compared(of.this, of.args["high"], "<", True, True))
        if isinstance(of, exp.In) and of.expressions:
            _refuse_more(of, "this", "expressions")
            equal = [self.compared(of.this, one, "=", False, False) for one in of.expressions]
            return reduce(lambda a, b: logical("or", a, b), equal)
        if isinstance(of, exp.Coalesce):
            found = unified([self.translated(one) for one in (of.this, *of.expressions)])
            return reduce(
                lambda rest, one: chosen(logical("null", one), rest, one), found[::-1][1:], found[-1]
            )
        if isinstance(of, exp.Nullif):
            equal_ = self.compared(of.this, of.expression, "=", False, False)
            value, null = unified([self.translated(of.this), Expression(BOOLEAN, "constant")])
            return chosen(equal_, null, value)
        if isinstance(of, exp.Abs):
            value = self.number(of.this)
            below = logical("<", value, rescaled(number(0), value.kind.scale))  # type: ignore[attr-defined]
            return chosen(below, calculated("-", number(0), value), value)
        if isinstance(of, (exp.Case, exp.If)):
            return self.case(of)
        if type(of) in self.aggregates:
            return self.aggregate(of)
        raise refuse(of)

    def compared(self, a: Any, b: Any, op: str, swap: bool, inverted: bool) -> Expression:
        """Returns a comparison: `=` or `<`, perhaps of exchanged operands, perhaps inverted."""
        parts = [self.translated(a), self.translated(b)]
        for place in range(2):
            if parts[place].op == "mean":
                # The comparison multiplies: the sum is compared with a multiple of the count.
                (of,) = parts[place].parts
                other = parts[1 - place]
                if other.op == "mean" or not isinstance(other.kind, Number):
                    raise refuse("a comparison of AVG with another AVG", "compare sums")
                count = self.aggregated("count", of)
                parts[place] = self.aggregated("sum", of)
                parts[1 - place] = calculated("*", other, count)
        parts = unified(parts)
        kind = next((one.kind for one in parts if not _is_null(one)), BOOLEAN)
        if op == "<" and not kind.has_order:
            raise UsageError(f"an order of {kind}", "such values have no order: compare them by =")
        found = logical(op, *(parts[::-1] if swap else parts))
        return logical("not", found) if inverted else found

    def is_(self, of: Any) -> Expression:
        value = self.translated(of.this)
        if isinstance(of.expression, self.exp.Null):
            return logical("null", value)
        if not isinstance(of.expression, self.exp.Boolean) or not isinstance(value.kind, Boolean):
            raise refuse(of)
        test = value if of.expression.this else logical("not", value)
        yes, no = (Expression(BOOLEAN, "constant", (), one) for one in (1, 0))
        return chosen(test, yes, no)

    def case(self, of: Any) -> Expression:
        exp = self.exp
        cases = of.args.get("ifs") or [of]
        tests, values = [], []
        for one in cases:
            if isinstance(of, exp.Case) and of.this is not None:
                tests.append(self.compared(of.this, one.this, "=", False, False))
            else:
                tests.append(self.condition(one.this))
            values.append(self.translated(one.args["true"]))
        last = of.args.get("default") or of.args.get("false")
        values.append(Expression(BOOLEAN, "constant") if last is None else self.translated(last))
        values = unified(values)
        found = values[-1]
        for test, value in zip(tests[::-1], values[-2::-1]):
            found = chosen(test, _null_like(value, found), _null_like(found, value))
        return found

    def cast(self, of: Any) -> Expression:
        word = of.to.this.name if hasattr(of.to.this, "name") else str(of.to.this)
        inner = of.this
        if isinstance(inner, self.exp.Literal) and inner.is_string:
            if word == "DATE":
                return _constant(inner.this, Date())
            if word in ("TIMESTAMP", "DATETIME"):
                return _constant(inner.this, Timestamp("us"))
        raise refuse(of)

    def aggregate(self, of: Any) -> Expression:
        function = self.aggregates[type(of)]
        _refuse_more(of, "this", "big_int")
        one = of.this
        if isinstance(one, self.exp.Star) or function == "count" and isinstance(one, self.exp.Literal):
            return Expression(number_between(0, (1 << self.counted) - 1, 0), "count")
        if isinstance(of.this, self.exp.Distinct):
            if function != "count" or len(of.this.expressions) != 1:
                raise refuse(of, "take COUNT(DISTINCT column) of one column")
            inner = self.typed(of.this.expressions[0])
            return Expression(number_between(0, (1 << self.counted) - 1, 0), "distinct", (inner,))
        return self.aggregated(function, self.typed(of.this))

    def aggregated(self, function: str, inner: Expression) -> Expression:
        """Returns an aggregate of an expression."""
        if any(one.op in AGGREGATES for one in inner.walk()):
            raise refuse("an aggregate of an aggregate", "aggregate columns")
        kind: Kind = number_between(0, (1 << self.counted) - 1, 0)
        if function in ("sum", "mean"):
            if not isinstance(inner.kind, Number):
                raise UsageError(f"{function} of {inner.kind}", "only numbers have one")
            low = inner.kind.low << self.counted
            high = (inner.kind.low + (1 << inner.kind.bits) - 1) << self.counted
            kind = number_between(low, high, inner.kind.scale, inner.kind.is_float)
        elif function in ("min", "max"):
            if not inner.kind.has_order:
                raise UsageError(f"{function} of {inner.kind}", "its values have no order")
            kind = inner.kind
        return Expression(kind, function, (inner,))


def _null_like(of: Expression, other: Expression) -> Expression:
    """Returns an expression, or a null of another one's type."""
    return Expression(other.kind, "constant") if _is_null(of) else of


def _number(text: str) -> Expression:
    exact = Fraction(text)
    scale = 0
    while (exact * 10**scale).denominator != 1:
        scale += 1
    return number(int(exact * 10**scale), scale)


def _refuse_more(of: Any, *allowed: str) -> None:
    for name, part in of.args.items():
        if part and name not in allowed:
            raise refuse(f"{name} in {of.sql()}")
