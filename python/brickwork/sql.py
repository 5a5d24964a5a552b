"""Queries in SQL over the tables of two parties: `bw.sql`.

The text is parsed by sqlglot. An expression over columns of one party becomes a column of its table, which
this party computes in the clear. Conditions on its rows are applied in the clear, too. The remaining query
becomes a `Join`, `Rows` or `Aggregate`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .conditions import AGGREGATES, Translator, refuse
from .errors import UsageError, nearest, needed
from .exchange import exchanged
from .explanations import explained
from .expressions import Expression, cell, logical, plain, rescaled
from .kinds import Key, Kind
from .queries import (
    SIDES,
    Aggregate,
    Answer,
    Field,
    Join,
    Limit,
    Output,
    Query,
    Rows,
    aggregate,
    aggregate_counted,
    join_counted,
)
from .sources import Schema, Table, as_table


def _schema(of: Table | Schema) -> Schema:
    return of.schema if isinstance(of, Table) else of


def _only(of: Any, *allowed: str) -> None:
    """Refuses an expression with parts that are not allowed here."""
    for name, part in of.args.items():
        if part and name.rstrip("_") not in allowed:
            one = part[0] if isinstance(part, list) else part
            raise refuse(one if hasattr(one, "sql") else f"{name} in {of.sql()}")


def _parts(of: Expression | None) -> Iterator[Expression]:
    """Yields the parts of a condition that are joined by AND."""
    if of is not None and of.op == "and":
        yield from _parts(of.parts[0])
        yield from _parts(of.parts[1])
    elif of is not None:
        yield of


def _sides(of: Expression) -> set[int]:
    """Returns the sides whose columns an expression reads."""
    return {SIDES.index(one.value.partition(".")[0]) for one in of.walk() if one.op == "cell"}


def _has_aggregate(of: Expression) -> bool:
    return any(one.op in AGGREGATES for one in of.walk())


def _conjunction(parts: Sequence[Expression]) -> Expression | None:
    found = None
    for part in parts:
        found = part if found is None else logical("and", found, part)
    return found


@dataclass(frozen=True)
class _Shown:
    """A column of the result."""

    name: str
    value: Expression


class _Source:
    """The tables of a query, with the columns that expressions add to them."""

    def __init__(self, tables: Sequence[Table | Schema], names: Sequence[str]) -> None:
        self.tables, self.names = list(tables), list(names)
        self.using: set[str] = set()
        self.added: dict[tuple[int, Expression], str] = {}

    def column(self, of: Any) -> Expression:
        """Returns the cell of a column."""
        known = [dict(_schema(one).columns) for one in self.tables]
        if of.table:
            if of.table not in self.names:
                raise UsageError(
                    f"{of.sql()}, of no table of the query", nearest(of.table, self.names, "tables")
                )
            sides = [self.names.index(of.table)]
        else:
            sides = [side for side in range(2) if of.name in self.all_names(side)]
            if of.name in self.using:
                sides = sides[:1]
            if len(sides) > 1:
                raise UsageError(
                    f"the column {of.name}, which both tables have",
                    f"say {self.names[0]}.{of.name} or {self.names[1]}.{of.name}",
                )
        names = [name for side in sides or range(2) for name in self.all_names(side)]
        if not sides or of.name not in names:
            where = f"{self.names[sides[0]]} has" if sides else "neither table has"
            no = "no" if sides else "a"
            raise UsageError(f"{where} {no} column {of.name}", nearest(of.name, names, "columns"))
        (side,) = sides
        if of.name not in known[side]:
            table = self.tables[side]
            assert isinstance(table, Table)
            raise UsageError(
                f"{self.names[side]} has no column {of.name} of a known type: {table.unknown[of.name]}",
                "give bw.Table types={…}",
            )
        return cell(f"{SIDES[side]}.{of.name}", known[side][of.name])

    def all_names(self, side: int) -> list[str]:
        """Returns the names of a table's columns, with those of an unknown type."""
        table = self.tables[side]
        return list(table.values if isinstance(table, Table) else dict(table.columns))

    def values(self, side: int, of: Expression) -> list[Any]:
        """Returns the values of an expression over one table for each of its rows."""
        table = self.tables[side]
        assert isinstance(table, Table)
        return plain(of, lambda name: table.numbers_of(name.partition(".")[2], SIDES[side]), table.length)

    def filtered(self, side: int, condition: Expression) -> None:
        """Keeps the rows of a table for which a condition is true. The rows of the peer's table are not in
        this process."""
        table = self.tables[side]
        if isinstance(table, Table):
            wanted = self.values(side, condition)
            self.tables[side] = table.chosen([row for row, one in enumerate(wanted) if one])

    def with_column(self, side: int, of: Expression, name: str) -> Expression:
        """Adds a column with the values of an expression to a table, and returns its cell."""
        table, schema = self.tables[side], _schema(self.tables[side])
        kind = Key() if isinstance(of.kind, Key) else of.kind
        if isinstance(table, Table):
            self.tables[side] = table.with_column(name, kind, self.values(side, of))
        else:
            self.tables[side] = replace(schema, columns=(*schema.columns, (name, kind)))
        return cell(f"{SIDES[side]}.{name}", kind)

    def local(self, of: Expression, outer: bool) -> Expression:
        """Returns an expression in which a column stands for each part that one party computes alone.

        Args: outer: whether rows of the right table may be missing. If so, a part that is not null for null
            values does not become a column.
        """

        def replaced(node: Expression) -> Expression | None:
            sides = _sides(node)
            if node.op == "cell" or len(sides) != 1 or _has_aggregate(node):
                return None
            (side,) = sides
            if outer and side == 1 and plain(node, lambda name: [None], 1) != [None]:
                return None
            if (side, node) not in self.added:
                name = f"expression {len(self.added) + 1}"
                self.with_column(side, node, name)
                self.added[side, node] = name
            return cell(f"{SIDES[side]}.{self.added[side, node]}", node.kind)

        return of.replaced(replaced)


class _Reading:
    """A query as it is read."""

    def __init__(self, text: str, tables: Sequence[Mapping[str, Table | Schema]]) -> None:
        sqlglot = needed("sqlglot", "bw.sql", "'brickwork[sql]'")
        self.exp = sqlglot.exp
        try:
            self.query = sqlglot.parse_one(text, read="duckdb")
        except sqlglot.errors.SqlglotError as error:
            found = getattr(error, "errors", None) or [{}]
            place = ", ".join(f"{of} {found[0][of]}" for of in ("line", "col") if found[0].get(of))
            raise UsageError(
                f"the query is no SQL{f', at {place}' if place else ''}", "correct it; DuckDB's form is read"
            ) from None
        if not isinstance(self.query, self.exp.Select):
            raise refuse(self.query)
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

    def source(self, tables: Sequence[Any]) -> _Source:
        """Returns the tables of a query, first the garbler's."""
        found: dict[int, tuple[str, str]] = {}
        for table in tables:
            if not isinstance(table, self.exp.Table):
                raise refuse(table)
            _only(table, "this", "alias")
            if table.name not in self.owned:
                raise UsageError(
                    f"there is no table {table.name}", nearest(table.name, list(self.owned), "tables")
                )
            found[self.owned[table.name]] = table.name, table.alias or table.name
        if len(found) != 2 or len(tables) != 2:
            raise refuse("a query that does not take one table of each party")
        return _Source([self.all[found[side][0]] for side in range(2)], [found[side][1] for side in range(2)])

    def source_of(self) -> Any:
        """Returns the expression in FROM."""
        found = self.query.args.get("from_") or self.query.args.get("from")
        if found is None:
            raise refuse("a query without FROM")
        return found.this

    def condition(self, clause: str, translator: Translator) -> Expression | None:
        found = self.query.args.get(clause)
        return None if found is None else translator.condition(found.this)

    def shown(self, translator: Translator) -> list[_Shown]:
        """Returns the result's columns."""
        found = []
        for one in self.query.expressions:
            of = one.this if isinstance(one, self.exp.Alias) else one
            if isinstance(of, self.exp.Star):
                raise refuse("SELECT *", "name the columns")
            name = one.alias or (of.name if isinstance(of, self.exp.Column) else of.sql().lower())
            found.append(_Shown(name, translator.typed(of)))
        names = [one.name for one in found]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"two columns of the result are called {name}", "name one of them by AS")
        return found

    def groups(
        self, translator: Translator, shown: Sequence[_Shown], has_agg: bool
    ) -> list[Expression] | None:
        """Returns the expressions of GROUP BY, or None for a query of rows."""
        clause = self.query.args.get("group")
        if clause is None:
            if self.distinct and has_agg:
                raise refuse("DISTINCT beside aggregates", "leave DISTINCT out: each group occurs once")
            if self.distinct:
                return list(dict.fromkeys(one.value for one in shown))
            return [] if has_agg else None
        _only(clause, "expressions")
        if self.distinct:
            raise refuse("DISTINCT beside GROUP BY", "leave DISTINCT out: each group occurs once")
        names = {one.name: one.value for one in shown}
        found = []
        for one in clause.expressions:
            place = int(one.this) - 1 if isinstance(one, self.exp.Literal) and one.this.isdecimal() else None
            if place is not None and 0 <= place < len(shown):
                found.append(shown[place].value)
            elif isinstance(one, self.exp.Column) and not one.table and one.name in names:
                try:
                    found.append(translator.typed(one))
                except UsageError:
                    found.append(names[one.name])
            else:
                found.append(translator.typed(one))
        return list(dict.fromkeys(found))

    def orders(self, translator: Translator, shown: Sequence[_Shown]) -> list[tuple[str, bool]]:
        """Returns the columns that order the result, the most important first, each perhaps descending."""
        clause, found = self.query.args.get("order"), []
        names = {one.name: one.name for one in shown}
        for one in clause.expressions if clause else []:
            of, name = one.this, None
            if isinstance(of, self.exp.Literal) and of.this in map(str, range(1, len(shown) + 1)):
                name = shown[int(of.this) - 1].name
            elif isinstance(of, self.exp.Column) and not of.table and of.name in names:
                name = of.name
            else:
                value = translator.typed(of)
                name = next((column.name for column in shown if column.value == value), None)
            if name is None:
                raise refuse(f"ORDER BY {of.sql()}, which is no column of the result", "add it to SELECT")
            if one.args.get("nulls_first"):
                raise refuse("NULLS FIRST", "leave it out: nulls are last")
            found.append((name, bool(one.args.get("desc"))))
        return found

    def limit(self, orders: list[tuple[str, bool]]) -> Limit | None:
        """Returns the largest number of rows."""
        if (clause := self.query.args.get("limit")) is None:
            return None
        if not isinstance(clause, self.exp.Limit):
            raise refuse(clause)
        _only(clause, "expression")
        count = clause.expression
        if not isinstance(count, self.exp.Literal) or not count.this.isdecimal() or int(count.this) < 1:
            raise refuse(clause, "say LIMIT with a number that is at least 1")
        if not orders:
            raise UsageError("LIMIT without ORDER BY", "say which rows come first")
        return Limit(int(count.this), tuple(orders))


@dataclass(frozen=True)
class Prepared:
    """A query that is ready to run, with the order of its result."""

    query: Query
    orders: list[tuple[str, bool]]

    def run(self, simulate: bool, options: dict[str, Any]) -> Answer:
        """Computes the query, and returns its result in order."""
        learned = [
            [one.name for one in self.query.outputs if self.query.learns(one, side)] for side in (0, 1)
        ]
        for name, _ in self.orders:
            if any(names and name not in names for names in learned):
                raise UsageError(
                    f"ORDER BY {name}, which a party does not learn", "reveal it, or leave it out"
                )
        answer = self.query.run(simulate, options)
        for one in answer.parties.values():
            self.sort(one)
        return answer

    def sort(self, answer: Answer) -> None:
        """Puts the rows of a result in the query's order."""
        if answer.columns is None:
            return
        order = list(range(len(answer)))
        for name, descending in reversed(self.orders):
            values = answer.columns[name]
            known = [row for row in order if values[row] is not None]
            known.sort(key=values.__getitem__, reverse=descending)
            order = known + [row for row in order if values[row] is None]
        answer.columns = {name: [values[row] for row in order] for name, values in answer.columns.items()}


def revealed(text: str) -> tuple[str, str | dict[str, str] | None]:
    """Splits off the last clause of a query, `REVEAL TO party` or `REVEAL column TO party, …`. Returns the
    query without it, and the clause's meaning."""
    found = re.search(r"\bREVEAL\b((?:\s*[\w\"]*\s+TO\s+\w+\s*,?)+)\s*;?\s*$", text, re.IGNORECASE)
    if found is None:
        return text, None
    parts = [part.split() for part in found[1].split(",")]
    named = {" ".join(part[:-2]).strip('"'): part[-1].lower() for part in parts if part}
    rest = text[: found.start()]
    return rest, named[""] if list(named) == [""] else named


class _Aggregated:
    """The columns and the condition of a result, as values of the records that a query makes.

    Args:
        place: gives the cell of a group in a record.
        sum: gives the cell of an aggregate of a function and an expression, or of None for all rows.
    """

    def __init__(
        self,
        place: Callable[[Expression], Expression | None],
        sum: Callable[[str, Expression | None], Expression],
    ) -> None:
        self.place, self.sum = place, sum

    def value(self, of: Expression) -> Expression:
        """Returns an expression over a record."""

        def replaced(node: Expression) -> Expression | None:
            if (found := self.place(node)) is not None:
                return found
            if node.op == "mean":
                raise refuse("arithmetic with AVG", "take SUM and COUNT, and divide the result")
            if node.op in AGGREGATES:
                found = self.sum(node.op, node.parts[0] if node.parts else None)
                return replace(node, op="cell", parts=(), value=found.value)
            if node.op == "cell":
                name = node.value.partition(".")[2] or node.value
                raise UsageError(f"the column {name} is no group", "name it in GROUP BY, or aggregate it")
            return None

        return of.replaced(replaced)

    def output(self, one: _Shown) -> Output:
        """Returns a column of the result."""
        if one.value.op == "mean":
            return Output(one.name, *(self.sum(of, one.value.parts[0]) for of in ("sum", "count")))
        return Output(one.name, self.value(one.value))


def _refuse_mixed(tables: Sequence[Table | Schema], values: Sequence[Expression]) -> None:
    """Refuses aggregates with which a query could single out a row of a table whose policy requires
    groups."""
    for function, of in _aggregates(values):
        names = [] if of is None else [node.value for node in of.walk() if node.op == "cell"]
        for side, table in enumerate(tables):
            policy = _schema(table).policy
            own = [name for name in names if name.partition(".")[0] not in SIDES[1 - side : 2 - side]]
            if of is None or policy.smallest <= 1 or not own:
                continue
            if len(set(names)) > 1 or not _is_affine(of):
                raise UsageError(
                    f"{function.upper()} of an expression, which may single out a row: the "
                    f"{('garbler', 'evaluator')[side]}'s policy asks for {policy}",
                    "aggregate a column alone, or a column times and plus constants",
                )


def _policies_ask(tables: Sequence[Table | Schema]) -> bool:
    return any(_schema(one).policy.smallest > 1 for one in tables)


def _is_affine(of: Expression) -> bool:
    """Returns whether an expression is a column, times and plus constants."""
    if of.op in ("cell", "constant"):
        return True
    if of.op not in ("+", "-", "*") or not all(map(_is_affine, of.parts)):
        return False
    return sum(any(node.op == "cell" for node in part.walk()) for part in of.parts) == 1


def _aggregates(of: Sequence[Expression]) -> list[tuple[str, Expression | None]]:
    """Returns the aggregates in expressions, each once."""
    nodes = [node for one in of for node in one.walk() if node.op in AGGREGATES]
    return list(dict.fromkeys((node.op, node.parts[0] if node.parts else None) for node in nodes))


_JOINS = {
    ("", ""): "inner",
    ("", "INNER"): "inner",
    ("LEFT", ""): "left",
    ("LEFT", "OUTER"): "left",
    ("", "SEMI"): "semi",
    ("LEFT", "SEMI"): "semi",
    ("", "ANTI"): "anti",
    ("LEFT", "ANTI"): "anti",
}


def prepare(
    query: str,
    tables: Sequence[Mapping[str, Table | Schema]],
    validate: str = "m:1",
    min_group: int = 1,
    to: str = "both",
    reveal: Mapping[str, str] | None = None,
    salt: str = "",
) -> Prepared:
    """Reads a query, and computes the parts that one party computes alone. The salt changes the hashes of
    texts."""
    query, named = revealed(query)
    if named is not None and (reveal or to != "both"):
        raise UsageError("REVEAL beside the argument reveal or to", "leave one of them out")
    if isinstance(named, str):
        to, named = named, None
    reveal = named or reveal or {}
    reading = _Reading(query, tables)
    exp = reading.exp
    joins = reading.query.args.get("joins") or []
    first = reading.source_of()
    if isinstance(first, exp.Subquery):
        if joins:
            raise refuse(joins[0])
        return _union(reading, first, min_group, to, reveal, salt)
    if len(joins) != 1:
        raise refuse(
            "a query without one JOIN" if not joins else "more than one JOIN",
            "take one table of each party: a party joins its own tables before, such as by DuckDB",
        )
    (join,) = joins
    _only(join, "this", "side", "kind", "on", "using")
    how = _JOINS.get((join.side or "", join.kind or ""))
    if how is None:
        raise refuse(join)
    source = reading.source([first, join.this])
    if how != "inner" and reading.owned[first.name] != 0:
        raise refuse(
            f"a {how.upper()} JOIN of the evaluator's table with the garbler's", "exchange the two parties"
        )
    source.using = {of.name for of in join.args.get("using") or []}
    many = 1 if validate == "1:m" and how in ("inner", "left") else 0
    counted = join_counted([_schema(one) for one in source.tables], how, many)
    translator = Translator(exp, source.column, counted)
    # Columns are looked up before expressions add new columns.
    where = reading.condition("where", translator)
    on = translator.condition(join.args["on"]) if join.args.get("on") else None
    shown = reading.shown(translator)
    having = reading.condition("having", translator)
    has_agg = any(_has_aggregate(one.value) for one in shown) or having is not None
    groups = reading.groups(translator, shown, has_agg)
    orders = reading.orders(translator, shown)
    limit = reading.limit(orders)
    if any(_has_aggregate(one) for one in (*_parts(where), *_parts(on), *(groups or ()))):
        raise refuse("an aggregate in WHERE, ON or GROUP BY", "move the condition to HAVING")
    if how in ("semi", "anti") and any(1 in _sides(one.value) for one in shown):
        raise refuse(f"a column of the right table of a {how.upper()} JOIN", "take an INNER or LEFT JOIN")

    _refuse_mixed(source.tables, [one.value for one in shown] + ([having] if having is not None else []))

    pairs = {name: name for name in sorted(source.using)}
    rest: list[Expression] = []
    for part in _parts(on):
        sides = [_sides(one) for one in part.parts] if part.op == "=" else []
        if sorted(map(sorted, sides)) == [[0], [1]]:
            ordered = sorted(part.parts, key=lambda one: min(_sides(one)))
            names = [source.local(one, False).value.partition(".")[2] for one in ordered]
            pairs[names[0]] = names[1]
        elif how == "inner":
            rest.append(part)
        elif _sides(part) == {1} or _sides(part) == {0} and how == "semi":
            source.filtered(next(iter(_sides(part))), part)
        else:
            raise refuse(f"a condition in ON of a {how.upper()} JOIN that is not about the right table alone")
    if not pairs:
        raise refuse("a JOIN without equal columns of both tables", "say ON a.key = b.key")
    for part in [*rest, *_parts(where)]:
        sides_ = _sides(part) or {0}
        if len(sides_) == 1 and (how == "inner" or sides_ == {0}):
            source.filtered(next(iter(sides_)), part)
        elif how in ("semi", "anti"):
            raise refuse(f"a condition on the right table of a {how.upper()} JOIN", "move it to ON")
        else:
            rest.append(part)
    kept = [one for one in dict.fromkeys(rest) if len(_sides(one)) == 2 or how == "left" and 1 in _sides(one)]

    outer = how == "left"
    shown = [_Shown(one.name, source.local(one.value, outer)) for one in shown]
    having = None if having is None else source.local(having, outer)
    groups = None if groups is None else [source.local(one, outer) for one in groups]
    condition = _conjunction([source.local(one, outer) for one in kept])
    values = [one.value for one in shown] + ([having] if having is not None else [])
    asked = _aggregates(values)
    plain_parts = [*(of for _, of in asked if of is not None), *(groups or ())]
    if groups is None:
        plain_parts += values
    simple = condition is None and all(one.op == "cell" for one in plain_parts)
    text, names_of = f"{reading.query.sql()} {salt}", source.tables
    if simple and not any(function == "distinct" for function, _ in asked):

        def sum_of(function: str, of: Expression | None) -> Expression:
            return aggregate(function, None if of is None else _field(of), counted)

        columns = list(dict.fromkeys(one.value for one in (values if groups is None else groups)))
        found = _Aggregated(
            lambda of: (
                replace(of, value=f"column {of.value}") if of.op == "cell" and of.value in columns else None
            ),
            sum_of,
        )
        agg = {
            f"agg {function} {of and of.value}": (of.value if of else "*", function) for function, of in asked
        }
        outputs = [found.output(one) for one in shown]
        made: Query = Join(
            names_of,
            pairs,
            how,
            validate,
            None if groups is None else agg,
            None if groups is None else columns,
            min_group,
            to,
            columns if groups is None else None,
            None if having is None else found.value(having),
            text,
            limit,
            outputs,
            skip_nulls=True,
            reveal=reveal,
        )
        return Prepared(made, orders)

    # Columns of joined rows have names of their own.
    def in_rows(of: Expression) -> Expression:
        return of.replaced(
            lambda node: replace(node, value=f"column {node.value}") if node.op == "cell" else None
        )

    places = list(dict.fromkeys([one.value for one in shown] if groups is None else groups))
    measured = list(dict.fromkeys(of for function, of in asked if of is not None and function != "distinct"))
    counted_ones = list(dict.fromkeys(of for function, of in asked if function == "distinct"))
    if len(counted_ones) > 1:
        raise refuse("COUNT(DISTINCT …) of several columns", "ask one query for each")

    def row_sum(function: str, of: Expression | None) -> Expression:
        if function == "distinct":
            return cell("distinct", aggregate("count", None, counted).kind)
        field = None if of is None else Field(None, str(measured.index(of)), of.kind)
        return aggregate(function, field, counted)

    found = _Aggregated(
        lambda of: (
            replace(of, op="cell", parts=(), value=f"group {places.index(of)}") if of in places else None
        ),
        row_sum,
    )
    read = [*places, *measured, *counted_ones, *([condition] if condition is not None else [])]
    cells = [node.value for one in read if one is not None for node in one.walk() if node.op == "cell"]
    functions = [(function, of and in_rows(of)) for function, of in asked if function != "distinct"]
    made = Rows(
        names_of,
        pairs,
        how,
        validate,
        min_group,
        to,
        None if having is None else found.value(having),
        text,
        limit,
        [found.output(one) for one in shown],
        list(dict.fromkeys(cells)),
        None if condition is None else in_rows(condition),
        [in_rows(one) for one in places],
        None if groups is None else functions,
        in_rows(counted_ones[0]) if counted_ones and counted_ones[0] is not None else None,
        reveal,
    )
    return Prepared(made, orders)


def _field(of: Expression) -> Field:
    side, _, name = of.value.partition(".")
    return Field(SIDES.index(side), name, of.kind)


def _union(
    reading: _Reading, of: Any, min_group: int, to: str, reveal: Mapping[str, str], salt: str
) -> Prepared:
    """Reads a query over the rows of both tables together. Each party computes all columns of its rows."""
    exp, union = reading.exp, of.this
    if not isinstance(union, exp.Union) or union.args.get("distinct"):
        raise refuse("UNION" if isinstance(union, exp.Union) else of, "say UNION ALL")
    halves = [union.this, union.expression]
    if any(not isinstance(half, exp.Select) for half in halves):
        raise refuse(of)
    for half in halves:
        _only(half, "kind", "expressions", "from", "where")
    sources = [(half.args.get("from_") or half.args.get("from")).this for half in halves]
    source = reading.source(sources)
    if reading.owned[sources[0].name] == 1:
        # SQL takes the names of columns from the first half.
        first_names = [one.alias_or_name for one in halves[0].expressions]
        halves = halves[::-1]
    else:
        first_names = [one.alias_or_name for one in halves[0].expressions]
    lists: list[list[Expression]] = []
    for side, half in enumerate(halves):

        def column(of: Any, side: int = side) -> Expression:
            qualified = of.copy()
            qualified.set("table", exp.to_identifier(source.names[side]))
            return source.column(qualified)

        translator = Translator(exp, column, 0)
        chosen = [one.this if isinstance(one, exp.Alias) else one for one in half.expressions]
        if any(isinstance(one, exp.Star) for one in chosen):
            raise refuse("SELECT * in UNION ALL", "name the columns")
        lists.append([translator.typed(one) for one in chosen])
        if half.args.get("where"):
            source.filtered(side, translator.condition(half.args["where"].this))
    if len({len(first_names), *map(len, lists)}) > 1 or len(set(first_names)) < len(first_names):
        raise refuse("UNION ALL of different numbers of columns, or with two columns of one name")
    # The columns of the union replace the columns of each table.
    kinds: dict[str, Kind] = {}
    for place, name in enumerate(first_names):
        joined = lists[0][place].kind.joined(lists[1][place].kind)
        if joined is None:
            raise UsageError(
                f"{name} is {lists[0][place].kind} in one half, and {lists[1][place].kind} in the other",
                "give both one type: bw.Table(frame, types={…})",
            )
        kinds[name] = joined
    inner = _Source(source.tables, ["", ""])
    for side, row in enumerate(lists):
        table = source.tables[side]
        pieces = (
            {name: source.values(side, of) for name, of in zip(first_names, row)}
            if isinstance(table, Table)
            else {}
        )
        types = dict(zip(first_names, (of.kind for of in row)))
        if isinstance(table, Table):
            inner.tables[side] = table.only(types, pieces)
        else:
            inner.tables[side] = replace(table, columns=tuple(types.items()))

    def of_union(of: Any) -> Expression:
        if of.name not in kinds:
            raise UsageError(f"the union has no column {of.name}", nearest(of.name, first_names, "columns"))
        return cell(of.name, kinds[of.name])

    counted = aggregate_counted([_schema(one) for one in source.tables])
    translator = Translator(exp, of_union, counted)
    where = reading.condition("where", translator)

    def on_side(of: Expression, side: int) -> Expression:
        types = dict(_schema(inner.tables[side]).columns)
        return of.replaced(
            lambda node: (
                _as_joined(cell(f"{SIDES[side]}.{node.value}", types[node.value]), node.kind)
                if node.op == "cell"
                else None
            )
        )

    if where is not None:
        for side in range(2):
            inner.filtered(side, on_side(where, side))
    shown = reading.shown(translator)
    having = reading.condition("having", translator)
    has_agg = any(_has_aggregate(one.value) for one in shown) or having is not None
    groups = reading.groups(translator, shown, has_agg)
    orders = reading.orders(translator, shown)
    limit = reading.limit(orders)
    _refuse_mixed(source.tables, [one.value for one in shown] + ([having] if having is not None else []))
    for row in lists if _policies_ask(source.tables) else []:
        if not all(map(_is_affine, row)):
            raise UsageError(
                "an expression inside UNION ALL, under a policy for groups", "name columns alone"
            )
    if groups is None:
        raise refuse("the rows of a UNION ALL, without aggregates", "aggregate them")
    added: dict[Expression, str] = {}

    def local(of: Expression) -> Expression:
        def replaced(node: Expression) -> Expression | None:
            if node.op == "cell" or node.op in AGGREGATES or _has_aggregate(node):
                return None
            if not any(one.op == "cell" for one in node.walk()):
                return None
            if node not in added:
                added[node] = f"expression {len(added) + 1}"
                for side in range(2):
                    inner.with_column(side, on_side(node, side), added[node])
            return cell(added[node], node.kind)

        return of.replaced(replaced)

    shown = [_Shown(one.name, local(one.value)) for one in shown]
    having = None if having is None else local(having)
    columns = [local(one).value for one in groups]
    asked = _aggregates([*(one.value for one in shown), *([having] if having is not None else [])])
    if any(function == "distinct" for function, _ in asked):
        raise refuse("COUNT(DISTINCT …) over a UNION ALL", "group by the column, and count the rows")

    def sum_of(function: str, of: Expression | None) -> Expression:
        return aggregate(function, None if of is None else Field(None, of.value, of.kind), counted)

    found = _Aggregated(
        lambda of: (
            replace(of, value=f"column {of.value}") if of.op == "cell" and of.value in columns else None
        ),
        sum_of,
    )
    agg = {f"agg {function} {of and of.value}": (of.value if of else "*", function) for function, of in asked}
    made = Aggregate(
        inner.tables,
        agg,
        columns,
        min_group,
        to,
        None if having is None else found.value(having),
        f"{reading.query.sql()} {salt}",
        limit,
        [found.output(one) for one in shown],
        reveal,
    )
    return Prepared(made, orders)


def _as_joined(of: Expression, kind: Kind) -> Expression:
    """Returns a column of a half, converted to the type of the union."""
    return rescaled(of, kind.scale) if hasattr(kind, "scale") else of


def sql(
    query: str,
    garbler: Mapping[str, Any] | None = None,
    evaluator: Mapping[str, Any] | None = None,
    *,
    mine: Mapping[str, Any] | None = None,
    role: str | None = None,
    validate: str = "m:1",
    min_group: int = 1,
    to: str = "both",
    reveal: Mapping[str, str] | None = None,
    simulate: bool = False,
    **options: Any,
) -> Any:
    """Computes a query in SQL over a table of each party.

    Args:
        query: a SELECT. It is public, and both parties give the same. After `EXPLAIN` the result is an
            `Explanation`, and nothing runs.

        garbler: the garbler's tables by name. A party alone gives the peer's `Schema`.
        evaluator: the evaluator's tables by name.

        mine: the tables of this party, which is alone. The schemas, the query and the policies are first
            exchanged with the peer, and compared. Schemas of the peer's tables in the place of `garbler` or
            `evaluator` are then the expected ones.

        role: the role of this party, `garbler` or `evaluator`, for `mine`.

        validate: the table in which each key occurs once: that of the evaluator (`m:1`), of the garbler
            (`1:m`), or both (`1:1`).

        min_group: a group is left out if it has fewer rows, as for `private_join`.

        to: the party that learns the result: `garbler`, `evaluator` or `both`.
        reveal: the same for single columns of the result, as `REVEAL total TO garbler` says it in the query.

        simulate: whether to compute in the clear, without a protocol.
        options: those of `bw.run`, or of `bw.garbler` and `bw.evaluator` for a party alone.
    """
    explain = re.match(r"\s*EXPLAIN\b", query, re.IGNORECASE)
    text, salt = query[explain.end() :] if explain else query, ""
    tables = [{name: as_table(one) for name, one in (of or {}).items()} for of in (garbler, evaluator)]
    if mine is not None:
        if role not in ("garbler", "evaluator"):
            raise UsageError(f"mine with role={role!r}", "say role='garbler' or role='evaluator'")
        own, peers = {name: as_table(one) for name, one in mine.items()}, [*reversed(tables)]
        side = ("garbler", "evaluator").index(role)
        expected = {name: _schema(one) for name, one in tables[1 - side].items()}
        if tables[side] or any(isinstance(one, Table) for one in peers[side].values()):
            raise UsageError("mine beside a table of one's own", "give own tables in mine alone")
        asked = {"query": " ".join(text.split()), "validate": validate, "min_group": min_group, "to": to}
        asked |= {"reveal": dict(reveal or {}), "explain": explain is not None}
        schemas = {name: _schema(one) for name, one in own.items()}
        theirs, options, salt = exchanged(role, asked, schemas, expected, options)
        tables[side], tables[1 - side] = own, dict(theirs)
    elif garbler is None or evaluator is None:
        raise UsageError("a query without tables", "give garbler={…} and evaluator={…}, or mine={…}")
    found = prepare(text, tables, validate, min_group, to, reveal, salt)
    return explained(found.query, options) if explain else found.run(simulate, options)
