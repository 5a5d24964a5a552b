"""The sources of partitions, and the sinks of their results. Only actors read and write them."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, Protocol

from ..errors import InvalidInput, ResourceError, UsageError


class Source(Protocol):
    """A source of a party's inputs, with a row for each execution. The source passes through Ray, so it
    contains names and no data."""

    def rows(self) -> Sequence[int]:
        """Returns the number of rows of each partition."""
        ...

    def read(self, partition: int) -> Any:
        """Returns a partition's rows: a table, an array or a list of values."""
        ...


class Sink(Protocol):
    """A sink for a party's outputs. The sink passes through Ray, so it contains names and no data."""

    def write(self, partition: int, outputs: Any) -> None:
        """Writes the outputs of a partition. They are durable and complete when this returns."""
        ...

    def has(self, partition: int) -> bool:
        """Returns whether the outputs of a partition exist already."""
        ...


_OBJECT_STORES = ("s3", "gcs", "abfs")
"""The kinds of object stores, as `type_name` of a file system of pyarrow gives them."""


def _filesystem(path: str) -> tuple[Any, str]:
    """Returns the file system of a path or URI, and the path in it."""
    try:
        from pyarrow import fs
    except ImportError as e:
        raise UsageError(
            "files on clusters need pyarrow", "pip install 'brickwork[ray]' on every machine"
        ) from e
    if "://" not in path:
        return fs.LocalFileSystem(), os.path.abspath(path)
    found: tuple[Any, str] = fs.FileSystem.from_uri(path)
    return found


class Files:
    """Files, one a partition, in the order of their names: Parquet, CSV or JSON (an array of values).

    Args:
        pattern: a folder, or a path or URI whose last part may hold `*`: `parts/*.parquet`,
            `s3://bucket/parts/*.parquet`.
        columns: the columns of a table to read; all columns if None.
    """

    def __init__(self, pattern: str | os.PathLike[str], columns: Sequence[str] | None = None) -> None:
        self.pattern = os.fspath(pattern)
        self.columns = None if columns is None else list(columns)
        self._paths: list[str] | None = None

    def paths(self) -> list[str]:
        """Returns the files, in the order of their names."""
        from pyarrow import fs

        system, path = _filesystem(self.pattern)
        name = PurePosixPath(path).name
        folder, match = (str(PurePosixPath(path).parent), name) if "*" in name else (path, "*")
        found = system.get_file_info(fs.FileSelector(folder))
        names = [
            info.path
            for info in found
            if info.type == fs.FileType.File
            and PurePosixPath(info.path).match(match)
            and not info.base_name.startswith(".")
        ]
        if not names:
            raise InvalidInput(
                f"{self.pattern}: no file has this name",
                "give an existing folder, or a pattern such as data/*.csv",
            )
        return sorted(names)

    def rows(self) -> list[int]:
        system, _ = _filesystem(self.pattern)
        # These files are the partitions from now on. Later files are ignored.
        self._paths = self.paths()
        return [self._count(system, path) for path in self._paths]

    def _count(self, system: Any, path: str) -> int:
        if path.endswith(".parquet"):
            import pyarrow.parquet

            return int(pyarrow.parquet.ParquetFile(path, filesystem=system).metadata.num_rows)
        with system.open_input_stream(path) as stream:
            text = stream.read().decode()
        if path.endswith(".csv"):
            return sum(1 for _ in csv.reader(text.splitlines())) - 1
        return len(json.loads(text))

    def read(self, partition: int) -> Any:
        system, _ = _filesystem(self.pattern)
        path = (self._paths or self.paths())[partition]
        if path.endswith(".parquet"):
            import pyarrow.parquet

            return pyarrow.parquet.read_table(path, filesystem=system, columns=self.columns)
        with system.open_input_stream(path) as stream:
            if path.endswith(".csv"):
                import pyarrow.csv

                table = pyarrow.csv.read_csv(stream)
                return table if self.columns is None else table.select(self.columns)
            return json.loads(stream.read())


class Folder:
    """A folder, or a URI of one, with a file of outputs for each partition.

    Args:
        path: the folder; it is made if there is none.
        format: `json`, an array of values; or `parquet`, for outputs that are numbers or structs of numbers.
    """

    def __init__(self, path: str | os.PathLike[str], format: str = "json") -> None:
        if format not in ("json", "parquet"):
            raise UsageError(f"format={format!r}", "json or parquet")
        self.path, self.format = os.fspath(path), format

    def _name(self, partition: int) -> str:
        return f"part-{partition:05}.{self.format}"

    def has(self, partition: int) -> bool:
        from pyarrow import fs

        system, path = _filesystem(self.path)
        found = system.get_file_info(f"{path}/{self._name(partition)}")
        return bool(found.type == fs.FileType.File)

    def write(self, partition: int, outputs: Any) -> None:
        data = _parquet(outputs) if self.format == "parquet" else _json(outputs)
        system, path = _filesystem(self.path)
        name = f"{path}/{self._name(partition)}"
        if system.type_name != "local":
            system.create_dir(path, recursive=True)
            # In object stores, an object is visible only when it is complete. Elsewhere, a complete file is
            # renamed.
            written = name if system.type_name in _OBJECT_STORES else f"{path}/.{self._name(partition)}"
            with system.open_output_stream(written) as stream:
                stream.write(data)
            if written != name:
                system.move(written, name)
            return
        os.makedirs(path, exist_ok=True)
        try:
            handle, temporary = tempfile.mkstemp(dir=path)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, name)
            folder = os.open(path, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as e:
            raise ResourceError(
                f"{name} cannot be written: {e.strerror}", "check the space on the disk"
            ) from None


def _json(outputs: Any) -> bytes:
    import numpy as np

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(one) for name, one in value.items()}
        if isinstance(value, np.ndarray):
            if value.dtype.names is not None:
                return [plain({name: row[name] for name in value.dtype.names}) for row in value]
            return [plain(one) for one in value.tolist()]
        if isinstance(value, np.generic):
            return value.item()
        return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value

    if isinstance(outputs, dict):
        # The columns are given by name, and a row has one value of each column.
        columns = {name: plain(column) for name, column in outputs.items()}
        outputs = [dict(zip(columns, row)) for row in zip(*columns.values())]
    return json.dumps(plain(outputs)).encode() + b"\n"


def _parquet(outputs: Any) -> bytes:
    import io

    import numpy as np
    import pyarrow
    import pyarrow.parquet

    if isinstance(outputs, dict):
        columns = {name: np.asarray(column) for name, column in outputs.items()}
    else:
        array = np.asarray(outputs)
        names = array.dtype.names
        columns = {"value": array} if names is None else {name: array[name] for name in names}
    try:
        table = pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()})
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        raise UsageError(
            "these outputs are not a table of numbers", "use Folder(path, format='json')"
        ) from None
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue()
