"""The example programs of the language, written again in Python: they compute the same values at the same
cost."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import brickwork as bw
import pytest
from test_standard_library import (
    Line,
    Point,
    PointSums,
    Sums,
    aes_double,
    aes_round,
    flat,
    sha256_round,
    sha256_schedule,
    sort_pair,
    stat_add,
    stat_add_point,
    stat_fit,
    stat_summarise,
)

SOURCES = Path(__file__).parents[2] / "crates" / "lang" / "std"


def table(file: str, name: str) -> list[int]:
    """Returns the numbers of a table in a source of the library."""
    found = re.search(rf"\b{name}\[[^=]*=\s*{{(.*?)}};", (SOURCES / file).read_text(), re.DOTALL)
    assert found
    return [int(word) for word in re.findall(r"[0-9]+", found[1])]


def cell(above: Any, left: Any, corner: Any, a: Any, b: Any) -> Any:
    best = bw.where(left < above, left, above) + 1
    replaced = corner + bw.where(a == b, bw.u4(0), bw.u4(1))
    return bw.where(replaced < best, replaced, best)


@bw.program
def edit_distance(a: bw.Garbler[bw.u8[8]], b: bw.Evaluator[bw.u8[8]]) -> bw.Both[bw.u4]:
    step = bw.component(cell)
    table = [[bw.u4(i + j) if 0 in (i, j) else None for j in range(9)] for i in range(9)]
    for i in range(8):
        for j in range(8):
            table[i + 1][j + 1] = step(table[i][j + 1], table[i + 1][j], table[i][j], a[i], b[j])
    return table[8][8]


@bw.program
def hamming(a: bw.Garbler[bw.u32[4]], b: bw.Evaluator[bw.u32[4]]) -> bw.Both[bw.u32]:
    count = bw.component(lambda sum, x, y: sum + bw.popcount(x ^ y))
    sum = bw.u32(0)
    for x, y in zip(a, b):
        sum = count(sum, x, y)
    return sum


@bw.program
def matrix(a: bw.Garbler[bw.i32[4][4]], b: bw.Evaluator[bw.i32[4][4]]) -> bw.Both[bw.i32[4][4]]:
    inner = bw.component(lambda row, column: bw.dot(row, column))
    columns = [bw.array_of([b[k][j] for k in range(4)]) for j in range(4)]
    return [[inner(a[i], columns[j]) for j in range(4)] for i in range(4)]


class verdict(bw.Struct):
    garbler_richer: bw.u1
    equal: bw.u1


@bw.program
def millionaires(a: bw.Garbler[bw.u32], b: bw.Evaluator[bw.u32]) -> bw.Both[verdict]:
    return bw.component(lambda a, b: verdict(garbler_richer=a > b, equal=a == b))(a, b)


@bw.program
def sort(mine: bw.Garbler[bw.u32[8]], theirs: bw.Evaluator[bw.u32[8]]) -> bw.Both[bw.u32[16]]:
    return bw.sort([*mine, *theirs])


class question(bw.Struct):
    base: bw.u64
    modulus: bw.u64


@bw.program
def modexp(exponent: bw.Garbler[bw.u64], of: bw.Evaluator[question]) -> bw.Evaluator[bw.u64]:
    multiply = bw.component(lambda a, b, m: bw.remainder(a.wide_mul(b), m))
    factor = bw.component(lambda base, chosen: bw.where(chosen, base, bw.u64(1)))
    base = bw.component(lambda a, m: a % m)(of.base, of.modulus)
    power = factor(base, exponent[63])
    for i in reversed(range(63)):
        power = multiply(multiply(power, power, of.modulus), factor(base, exponent[i]), of.modulus)
    return power


class measured(bw.Struct):
    count: bw.u8
    values: bw.u27[32]


class moments(bw.Struct):
    count: bw.u8
    mean: bw.u27
    variance: bw.u53


@bw.program
def mean_variance(a: bw.Garbler[measured], b: bw.Evaluator[measured]) -> bw.Both[moments]:
    add, summarise = bw.component(stat_add), bw.component(stat_summarise)
    sums = Sums(values=0, squares=0)
    for x, y in zip(a.values, b.values):
        sums = add(add(sums, x), y)
    count = a.count + b.count
    of = summarise(sums, count)
    return moments(count=count, mean=of.mean, variance=of.variance)


class Reader(bw.Struct):
    left: bw.u5
    real: bw.u1


class Held(bw.Struct):
    key: bw.u32
    amount: bw.u32


class Holdings(bw.Struct):
    count: bw.u5
    rows: bw.Array[Held, 16]


class Match(bw.Struct):
    found: bw.u1
    amount: bw.u32


class Totals(bw.Struct):
    matches: bw.u5
    a: bw.u40
    b: bw.u40


class Settled(bw.Struct):
    matches: bw.u5
    a: bw.u40
    b: bw.u40
    a_twice: bw.u1
    b_twice: bw.u1


class Details(bw.Struct):
    all: Settled
    rows: bw.Array[Match, 16]


class Looked(bw.Struct):
    j: Match
    seen: bw.u1
    a_twice: bw.u1
    b_twice: bw.u1


@bw.component
def next_row(left: bw.u5) -> Reader:
    real = left != 0
    return Reader(left=bw.where(real, left - 1, left), real=real)


@bw.component
def look(s: Looked, key: bw.u32, real: bw.u1, other: Held, other_real: bw.u1) -> Looked:
    same = (key == other.key) & real & other_real
    in_a, in_b = s.seen & same, s.j.found & same
    return Looked(
        j=Match(found=s.j.found ^ same ^ in_b, amount=bw.where(same, other.amount, s.j.amount)),
        seen=s.seen ^ same ^ in_a,
        a_twice=s.a_twice | in_a,
        b_twice=s.b_twice | in_b,
    )


@bw.component
def add_up(s: Totals, own: Held, j: Match) -> Totals:
    more = Totals(matches=s.matches + 1, a=s.a + own.amount.astype(bw.u40), b=s.b + j.amount.astype(bw.u40))
    return bw.where(j.found, more, s)


@bw.component
def settle(s: Totals, a_twice: bw.u1, b_twice: bw.u1) -> Settled:
    known = bw.where(a_twice | b_twice, Totals(matches=0, a=0, b=0), s)
    return Settled(matches=known.matches, a=known.a, b=known.b, a_twice=a_twice, b_twice=b_twice)


@bw.program
def join(
    a: bw.Garbler[Holdings], b: bw.Evaluator[Holdings]
) -> tuple[bw.Garbler[Details], bw.Evaluator[Settled]]:
    reals = []
    for side in (a, b):
        left, real = side.count, []
        for _ in range(16):
            read = next_row(left)
            left = read.left
            real.append(read.real)
        reals.append(real)
    sums, rows, seen = Totals(matches=0, a=0, b=0), [], [bw.u1(0)] * 16
    now = Looked(j=Match(found=0, amount=0), seen=0, a_twice=0, b_twice=0)
    for own, own_real in zip(a.rows, reals[0]):
        now = now.replace(j=Match(found=0, amount=0))
        for k, (other, other_real) in enumerate(zip(b.rows, reals[1])):
            now = look(now.replace(seen=seen[k]), own.key, own_real, other, other_real)
            seen[k] = now.seen
        sums = add_up(sums, own, now.j)
        rows.append(now.j)
    settled = settle(sums, now.a_twice, now.b_twice)
    return Details(all=settled, rows=rows), settled


@bw.program
def intersection(a: bw.Garbler[bw.u32[8]], b: bw.Evaluator[bw.u32[8]]) -> bw.Both[bw.u4]:
    pair = bw.component(sort_pair)
    count_equal = bw.component(lambda sum, a, b: bw.where(a == b, sum + 1, sum))
    v = [*a, *reversed(list(b))]
    for k in (8, 4, 2, 1):
        for i in range(16):
            if i // k % 2 == 0:
                v[i], v[i + k] = pair(v[i], v[i + k])
    sum = bw.u4(0)
    for x, y in zip(v, v[1:]):
        sum = count_equal(sum, x, y)
    return sum


class Lots(bw.Struct):
    price: bw.u32
    winners: bw.u4
    won: bw.u1[4]


class Standing(bw.Struct):
    winners: bw.u4
    won: bw.u1


@bw.component
def bid_won(winners: bw.u4, bid: bw.u32, price: bw.u32) -> Standing:
    won = (bid == price) & (bid != 0)
    return Standing(winners=winners + won.astype(bw.u4), won=won)


@bw.program
def auction(
    a: bw.Garbler[bw.u32[4]], b: bw.Evaluator[bw.u32[4]]
) -> tuple[bw.Garbler[Lots], bw.Evaluator[Lots]]:
    price = a[0]
    for bid in [*a[1:], *b]:
        price = bw.max(price, bid)
    winners, won = bw.u4(0), []
    for one, other in zip(a, b):
        first = bid_won(winners, one, price)
        second = bid_won(first.winners, other, price)
        won.append([first.won, second.won])
        winners = second.winners
    one, other = (Lots(price=price, winners=winners, won=list(each)) for each in zip(*won))
    return one, other


class Bids(bw.Struct):
    highest: bw.u32
    second: bw.u32
    leader: bw.u3
    next: bw.u3


class Sold(bw.Struct):
    winner: bw.u3
    price: bw.u32


@bw.component
def place_bid(s: Bids, amount: bw.u32) -> Bids:
    more = amount > s.highest
    # The program in the language assigns this value in both branches, so it selects the value twice.
    second = bw.where(more, s.highest, s.second)
    return Bids(
        highest=bw.where(more, amount, s.highest),
        second=bw.where(more, second, bw.max(s.second, amount)),
        leader=bw.where(more, s.next, s.leader),
        next=s.next + 1,
    )


@bw.program
def vickrey(a: bw.Garbler[bw.u32[4]], b: bw.Evaluator[bw.u32[4]]) -> bw.Both[Sold]:
    s = Bids(highest=a[0], second=0, leader=0, next=1)
    for amount in [*a[1:], *b]:
        s = place_bid(s, amount)
    return Sold(winner=s.leader, price=s.second)


class Characteristic(bw.Struct):
    bounds: bw.u32[4]
    worth: bw.i16[5]


class Policy(bw.Struct):
    base: bw.i16
    cutoff: bw.i16
    card: bw.Array[Characteristic, 8]


class Decision(bw.Struct):
    approved: bw.u1
    score: bw.i16


@bw.component
def rate(score: bw.i16, c: Characteristic, number: bw.u32) -> bw.i16:
    points = c.worth[0]
    for bound, worth in zip(c.bounds, c.worth[1:]):
        points = bw.where(number >= bound, worth, points)
    return score + points


@bw.program
def credit(
    policy: bw.Garbler[Policy], applicant: bw.Evaluator[bw.u32[8]]
) -> tuple[bw.Garbler[Decision], bw.Evaluator[bw.u1]]:
    reaches = bw.component(lambda score, cutoff: score >= cutoff)
    score = policy.base
    for c, number in zip(policy.card, applicant):
        score = rate(score, c, number)
    approved = reaches(score, policy.cutoff)
    return Decision(approved=approved, score=score), approved


class Account(bw.Struct):
    customer: bw.u32
    balance: bw.u32


class Accounts(bw.Struct):
    count: bw.u5
    rows: bw.Array[Account, 16]


class Pair(bw.Struct):
    a: bw.u32
    b: bw.u32


class Findings(bw.Struct):
    over: bw.u5
    accounts: bw.u1[16]


@bw.component
def held_together(held: Pair, a: Account, b: Account) -> Pair:
    return bw.where(a.customer != b.customer, held, Pair(a=b.balance, b=a.balance))


@bw.component
def over_limit(own: Account, other: bw.u32) -> bw.u1:
    over = own.balance.astype(bw.u33) + other.astype(bw.u33) > 100_000
    return bw.where(own.customer == 0, 0, bw.where(other == 0, 0, over))


@bw.program
def accounts(
    a: bw.Garbler[Accounts], b: bw.Evaluator[Accounts]
) -> tuple[bw.Garbler[Findings], bw.Evaluator[Findings]]:
    count = bw.component(lambda so_far, over: so_far + over.astype(bw.u5))
    with_b, with_a = [bw.u32(0)] * 16, [bw.u32(0)] * 16
    for i in range(16):
        for k in range(16):
            after = held_together(Pair(a=with_b[i], b=with_a[k]), a.rows[i], b.rows[k])
            with_b[i], with_a[k] = after.a, after.b
    over, found = bw.u5(0), []
    for i in range(16):
        found.append([over_limit(a.rows[i], with_b[i]), over_limit(b.rows[i], with_a[i])])
        over = count(over, found[i][0])
    ours, theirs = (Findings(over=over, accounts=list(each)) for each in zip(*found))
    return ours, theirs


class Employee(bw.Struct):
    level: bw.u3
    salary: bw.u20


class Company(bw.Struct):
    count: bw.u6
    rows: bw.Array[Employee, 24]


class Level(bw.Struct):
    people: bw.u6
    salaries: bw.u26


class Levels(bw.Struct):
    levels: bw.Array[Level, 5]


class Mean(bw.Struct):
    people: bw.u6
    mean: bw.u20


@bw.component
def add_employee(t: Levels, e: Employee) -> Levels:
    at = e.level - 1
    now = t.levels.at(at)
    more = Level(people=now.people + 1, salaries=now.salaries + e.salary.astype(bw.u26))
    return Levels(levels=t.levels.with_at(at, more))


@bw.component
def mean_of(t: Level) -> Mean:
    mean = (t.salaries // t.people.astype(bw.u26)).truncate(bw.u20)
    return Mean(people=t.people, mean=bw.where(t.people < 3, 0, mean))


@bw.program
def salaries(a: bw.Garbler[Company], b: bw.Evaluator[Company]) -> bw.Both[bw.Array[Mean, 5]]:
    t = Levels(levels=[{"people": 0, "salaries": 0}] * 5)
    for one, other in zip(a.rows, b.rows):
        t = add_employee(add_employee(t, one), other)
    return [mean_of(level) for level in t.levels]


class Figures(bw.Struct):
    turnover_per_head: bw.u32
    margin: bw.u32
    satisfaction: bw.u32
    retention: bw.u32


class Sample(bw.Struct):
    count: bw.u8
    companies: bw.Array[Figures, 31]


class Rank(bw.Struct):
    rank: bw.u8
    quartile: bw.u8


@bw.component
def place(better: bw.u8, count: bw.u8) -> Rank:
    all, four, quartile = count + 1, better << 2, bw.u8(1)
    for q in range(1, 4):
        quartile = bw.where(four >= all * q, q + 1, quartile)
    return Rank(rank=better + 1, quartile=quartile)


FIGURES = ["turnover_per_head", "margin", "satisfaction", "retention"]


@bw.program
def benchmarking(a: bw.Garbler[Sample], own: bw.Evaluator[Figures]) -> bw.Evaluator[bw.Array[Rank, 4]]:
    count_better = bw.component(lambda better, own, other: better + (other > own).astype(bw.u8))
    better = {name: bw.u8(0) for name in FIGURES}
    for company in a.companies:
        for name in FIGURES:
            better[name] = count_better(better[name], getattr(own, name), getattr(company, name))
    return [place(better[name], a.count) for name in FIGURES]


class Place(bw.Struct):
    axis: bw.i32[3]


class Orbit(bw.Struct):
    at: bw.Array[Place, 8]


class Near(bw.Struct):
    path: Orbit
    limit: bw.u32


def squared(a: Any, b: Any) -> Any:
    d = a - b
    m = bw.where(d[31], -d.bits(0, 32), d.bits(0, 32))
    return m.wide_mul(m)


@bw.component
def closer(before: bw.u1, a: Place, b: Place, limit: bw.u64) -> bw.u1:
    x, y, z = (squared(*both) for both in zip(a.axis, b.axis))
    return before | (x + y + z < limit)


@bw.program
def satellites(a: bw.Garbler[Near], b: bw.Evaluator[Orbit]) -> bw.Both[bw.u1]:
    limit = bw.component(lambda side: side.wide_mul(side))(a.limit)
    seen = bw.u1(0)
    for one, other in zip(a.path.at, b.at):
        seen = closer(seen, one, other, limit)
    return seen


@bw.program
def regression(a: bw.Garbler[bw.i16[24]], b: bw.Evaluator[bw.i16[24]]) -> bw.Both[Line]:
    add, fit = bw.component(stat_add_point), bw.component(stat_fit)
    sums = PointSums(x=0, y=0, xx=0, xy=0)
    for x, y in zip(a, b):
        sums = add(sums, Point(x=x, y=y))
    return fit(sums, bw.u8(24))


# For a type checker, custom types are `Any`.
decimal: Any = bw.fixed(32)
fx: Any = bw.fixed(16, 8)


class Terms(bw.Struct):
    price: decimal
    discount: decimal


class Demand(bw.Struct):
    quantity: decimal
    budget: decimal


class Offer(bw.Struct):
    fits: bw.u1
    total: decimal


class Answer(bw.Struct):
    order: Offer
    most: bw.i32


@bw.component
def decide(total: decimal, budget: decimal) -> Offer:
    over = total > budget
    return Offer(fits=~over, total=bw.where(over, 0, total))


@bw.program
def order(a: bw.Garbler[Terms], b: bw.Evaluator[Demand]) -> tuple[bw.Garbler[Offer], bw.Evaluator[Answer]]:
    units = bw.component(lambda price, budget: (budget / price).floor().astype(bw.i32))
    price = a.price * (1 - a.discount)
    offer = decide(price * b.quantity, b.budget)
    return offer, Answer(order=offer, most=units(price, b.budget))


class Neuron(bw.Struct):
    bias: fx
    weights: fx[16]


def positive(sum: Any) -> Any:
    rounded = sum + Fraction(128, 1 << 16)
    result = bw.where(rounded.bits(23, 16) != 0, 32767, rounded.bits(8, 15).astype(bw.i16))
    return bw.where(rounded[39], 0, result)


@bw.program
def neural(a: bw.Garbler[bw.Array[Neuron, 8]], b: bw.Evaluator[fx[16]]) -> bw.Evaluator[bw.i16[8]]:
    wide = bw.fixed(40, 16)
    add, relu = bw.component(lambda sum, a, b: sum + a.wide_mul(b).astype(wide)), bw.component(positive)
    results = []
    for neuron in a:
        sum = neuron.bias.astype(wide)
        for weight, x in zip(neuron.weights, b):
            sum = add(sum, weight, x)
        results.append(relu(sum))
    return results


@bw.program
def sha256_shares(a: bw.Garbler[bw.u32[16]], b: bw.Evaluator[bw.u32[16]]) -> bw.Both[bw.u32[8]]:
    schedule, step = bw.component(sha256_schedule), bw.component(sha256_round)
    w = list(bw.component(lambda a, b: [x ^ y for x, y in zip(a, b)])(a, b))
    for i in range(16, 64):
        w.append(schedule(w[i - 16], w[i - 15], w[i - 7], w[i - 2]))
    start = [bw.u32(word) for word in table("sha256.wir", "h")]
    state: Any = bw.array_of(start)
    for k, word in zip(table("sha256.wir", "k"), w):
        state = step(state, bw.u32(k), word)
    return bw.component(lambda a, b: [x + y for x, y in zip(a, b)])(bw.array_of(start), state)


class Octets(bw.Struct):
    octets: bw.u8[16]


class Expanding(bw.Struct):
    key: Octets
    constant: bw.u8


def exclusive(a: Any, b: Any) -> Any:
    return Octets(octets=[x ^ y for x, y in zip(a.octets, b.octets)])


@bw.component
def next_key(s: Expanding) -> Expanding:
    key = list(s.key.octets)
    for i in range(4):
        key[i] = key[i] ^ bw.aes_sub_byte(key[12 + (i + 1) % 4])
    key[0] = key[0] ^ s.constant
    for i in range(4, 16):
        key[i] = key[i] ^ key[i - 4]
    return Expanding(key=Octets(octets=key), constant=aes_double(s.constant))


@bw.component
def last_round(s: Octets, key: Octets) -> Octets:
    t = [bw.aes_sub_byte(s.octets[4 * ((c + r) % 4) + r]) for c in range(4) for r in range(4)]
    return exclusive(Octets(octets=t), key)


def aes_keys(key: Any) -> list[Any]:
    s, keys = Expanding(key=key, constant=1), [key]
    for _ in range(10):
        s = next_key(s)
        keys.append(s.key)
    return keys


class Block(bw.Struct):
    octets: bw.u8[16]


def aes(keys: list[Any], block: Any) -> Any:
    one, add = bw.component(full_round), bw.component(exclusive)
    block = add(block, keys[0])
    for key in keys[1:10]:
        block = one(block, key)
    return last_round(block, keys[10])


def full_round(s: Any, key: Any) -> Any:
    return Octets(octets=aes_round(s, key).octets)


@bw.program
def aes128_encrypt(key: bw.Garbler[Octets], block: bw.Evaluator[Octets]) -> bw.Evaluator[Octets]:
    return aes(aes_keys(key), block)


@bw.program
def cbc_mac(key: bw.Garbler[Octets], blocks: bw.Evaluator[bw.Array[Octets, 4]]) -> bw.Evaluator[Octets]:
    keys, add = aes_keys(key), bw.component(exclusive)
    tag = aes(keys, blocks[0])
    for block in blocks[1:]:
        tag = aes(keys, add(tag, block))
    return tag


class Halves(bw.Struct):
    left: bw.u32
    right: bw.u32


def des_box(numbers: list[int], x: list[Any]) -> Any:
    """Returns an S-box with six input bits: for each outer pair, polynomials in the rest."""
    product = [bw.u1(1)]
    for inner in (x[4], x[3], x[2], x[1]):
        product += [one & inner for one in product]
    rows = []
    for r in range(4):
        c = numbers[16 * r : 16 * r + 16]
        for step in (1, 2, 4, 8):
            c = [c[i] ^ c[i - step] if i // step % 2 else c[i] for i in range(16)]
        bits = [[product[i] for i in range(16) if c[i] >> b & 1] for b in range(4)]
        zero = product[0] ^ product[0]
        rows.append(pack_bits([xor([zero, *of]) for of in bits]))
    left, right = bw.where(x[5], rows[1], rows[0]), bw.where(x[5], rows[3], rows[2])
    return bw.where(x[0], right, left)


def xor(bits: list[Any]) -> Any:
    found = bits[0]
    for bit in bits[1:]:
        found = found ^ bit
    return found


def pack_bits(bits: list[Any]) -> Any:
    return bw.tables.pack(bw.array_of(bits))


@bw.component
def des_round(s: Halves, key: bw.u48) -> Halves:
    boxes, p = table("des.wir", "boxes"), table("des.wir", "p")
    substituted: list[Any] = []
    for i in range(8):
        x = [s.right[(4 * i + j + 31) % 32] ^ key[6 * i + j] for j in range(6)]
        y = des_box(boxes[64 * i : 64 * i + 64], x)
        substituted += [y[3 - j] for j in range(4)]
    return Halves(left=s.right, right=s.left ^ pack_bits([substituted[i - 1] for i in p]))


@bw.program
def des_encrypt(key: bw.Garbler[bw.u8[8]], block: bw.Evaluator[bw.u8[8]]) -> bw.Evaluator[bw.u8[8]]:
    k, w = ([of[i // 8][7 - i % 8] for i in range(64)] for of in (key, block))
    pc1, pc2, ip = (table("des.wir", name) for name in ("pc1", "pc2", "ip"))
    c, d = ([k[i - 1] for i in half] for half in (pc1[:28], pc1[28:]))
    s = Halves(
        **{
            side: pack_bits([w[i - 1] for i in half])
            for side, half in (("left", ip[:32]), ("right", ip[32:]))
        }
    )
    for twice in table("des.wir", "twice"):
        by = 1 + twice
        c, d = c[by:] + c[:by], d[by:] + d[:by]
        s = des_round(s, pack_bits([[*c, *d][i - 1] for i in pc2]))
    v = [bw.u1(0)] * 64
    for i in range(32):
        v[ip[i] - 1], v[ip[i + 32] - 1] = s.right[i], s.left[i]
    return [pack_bits([v[8 * k + 7 - i] for i in range(8)]) for k in range(8)]


PROGRAMS: list[bw.Traced[..., Any]] = [
    accounts,
    aes128_encrypt,
    auction,
    benchmarking,
    cbc_mac,
    credit,
    des_encrypt,
    edit_distance,
    hamming,
    intersection,
    join,
    matrix,
    mean_variance,
    millionaires,
    modexp,
    neural,
    order,
    regression,
    salaries,
    satellites,
    sha256_shares,
    sort,
    vickrey,
]


def ascending(bits: str) -> str:
    """Returns eight words of 32 bits, wire 0 first, changed until all differ, and sorted."""
    words: set[int] = set()
    for k in range(8):
        word = int(bits[32 * k : 32 * k + 32][::-1], 2)
        while word in words:
            word = (word + 1) % 2**32
        words.add(word)
    return "".join(f"{word:032b}"[::-1] for word in sorted(words))


def test_all_examples_are_here() -> None:
    assert sorted(one.__name__ for one in PROGRAMS) == sorted(
        one.name for one in bw.examples() if one.kind == "program"
    )


@pytest.mark.parametrize("ours", PROGRAMS, ids=[one.__name__ for one in PROGRAMS])
def test_an_example_costs_the_same_in_both_languages(ours: bw.Traced[..., Any]) -> None:
    theirs = bw.example(ours.__name__)
    assert ours.as_program().and_gates == theirs.and_gates > 0
    draw, parties = random.Random(ours.__name__), ("garbler", "evaluator")
    widths = [sum(port.type.width for port in theirs.inputs_of(party)) for party in parties]
    # Inputs are any bits, bits of which few are 1, and nearly the same bits of both parties, so that rows
    # match.
    for ones, alike in [(0.5, False), (0.1, False), (0.5, True)]:
        bits = ["".join("01"[draw.random() < ones] for _ in range(width)) for width in widths]
        if alike:
            bits[1] = (bits[0] * (widths[1] // widths[0] + 1))[: widths[1]]
        # The lists of this program are refused unless they are in ascending order.
        bits = [ascending(one) for one in bits] if ours is intersection else bits
        inputs = [f"bits:{one}" for one in bits]
        learned, expected = (bw.simulate(each, *inputs) for each in (ours, theirs))
        assert flat(learned.garbler) == flat(expected.garbler)
        assert flat(learned.evaluator) == flat(expected.evaluator)
