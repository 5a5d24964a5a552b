"""Integers of common widths: the names of `_widths.pyi`, so that annotations such as `bw.u32` are types to a
type checker.
"""

from .types import IntegerType as _IntegerType

for _width in (*range(1, 129), 160, 192, 224, 256, 320, 384, 448, 512, 768, 1024, 2048, 4096):
    globals()[f"u{_width}"] = _IntegerType(_width)
    globals()[f"i{_width}"] = _IntegerType(_width, signed=True)
