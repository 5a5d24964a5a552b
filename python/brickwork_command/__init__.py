"""The command `brickwork` of a wheel. It loads the native part alone, so it starts without NumPy."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path


def main() -> int:
    """Runs the command with the arguments of this process, and returns its exit code."""
    package = importlib.util.find_spec("brickwork")
    assert package is not None and package.submodule_search_locations is not None
    file = next(Path(package.submodule_search_locations[0]).glob("_native*.so"))
    spec = importlib.util.spec_from_file_location("_native", file)
    assert spec is not None and spec.loader is not None
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    # Ctrl-C ends the command, as if it was not in Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code: int = native.command([os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    return code
