"""The claims of the rules that compute one block of a dimension after the other."""

from __future__ import annotations

from collections.abc import Iterator

import z3

from tests.proofs.claim import claim
from tests.proofs.language import Array, array, cut, dot, integers, pointwise, summed
from tests.proofs.prover import Equation, Lemma, Sizes, Statement
from tests.proofs.sums import number


@claim(
    "loop-in-blocks",
    conditions="no operation of an iteration mixes the indices of the dimension; the loop counts "
    "from a constant to a constant by a constant; all of its state together has at least "
    "1,048,577 bytes",
    wrong="an iteration may read other indices",
    argument="Each operation of an iteration, and each one before the loop, of a block of its "
    "operands is the block of its result. By induction over the iterations, the states of the "
    "block's loop are blocks of the states. Every index is in a block; where blocks overlap, both "
    "write the same.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    yield from _of_blocks(sizes, wrong)


@claim(
    "contraction-in-blocks",
    conditions="no operation that is computed in blocks mixes the indices of the dimension; the "
    "largest array between has at least 2,097,152 bytes, and as many as the result; another sum or "
    "product is computed in blocks; what is read takes less memory than what is not stored; no "
    "others need values of blocks that a product is among",
    wrong="an operation may read other indices",
    argument="Each operation of a block of its operands is the block of its result; integers that "
    "count along the dimension begin at the block's first index. Every index is in a block; where "
    "blocks overlap, both write the same.",
)
def _(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    yield from _of_blocks(sizes, wrong)
    n, block, start = sizes("n"), sizes("block"), z3.Int("start")
    counted = Array({"n": n}, lambda i: number(i["n"]))
    of_block = Array({"n": block}, lambda i: number(i["n"] + start))
    yield Equation(cut(counted, "n", start, block), of_block, (start >= 0,))


def _of_blocks(sizes: Sizes, wrong: bool) -> Iterator[Statement]:
    """Yields that blocks of results follow from blocks of operands, and that they are all there."""
    n, k, j = sizes.several("n k j", least=1)
    size, block, start = z3.Int("size"), sizes("block"), z3.Int("start")
    x, y = array("x", n=n, k=k), array("y", n=n, k=k)
    whole, square = array("whole", k=k), array("square", k=k, j=j)
    mixed, update = integers("mixed", "n"), array("update", n=n)
    place = z3.Int("place")
    inside = (start >= 0, start + block.length <= n.length)

    def blocks(result: Array, of_block: Array) -> Statement:
        return Equation(cut(result, "n", start, block), of_block, inside)

    def part(all_of: Array) -> Array:
        return cut(all_of, "n", start, block)

    if wrong:
        # The block of the numbers is read at places of the whole.
        yield blocks(x.indexed("n", n, mixed), part(x).indexed("n", block, mixed))
        return
    yield blocks(pointwise("f", x, y), pointwise("f", part(x), part(y)))
    yield blocks(pointwise("f", x, whole), pointwise("f", part(x), whole))
    yield blocks(summed(x, "k"), summed(part(x), "k"))
    yield blocks(dot(x, y, "k"), dot(part(x), part(y), "k"))
    yield blocks(dot(x, square, "k"), dot(part(x), square, "k"))
    yield blocks(x.without("k", place), part(x).without("k", place))
    written = x.where(lambda i: i["k"] != place) + update.where(lambda i: i["k"] == place, k=k)
    of_block = part(x).where(lambda i: i["k"] != place) + part(update).where(
        lambda i: i["k"] == place, k=k
    )
    yield blocks(written, of_block)
    # Blocks begin at multiples of the size, the last one earlier: each index is in one of them.
    index, number = z3.Ints("index number")
    begin = z3.If(number * size < n.length - size, number * size, n.length - size)
    yield Lemma(
        z3.And(begin <= index, index < begin + size),
        (
            size >= 1,
            size <= n.length,
            index >= 0,
            index < n.length,
            number * size <= index,
            index < number * size + size,
        ),
    )
