"""Translates a program in Python into a source: `python -m brickwork FILE.py [NAME]`."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback

from .errors import Error, UsageError
from .traced import Traced


def named(file: str, name: str | None) -> Traced[..., object]:
    """Returns a program of a file: the program of this name, or the only one."""
    spec = importlib.util.spec_from_file_location("program", file)
    if spec is None or spec.loader is None or not os.path.isfile(file):
        raise UsageError(f"{file} is not a Python file", "give a Python file, as FILE.py or FILE.py:NAME")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    sys.modules["program"] = module
    spec.loader.exec_module(module)
    found = {key: one for key, one in vars(module).items() if isinstance(one, Traced)}
    names = ", ".join(found) or "none"
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    if name is None:
        raise UsageError(f"{file} has these programs: {names}", "name one of them, as FILE.py:NAME")
    if name not in found:
        raise UsageError(
            f"the file has no program {name}",
            f"a program is a function with @bw.program; this file has: {names}",
        )
    return found[name]


def main() -> int:
    """Writes the source to stdout, or the error to stderr."""
    if len(sys.argv) not in (2, 3):
        print("usage: python -m brickwork FILE.py [NAME]", file=sys.stderr)
        return 2
    try:
        print(named(sys.argv[1], (sys.argv + [None])[2]).source, end="")
    except Error as error:
        print(error, file=sys.stderr)
        return error.code
    except Exception as error:
        # The error is in the program, or in a module that it imports.
        print(f"{_place(error, sys.argv[1])}: {type(error).__name__}: {error}", file=sys.stderr)
        print(f"hint: `python3 {sys.argv[1]}` shows where the error comes from", file=sys.stderr)
        return 3
    return 0


def _place(error: Exception, file: str) -> str:
    """Returns the line of a file that raised an error, or that called the code that raised it."""
    if isinstance(error, SyntaxError) and error.filename == os.path.abspath(file):
        return f"{file}:{error.lineno}"
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if os.path.abspath(frame.filename) == os.path.abspath(file)
    ]
    return f"{file}:{lines[-1]}" if lines else file


if __name__ == "__main__":
    sys.exit(main())
