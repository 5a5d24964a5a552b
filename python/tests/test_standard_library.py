"""The language's standard library, written again in Python: it computes the same values at the same cost."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import brickwork as bw
import pytest

Case = tuple[str, str, list[Any], Any, Callable[..., Any]]

word32, i32, fx = bw.u32, bw.i32, bw.fixed(16, 8)


class quotients(bw.Struct):
    quotient: bw.u32
    remainder: bw.u32


def sort_pair(a: Any, b: Any) -> list[Any]:
    swap = bw.where(b < a, a ^ b, a ^ a)
    return [a ^ swap, b ^ swap]


def flipped(x: Any, negative: Any) -> Any:
    """Returns the number, or its negative if the bit is 1."""
    flip = bw.where(negative, ~(x ^ x), x ^ x)
    return (x ^ flip) - flip


class Sums(bw.Struct):
    values: bw.u35
    squares: bw.u62


class Summary(bw.Struct):
    mean: bw.u27
    variance: bw.u53


def stat_add(s: Any, x: Any) -> Any:
    return Sums(values=s.values + x.astype(bw.u35), squares=s.squares + x.wide_mul(x).astype(bw.u62))


def stat_summarise(s: Any, n: Any) -> Any:
    mean = s.values // n.astype(bw.u35)
    area = n.wide_mul(n).astype(bw.u70)
    variance = (n.astype(bw.u70) * s.squares.astype(bw.u70) - s.values.wide_mul(s.values)) // area
    return Summary(mean=mean.truncate(bw.u27), variance=variance.truncate(bw.u53))


class Point(bw.Struct):
    x: bw.i16
    y: bw.i16


class PointSums(bw.Struct):
    x: bw.i24
    y: bw.i24
    xx: bw.i40
    xy: bw.i40


class Line(bw.Struct):
    slope: bw.i53
    intercept: bw.i53


def stat_add_point(s: Any, p: Any) -> Any:
    xx = p.x.wide_mul(p.x).bits(0, 32).astype(bw.i40)
    return PointSums(
        x=s.x + p.x.astype(bw.i24),
        y=s.y + p.y.astype(bw.i24),
        xx=s.xx + xx,
        xy=s.xy + p.x.wide_mul(p.y).astype(bw.i40),
    )


def stat_fit(s: Any, n: Any) -> Any:
    count, x, y, xx, xy = (one.astype(bw.i64) for one in (n, s.x, s.y, s.xx, s.xy))
    slope = bw.divide(bw.i64(1000) * (count * xy - x * y), count * xx - x * x)
    intercept = bw.divide(bw.i64(1000) * y - slope * x, count)
    return Line(slope=slope.truncate(bw.i53), intercept=intercept.truncate(bw.i53))


def rotate(x: Any, by: int) -> Any:
    """Rotates to the left."""
    return (x << by) ^ (x >> x.type.width - by)


def carry_save(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Three numbers as two of the same sum."""
    return a ^ b ^ c, (c ^ ((a ^ c) & (b ^ c))) << 1


def added(pair: tuple[Any, Any]) -> Any:
    return pair[0] + pair[1]


def sha256_schedule(w16: Any, w15: Any, w7: Any, w2: Any) -> Any:
    first, carry = carry_save(w16, w7, rotate(w15, 25) ^ rotate(w15, 14) ^ (w15 >> 3))
    return added(carry_save(first, carry, rotate(w2, 15) ^ rotate(w2, 13) ^ (w2 >> 10)))


def sha256_round(s: Any, k: Any, w: Any) -> list[Any]:
    choice = s[6] ^ (s[4] & (s[5] ^ s[6]))
    first, carry = carry_save(s[7], rotate(s[4], 26) ^ rotate(s[4], 21) ^ rotate(s[4], 7), choice)
    second, more = carry_save(first, k, w)
    t1 = added(carry_save(carry, more, second))
    majority = s[0] ^ ((s[0] ^ s[1]) & (s[0] ^ s[2]))
    both = added(carry_save(t1, rotate(s[0], 30) ^ rotate(s[0], 19) ^ rotate(s[0], 10), majority))
    return [both, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]]


class Block(bw.Struct):
    octets: bw.u8[16]


def aes_double(a: Any) -> Any:
    carry = a[7].astype(bw.u8)
    return rotate(a, 1) ^ (carry << 1) ^ (carry << 3) ^ (carry << 4)


def aes_round(s: Any, key: Any) -> Any:
    t = [bw.aes_sub_byte(s.octets[4 * ((c + r) % 4) + r]) for c in range(4) for r in range(4)]
    mixed = []
    for c in range(0, 16, 4):
        whole = t[c] ^ t[c + 1] ^ t[c + 2] ^ t[c + 3]
        mixed += [t[c + r] ^ whole ^ aes_double(t[c + r] ^ t[c + (r + 1) % 4]) for r in range(4)]
    return Block(octets=[x ^ k for x, k in zip(mixed, key.octets)])


# A file, a function of it as the language declares it, its parameters and result, and the same function in
# Python.
FUNCTIONS: list[Case] = [
    ("integers", "bit less(uint32, uint32)", [word32, word32], bw.u1, lambda a, b: a < b),
    ("integers", "bit less_signed(int32, int32)", [i32, i32], bw.u1, lambda a, b: a < b),
    ("integers", "uint32 min(uint32, uint32)", [word32] * 2, word32, lambda a, b: bw.min(a, b)),
    ("integers", "uint32 max(uint32, uint32)", [word32] * 2, word32, lambda a, b: bw.max(a, b)),
    ("integers", "int32 min_signed(int32, int32)", [i32] * 2, i32, lambda a, b: bw.where(b < a, b, a)),
    ("integers", "int32 max_signed(int32, int32)", [i32] * 2, i32, lambda a, b: bw.where(a < b, b, a)),
    ("integers", "uint32 abs(int32)", [i32], word32, lambda a: flipped(a.bits(0, 32), a < 0)),
    ("integers", "uint32 distance(uint32, uint32)", [word32] * 2, word32, lambda a, b: flipped(a - b, a < b)),
    ("integers", "uint32 popcount(uint32)", [word32], word32, bw.popcount),
    ("integers", "int32 shift_right(int32, uint32)", [i32, word32], i32, lambda a, b: a >> b),
    (
        "integers",
        "division divide(uint32, uint32)",
        [word32] * 2,
        quotients,
        lambda a, b: quotients(quotient=a // b, remainder=a % b),
    ),
    ("integers", "uint32[2] sort_pair(uint32, uint32)", [word32] * 2, word32[2], sort_pair),
    ("integers", "uint32[7] sort(uint32[7])", [word32[7]], word32[7], bw.sort),
    ("fixed", "int32 fixed_widen(fixed)", [fx], bw.fixed(32, 8), lambda a: a.astype(bw.fixed(32, 8))),
    ("fixed", "fixed fixed_from(fixed)", [bw.i16], fx, lambda n: n.truncate(bw.i8).astype(fx)),
    ("fixed", "fixed fixed_floor(fixed)", [fx], bw.i16, lambda a: a.floor().astype(bw.i16)),
    ("fixed", "fixed fixed_round(fixed)", [fx], bw.i16, lambda a: a.round_to(bw.i16)),
    ("fixed", "fixed fixed_multiply(fixed, fixed)", [fx, fx], fx, lambda a, b: a * b),
    ("fixed", "fixed fixed_divide(fixed, fixed)", [fx, fx], fx, lambda a, b: a / b),
    (
        "fixed",
        "fixed_sum fixed_add_product(fixed_sum, fixed, fixed)",
        [bw.i40, bw.i16, bw.i16],
        bw.i40,
        lambda s, a, b: s + a.wide_mul(b).astype(bw.i40),
    ),
    ("modular", "residue mod_reduce(residue, residue)", [bw.u64] * 2, bw.u64, lambda a, m: a % m),
    (
        "modular",
        "residue mod_multiply(residue, residue, residue)",
        [bw.u64] * 3,
        bw.u64,
        lambda a, b, m: bw.remainder(a.wide_mul(b), m),
    ),
    (
        "modular",
        "residue mod_factor(residue, residue_bit)",
        [bw.u64, bw.u1],
        bw.u64,
        lambda base, chosen: bw.where(chosen, base, bw.u64(1)),
    ),
    ("statistics", "stat_sums stat_add(stat_sums, stat_value)", [Sums, bw.u27], Sums, stat_add),
    (
        "statistics",
        "stat_summary stat_summarise(stat_sums, stat_count)",
        [Sums, bw.u8],
        Summary,
        stat_summarise,
    ),
    (
        "statistics",
        "stat_point_sums stat_add_point(stat_point_sums, stat_point)",
        [PointSums, Point],
        PointSums,
        stat_add_point,
    ),
    ("statistics", "stat_line stat_fit(stat_point_sums, stat_count)", [PointSums, bw.u8], Line, stat_fit),
    ("aes128", "aes_byte aes_double(aes_byte)", [bw.u8], bw.u8, aes_double),
    ("aes128", "aes_block aes_round(aes_block, aes_block)", [Block, Block], Block, aes_round),
    (
        "sha256",
        "sha256_word sha256_schedule(sha256_word, sha256_word, sha256_word, sha256_word)",
        [word32] * 4,
        word32,
        sha256_schedule,
    ),
    (
        "sha256",
        "sha256_word[8] sha256_round(sha256_word[8], sha256_word, sha256_word)",
        [word32[8], word32, word32],
        word32[8],
        sha256_round,
    ),
]


def some(type: Any, draw: random.Random) -> Any:
    """A random value of a type, in the form of a program's input. It is not 0, because it may be a
    divisor."""
    if isinstance(type, bw.types.ArrayType):
        return [some(type.element, draw) for _ in range(type.length)]
    if isinstance(type, bw.types.StructType):
        return {name: some(field, draw) for name, field in type.fields}
    return draw.randint(type.low, type.high) or 1


@pytest.mark.parametrize(
    "file, declared, takes, returns, python", FUNCTIONS, ids=[one[1].split("(")[0] for one in FUNCTIONS]
)
def test_the_library_is_the_same_in_both_languages(
    file: str,
    declared: str,
    takes: list[Any],
    returns: Any,
    python: Callable[..., Any],
    compiled: Callable[[str], bw.Program],
) -> None:
    given = bw.types.StructType(
        "given", tuple((f"x{i}", bw.types.type_of_annotation(one)) for i, one in enumerate(takes))
    )
    body = bw.component(python)

    def main(a):  # type: ignore[no-untyped-def]
        return body(*(getattr(a, field) for field, _ in given.fields))

    main.__annotations__ = {"a": bw.Evaluator[given], "return": bw.Garbler[returns]}
    ours = bw.program(main).as_program()

    head, names = declared.rstrip(")").split("(")
    result, name = head.split(" ")
    fields = [re.fullmatch(r"(\w+)(.*)", one) for one in names.split(", ")]
    typed = " ".join(f"{one[1]} x{i}{one[2]};" for i, one in enumerate(fields) if one)
    word, size = re.fullmatch(r"(\w+)(.*)", result).groups()  # type: ignore[union-attr]
    theirs = compiled(f"""
#parties 2
#include "{file}.wir"
{"" if file == "integers" else "typedef int_t 32 int32"}
typedef struct_t given {{ {typed} }}
#input 2 given
#output 1 {word}{size}
function void main() {{ output1 = {name}({", ".join(f"input2.x{i}" for i in range(len(fields)))}); }}
""")
    assert ours.and_gates == theirs.and_gates
    draw = random.Random(name)
    for _ in range(4):
        inputs = some(given, draw)
        if name == "stat_fit":
            inputs["x1"] = 20
        one, other = (bw.simulate(each, None, inputs).garbler for each in (ours.raw(), theirs))
        assert flat(one) == flat(other)


def flat(value: Any) -> list[int]:
    """The numbers of an output, without the names of its fields."""
    if isinstance(value, dict):
        return [number for one in value.values() for number in flat(one)]
    if hasattr(value, "tolist"):
        return flat(value.tolist())
    return [number for one in value for number in flat(one)] if isinstance(value, (list, tuple)) else [value]


# The first S-box of FIPS 46-3.
BOX = """14 4 13 1 2 15 11 8 3 10 6 12 5 9 0 7 0 15 7 4 14 2 13 1 10 6 12 11 9 5 3 8
    4 1 14 8 13 6 2 11 15 12 9 7 3 10 5 0 15 12 8 2 4 9 1 7 5 11 3 14 10 0 6 13"""


def des_sbox(x: Any) -> Any:
    product = [bw.u1(1)]
    for inner in (x[4], x[3], x[2], x[1]):
        product += [one & inner for one in product]
    table, rows = [int(word) for word in BOX.split()], []
    for r in range(4):
        c = table[16 * r : 16 * r + 16]
        for step in (1, 2, 4, 8):
            c = [c[i] ^ c[i - step] if i // step % 2 else c[i] for i in range(16)]
        row = bw.u4(0)
        for b in range(4):
            for i in range(16):
                if c[i] >> b & 1:
                    row = row ^ (product[i].astype(bw.u4) << b)
        rows.append(row)
    left, right = bw.where(x[5], rows[1], rows[0]), bw.where(x[5], rows[3], rows[2])
    return bw.where(x[0], right, left)


def test_a_box_of_des_costs_the_same(compiled: Callable[[str], bw.Program]) -> None:
    @bw.program
    def ours(x: bw.Evaluator[bw.u6]) -> bw.Garbler[bw.u4]:
        return bw.component(des_sbox)(x)

    theirs = compiled(f"""
#parties 2
#include "des.wir"
#input 2 des_six
#output 1 des_nibble
function des_nibble box(des_six x)
{{
    des_nibble table[64] = {{ {", ".join(BOX.split())} }};
    return des_sbox(table, x);
}}
function void main() {{ output1 = box(input2); }}
""")
    assert ours.as_program().and_gates == theirs.and_gates <= 23
    for x in range(64):
        assert bw.simulate(ours, None, x).garbler == bw.simulate(theirs, None, x).garbler
