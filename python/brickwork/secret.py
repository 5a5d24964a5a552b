"""Inputs and keys that do not become Python values."""

from __future__ import annotations

import os
import re
from typing import NoReturn

from .errors import InvalidInput

FILES = ("@", "csv:")
"""The beginning of arguments that name a file."""

_FILE = re.compile(r'(?:^|")\s*(?:@|csv:)')
"""Such an argument inside JSON."""


class SecretFile:
    """An input that only the native part reads, and erases after use: a file of JSON or a table.

    A `with` block closes it, and it cannot be used afterwards.

    Args:
        path: the file; for a table the name ends in `.csv`, or `table` is true.
    """

    def __init__(self, path: str | os.PathLike[str], table: bool = False) -> None:
        self._path = os.fspath(path)
        self._table = table
        self._closed = False

    def word(self) -> str:
        """Returns the flag's value for this file."""
        if self._closed:
            raise ValueError(
                "the `with` block of this secret_file has ended: call secret_file again for another run"
            )
        return f"csv:{self._path}" if self._table else f"@{self._path}"

    def __enter__(self) -> SecretFile:
        if not os.path.isfile(self._path):
            raise InvalidInput(f"{self._path} is not a file", "give the path of a file with JSON or CSV")
        return self

    def __exit__(self, *error: object) -> None:
        self._closed = True

    def __repr__(self) -> str:
        return f"secret_file({self._path!r})"


def secret_file(path: str | os.PathLike[str], table: bool = False) -> SecretFile:
    """Names a file as an input: JSON, or a table if its name ends in `.csv` or `table` is true.

    Its content never becomes a Python value.
    """
    return SecretFile(path, table)


class Secret:
    """An input as JSON text in a buffer that can be erased, such as a `bytearray`: for one run.

    The buffer is overwritten with zeros when the run begins. Earlier copies that Python made are not erased:
    no package can do that for `int`, `str` and `bytes`.
    """

    def __init__(self, buffer: bytearray | memoryview) -> None:
        view = memoryview(buffer)
        if view.readonly:
            raise TypeError("a Secret needs a buffer that can be erased: a bytearray, not bytes or str")
        self._view: memoryview | None = view.cast("B")

    def take(self) -> str:
        """Returns the text, and erases the buffer."""
        if self._view is None:
            raise ValueError("this Secret was already used; make a new one for each run")
        try:
            text = str(self._view, "utf-8")
        except UnicodeDecodeError:
            # The error's message contains the whole value, so it is not chained as the cause of the error
            # below.
            text = None
        finally:
            self.erase()
        if text is None:
            raise InvalidInput("the Secret is not text in UTF-8", "give JSON, as json.dumps(…).encode()")
        if "\\" in text or _FILE.search(text):
            del text
            raise InvalidInput(
                "the Secret names a file, or has an escape in a string",
                "give values; for a file, use secret_file(…)",
            )
        return text

    def erase(self) -> None:
        """Overwrites the buffer with zeros."""
        if self._view is not None:
            self._view[:] = bytes(len(self._view))
            self._view = None

    def __repr__(self) -> str:
        return "<brickwork.Secret>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be copied or pickled")
