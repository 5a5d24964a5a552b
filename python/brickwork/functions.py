"""Functions of secret values: choices, sums, minimum and maximum, products of matrices."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterable
from typing import Any

from .arrays import Array, array_of, as_value, value
from .integers import BY_ZERO, WRAPS, Integer, quotient_wraps
from .tracing import body, check, refuse, source
from .types import IntegerType
from .values import BIT, Value, fold, here, is_secret, library, own_component


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Returns `yes` where the condition, of one bit, is 1, and `no` where it is 0. Both are computed."""
    if not isinstance(condition, Value):
        return yes if condition else no
    if not (isinstance(condition, Integer) and condition.type == BIT):
        refuse(f"uses {condition!r} as a condition", "a condition must have one bit: compare, as in x != 0")
    if not is_secret((yes, no)):
        refuse("chooses between plain values", "give one of them a type: bw.u8(1)")
    type = yes.type if isinstance(yes, Value) else no.type
    first, second = as_value(yes, type), as_value(no, type)
    name = body().let(type, here(second))
    body().say(f"if ({here(condition)}) {name} = {here(first)};")
    return value(type, name)


def all(conditions: Iterable[Any]) -> Any:
    """Returns whether all of these bits are 1."""
    return fold(_conditions("all", conditions), lambda a, b: a & b, 1)


def any(conditions: Iterable[Any]) -> Any:
    """Returns whether one of these bits is 1."""
    return fold(_conditions("any", conditions), lambda a, b: a | b, 0)


def not_(condition: Any) -> Any:
    """Returns whether a condition, of one bit, is 0. This is `~` for bits, and `not` for plain values."""
    if not isinstance(condition, Value):
        return not condition
    return ~_conditions("not_", [condition])[0]


def count(conditions: Iterable[Any], type: IntegerType | None = None) -> Any:
    """Returns the number of these bits that are 1.

    Args:
        type: the type of the result, which must hold that number; by default the narrowest unsigned type.
    """
    row = _conditions("count", conditions)
    if not is_secret(row):
        return builtins.sum(row)

    def join(a: Any, b: Any) -> Any:
        wider = IntegerType(builtins.max(a.type.width, b.type.width) + 1)
        return a.astype(wider) + b.astype(wider)

    narrow = IntegerType(len(row).bit_length())
    whole = fold([as_value(one, BIT) for one in row], join, None)
    found = whole.truncate(narrow) if narrow.width < whole.type.width else whole
    return found if type is None else found.astype(type)


def _conditions(function: str, conditions: Iterable[Any]) -> list[Any]:
    """Returns these bits, or plain conditions as 0 and 1."""
    row = list(conditions)
    for one in row:
        if isinstance(one, Value) and not (isinstance(one, Integer) and one.type == BIT):
            refuse(f"gives bw.{function} {one!r}", "a condition must have one bit: compare, as in x != 0")
    return [one if isinstance(one, Value) else int(bool(one)) for one in row]


def sum(values: Iterable[Any]) -> Any:
    """Returns the sum, in the type of the values. It wraps, so widen the values first if that type is too
    narrow."""
    return fold(_several("sum", values), lambda a, b: a + b, 0)


def _pair(function: str, plain: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if not is_secret((a, b)):
        return plain(a, b)
    type = a.type if isinstance(a, Value) else b.type
    if not isinstance(type, IntegerType):
        refuse(f"compares {type!r}", "compare integers")
    return value(type, library("integers.wir", function, type, as_value(a, type), as_value(b, type)))


def _items(function: str, values: tuple[Any, ...]) -> list[Any]:
    row = list(_several(function, values[0]) if len(values) == 1 else values)
    if not row:
        refuse(f"gives bw.{function} nothing", "give at least one value")
    return row


def _several(function: str, values: Any) -> Any:
    """Returns the elements of a collection, and refuses a single number, whose elements would be its bits."""
    if isinstance(values, Integer):
        refuse(f"gives bw.{function} one {values.type!r} alone", "give several values, or an array of them")
    return values


def min(*values: Any) -> Any:
    """Returns the smallest of these values, or of the elements of one array."""
    return fold(_items("min", values), lambda a, b: _pair("min", builtins.min, a, b), None)


def max(*values: Any) -> Any:
    """Returns the largest of these values, or of the elements of one array."""
    return fold(_items("max", values), lambda a, b: _pair("max", builtins.max, a, b), None)


def sort(values: Any) -> Any:
    """Returns the elements in ascending order."""
    row = list(values)
    if not is_secret(row):
        return sorted(row)
    array = values if isinstance(values, Array) else array_of(row)
    if not isinstance(array.type.element, IntegerType):
        refuse(f"sorts {array.type!r}", "sort integers; put data that belongs to them into the low bits")
    return value(array.type, library("integers.wir", "sort", array.type, array))


def popcount(of: Any) -> Any:
    """Returns the number of bits that are 1, in the type of the value, which must be unsigned."""
    if not isinstance(of, Value):
        return bin(of).count("1")
    if not isinstance(of, Integer) or of.type.signed:
        refuse(f"counts bits of {of!r}", "count the bits of an unsigned integer")
    return Integer(of.type, library("integers.wir", "popcount", of.type, of))


def aes_sub_byte(of: Any) -> Any:
    """Returns the S-box of AES (FIPS 197, section 5.1.1) applied to a secret byte, for 32 AND gates."""
    octet = IntegerType(8)
    if not isinstance(of, Integer) or of.type != octet:
        refuse(f"looks up {of!r} in the S-box of AES", "give a secret bw.u8")
    if aes_sub_byte not in source().functions:
        source().use(octet)
        name = source().new_name("aes_sub_byte")
        source().texts.append(f"/*@ builtin aes_sbox */\nfunction u8 {name}(u8 x) {{ return x; }}\n")
        source().functions[aes_sub_byte] = name, octet
    name, _ = source().functions[aes_sub_byte]
    return Integer(octet, body().let(octet, f"{name}({here(of)})"))


def divide(a: Any, b: Any) -> Any:
    """Returns the quotient, rounded towards zero. A dividend may be twice as wide as the divisor. The
    quotient then has the type of the divisor, and must fit. Division by zero gives all ones, which is -1 for
    numbers with a sign.
    """
    if not is_secret((a, b)):
        return -1 if b == 0 else int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)
    return _quotient("/", a, b)


def remainder(a: Any, b: Any) -> Any:
    """Returns the remainder of `divide`, with the sign of `a`. Division by zero gives all of `a`."""
    if not is_secret((a, b)):
        return a - divide(a, b) * b
    return _quotient("%", a, b)


def _quotient(symbol: str, a: Any, b: Any) -> Integer:
    if isinstance(a, Integer) and isinstance(b, Integer) and a.type != b.type:
        if a.type != IntegerType(2 * b.type.width, b.type.signed) or b.type.point:
            refuse(
                f"divides {a.type!r} by {b.type!r}",
                "give both numbers the same type, or a dividend that is twice as wide",
            )
        check(BY_ZERO, lambda: b == 0)
        result = Integer(b.type, body().let(b.type, f"{here(a)} {symbol * 2} {here(b)}"))
        if symbol == "/":
            check(WRAPS, lambda: quotient_wraps(a, b, result))
        return result
    type = a.type if isinstance(a, Value) else b.type
    first, second = as_value(a, type), as_value(b, type)
    if not isinstance(first, Integer) or first.type.point:
        refuse(f"divides {type!r}", "divide integers")
    return first._operate(symbol, second)


def dot(a: Any, b: Any) -> Any:
    """Returns the sum of the products of elements, in their type."""
    if len(a) != len(b):
        refuse(f"multiplies {len(a)} elements by {len(b)}", "give the same number of elements on both sides")
    if builtins.all(isinstance(one, Integer) for one in (*a, *b)) and {one.type for one in (*a, *b)} == {
        a[0].type
    }:
        return own_component("dot", _dot, array_of(a), array_of(b))
    return _dot(a, b)


def _dot(a: Any, b: Any) -> Any:
    return sum(x * y for x, y in zip(a, b))


def _is_matrix(of: Any) -> bool:
    return not isinstance(of[0], Integer) and hasattr(of[0], "__len__")


def matmul(a: Any, b: Any) -> Any:
    """Returns the product of matrices, or of a matrix and a vector, as `@` does."""
    if not _is_matrix(a):
        return dot(a, b) if not _is_matrix(b) else _row([dot(a, column) for column in _columns(b)])
    if not _is_matrix(b):
        return _row([dot(row, b) for row in a])
    columns = _columns(b)
    return _row([_row([dot(row, column) for column in columns]) for row in a])


def _row(values: list[Any]) -> Any:
    return array_of(values) if is_secret(values) else values


def _columns(of: Any) -> list[list[Any]]:
    return [list(column) for column in itertools.zip_longest(*of)]
