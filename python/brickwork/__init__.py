"""Secure two-party computation: two parties compute a function of inputs that they may not show each other.

    import brickwork as bw

    program = bw.example("millionaires")
    result = bw.run(program, garbler=1_250_000, evaluator=1_000_000)
    result.garbler            # {'garbler_richer': 1, 'equal': 0}

Names, flags and JSON are those of the command `brickwork`.
"""

from typing import TYPE_CHECKING, Any

from . import tables
from ._native import Identity, __version__
from ._tasks import Deadline
from ._widths import *  # noqa: F403 (names of types, such as u32)
from .arrays import array_of
from .commands import (
    Inventory,
    Link,
    Plan,
    Store,
    call,
    demo_cheat,
    doctor,
    example,
    examples,
    harden,
    info,
    keygen,
    plan,
    preprocess,
)
from .errors import (
    CHEATS,
    CompileError,
    ConnectionFailed,
    Error,
    InvalidInput,
    PeerCheated,
    PeerMismatch,
    ResourceError,
    StockError,
    UsageError,
)
from .frames import private_aggregate, private_join
from .functions import (
    aes_sub_byte,
    all,
    any,
    count,
    divide,
    dot,
    matmul,
    max,
    min,
    not_,
    popcount,
    remainder,
    sort,
    sum,
    where,
)
from .kinds import boolean, category, decimal, key, text, timestamp
from .kinds import day as date
from .outputs import columns, to_arrow, to_pandas
from .policies import Policy
from .ports import Port
from .programs import Program, compile, load
from .queries import Answer
from .runs import (
    Faulty,
    Record,
    Run,
    evaluator,
    evaluator_async,
    garbler,
    garbler_async,
    run,
    run_async,
    simulate,
)
from .secret import Secret, SecretFile, secret_file
from .session import Kept, Session, Step, connect, connect_async
from .sources import Schema, Table
from .sql import sql
from .traced import Component, Traced, component, program
from .tracing import SecretUsed
from .types import Array, Both, Evaluator, Garbler, Struct, fixed, short, sint, uint

__all__ = [
    "Answer",
    "Array",
    "Both",
    "CHEATS",
    "CompileError",
    "Component",
    "ConnectionFailed",
    "Deadline",
    "Error",
    "Evaluator",
    "Faulty",
    "Garbler",
    "Identity",
    "InvalidInput",
    "Inventory",
    "Kept",
    "Link",
    "PeerCheated",
    "PeerMismatch",
    "Plan",
    "Policy",
    "Port",
    "Program",
    "Record",
    "ResourceError",
    "Run",
    "Schema",
    "Secret",
    "SecretFile",
    "SecretUsed",
    "Session",
    "Step",
    "StockError",
    "Store",
    "Struct",
    "Table",
    "Traced",
    "UsageError",
    "__version__",
    "aes_sub_byte",
    "all",
    "any",
    "array_of",
    "boolean",
    "call",
    "category",
    "columns",
    "compile",
    "component",
    "connect",
    "connect_async",
    "count",
    "date",
    "decimal",
    "demo_cheat",
    "divide",
    "doctor",
    "dot",
    "evaluator",
    "evaluator_async",
    "example",
    "examples",
    "fixed",
    "garbler",
    "garbler_async",
    "harden",
    "info",
    "key",
    "keygen",
    "load",
    "matmul",
    "max",
    "min",
    "not_",
    "plan",
    "popcount",
    "preprocess",
    "private_aggregate",
    "private_join",
    "program",
    "remainder",
    "run",
    "run_async",
    "secret_file",
    "simulate",
    "sint",
    "sort",
    "sql",
    "sum",
    "tables",
    "text",
    "timestamp",
    "to_arrow",
    "to_pandas",
    "uint",
    "where",
]


if not TYPE_CHECKING:
    # A type checker knows the common names, and reports unknown ones.
    def __getattr__(name: str) -> Any:
        """Returns the integer type of a name such as `u32` or `i16`, for any width."""
        found = short(name)
        if found is None:
            raise AttributeError(f"module 'brickwork' has no attribute {name!r}")
        return found
