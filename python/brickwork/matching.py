"""Circuits that find the equal keys of two lists, in each of which a key occurs once.

Each key has a pseudorandom *point* between 0 and a number of cells. So both lists are nearly evenly spread,
and Batcher's odd-even merge needs no long strides. A party puts a key into the first free slot that is not
before its point. It refuses its table before anything is sent if this slot would be too far behind. A party
gives only the bits of a point that its slot leaves open, so a cheater cannot give a point further away.

The slots of a list are in blocks. Each block is one slot of a component, and passes its last rows on to the
next block. The matches return through the same exchanges in the opposite direction, so each party's rows keep
their places.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from .arrays import Array, array_of, struct_of
from .expressions import joined_bits, wide_constant
from .functions import where
from .integers import Integer
from .traced import component
from .tracing import body
from .types import ArrayType, IntegerType, StructType
from .values import BIT, Value

OVERFLOW = 41
"""The logarithm of the largest probability that a party's keys do not fit into its slots, with the opposite
sign."""

PLAIN = 256
"""If a list has at most this many slots, it is a single block, and the merge has all strides."""

SIZE = 128
"""The number of slots in a block, unless more are needed."""


def parts(**given: Any) -> Any:
    """Returns several values as one record. Lists become arrays, and empty ones are left out."""
    values = {
        name: array_of(of) if isinstance(of, list) else of
        for name, of in given.items()
        if isinstance(of, Value) or of
    }
    fields = tuple((name, of.type) for name, of in values.items())
    digest = blake2b(repr(fields).encode(), digest_size=8).hexdigest()
    return struct_of(StructType(f"parts_{digest}", fields), (), values)


@dataclass(frozen=True)
class Shape:
    """The public shape of both lists.

    Attributes:
        rows: the largest number of keys in a list.
        blocks: the blocks of each list.
        size: the slots of a block.

        depth: the logarithm of the number of cells that a slot leaves open.
        fraction: the bits of a point within a cell.

        cells: the number of cells, or 0 if any points may be in any slots.
        brought: the bits that a row of the second list brings to the row of the first list that matches.
    """

    rows: int
    blocks: int
    size: int
    depth: int
    fraction: int
    cells: int
    brought: int = 0

    @property
    def slots(self) -> int:
        return self.blocks * self.size

    @property
    def given(self) -> int:
        """The bits of a point that a party gives."""
        return self.fraction + (self.depth if self.cells else 0)

    @property
    def reach(self) -> int:
        """The rows of each list that a block passes on: the longest stride."""
        return 1 << self.depth - 1 if self.cells else 0

    @property
    def width(self) -> int:
        """The bits of a point that are compared. The highest one is a sign of differences."""
        return self.given + (2 if self.cells else 1)

    @property
    def row(self) -> IntegerType:
        """A row in the circuit: the bits for the matching row, a bit that is 1 if the row is absent, and the
        row's point."""
        return IntegerType(self.brought + 1 + self.width)

    @property
    def found(self) -> IntegerType:
        """The bits that a row learns: the bits from the matching row, and a bit that is 1 if there is one."""
        return IntegerType(self.brought + 1)

    def key(self, side: int) -> IntegerType:
        """The type of a row as a party gives it."""
        return IntegerType((self.brought if side else 0) + 1 + self.given)

    def exchanges(self, old: int, count: int) -> Iterator[tuple[int, int, int]]:
        """Yields the exchanges of a block: the first and the second place, and the stride, which is 0 within
        a place."""
        for place in range(old, count):
            yield place, place, 0
        done = self.done(old, count)
        for level in reversed(range(self.depth)):
            for place in range(min(done, count - (1 << level))):
                yield place, place + (1 << level), 1 << level

    def done(self, old: int, count: int) -> int:
        """Returns the number of places of a block that are in their final order after it."""
        return count if old == count else count - self.reach

    def placed(self, points: Sequence[int]) -> list[int] | None:
        """Returns the slot of each point, given points in ascending order, or None if they do not fit."""
        if not self.cells:
            return list(range(len(points)))
        found, free = [], 0
        for point in points:
            slot = max(free, -(-point >> self.fraction))
            if (point >> self.fraction) <= slot - (1 << self.depth):
                return None
            found.append(slot)
            free = slot + 1
        return found

    def absent(self, slot: int) -> int:
        """Returns the point of an absent row, which no other row of its list has."""
        return slot << self.fraction if self.cells else (1 << self.fraction - 1) | slot

    @property
    def overflow_log2(self) -> float | None:
        """The logarithm of the probability that the keys of at least one party do not fit."""
        return failure(self.rows, self.cells, 1 << self.depth) + 1 if self.cells else None

    def point(self, code: int, bits: int) -> int:
        """Returns the point of a pseudorandom number with this many bits."""
        return (code * self.cells << self.fraction) >> bits if self.cells else code

    def keys(self, side: int, rows: dict[int, int], brought: dict[int, int]) -> list[list[int]]:
        """Returns a list in the form that the circuit takes, given the points of its slots and the bits for
        matching rows."""
        low, mask = self.brought if side else 0, (1 << self.given) - 1
        found = []
        for slot in range(self.slots):
            point = rows.get(slot)
            key = ((self.absent(slot) & mask) << 1 | 1) if point is None else (point & mask) << 1
            found.append(key << low | brought.get(slot, 0))
        return [found[at : at + self.size] for at in range(0, self.slots, self.size)]


@functools.cache
def failure(rows: int, cells: int, open_cells: int) -> float:
    """Returns the logarithm of a bound on the probability that this many keys do not fit.

    A slot is too far behind only if some `n` cells in a row have at least `n + open_cells - 1` points.
    Chernoff's inequality bounds the number of these points. By Hoeffding (1963) the bound also holds for
    numbers that are drawn without repetition.
    """
    length = np.arange(1, cells, dtype=float)
    most = np.minimum(length + open_cells - 1, rows) / rows
    share = length / cells
    possible = (length + open_cells - 1 <= rows) & (most > share)
    most, share = most[possible], share[possible]
    if not len(most):
        return -np.inf
    rest = np.where(most < 1, (1 - most) * np.log2(np.maximum((1 - most), 1e-300) / (1 - share)), 0)
    logs = np.log2(cells) - rows * (most * np.log2(most / share) + rest)
    top = logs.max()
    return float(top + np.log2(np.exp2(logs - top).sum()))


@functools.cache
def shape_of(rows: int, bits: int, brought: int = 0) -> Shape:
    """Returns the cheapest shape for lists of this many keys with this many bits."""
    if rows <= PLAIN:
        depth = (rows - 1).bit_length()
        return Shape(rows, 1, rows, depth, max(bits, depth) + 1, 0, brought)
    found = []
    for depth in range(2, 10):
        low, high = 0, 65
        while high - low > 1:
            middle = (low + high) // 2
            fits = failure(rows, rows + rows * middle // 64, 1 << depth) <= -OVERFLOW
            low, high = (low, middle) if fits else (middle, high)
        if high == 65:
            continue
        cells, size = rows + rows * high // 64, max(SIZE, 1 << depth)
        blocks = -(-(cells + (1 << depth)) // size)
        fraction = max(0, bits - (cells.bit_length() - 1))
        shape = Shape(rows, blocks, size, depth, fraction, cells, brought)
        # The cost of a slot: an exchange for each stride, and a few comparisons.
        found.append((shape.slots * (depth + 3) * shape.width, shape))
    return min(found, key=lambda one: one[0])[1]


def spread(code: int, bits: int, salt: bytes) -> int:
    """Returns a pseudorandom number for a code of this many bits. Different codes get different numbers,
    because it is a Feistel network."""
    low = bits // 2
    halves = [code & (1 << low) - 1, code >> low]
    for turn in range(8):
        side = turn % 2
        word = blake2b(
            b"%d %d" % (turn, halves[1 - side]), key=salt[:64], digest_size=32, person=b"brickwork point"
        )
        halves[side] ^= int.from_bytes(word.digest(), "big") & (1 << (bits - low if side else low)) - 1
    return halves[1] << low | halves[0]


def _point(row: Integer, shape: Shape) -> Integer:
    return row.bits(shape.brought + 1, shape.width)


def _before(a: Integer, b: Integer, shape: Shape) -> Integer:
    """Returns whether the point of a row is smaller, which the sign of the difference says."""
    difference = _point(a, shape) - _point(b, shape)
    return difference.bits(shape.width - 1, 1)


def _lifted(given: Integer, side: int, slot: int, shape: Shape) -> Integer:
    """Returns a row as the circuit needs it, with its point counted from the beginning of its block."""
    zeros = [wide_constant(0, IntegerType(shape.brought))] if shape.brought and not side else []
    if not shape.cells:
        return joined_bits([*zeros, given, BIT(0)])
    cell = given.bits(given.type.width - shape.depth, shape.depth)
    near, two = slot & (1 << shape.depth) - 1, IntegerType(2)
    high = two((slot >> shape.depth) % 4)
    if near < (1 << shape.depth) - 1:
        high = high - (cell > near).astype(two)
    return joined_bits([*zeros, given, high])


def _passed(rows: list[Integer], shape: Shape) -> list[Integer]:
    """Returns rows with their points counted from the beginning of the next block."""
    blocks, width = (shape.size >> shape.depth) % 4, shape.row.width - 2
    if not blocks:
        return rows
    return [joined_bits([row.bits(0, width), row.bits(width, 2) - blocks]) for row in rows]


def _matched(a: Integer, b: Integer, shape: Shape) -> Integer:
    """Returns the bits that two neighbours learn. Only a row of the second list has bits for its match."""
    low = shape.brought
    same = (_point(a, shape) == _point(b, shape)) & ~(a.bits(low, 1) | b.bits(low, 1))
    return joined_bits([where(same, a.bits(0, low) ^ b.bits(0, low), 0), same]) if low else same


@component
def merged(before: Any, first: Any, second: Any, shape: Shape) -> Any:
    """Merges a block of both lists with the rows that the previous block passes on, and compares neighbours.

    Returns the bits that the rows learn, in their order, and the bits that undo the exchanges.
    """
    lists: list[list[Integer]] = [[], []]
    if first is not None:
        lists = [
            [_lifted(row, side, slot, shape) for slot, row in enumerate(rows)]
            for side, rows in enumerate((first, second))
        ]
    ordered: Integer = BIT(1) if before is None else before.ordered
    for side, own in enumerate(lists):
        known = [*([] if before is None else [before.last[side]]), *own]
        for a, b in zip(known, known[1:]):
            ordered = ordered & _before(a, b, shape)
    earlier = [[], []] if before is None else [before.low, before.high]
    rows = [[*old, *own] for old, own in zip(earlier, lists)]
    old, count = len(rows[0]) - len(lists[0]), len(rows[0])
    swaps = []
    for a, b, stride in shape.exchanges(old, count):
        x, y = (1, 0) if stride else (0, 1)
        swap = _before(rows[y][b], rows[x][a], shape)
        change = where(swap, rows[x][a] ^ rows[y][b], 0)
        rows[x][a], rows[y][b] = rows[x][a] ^ change, rows[y][b] ^ change
        swaps.append(swap)
    done = shape.done(old, count)
    ends = [row for pair in zip(*rows) for row in pair][: 2 * done + 1]
    nothing = wide_constant(0, shape.found)
    pairs = [nothing if before is None else before.edge]
    pairs += [_matched(a, b, shape) for a, b in zip(ends, ends[1:])]
    pairs += [nothing] * (2 * done + 1 - len(pairs))
    return parts(
        found=[a ^ b for a, b in zip(pairs, pairs[1:])],
        swaps=swaps,
        ordered=ordered,
        **_state(rows, done, lists, pairs[-1], shape),
    )


def _state(
    rows: list[list[Integer]], done: int, lists: list[list[Integer]], edge: Integer, shape: Shape
) -> dict[str, Any]:
    if done == len(rows[0]):
        return {}
    low, high = (_passed(of[done:], shape) for of in rows)
    return {"low": low, "high": high, "last": _passed([of[-1] for of in lists], shape), "edge": edge}


@component
def returned(found: Any, swaps: Any, after: Any, old: int, shape: Shape) -> Any:
    """Undoes the exchanges of a block.

    Args: after: the bits that the passed-on rows learn, or None. old: the number of places that the previous
        block passed on.
    """
    done = len(found) // 2
    rows = [list(found)[side::2] for side in range(2)]
    if after is not None:
        rows = [[*rows[0], *after.low], [*rows[1], *after.high]]
    count = len(rows[0])
    exchanges = list(shape.exchanges(old, count))
    assert shape.done(old, count) == done
    for (a, b, stride), swap in reversed(list(zip(exchanges, swaps))):
        x, y = (1, 0) if stride else (0, 1)
        change = where(swap, rows[x][a] ^ rows[y][b], 0)
        rows[x][a], rows[y][b] = rows[x][a] ^ change, rows[y][b] ^ change
    return parts(first=rows[0][old:], second=rows[1][old:], low=rows[0][:old], high=rows[1][:old])


def matches(first: Any, second: Any, shape: Shape) -> tuple[list[Any], list[Any], Integer]:
    """Returns the bits that each row of both lists learns, block by block, and whether both lists are in
    order."""
    blocks: list[Any] = []
    pairs = [*zip(first, second), *([(None, None)] if shape.cells else [])]
    for a, b in pairs:
        blocks.append(merged(blocks[-1] if blocks else None, a, b, shape))
    found: list[Any] = []
    for number in reversed(range(len(blocks))):
        old = shape.reach if number else 0
        after = found[-1] if found else None
        found.append(returned(blocks[number].found, blocks[number].swaps, after, old, shape))
    rows = found[::-1][: shape.blocks]
    return [one.first for one in rows], [one.second for one in rows], blocks[-1].ordered


BLOCK = 1024
"""Elements of a block of a network that moves them."""


@dataclass(frozen=True)
class Moves:
    """The public shape of networks that move elements. Only the owner of the elements knows the moves.

    Attributes:
        places: the number of elements, a power of two that is at least 2.
        copies: whether an element may go to several places. Then there are two networks.
    """

    places: int
    copies: bool

    @property
    def block(self) -> int:
        return min(self.places, BLOCK)

    @property
    def levels(self) -> int:
        """The levels outside of blocks."""
        return (self.places // self.block).bit_length() - 1

    @property
    def inner(self) -> int:
        """The levels within blocks."""
        return self.block.bit_length() - 1

    @property
    def type(self) -> ArrayType:
        """The numbers that control the networks. Each has the bits of half a block."""
        each = 2 * self.levels + 2 * self.inner - 1
        total = self.places // self.block * (each * (1 + self.copies) + 2 * self.copies)
        return ArrayType(IntegerType(self.block // 2), total)

    def controls(self, sources: dict[int, int]) -> list[int]:
        """Returns the numbers that control the networks, given the source of each place that needs one."""
        if not self.copies:
            return self._network(sources)
        first, second, again = {}, {}, np.zeros(self.places, bool)
        before = None
        for at, place in enumerate(sorted(sources, key=sources.__getitem__)):
            second[place] = at
            again[at] = sources[place] == before
            if not again[at]:
                first[at] = before = sources[place]
        return [*self._network(first), *self._numbers(again), *self._network(second)]

    def _numbers(self, bits: Any) -> list[int]:
        rows = np.packbits(bits.reshape(-1, self.block // 2), axis=1, bitorder="little")
        return [int.from_bytes(row.tobytes(), "little") for row in rows]

    def _network(self, sources: dict[int, int]) -> list[int]:
        """Returns the numbers that control a Beneš network."""
        every = np.arange(self.places)
        source = np.full(self.places, -1)
        source[list(sources)] = list(sources.values())
        unused = np.setdiff1d(every, source, assume_unique=False)
        source[source < 0] = unused
        stages: list[tuple[list[int], list[int]]] = []
        for level in range(self.levels + self.inner):
            half = self.places >> level + 1
            upper = (every & half) == 0
            if half == 1:
                stages.append((self._numbers((source != every)[upper]), []))
                break
            inverse = np.empty_like(source)
            inverse[source] = every
            # The two elements of a switch at the beginning go to different halves, and so do the two elements
            # of a switch at the end. So one half serves all places of a cycle.
            jump, least = inverse[source[every ^ half] ^ half], every
            for _ in range(self.places.bit_length()):
                least, jump = np.minimum(least, least[jump]), jump[jump]
            lower = least > least[every ^ half]
            stages.append((self._numbers(lower[inverse][upper]), self._numbers(lower[upper])))
            there = np.where(lower, half, 0)
            following = np.empty_like(source)
            following[every & ~half | there] = source & ~half | there
            source = following
        outer, inner = stages[: self.levels], stages[self.levels :]
        found = [number for before, _ in outer for number in before]
        columns = [before for before, _ in inner] + [after for _, after in inner[-2::-1]]
        found += [number for row in zip(*columns) for number in row]
        return found + [number for _, after in outer[::-1] for number in after]


def _exchanged(a: Integer, b: Integer, swap: Integer) -> tuple[Integer, Integer]:
    change = where(swap, a ^ b, 0)
    return a ^ change, b ^ change


@component
def crossed(first: Any, second: Any, controls: Any) -> Any:
    """Exchanges elements of two blocks at the same places."""
    swaps = [bit for number in controls for bit in number]
    pairs = [_exchanged(*each) for each in zip(first, second, swaps)]
    return parts(first=[a for a, _ in pairs], second=[b for _, b in pairs])


@component
def permuted(block: Any, controls: Any) -> Any:
    """Moves the elements of a block by a Beneš network."""
    rows = list(block)
    levels = len(rows).bit_length() - 1
    for number, level in zip(controls, [*range(levels), *reversed(range(levels - 1))]):
        half, swaps = len(rows) >> level + 1, iter(number)
        for place in range(len(rows)):
            if not place & half:
                rows[place], rows[place + half] = _exchanged(rows[place], rows[place + half], next(swaps))
    return array_of(rows)


@component
def copied(before: Any, block: Any, controls: Any) -> Any:
    """Replaces elements by copies of those before them."""
    rows, last = [], before
    for own, again in zip(block, [bit for number in controls for bit in number]):
        last = own if last is None else where(again, last, own)
        rows.append(last)
    return array_of(rows)


def moved(blocks: list[Any], controls: Any, moves: Moves) -> list[Any]:
    """Returns the blocks with their elements moved as their owner has chosen."""
    numbers = iter(controls)

    def taken(count: int) -> Any:
        return array_of([next(numbers) for _ in range(count)])

    def network() -> None:
        distances = [len(blocks) >> level + 1 for level in range(moves.levels)]
        for distance in (*distances, 0, *reversed(distances)):
            for place in range(len(blocks)):
                if not distance:
                    blocks[place] = permuted(blocks[place], taken(2 * moves.inner - 1))
                elif not place & distance:
                    pair = crossed(blocks[place], blocks[place + distance], taken(2))
                    blocks[place], blocks[place + distance] = pair.first, pair.second

    network()
    if moves.copies:
        for place in range(len(blocks)):
            before = blocks[place - 1][moves.block - 1] if place else None
            blocks[place] = copied(before, blocks[place], taken(2))
        network()
    return blocks


def reblocked(blocks: list[Any], size: int, count: int) -> list[Any]:
    """Returns the elements in this many blocks of another size, with zeros after them."""
    element = blocks[0].type.element
    rows = [row for block in blocks for row in block]
    zeros = ArrayType(element, size)
    found = []
    for at in range(0, size * count, size):
        own = rows[at : at + size]
        if not own:
            found.append(Array(zeros, body().let(zeros)))
        else:
            found.append(array_of([*own, *[wide_constant(0, element)] * (size - len(own))]))
    return found
