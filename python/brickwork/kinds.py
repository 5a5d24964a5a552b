"""Types of the columns of tables, with a code for each value: an unsigned integer of fixed width.

Codes keep the order of the values. So circuits compare codes, and know nothing about dates or decimals.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from math import log2
from typing import Any

import numpy as np

from .errors import InvalidInput, UsageError
from .types import IntegerType

WIDEST = 1024
"""Bits of the widest code."""


class Unfit(Exception):
    """A value that a type does not hold. It names the problem and a hint, and never the value."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what, self.hint = what, hint


@dataclass(frozen=True)
class Kind:
    """The type of a column."""

    @property
    def width(self) -> int:
        """The number of bits of a code."""
        raise NotImplementedError

    def code(self, value: Any) -> int:
        """Returns the code of a value, which is not null, or raises `Unfit`."""
        raise NotImplementedError

    def value(self, code: int) -> Any:
        """Returns the value of a code."""
        raise NotImplementedError

    def codes(self, values: Iterable[Any], rows: Iterable[int], place: str) -> list[int | None]:
        """Returns the codes of values; a null has none. The error for a value names the value's row."""
        found: list[int | None] = []
        for row, one in zip(rows, values):
            try:
                found.append(None if one is None else self.code(one))
            except Unfit as unfit:
                raise InvalidInput(f"{place}, row {row}: {unfit.what}", unfit.hint) from None
        return found

    def joined(self, other: Kind) -> Kind | None:
        """Returns the type that holds the values of both with the same codes for the same values, or None."""
        return self if self == other else None

    @property
    def has_order(self) -> bool:
        """True if `min` and `max` have a meaning."""
        return True

    def json(self) -> dict[str, Any]:
        """Returns the type as an object of JSON."""
        return {"type": type(self).__name__.lower(), **asdict(self)}


@dataclass(frozen=True)
class Number(Kind):
    """Integers of some bits, or decimal numbers with `scale` digits after the point.

    Attributes:
        bits: the bits of a number, as an integer in units of its last digit.
        is_float: whether results are `float`. Otherwise they are `int`, or `Decimal` if there is a scale.
    """

    bits: int
    signed: bool
    scale: int = 0
    is_float: bool = False

    def __post_init__(self) -> None:
        if not (1 <= self.bits <= WIDEST and 0 <= self.scale <= 100):
            raise UsageError(f"a number of {self.bits} bits and scale {self.scale}", f"at most {WIDEST} bits")

    @property
    def width(self) -> int:
        return self.bits

    @property
    def low(self) -> int:
        """The least number, in units of the last digit."""
        return -(1 << self.bits - 1) if self.signed else 0

    def code(self, value: Any) -> int:
        whole = self._units(value) - self.low
        if not 0 <= whole < 1 << self.bits:
            raise Unfit(f"does not fit into {self}", "give the column a type with more bits or digits")
        return whole

    def _units(self, value: Any) -> int:
        if isinstance(value, (int, np.integer)):
            return int(value) * int(10**self.scale)
        if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= WIDEST:
            exact = Fraction(value) * 10**self.scale
            if exact.denominator == 1:
                return int(exact)
        elif isinstance(value, (float, np.floating)) and np.isfinite(value):
            near: int = round(Fraction(float(value)) * 10**self.scale)
            if float(Fraction(near, 10**self.scale)) == value:
                return near
        else:
            raise Unfit("is no finite number", "give int, float or Decimal, or another type of column")
        raise Unfit(
            f"has more than {self.scale} digits after the point", "round the column, or give it more digits"
        )

    def value(self, code: int) -> Any:
        return self.number(code + self.low)

    def number(self, units: int) -> Any:
        """Returns the number of these units, which may be beyond the type, as sums are."""
        if self.is_float:
            return float(Fraction(units, 10**self.scale))
        # Other ways to make a decimal number would round it to the digits of the context.
        return Decimal(f"{units}e-{self.scale}") if self.scale else units

    def joined(self, other: Kind) -> Kind | None:
        if not isinstance(other, Number):
            return None
        scale, signed = max(self.scale, other.scale), self.signed or other.signed
        if (self.scale, self.signed) == (scale, signed) == (other.scale, other.signed):
            bits = max(self.bits, other.bits)
        else:
            ends = [end * 10 ** (scale - one.scale) for one in (self, other) for end in one._ends()]
            bits = max(end.bit_length() for end in ends) + signed
        return Number(bits, signed, scale, self.is_float or other.is_float)

    def _ends(self) -> tuple[int, int]:
        return -self.low, self.low + (1 << self.bits) - 1

    def __str__(self) -> str:
        word = f"{'i' if self.signed else 'u'}{self.bits}"
        return f"{word} with {self.scale} decimal digits" if self.scale else word


@dataclass(frozen=True)
class Boolean(Kind):
    """True and False."""

    @property
    def width(self) -> int:
        return 1

    def code(self, value: Any) -> int:
        if not isinstance(value, (bool, np.bool_)) and value not in (0, 1):
            raise Unfit("is neither true nor false", "give booleans, or another type of column")
        return int(value)

    def value(self, code: int) -> bool:
        return bool(code)

    def __str__(self) -> str:
        return "a boolean"


@dataclass(frozen=True)
class Category(Kind):
    """Texts of a list that both parties agree on."""

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values or len(set(self.values)) < len(self.values):
            raise UsageError("a category needs values, each once", 'write bw.category(["red", "green"])')

    @property
    def width(self) -> int:
        return max(1, (len(self.values) - 1).bit_length())

    def code(self, value: Any) -> int:
        try:
            return self.values.index(value)
        except ValueError:
            raise Unfit("is none of the agreed values", "add it to bw.category([…]) on both sides") from None

    def value(self, code: int) -> str | None:
        # Only a cheater gives a code that stands for no value.
        return self.values[code] if code < len(self.values) else None

    @property
    def has_order(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"a category of {len(self.values)} values"


def canonical(text: Any) -> str:
    """Returns the form of a text that is compared: without spaces around it, in Unicode's form NFC, and with
    its case folded."""
    if not isinstance(text, str):
        raise Unfit("is no text", "make it a text on both sides, such as by str")
    text = text.strip()
    if not text.isascii():
        # Another version of Unicode may give an unassigned character a case, or another form.
        if any(unicodedata.category(one) in ("Cn", "Cs") for one in text):
            raise Unfit("has a character that Unicode does not define", "correct the text")
        # Folding the case may change the normal form.
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return unicodedata.normalize("NFC", text.casefold())


@dataclass(frozen=True)
class Key(Kind):
    """Texts that are compared by the hash of their canonical form.

    Attributes: bits: the bits of the hash, or None to derive them from the numbers of rows.
    """

    bits: int | None = None

    def __post_init__(self) -> None:
        if self.bits is not None and not 16 <= self.bits <= 256:
            raise UsageError(f"a hash of {self.bits} bits", "take 16 to 256")

    @property
    def width(self) -> int:
        assert self.bits is not None
        return self.bits

    def code(self, value: Any) -> int:
        raise AssertionError("the hash of a key depends on the query")

    def joined(self, other: Kind) -> Kind | None:
        if not isinstance(other, Key):
            return None
        if self.bits is None or other.bits is None:
            return Key(self.bits or other.bits)
        return Key(max(self.bits, other.bits))

    @property
    def has_order(self) -> bool:
        return False

    def __str__(self) -> str:
        return "a text key"


@dataclass(frozen=True)
class Canonical(Key):
    """A key whose code is the canonical text itself."""

    def code(self, value: Any) -> Any:
        return canonical(value)


@dataclass(frozen=True)
class Text(Kind):
    """Texts of at most `octets` bytes in UTF-8, in Unicode's form NFC.

    Attributes:
        canonical: whether they are in their canonical form, as the texts of a key are.
    """

    octets: int
    canonical: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.octets <= WIDEST // 8:
            raise UsageError(f"texts of {self.octets} bytes", f"take 1 to {WIDEST // 8}")

    @property
    def width(self) -> int:
        return 8 * self.octets

    def code(self, value: Any) -> int:
        if not self.canonical and not isinstance(value, str):
            raise Unfit("is no text", "make it a text on both sides, such as by str")
        whole = canonical(value) if self.canonical else unicodedata.normalize("NFC", value)
        try:
            found = whole.encode()
        except UnicodeEncodeError:
            # The error has no cause, because the cause may repeat the value.
            raise Unfit("has half of a surrogate pair", "correct the text") from None
        if len(found) > self.octets or b"\0" in found:
            raise Unfit(f"has more than {self.octets} bytes, or a zero byte", "take bw.text of more bytes")
        return int.from_bytes(found.ljust(self.octets, b"\0"), "big")

    def value(self, code: int) -> str:
        return code.to_bytes(self.octets, "big").rstrip(b"\0").decode(errors="replace")

    def joined(self, other: Kind) -> Kind | None:
        if not isinstance(other, Text) or self.canonical != other.canonical:
            return None
        return Text(max(self.octets, other.octets), self.canonical)

    @property
    def has_order(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"a text of {self.octets} bytes"


@dataclass(frozen=True)
class Date(Kind):
    """Days."""

    @property
    def width(self) -> int:
        return date.max.toordinal().bit_length()

    def code(self, value: Any) -> int:
        if isinstance(value, np.datetime64):
            value = value.item()
        if isinstance(value, datetime):
            if value.tzinfo is not None or value.time() != datetime.min.time():
                raise Unfit("has a time of the day", "give dates, or say bw.timestamp")
            value = value.date()
        if not isinstance(value, date):
            raise Unfit("is no date", "give datetime.date, or another type of column")
        return value.toordinal()

    def value(self, code: int) -> date:
        return date.fromordinal(min(max(code, 1), date.max.toordinal()))

    def __str__(self) -> str:
        return "a date"


_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Nanoseconds of each unit of time."""

_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Timestamp(Kind):
    """Times of some unit, which are in UTC, or have no time zone.

    Attributes:
        unit: `s`, `ms`, `us` or `ns`.
        utc: whether times have a time zone. They are converted to UTC.
    """

    unit: str = "s"
    utc: bool = False

    def __post_init__(self) -> None:
        if self.unit not in _UNITS:
            raise UsageError(f"times in {self.unit}", f"take {', '.join(_UNITS)}")

    @property
    def width(self) -> int:
        return 64

    def code(self, value: Any) -> int:
        if isinstance(value, np.datetime64):
            nanoseconds, zone = _nanoseconds(value), False
        elif isinstance(value, datetime):
            zone = value.tzinfo is not None
            plain = value.astimezone(timezone.utc).replace(tzinfo=None) if zone else value
            parts = plain.replace(microsecond=plain.microsecond) - _EPOCH
            # Timestamps of pandas have more digits than those of Python.
            below = getattr(value, "nanosecond", 0)
            seconds = parts.days * 86_400 + parts.seconds
            nanoseconds = (seconds * 10**6 + parts.microseconds) * 1000 + below
        else:
            raise Unfit("is no time", "give datetime.datetime, or another type of column")
        if zone != self.utc:
            raise Unfit(
                "has a time zone, and the column's type has none"
                if zone
                else "has no time zone, and the column's type has one",
                "times with and without a time zone cannot be compared: convert one of them on purpose",
            )
        units, rest = divmod(nanoseconds, _UNITS[self.unit])
        if rest:
            raise Unfit(f"is finer than {self.unit}", "round the column, or take a finer bw.timestamp")
        if not -(1 << 63) <= units < 1 << 63:
            raise Unfit(f"is too far away for {self.unit}", "take a coarser bw.timestamp")
        return units + (1 << 63)

    def value(self, code: int) -> Any:
        since = code - (1 << 63)
        if self.unit == "ns":
            return np.datetime64(since, "ns")
        try:
            found = _EPOCH + timedelta(microseconds=since * _UNITS[self.unit] // 1000)
        except OverflowError:
            # Only a cheater gives such a time.
            return None
        return found.replace(tzinfo=timezone.utc) if self.utc else found

    def joined(self, other: Kind) -> Kind | None:
        if not isinstance(other, Timestamp) or self.utc != other.utc:
            return None
        return min(self, other, key=lambda one: _UNITS[one.unit])

    def __str__(self) -> str:
        return f"a time in {self.unit}{' and UTC' if self.utc else ' without time zone'}"


def _nanoseconds(value: Any) -> int:
    unit, count = np.datetime_data(value.dtype)
    coarse = {"m": 60 * 10**9, "h": 3600 * 10**9, "D": 86_400 * 10**9, **_UNITS}
    if unit not in coarse:
        raise Unfit(f"has the unit {unit}", "convert the column to seconds or a finer unit")
    return int(value.astype(np.int64)) * count * coarse[unit]


KINDS = {one.__name__.lower(): one for one in (Number, Boolean, Category, Key, Text, Date, Timestamp)}


def kind_of_json(found: Any) -> Kind:
    """Returns the type that an object of JSON describes. The object may come from the peer."""
    try:
        of = KINDS[found["type"]]
        given = {name: one for name, one in found.items() if name != "type"}
        if set(given) != {field.name for field in fields(of)}:
            raise ValueError
        for name, one in given.items():
            wanted = {"values": list, "unit": str, "bits": (int, type(None)), "scale": int, "octets": int}
            of_name: Any = wanted.get(name, bool)
            # In Python, booleans are integers.
            if not isinstance(one, of_name) or isinstance(one, bool) != (of_name is bool):
                raise ValueError
        if not all(isinstance(one, str) for one in given.get("values", ())):
            raise ValueError
        return of(**given)
    except (KeyError, TypeError, ValueError, UsageError):
        raise InvalidInput(
            "a schema with an unknown type of column", "ask the peer for `schema.save`"
        ) from None


def as_kind(given: Any) -> Kind:
    """Returns a type of column, given one or an integer type such as `bw.u32`."""
    if isinstance(given, Kind):
        return given
    if isinstance(given, IntegerType) and not given.point:
        return Number(given.width, given.signed)
    raise UsageError(
        f"{given!r} is no type of a column",
        f"use bw.u32 or another integer, bw.decimal, {_NAMES}",
    )


_INTEGER = re.compile(r"(u?)int(8|16|32|64)(\[pyarrow\])?")
_DECIMAL = re.compile(r"decimal\d*\((?:precision=)?(\d+), ?(?:scale=)?(\d+)\).*")
_TIME = re.compile(r"(?:datetime64|timestamp|datetime)[\[(](?:time_unit=')?([mun]?s)'?(.*)")
_FLOAT = re.compile(r"(?:float|double|halffloat).*")


def kind_of_dtype(dtype: str, values: list[Any]) -> Kind | str:
    """Returns the type of a column, given the name of its type in numpy, pandas, polars or Arrow. If this
    name is `object`, the types of the values decide. If no type is certain, returns a hint.
    """
    name = dtype.lower()
    if found := _INTEGER.fullmatch(name):
        return Number(int(found[2]), not found[1])
    if found := _DECIMAL.fullmatch(name):
        return decimal(int(found[1]), int(found[2]))
    if found := _TIME.fullmatch(name):
        return Timestamp(
            found[1],
            bool(
                re.search(
                    r"[a-z]", found[2].replace("time_zone", "").replace("none", "").replace("[pyarrow]", "")
                )
            ),
        )
    if name.startswith("bool"):
        return Boolean()
    if name.startswith(("date32", "date64")) or name == "date":
        return Date()
    if re.match(r"(large_)?(str|utf8)|<u", name):
        return Key()
    if _FLOAT.fullmatch(name):
        return _SAY["float"]
    if name.startswith(("categor", "dictionary", "enum")):
        return "say bw.category([…]) with all values, which become public, or bw.key()"
    if name == "object":
        kinds = {type(one) for one in values if one is not None}
        for of, kind in _OF_PYTHON:
            if kinds and all(issubclass(one, of) for one in kinds):
                return kind
    return f"name its type: bw.u32, bw.decimal, {_NAMES}"


_NAMES = "bw.boolean, bw.category, bw.key, bw.text, bw.date, bw.timestamp"
_SAY = {
    "float": "floats have no exact type: say bw.decimal(DIGITS, SCALE), or bw.u32 if they are whole",
    "time": 'say bw.timestamp("s"), or with utc=True if times have a time zone',
}

_OF_PYTHON: tuple[tuple[Any, Kind | str], ...] = (
    ((bool, np.bool_), Boolean()),
    ((int, np.integer), Number(64, True)),
    ((int, float, np.number), _SAY["float"]),
    (str, Key()),
    (datetime, _SAY["time"]),
    (date, Date()),
)
"""Types of Python's values, of which the first that fits is taken."""


def decimal(digits: int, scale: int, signed: bool = True) -> Number:
    """Returns the decimal numbers with at most `digits` digits, of which `scale` are after the point."""
    if not 0 <= scale <= digits or digits < 1:
        raise UsageError(f"{scale} of {digits} digits after the point", "as many as there are, or fewer")
    return Number((10**digits - 1).bit_length() + signed, signed, scale)


def category(values: Iterable[str]) -> Category:
    """Returns the type of a column with these values, which are public and the same for both parties."""
    return Category(tuple(values))


def key(bits: int | None = None) -> Key:
    """Returns the type of texts that are compared by a hash, such as names and addresses."""
    return Key(bits)


def text(octets: int) -> Text:
    """Returns the type of short texts that are compared exactly, of at most this many bytes in UTF-8."""
    return Text(octets)


def timestamp(unit: str = "s", utc: bool = False) -> Timestamp:
    """Returns the type of times in a unit: `s`, `ms`, `us` or `ns`."""
    return Timestamp(unit, utc)


boolean = Boolean()
day = Date()


def hashed(parts: Iterable[str | int], bits: int, salt: bytes) -> int:
    """Returns the first bits of a hash of canonical texts and of codes."""
    hasher = blake2b(key=salt, digest_size=32, person=b"brickwork key")
    for part in parts:
        octets = b"t" + part.encode() if isinstance(part, str) else b"n%d" % part
        hasher.update(len(octets).to_bytes(8, "big") + octets)
    return int.from_bytes(hasher.digest(), "big") >> (256 - bits)


_SECURITY = 40
"""The default bits of a hash make a wrong match less probable than one in 2 to this power."""


def bits_for(rows: int, others: int) -> int:
    """Returns the number of bits that a hash needs for these numbers of rows."""
    return _SECURITY + (max(rows, 1) * max(others, 1) - 1).bit_length()


def collision_log2(rows: int, others: int, bits: int) -> float:
    """Returns the logarithm of the probability that two different keys of two tables have the same hash."""
    return log2(max(rows, 1)) + log2(max(others, 1)) - bits
