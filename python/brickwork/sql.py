"""Queries in SQL over the tables of two parties: `bw.sql`.

The text is parsed by sqlglot, and becomes a `Join` or an `Aggregate`. Conditions on one table are applied by
its party in the clear, and conditions on groups inside the computation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from .errors import UsageError, needed
from .kinds import Boolean, Category, Date, Key, Kind, Number, Timestamp, Unfit, canonical
from .queries import SIDES, Aggregate, Answer, Having, Join, Limit
from .sources import Schema, Table, as_table

_REFUSED = (
    "take one table of each party, in SELECT … FROM a [LEFT | SEMI | ANTI] JOIN b ON a.k = b.k, or in FROM "
    "(SELECT … FROM a UNION ALL SELECT … FROM b), with WHERE, GROUP BY, HAVING and ORDER BY"
)


def _refuse(what: Any) -> UsageError:
    text = what if isinstance(what, str) else what.sql()
    return UsageError(f"this SQL is not supported: {text}", _REFUSED)


@dataclass(frozen=True)
class _Source:
    """The tables of a query by the names that it gives them."""

    tables: tuple[Table | Schema, Table | Schema]
    names: tuple[str, str]

    def column(self, of: Any) -> tuple[int, str]:
        """Returns the side and the name of a column."""
        known = [dict(_schema(one).columns) for one in self.tables]
        if of.table:
            if of.table not in self.names:
                raise _refuse(f"{of.sql()}, of no table of the query")
            return self.names.index(of.table), of.name
        sides = [side for side in range(2) if of.name in known[side]]
        if len(sides) != 1:
            problem = "which both tables have" if sides else "which neither table has"
            raise UsageError(f"the column {of.name}, {problem}", f"say {self.names[0]}.{of.name}")
        return sides[0], of.name

    def kind(self, side: int, name: str) -> Kind:
        """Returns the type of a column."""
        found = dict(_schema(self.tables[side]).columns).get(name)
        if found is None:
            raise UsageError(
                f"{self.names[side]} has no column {name} of a known type", "give bw.Table types"
            )
        return found


def _schema(of: Table | Schema) -> Schema:
    return of.schema if isinstance(of, Table) else of


def _parts(of: Any, kind: Any) -> Iterator[Any]:
    """Yields the parts of a condition that are joined by AND."""
    while type(of).__name__ == "Paren":
        of = of.this
    if isinstance(of, kind):
        yield from _parts(of.this, kind)
        yield from _parts(of.expression, kind)
    else:
        yield of


def _only(of: Any, *allowed: str) -> None:
    """Refuses an expression with other parts than these."""
    for name, part in of.args.items():
        if part and name.rstrip("_") not in allowed:
            one = part[0] if isinstance(part, list) else part
            raise _refuse(one if hasattr(one, "sql") else f"{name} in {of.sql()}")


def _name_of(table: Any, exp: Any) -> tuple[str, str]:
    """Returns a table's name, and the name that the query gives it."""
    if not isinstance(table, exp.Table):
        raise _refuse(table)
    _only(table, "this", "alias")
    return table.name, table.alias or table.name


class _Filter:
    """Conditions on the rows of one table, which are true, false, or None for unknown."""

    def __init__(self, source: _Source, side: int, exp: Any) -> None:
        self.source, self.side, self.exp = source, side, exp

    def condition(self, of: Any) -> Callable[[dict[str, Any]], bool | None]:
        """Returns a function of a row that says whether a condition holds."""
        exp = self.exp
        if isinstance(of, exp.Paren):
            return self.condition(of.this)
        if isinstance(of, (exp.And, exp.Or)):
            # True and false decide AND and OR by themselves, and unknown values do not.
            decides = isinstance(of, exp.Or)
            parts = [self.condition(of.this), self.condition(of.expression)]

            def both(row: dict[str, Any]) -> bool | None:
                found = [part(row) for part in parts]
                return decides if decides in found else None if None in found else not decides

            return both
        if isinstance(of, exp.Not):
            inner = self.condition(of.this)
            return lambda row: None if (found := inner(row)) is None else not found
        if isinstance(of, exp.Is) and isinstance(of.expression, exp.Null):
            value, _ = self.column(of.this)
            return lambda row: value(row) is None
        if isinstance(of, exp.Between):
            _only(of, "this", "low", "high")
            return self.condition(
                exp.And(
                    this=exp.GTE(this=of.this, expression=of.args["low"]),
                    expression=exp.LTE(this=of.this, expression=of.args["high"]),
                )
            )
        if isinstance(of, exp.In) and of.expressions:
            _only(of, "this", "expressions")
            found = None
            for one in of.expressions:
                equal = exp.EQ(this=of.this, expression=one)
                found = equal if found is None else exp.Or(this=found, expression=equal)
            return self.condition(found)
        if isinstance(of, exp.Column):
            truth, kind = self.column(of)
            if isinstance(kind, Boolean):
                return truth
        for kind_of, compare, is_order in (
            (exp.EQ, operator.eq, False),
            (exp.NEQ, operator.ne, False),
            (exp.LT, operator.lt, True),
            (exp.LTE, operator.le, True),
            (exp.GT, operator.gt, True),
            (exp.GTE, operator.ge, True),
        ):
            if isinstance(of, kind_of):
                return self.compared(of, compare, is_order)
        raise _refuse(of)

    def compared(
        self, of: Any, compare: Callable[[Any, Any], bool], is_order: bool
    ) -> Callable[[dict[str, Any]], bool | None]:
        """Returns the comparison of a column with a constant, or with another column."""
        kinds = [self.column(one)[1] for one in (of.this, of.expression) if isinstance(one, self.exp.Column)]
        if not kinds or any(kinds[0].joined(one) is None for one in kinds):
            raise _refuse(of)
        if is_order and not kinds[0].has_order:
            raise UsageError(f"{of.sql()}, which compares {kinds[0]}", "such values have no order")
        sides = [self.operand(one, kinds[0]) for one in (of.this, of.expression)]

        def found(row: dict[str, Any]) -> bool | None:
            a, b = (side(row) for side in sides)
            return None if a is None or b is None else compare(a, b)

        return found

    def operand(self, of: Any, kind: Kind) -> Callable[[dict[str, Any]], Any]:
        if isinstance(of, self.exp.Column):
            return self.column(of)[0]
        if isinstance(of, self.exp.Null):
            return lambda row: None
        try:
            constant = _comparable(kind, _literal(of, self.exp, kind))
        except (Unfit, ValueError, TypeError):
            raise UsageError(f"{of.sql()}, compared with {kind}", "give a constant of that type") from None
        return lambda row: constant

    def column(self, of: Any) -> tuple[Callable[[dict[str, Any]], Any], Kind]:
        """Returns a function of a row that gives a comparable value of a column, and the column's type."""
        if not isinstance(of, self.exp.Column):
            raise _refuse(of)
        side, name = self.source.column(of)
        assert side == self.side
        kind = self.source.kind(side, name)

        def value(row: dict[str, Any]) -> Any:
            try:
                return None if row[name] is None else _comparable(kind, row[name])
            except Unfit as unfit:
                # The row is kept, so that the query refuses it with its number.
                raise UsageError(f"{SIDES[side]} table, column {name}: {unfit.what}", unfit.hint) from None

        return value, kind


def _literal(of: Any, exp: Any, kind: Kind) -> Any:
    """Returns the value of a constant, as the type of its column reads it."""
    if isinstance(of, exp.Paren):
        return _literal(of.this, exp, kind)
    if isinstance(of, exp.Boolean):
        return bool(of.this)
    if isinstance(of, exp.Neg):
        return -_literal(of.this, exp, kind)
    if isinstance(of, exp.Cast):
        return _literal(of.this, exp, kind)
    if not isinstance(of, exp.Literal):
        raise _refuse(of)
    if isinstance(kind, Number):
        if of.is_string:
            raise TypeError
        return Fraction(of.this)
    if not of.is_string:
        raise TypeError
    if isinstance(kind, Date):
        return date.fromisoformat(of.this)
    return datetime.fromisoformat(of.this) if isinstance(kind, Timestamp) else of.this


def _comparable(kind: Kind, value: Any) -> Any:
    """Returns a value that compares with others of its type as SQL compares them."""
    if isinstance(kind, Number):
        if isinstance(value, Fraction):
            return value
        return Fraction(kind.code(value) + kind.low, 10**kind.scale)
    if isinstance(kind, Key):
        return canonical(value)
    if isinstance(kind, Category):
        return kind.values[kind.code(value)]
    return kind.value(kind.code(value)) if isinstance(kind, Boolean) else kind.code(value)


class _Reading:
    """A query as it is read."""

    def __init__(self, text: str, tables: Sequence[Mapping[str, Table | Schema]]) -> None:
        sqlglot = needed("sqlglot", "bw.sql", "'brickwork[sql]'")
        self.exp = sqlglot.exp
        try:
            self.query = sqlglot.parse_one(text)
        except sqlglot.errors.SqlglotError as error:
            raise UsageError("this SQL cannot be parsed", str(error).splitlines()[0]) from None
        if "NULLS FIRST" in " ".join(text.upper().split()):
            raise _refuse("NULLS FIRST; nulls are last")
        if not isinstance(self.query, self.exp.Select):
            raise _refuse(type(self.query).__name__)
        _only(
            self.query,
            "kind",
            "expressions",
            "from",
            "joins",
            "where",
            "group",
            "having",
            "order",
            "distinct",
            "limit",
        )
        self.owned = {name: side for side, of in enumerate(tables) for name in of}
        if len(self.owned) < sum(map(len, tables)):
            raise UsageError("both parties have a table of one name", "rename one of them")
        self.all = {name: one for of in tables for name, one in of.items()}
        self.distinct = bool(self.query.args.get("distinct"))
        if self.distinct:
            _only(self.query.args["distinct"])

    def sources(self, tables: Sequence[Any]) -> _Source:
        """Returns the tables of a query, first the garbler's."""
        found: dict[int, tuple[str, str]] = {}
        for table in tables:
            name, alias = _name_of(table, self.exp)
            if name not in self.owned:
                raise UsageError(f"there is no table {name}", f"tables are {', '.join(self.owned)}")
            found[self.owned[name]] = name, alias
        if len(found) != 2 or len(tables) != 2:
            raise _refuse("a query that does not take one table of each party")
        return _Source((self.all[found[0][0]], self.all[found[1][0]]), (found[0][1], found[1][1]))

    def source_of(self) -> Any:
        """Returns the expression in FROM."""
        found = self.query.args.get("from_") or self.query.args.get("from")
        if found is None:
            raise _refuse("a query without FROM")
        return found.this

    def filtered(self, source: _Source, condition: Any, alone: int | None) -> _Source:
        """Returns the tables with the rows that fulfil the conditions on them.

        Args:
            alone: the only side that conditions may be about, because rows of the other one may be missing.
        """
        tables = list(source.tables)
        for part in _parts(condition, self.exp.And):
            sides = {source.column(of)[0] for of in part.find_all(self.exp.Column)}
            if len(sides) != 1:
                raise _refuse(f"{part.sql()}, which is not about one table")
            (side,) = sides
            if alone is not None and side != alone:
                raise _refuse(f"{part.sql()}, about rows that a LEFT JOIN may lack")
            wanted = _Filter(source, side, self.exp).condition(part)
            table = tables[side]
            if isinstance(table, Table):
                tables[side] = table.filtered(lambda row, wanted=wanted: wanted(row) is True)  # type: ignore[misc]
        return replace(source, tables=(tables[0], tables[1]))

    def aggregate(self, of: Any, name: Callable[[Any], str]) -> tuple[str, str] | None:
        """Returns the column and the function of an aggregate."""
        exp = self.exp
        functions = {exp.Count: "count", exp.Sum: "sum", exp.Avg: "mean", exp.Min: "min", exp.Max: "max"}
        function = functions.get(type(of))
        if function is None:
            return None
        _only(of, "this", "big_int")
        if isinstance(of.this, exp.Star) and function == "count":
            return "*", function
        if not isinstance(of.this, exp.Column):
            raise _refuse(of)
        return name(of.this), function

    def having(self, name: Callable[[Any], str]) -> list[Having]:
        """Returns the conditions on groups."""
        exp, found = self.exp, []
        clause = self.query.args.get("having")
        for part in _parts(clause.this, exp.And) if clause else ():
            of = self.aggregate(part.this, name) if isinstance(part, exp.Binary) else None
            if of is None or of[1] == "mean":
                raise _refuse(part)
            try:
                number = _literal(part.expression, exp, Number(64, True))
            except (TypeError, ValueError):
                raise _refuse(part) from None
            bounds = {
                exp.GTE: [(False, False)],
                exp.GT: [(False, True)],
                exp.LT: [(True, False)],
                exp.LTE: [(True, True)],
                exp.EQ: [(False, False), (True, True)],
            }.get(type(part))
            if bounds is None or not isinstance(number, Fraction):
                raise _refuse(part)
            found += [Having(*of, number, below, strict) for below, strict in bounds]
        return found

    def shown(
        self, name: Callable[[Any], str]
    ) -> tuple[dict[str, str], dict[str, tuple[str, str]], list[str]]:
        """Returns the result's columns: the column or aggregate of each, the aggregates, and all columns."""
        names: dict[str, str] = {}
        agg: dict[str, tuple[str, str]] = {}
        columns: list[str] = []
        for one in self.query.expressions:
            of = one.this if isinstance(one, self.exp.Alias) else one
            if (found := self.aggregate(of, name)) is not None:
                key = f"agg {found[1]} {found[0]}"
                agg[key] = found
                shown = one.alias or of.sql().lower()
            elif isinstance(of, self.exp.Column):
                key = name(of)
                columns.append(key)
                shown = one.alias or of.name
            else:
                raise _refuse(one)
            if shown in names:
                raise UsageError(f"two columns of the result are called {shown}", "name one of them by AS")
            names[shown] = key
        return names, agg, columns

    def groups(self, name: Callable[[Any], str], columns: Sequence[str], has_agg: bool) -> list[str] | None:
        """Returns the columns of GROUP BY, or None for a query of rows."""
        clause = self.query.args.get("group")
        if clause is None:
            if self.distinct and not has_agg:
                return list(dict.fromkeys(columns))
            if self.distinct:
                raise _refuse("DISTINCT beside aggregates")
            if has_agg and columns:
                raise UsageError("columns beside aggregates", "name them in GROUP BY")
            return [] if has_agg else None
        _only(clause, "expressions")
        if self.distinct:
            raise _refuse("DISTINCT beside GROUP BY")
        found = []
        for one in clause.expressions:
            if not isinstance(one, self.exp.Column):
                raise _refuse(one)
            found.append(name(one))
        if lacking := [one for one in columns if one not in found]:
            raise UsageError(f"the column {lacking[0]} is no group", "name it in GROUP BY")
        return list(dict.fromkeys(found))

    def orders(self, names: Mapping[str, str], name: Callable[[Any], str]) -> list[tuple[str, bool]]:
        """Returns the columns that order the result, the most important first, each perhaps descending."""
        clause = self.query.args.get("order")
        found = []
        for one in clause.expressions if clause else []:
            of, key = one.this, None
            if isinstance(of, self.exp.Literal) and of.this in map(str, range(1, len(names) + 1)):
                key = list(names.values())[int(of.this) - 1]
            elif isinstance(of, self.exp.Column) and not of.table and of.name in names:
                key = names[of.name]
            elif (agg := self.aggregate(of, name)) is not None:
                key = f"agg {agg[1]} {agg[0]}"
            elif isinstance(of, self.exp.Column):
                key = name(of)
            if key not in names.values():
                raise _refuse(f"ORDER BY {of.sql()}, which is no column of the result")
            found.append((str(key), bool(one.args.get("desc"))))
        return found

    def limit(self, orders: list[tuple[str, bool]]) -> Limit | None:
        """Returns the largest number of rows."""
        if (clause := self.query.args.get("limit")) is None:
            return None
        if not isinstance(clause, self.exp.Limit):
            raise _refuse(clause)
        _only(clause, "expression")
        count = clause.expression
        if not isinstance(count, self.exp.Literal) or not count.this.isdecimal() or int(count.this) < 1:
            raise _refuse(clause)
        if not orders:
            raise UsageError("LIMIT without ORDER BY", "say which rows come first")
        return Limit(int(count.this), tuple(orders))

    def ordered(self, answer: Answer, names: Mapping[str, str], orders: list[tuple[str, bool]]) -> Answer:
        """Returns the result with the query's names and order."""
        if answer.columns is None:
            return answer
        order = list(range(len(answer)))
        for key, descending in reversed(orders):
            values = answer.columns[key]
            known = [row for row in order if values[row] is not None]
            known.sort(key=values.__getitem__, reverse=descending)
            order = known + [row for row in order if values[row] is None]
        answer.columns = {shown: [answer.columns[of][row] for row in order] for shown, of in names.items()}
        answer.rename(names)
        return answer


def sql(
    query: str,
    garbler: Mapping[str, Any],
    evaluator: Mapping[str, Any],
    *,
    validate: str = "m:1",
    min_group: int = 1,
    to: str = "both",
    simulate: bool = False,
    **options: Any,
) -> Answer:
    """Computes a query in SQL over a table of each party.

    Args:
        query: a SELECT. It is public, and both parties give the same.
        garbler: the garbler's tables by name. A party alone gives the peer's `Schema`.
        evaluator: the evaluator's tables by name.

        validate: the table in which each key occurs once: that of the evaluator (`m:1`), of the garbler
            (`1:m`), or both (`1:1`).

        min_group: a group is left out if it has fewer rows, as for `private_join`.
        to: the side that learns the result: `both`, `left` (the garbler) or `right`.

        simulate: whether to compute in the clear, without a protocol.
        options: those of `bw.run`, or of `bw.garbler` and `bw.evaluator` for a party alone.
    """
    tables = [{name: as_table(one) for name, one in of.items()} for of in (garbler, evaluator)]
    reading = _Reading(query, tables)
    exp = reading.exp
    where = reading.query.args.get("where")
    joins = reading.query.args.get("joins") or []
    first = reading.source_of()
    if isinstance(first, exp.Subquery):
        if joins:
            raise _refuse(joins[0])
        return _union(reading, first, where, min_group, to, simulate, options)
    if len(joins) != 1:
        raise _refuse("a query without one JOIN")
    (join,) = joins
    _only(join, "this", "side", "kind", "on", "using")
    how = {
        ("", ""): "inner",
        ("", "INNER"): "inner",
        ("LEFT", ""): "left",
        ("LEFT", "OUTER"): "left",
        ("", "SEMI"): "semi",
        ("LEFT", "SEMI"): "semi",
        ("", "ANTI"): "anti",
        ("LEFT", "ANTI"): "anti",
    }.get((join.side or "", join.kind or ""))
    if how is None:
        raise _refuse(join)
    source = reading.sources([first, join.this])
    if how != "inner" and reading.owned[first.name] != 0:
        raise _refuse(f"a {how} join of the evaluator's table with the garbler's; exchange the parties")

    def name(of: Any) -> str:
        side, column = source.column(of)
        return f"{SIDES[side]}.{column}"

    using = {of.name for of in join.args.get("using") or []}
    on = {of: of for of in sorted(using)}
    for part in _parts(join.args["on"], exp.And) if join.args.get("on") else ():
        if not isinstance(part, exp.EQ) or not all(
            isinstance(of, exp.Column) for of in (part.this, part.expression)
        ):
            raise _refuse(part)
        pair = dict(source.column(of) for of in (part.this, part.expression))
        if len(pair) != 2:
            raise _refuse(part)
        on[pair[0]] = pair[1]

    def of_key(of: Any) -> str:
        # A column of USING belongs to both tables.
        return f"left.{of.name}" if not of.table and of.name in using else name(of)

    names, agg, columns = reading.shown(of_key)
    having = reading.having(of_key)
    orders = reading.orders(names, of_key)
    groups = reading.groups(of_key, columns, bool(agg or having))
    if where is not None:
        source = reading.filtered(source, where.this, 0 if how == "left" else None)
    found = Join(
        source.tables,
        on,
        how,
        validate,
        None if groups is None else agg,
        groups,
        min_group,
        to,
        None if groups is not None else list(dict.fromkeys(columns)),
        having,
        reading.query.sql(),
        reading.limit(orders),
    )
    return reading.ordered(found.run(simulate, options), names, orders)


def _union(
    reading: _Reading, of: Any, where: Any, min_group: int, to: str, simulate: bool, options: dict[str, Any]
) -> Answer:
    """Computes a query over the rows of both tables together."""
    exp, union = reading.exp, of.this
    if not isinstance(union, exp.Union) or union.args.get("distinct"):
        raise _refuse(of)
    halves = [union.this, union.expression]
    columns: list[list[str]] = []
    for half in halves:
        if not isinstance(half, exp.Select):
            raise _refuse(half)
        _only(half, "kind", "expressions", "from", "where")
        if not all(isinstance(one, (exp.Column, exp.Star)) for one in half.expressions):
            raise _refuse(half)
        columns.append([one.name for one in half.expressions])
    if columns[0] != columns[1]:
        raise _refuse("UNION ALL of columns with different names")
    tables = [(half.args.get("from_") or half.args.get("from")).this for half in halves]
    source = reading.sources(tables)
    for half, table in zip(halves, tables):
        for clause in (half.args.get("where"), where):
            if clause is None:
                continue
            # Each half, and the whole, names the columns of a table without the table.
            side = reading.owned[table.name]
            condition = clause.this.copy()
            for column in condition.find_all(exp.Column):
                column.set("table", exp.to_identifier(source.names[side]))
            source = reading.filtered(source, condition, None)
    names, agg, shown = reading.shown(lambda of: str(of.name))
    having = reading.having(lambda of: str(of.name))
    groups = reading.groups(lambda of: str(of.name), shown, bool(agg or having))
    if groups is None:
        raise _refuse("the rows of a UNION ALL, without aggregates")
    orders = reading.orders(names, lambda of: str(of.name))
    limit = reading.limit(orders)
    found = Aggregate(source.tables, agg, groups, min_group, to, having, reading.query.sql(), limit)
    return reading.ordered(found.run(simulate, options), names, orders)
