"""Converts keyword arguments to flags of the command: the same names, with `_` for `-`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict


class Options(TypedDict, total=False):
    """The command's flags of the same names (docs/reference/cli.md), as keyword arguments."""

    protocol: str
    accept: Sequence[str]
    linking: str
    cot: str
    scheme: str
    commitments: str
    security: int
    post_quantum: bool
    executions: int
    threads: int
    lanes: int
    max_ram: str
    timeout: int
    bandwidth: str
    rtt: str
    buckets: str
    cut: str
    store: str | os.PathLike[str]
    store_key: str | os.PathLike[str]
    no_top_up: bool
    max_age: int
    recovery_notes: str | os.PathLike[str]
    map: Mapping[str, str]
    scale: Mapping[str, int]
    ignore_extra_columns: bool
    rounding: bool


class SessionOptions(TypedDict, total=False):
    """The command's flags of the same names, for sessions."""

    protocol: str
    security: int
    post_quantum: bool
    threads: int
    lanes: int
    max_ram: str
    timeout: int
    store: str | os.PathLike[str]
    store_key: str | os.PathLike[str]
    no_top_up: bool
    max_age: int


def as_json(options: Mapping[str, Any]) -> str:
    """Returns the options of a run in the form of the native part. `map` belongs to the program."""
    given = {name: one for name, one in options.items() if name != "map" and one is not None}
    return json.dumps(given, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Iterable):
        return list(value)
    return value.item() if hasattr(value, "item") else str(value)


def flags(options: Mapping[str, Any]) -> list[str]:
    """Returns the flags for these options: `True` gives a bare flag, None and False give none, a mapping
    gives `NAME=VALUE` pairs, and a list gives the flag once for each element.
    """
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            words += [f"{flag}={key}={one}" for key, one in value.items()]
        elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
            words += [f"{flag}={_word(one)}" for one in value]
        else:
            words.append(f"{flag}={_word(value)}")
    return words


def _word(value: Any) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
