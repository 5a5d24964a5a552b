"""The exchange of queries, schemas and policies, before two parties compute a query.

The exchange is a program without gates over the same authenticated connection: each party gives its public
description, and both learn both descriptions. The query's own program has a digest of all that was exchanged.
So if a peer shows different descriptions on its two connections, this is noticed before any input is used.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import runs
from .errors import InvalidInput, PeerMismatch, UsageError
from .sources import Schema
from .traced import program
from .types import Array, Both, Evaluator, Garbler, IntegerType, Struct

_WORDS = 1024
"""The description of a party has as many words of 64 bits."""

_WORD = IntegerType(64)


class _Descriptions(Struct):
    garbler: Array[_WORD, _WORDS]
    evaluator: Array[_WORD, _WORDS]


@program
def descriptions(
    garbler: Garbler[Array[_WORD, _WORDS]],
    evaluator: Evaluator[Array[_WORD, _WORDS]],
) -> Both[_Descriptions]:
    """Runs the exchange, and returns both parties' descriptions."""
    return _Descriptions(garbler=garbler, evaluator=evaluator)


def _packed(description: Mapping[str, Any]) -> Any:
    octets = zlib.compress(json.dumps(description, sort_keys=True).encode(), 9)
    room = 8 * _WORDS - 4
    if len(octets) > room:
        raise UsageError(
            f"a query and schemas of {len(octets)} bytes, of which {room} fit",
            "shorten lists of categories, or give the peer's bw.Schema",
        )
    whole = len(octets).to_bytes(4, "little") + octets.ljust(room, b"\0")
    return np.frombuffer(whole, "<u8").copy()


def _unpacked(words: Any) -> Any:
    octets = np.asarray(words, "<u8").tobytes()
    length = int.from_bytes(octets[:4], "little")
    try:
        # A short text may expand to a very long one.
        text = zlib.decompressobj().decompress(octets[4 : 4 + length], 1 << 20)
        return json.loads(text)
    except (zlib.error, ValueError, RecursionError):
        raise InvalidInput(
            "the peer's description of its tables is malformed", "both need one version"
        ) from None


def exchanged(
    role: str,
    asked: Mapping[str, Any],
    own: Mapping[str, Schema],
    expected: Mapping[str, Schema],
    options: Mapping[str, Any],
) -> tuple[dict[str, Schema], dict[str, Any], str]:
    """Exchanges descriptions with the peer, compares them, and returns the peer's schemas, the options for
    the run that follows, and a salt for its hashes.

    Both parties must give `asked` alike: the query and its arguments. `own` has the schemas of this party's
    tables, and `expected` those that the peer's tables must have. The options are those of the run.
    """
    if options.get("over") is not None:
        raise UsageError("an exchange of schemas over a line of one run", "give the peer's bw.Schema")
    addresses: list[str] = []

    def listening(address: str) -> None:
        addresses.append(address)
        if (told := options.get("listening")) is not None:
            told(address)

    # Both parties choose the salt of the hashes, so nobody can search for texts with equal hashes in advance.
    own_salt = secrets.token_hex(16)
    description = {
        "asked": dict(asked),
        "tables": _json(own),
        "expected": _json(expected),
        "salt": {role: own_salt},
    }
    party: Callable[..., runs.Run] = runs.garbler if role == "garbler" else runs.evaluator
    first = {name: one for name, one in options.items() if name not in ("store", "store_key", "audit")}
    found = party(descriptions, _packed(description), **{**first, "listening": listening})
    both = getattr(found, role)
    peers = _unpacked(both["evaluator" if role == "garbler" else "garbler"])
    theirs, agreed = (
        {str(name): Schema.of_json(one) for name, one in _fields(peers, key).items()}
        for key in ("tables", "expected")
    )
    _compare(asked, _fields(peers, "asked"))
    salts = {role: own_salt, **_fields(peers, "salt")}
    if salts.get(role) != own_salt:
        raise _malformed()
    for name, schema in expected.items():
        _compare_schemas(f"the peer's table {name}", schema, theirs.get(name))
    for name, schema in agreed.items():
        _compare_schemas(f"this party's table {name}", schema, own.get(name))
    rest = {name: one for name, one in options.items() if name != "listening"}
    if addresses:
        # The peer connects again to the same address.
        rest["listen"] = addresses[0]
    return theirs, rest, json.dumps(salts, sort_keys=True)


def _json(of: Mapping[str, Schema]) -> dict[str, Any]:
    return {name: one.json() for name, one in of.items()}


def _fields(of: Any, key: str) -> dict[str, Any]:
    """Returns an object within the peer's description."""
    found = of.get(key) if isinstance(of, dict) else None
    if not isinstance(found, dict):
        raise _malformed()
    return found


def _malformed() -> InvalidInput:
    return InvalidInput("the peer's description of its tables is malformed", "both need one version")


def _compare(asked: Mapping[str, Any], peers: Mapping[str, Any]) -> None:
    for name, ours in asked.items():
        if ours != peers.get(name):
            theirs = json.dumps(peers.get(name))[:500]
            raise PeerMismatch(
                f"the peer has another {name}: {theirs} instead of {json.dumps(ours)}",
                "agree on the query and its arguments",
            )


def _compare_schemas(table: str, agreed: Schema, found: Schema | None) -> None:
    """Refuses a table that differs from the agreed schema, and names the column or the bound that differs."""
    hint = "agree on the schema with the peer"
    if found is None:
        raise PeerMismatch(f"{table} does not exist", hint)
    for bound in ("rows", "distinct", "policy"):
        one, other = getattr(agreed, bound), getattr(found, bound)
        if one != other:
            raise PeerMismatch(f"{table} has {bound} {other}, and {one} was agreed", hint)
    columns, others = dict(agreed.columns), dict(found.columns)
    for column in dict.fromkeys([*columns, *others]):
        if columns.get(column) != others.get(column):
            kind, other = columns.get(column, "no such column"), others.get(column, "no such column")
            raise PeerMismatch(f"{table}, column {column}: it has {other}, and {kind} was agreed", hint)
    if agreed != found:
        raise PeerMismatch(f"{table} has its columns in another order", hint)
