"""The command `brickwork sql`, which the program `brickwork` starts as `brickwork-sql`."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from . import kinds
from .errors import Error, UsageError
from .explanations import Explanation
from .files import read_file
from .policies import Policy
from .queries import Answer
from .sources import Schema, Table
from .sql import sql
from .types import short

_TYPES = "u16, i64, decimal(9,2), boolean, category(red|green), key, key(64), text(12), date, timestamp(s)"


def type_of(text: str) -> Any:
    """Returns the type of a column that a word names, such as `u16` or `decimal(9,2)`."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", text)
    name, rest = (found[1], found[2]) if found else (text, None)
    parts = [] if not rest else [one.strip() for one in rest.split("," if name != "category" else "|")]
    makers: dict[str, Any] = {
        "decimal": lambda digits, scale: kinds.decimal(int(digits), int(scale)),
        "boolean": lambda: kinds.boolean,
        "category": lambda *values: kinds.category(values),
        "key": lambda *bits: kinds.key(*map(int, bits)),
        "text": lambda octets: kinds.text(int(octets)),
        "date": lambda: kinds.day,
        "timestamp": lambda unit, zone="": kinds.timestamp(unit, zone == "utc"),
    }
    try:
        if name in makers:
            return makers[name](*parts)
    except (TypeError, ValueError):
        raise UsageError(f"the type {text!r}", f"write for example {_TYPES}") from None
    plain = short(text)
    if plain is None:
        raise UsageError(f"the type {text!r}", f"write for example {_TYPES}")
    return plain


def _pair(text: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f"{text!r} has another form than {form}", f"write {form}")
    return name, value


def _pairs(texts: Sequence[str], form: str) -> dict[str, str]:
    return dict(_pair(one, form) for one in texts)


def _policy(text: str) -> Policy:
    """Returns the policy of a text such as `min_group:10,round_to:50`."""
    given: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.partition(":")
        if name not in ("min_group", "rows", "max_rows", "round_to") or not value and name != "rows":
            raise UsageError(f"the policy {text!r}", "write min_group:10,max_rows:100,round_to:50 or rows:no")
        if name == "rows":
            given[name] = value not in ("no", "false")
        elif name == "round_to":
            given[name] = value
        elif value.isdecimal():
            given[name] = int(value)
        else:
            raise UsageError(f"the policy {text!r}", f"{name} takes a whole number")
    return Policy(**given)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, "`brickwork sql --help` lists the arguments")


def _parser() -> argparse.ArgumentParser:
    of = _Parser(
        prog="brickwork sql",
        description="Compute a query in SQL over a table of each party. With the tables of both, both "
        "parties run here. With the table of one party, keys and an address, this party runs alone.",
        allow_abbrev=False,
    )
    of.add_argument("query", metavar="QUERY", help="a SELECT, or @FILE for the text of a file")
    tables = of.add_argument_group("tables")
    for role in ("garbler", "evaluator"):
        tables.add_argument(
            f"--{role}-table",
            metavar="NAME=FILE",
            action="append",
            default=[],
            help=f"a table of the {role}: CSV, Parquet, Arrow or DuckDB",
        )
    tables.add_argument(
        "--type",
        metavar="TABLE.COLUMN=TYPE",
        action="append",
        default=[],
        help=f"the type of a column: {_TYPES}",
    )
    tables.add_argument(
        "--rows", metavar="TABLE=N", action="append", default=[], help="the number of rows that the peer sees"
    )
    tables.add_argument(
        "--distinct",
        metavar="TABLE=N",
        action="append",
        default=[],
        help="the same for different keys and groups",
    )
    tables.add_argument(
        "--policy",
        metavar="TABLE=POLICY",
        action="append",
        default=[],
        help="conditions on results: min_group:10,max_rows:100,round_to:50,rows:no",
    )
    tables.add_argument(
        "--expect",
        metavar="TABLE=FILE",
        action="append",
        default=[],
        help="the schema that the peer's table has",
    )
    query = of.add_argument_group("query")
    query.add_argument(
        "--validate", default="m:1", choices=["m:1", "1:m", "1:1"], help="the table of unique keys"
    )
    query.add_argument(
        "--min-group", type=int, default=1, metavar="N", help="the smallest group that is shown"
    )
    query.add_argument("--to", default="both", help="the party that learns the result")
    query.add_argument("--explain", action="store_true", help="tell the cost and the learners; run nothing")
    query.add_argument("--simulate", action="store_true", help="compute in the clear, without a protocol")
    query.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        help="a file for the result: .csv or .parquet; by default it is shown",
    )
    query.add_argument("--json", action="store_true", help="write JSON to stdout")
    query.add_argument("--quiet", action="store_true", help="write nothing to stderr but errors")
    alone = of.add_argument_group("a party alone")
    for name, word, text in (
        ("--identity", "FILE", "this party's key"),
        ("--peer", "KEY", "the peer's public key, or @FILE"),
        ("--listen", "HOST:PORT", "the address at which to wait for the peer"),
        ("--connect", "HOST:PORT", "the address at which the peer waits"),
    ):
        alone.add_argument(name, metavar=word, help=text)
    run = of.add_argument_group("run")
    for name, kind in (
        ("--protocol", str),
        ("--security", int),
        ("--threads", int),
        ("--timeout", int),
        ("--bandwidth", str),
        ("--rtt", str),
        ("--max-ram", str),
    ):
        run.add_argument(name, type=kind, help=f"as of `brickwork garbler {name}`")
    return of


_RUN = ("protocol", "security", "threads", "timeout", "bandwidth", "rtt", "max_ram")
_ALONE = ("identity", "peer", "listen", "connect")


def _tables(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Returns the tables of both parties by name."""
    files = [_pairs(given.garbler_table, "NAME=FILE"), _pairs(given.evaluator_table, "NAME=FILE")]
    names = {name for of in files for name in of}
    settings: dict[str, dict[str, Any]] = {name: {} for name in names}
    for flag, read in (("rows", int), ("distinct", int), ("policy", _policy)):
        for name, value in _pairs(getattr(given, flag), f"TABLE={flag.upper()}").items():
            if name not in names:
                raise UsageError(f"--{flag} {name}={value}", f"there is no table {name} here")
            try:
                settings[name][flag] = read(value)
            except ValueError as error:
                if isinstance(error, UsageError):
                    raise
                raise UsageError(f"--{flag} {name}={value}", "give a whole number") from None
    for place, word in _pairs(given.type, "TABLE.COLUMN=TYPE").items():
        name, dot, column = place.partition(".")
        if name not in names or not dot:
            raise UsageError(f"--type {place}={word}", "write TABLE.COLUMN=TYPE with a table that is here")
        settings[name].setdefault("types", {})[column] = type_of(word)
    return [
        {name: Table(read_file(path, name), **settings[name]) for name, path in of.items()} for of in files
    ]


def answered(given: argparse.Namespace) -> Answer | Explanation:
    """Computes the query of these arguments."""
    query = given.query
    if query.startswith("@"):
        query = Path(query[1:]).read_text(encoding="utf-8")
    if given.explain:
        query = f"EXPLAIN {query}"
    tables = _tables(given)
    asked: dict[str, Any] = {"validate": given.validate, "min_group": given.min_group, "to": given.to}
    options = {name: getattr(given, name) for name in _RUN if getattr(given, name) is not None}
    alone = {name: getattr(given, name) for name in _ALONE if getattr(given, name) is not None}
    if all(tables):
        if alone:
            raise UsageError(
                f"--{min(alone)} with the tables of both parties", "give this party's table alone"
            )
        found: Answer | Explanation = sql(
            query, tables[0], tables[1], simulate=given.simulate, **asked, **options
        )
        return found
    if not any(tables):
        raise UsageError("a query without tables", "give --garbler-table or --evaluator-table NAME=FILE")
    role, other = ("garbler", "evaluator") if tables[0] else ("evaluator", "garbler")
    if "identity" not in alone or "peer" not in alone:
        raise UsageError(
            f"the {other}'s table is missing",
            f"give --{other}-table, or run alone with --identity, --peer and --listen or --connect",
        )
    expected = {name: Schema.load(path) for name, path in _pairs(given.expect, "TABLE=FILE").items()}
    more: dict[str, Any] = {other: expected, "mine": tables[0] or tables[1], "role": role}
    if not given.quiet:
        more["listening"] = lambda address: print(f"listening on {address}", file=sys.stderr, flush=True)
    found = sql(query, **asked, **more, simulate=given.simulate, **alone, **options)
    return found


def shown(answer: Answer) -> str:
    """Returns a result as a table of text."""
    if answer.columns is None:
        return "This party learns no result."
    columns = {
        name: ["NULL" if one is None else str(one) for one in values]
        for name, values in answer.columns.items()
    }
    widths = {name: max(map(len, [name, *values])) for name, values in columns.items()}
    numbers = {
        name: all(not isinstance(one, (str, bool)) for one in values)
        for name, values in answer.columns.items()
    }
    rows = [list(columns), *([*row] for row in zip(*columns.values()))]

    def line(row: Sequence[str]) -> str:
        cells = zip(row, widths.items())
        return "  ".join(
            _printable(one).rjust(width) if numbers[name] else _printable(one).ljust(width)
            for one, (name, width) in cells
        ).rstrip()

    count = len(answer)
    lines = [line(rows[0]), "  ".join("-" * width for width in widths.values()), *map(line, rows[1:])]
    return "\n".join([*lines, f"({count} row{'' if count == 1 else 's'})"])


def _printable(text: str) -> str:
    """Returns a text without characters that control a terminal, since it may come from the peer."""
    return "".join(one if one.isprintable() else "\ufffd" for one in text)


def _write(answer: Answer | Explanation, given: argparse.Namespace) -> None:
    if isinstance(answer, Explanation):
        print(json.dumps(answer.json()) if given.json else answer)
        return
    if given.output is not None and answer.columns is not None:
        if Path(given.output).suffix in (".parquet", ".pq"):
            answer.to_parquet(given.output)
        else:
            answer.to_csv(given.output)
    if given.json:
        columns = None if given.output is not None else answer.columns
        print(json.dumps({"columns": columns, "promise": _promise(answer)}, default=str))
    elif given.output is None:
        print(shown(answer))
    if answer.run is not None and not given.quiet and not given.json:
        print(repr(answer.run), file=sys.stderr)


def _promise(answer: Answer) -> Any:
    return None if answer.run is None else answer.run.json["promise"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, and returns its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        given = _parser().parse_args(words)
        if given.output is not None and Path(given.output).suffix not in (".csv", ".parquet", ".pq"):
            raise UsageError(f"--output {given.output}", "take a file that ends in .csv or .parquet")
        _write(answered(given), given)
    except Error as error:
        if "--json" in words:
            told = {"code": error.code, "message": str(error.args[0]), "hint": error.hint}
            print(json.dumps({"error": told}))
        else:
            print(f"error: {error}", file=sys.stderr)
        return error.code
    except OSError as error:
        print(f"error: {error.strerror}: {error.filename}", file=sys.stderr)
        return 1
    return 0


def command() -> NoReturn:
    """Runs the command as the program `brickwork-sql`."""
    sys.exit(main())


if __name__ == "__main__":
    command()
