"""Random small programs with the patterns of hlograph's own rules, one kind for each rule."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.hlograph.degenerate.writer import listed, shape, window

# Half precision is left out: differences cancel to nothing that could be compared.
TYPES = ("s32", "f32", "f64", "c64")


@dataclass(frozen=True)
class Value:
    name: str
    kind: str
    dims: tuple[int, ...]

    @property
    def shape(self) -> str:
        return shape(self.kind, self.dims)


@dataclass
class Program:
    """Builder of HLO text, instruction by instruction."""

    kind: str
    lines: list[str] = field(default_factory=list)
    parameters: int = 0

    def parameter(self, dims: tuple[int, ...], kind: str | None = None) -> Value:
        self.parameters += 1
        value = Value(f"p{self.parameters}", kind or self.kind, tuple(dims))
        self.lines.append(f"{value.name} = {value.shape} parameter({self.parameters - 1})")
        return value

    def op(
        self, opcode: str, dims: tuple[int, ...], *operands: Value, attributes: str = ""
    ) -> Value:
        value = Value(f"v{len(self.lines)}", self.kind, tuple(dims))
        names = ", ".join(operand.name for operand in operands)
        after = f", {attributes}" if attributes else ""
        self.lines.append(f"{value.name} = {value.shape} {opcode}({names}){after}")
        return value

    def concatenate(self, dimension: int, *operands: Value) -> Value:
        dims = list(operands[0].dims)
        dims[dimension] = sum(operand.dims[dimension] for operand in operands)
        return self.op("concatenate", tuple(dims), *operands, attributes=_dims([dimension]))

    def broadcast(self, operand: Value, dims: tuple[int, ...], to: list[int]) -> Value:
        return self.op("broadcast", dims, operand, attributes=_dims(to))

    def text(self, *roots: Value) -> str:
        shapes = ", ".join(root.shape for root in roots)
        names = ", ".join(root.name for root in roots)
        body = "\n  ".join([*self.lines, f"ROOT all = ({shapes}) tuple({names})"])
        return f"HloModule program\n\nENTRY main {{\n  {body}\n}}\n"


def _dims(numbers: list[int]) -> str:
    return f"dimensions={listed(numbers)}"


class Dot:
    """A dot as in einsum: letters of either operand, in any order."""

    def __init__(self, rng: Random) -> None:
        batch, summed = rng.choice(["", "b"]), rng.choice(["s", "st"])
        self.batch, self.summed = batch, summed
        left, right = rng.choice(["l", "lm"]), rng.choice(["r", "rq"])
        operands = [batch + summed + free for free in (left, right)]
        self.letters = ["".join(rng.sample(letters, len(letters))) for letters in operands]
        self.free = [left[0], right[0]]
        self.sizes = {letter: rng.randint(1, 3) for letter in "bstlmrq"}
        self.result = batch + "".join(
            letter for side in self.letters for letter in side if letter not in batch + summed
        )

    def operand_dims(self, side: int, **sizes: int) -> tuple[int, ...]:
        return tuple((self.sizes | sizes)[letter] for letter in self.letters[side])

    def dimension(self, side: int) -> tuple[int, int]:
        """Returns the dimensions of a free letter in the operand and in the result."""
        letter = self.free[side]
        return self.letters[side].index(letter), self.result.index(letter)

    def add(self, program: Program, lhs: Value, rhs: Value) -> Value:
        sizes: dict[str, int] = {}
        for letters, value in zip(self.letters, (lhs, rhs), strict=True):
            sizes |= dict(zip(letters, value.dims, strict=True))
        parts = []
        for name, letters in (("batch", self.batch), ("contracting", self.summed)):
            for side, operand in zip(("lhs", "rhs"), self.letters, strict=True):
                numbers = [operand.index(letter) for letter in letters]
                if letters:
                    parts.append(f"{side}_{name}_dims={listed(numbers)}")
        dims = tuple(sizes[letter] for letter in self.result)
        return program.op("dot", dims, lhs, rhs, attributes=", ".join(parts))


class Convolution:
    """A convolution over one spatial dimension."""

    free = ("b", "o")

    def __init__(self, rng: Random) -> None:
        self.labels = rng.choice([("b0f", "0io", "b0f"), ("bf0", "oi0", "fb0")])
        self.window, self.stride = rng.randint(1, 3), rng.randint(1, 2)
        self.pad = rng.randint(0, 1)
        self.sizes = {"b": 2, "f": 3, "i": 3, "o": rng.randint(1, 3), "w": 5}

    def operand_dims(self, side: int, **sizes: int) -> tuple[int, ...]:
        sizes = self.sizes | sizes
        sizes["0"] = self.window if side else sizes["w"]
        return tuple(sizes[letter] for letter in self.labels[side])

    def dimension(self, side: int) -> tuple[int, int]:
        return self.labels[side].index("bo"[side]), self.labels[2].index("bf"[side])

    def add(self, program: Program, lhs: Value, rhs: Value) -> Value:
        inputs = dict(zip(self.labels[0], lhs.dims, strict=True))
        kernel = dict(zip(self.labels[1], rhs.dims, strict=True))
        width = (inputs["0"] + 2 * self.pad - self.window) // self.stride + 1
        sizes = {"b": inputs["b"], "f": kernel["o"], "0": width}
        pad = f"{self.pad}_{self.pad}"
        whole = window(size=[self.window], stride=[self.stride], pad=pad)
        left, right, result = self.labels
        attributes = f"{whole}, dim_labels={left}_{right}->{result}"
        dims = tuple(sizes[letter] for letter in result)
        return program.op("convolution", dims, lhs, rhs, attributes=attributes)


def _sizes(rng: Random) -> list[int]:
    return [rng.randint(1, 3) for _ in range(rng.randint(2, 3))]


Kind = type[Dot] | type[Convolution]


def _begin(rng: Random, kind: Kind) -> tuple[Program, Dot | Convolution]:
    return Program(rng.choice(TYPES)), kind(rng)


def _ordered(side: int, shared: Value, own: Value) -> tuple[Value, Value]:
    """Returns the operands of a product, with `own` on that side."""
    return (own, shared) if side == 0 else (shared, own)


def merging(rng: Random, kind: Kind, shared: int) -> str:
    program, product = _begin(rng, kind)
    common = program.parameter(product.operand_dims(shared))
    results = []
    for _ in range(2):
        sizes = {product.free[1 - shared]: rng.randint(1, 3)}
        own = program.parameter(product.operand_dims(1 - shared, **sizes))
        results.append(product.add(program, *_ordered(1 - shared, common, own)))
    return program.text(*results)


def splitting(rng: Random, kind: Kind) -> str:
    program, product = _begin(rng, kind)
    side = rng.randint(0, 1)
    parts = [
        program.parameter(product.operand_dims(side, **{product.free[side]: size}))
        for size in _sizes(rng)
    ]
    joint = program.concatenate(product.dimension(side)[0], *parts)
    other = program.parameter(product.operand_dims(1 - side))
    return program.text(product.add(program, *_ordered(side, other, joint)))


def joining(rng: Random, kind: Kind) -> str:
    program, product = _begin(rng, kind)
    side = rng.randint(0, 1)
    common = program.parameter(product.operand_dims(1 - side))
    parts = []
    for size in _sizes(rng):
        own = program.parameter(product.operand_dims(side, **{product.free[side]: size}))
        parts.append(product.add(program, *_ordered(side, common, own)))
    return program.text(program.concatenate(product.dimension(side)[1], *parts))


def contracting(rng: Random) -> str:
    program, product = _begin(rng, Dot)
    terms = []
    for _ in range(2):
        size = rng.randint(1, 3)
        lhs, rhs = (program.parameter(product.operand_dims(i, s=size)) for i in (0, 1))
        terms.append(product.add(program, lhs, rhs))
    return program.text(program.op("add", terms[0].dims, *terms))


def factoring(rng: Random, kind: Kind | None) -> str:
    sign = rng.choice(["add", "subtract"])
    side = rng.randint(0, 1)
    if kind is None:
        program = Program(rng.choice(TYPES))
        dims = tuple(rng.randint(1, 4) for _ in range(rng.randint(0, 3)))
        a, b, c = (program.parameter(dims) for _ in range(3))
        first = program.op("multiply", dims, *_ordered(side, c, a))
        second = program.op("multiply", dims, *_ordered(rng.randint(0, 1), c, b))
    else:
        program, product = _begin(rng, kind)
        c = program.parameter(product.operand_dims(1 - side))
        a, b = (program.parameter(product.operand_dims(side)) for _ in range(2))
        first, second = (product.add(program, *_ordered(side, c, term)) for term in (a, b))
    return program.text(program.op(sign, first.dims, first, second))


def distributing(rng: Random, kind: Kind) -> str:
    program, product = _begin(rng, kind)
    side = rng.randint(0, 1)
    a, b = (program.parameter(product.operand_dims(side)) for _ in range(2))
    total = program.op(rng.choice(["add", "subtract"]), a.dims, a, b)
    other = program.parameter(product.operand_dims(1 - side))
    return program.text(product.add(program, *_ordered(side, other, total)))


def scaling(rng: Random, kind: Kind, *, result: bool) -> str:
    """Writes a product whose result, or an operand of which, is multiplied by a broadcast."""
    program, product = _begin(rng, kind)
    operands = [program.parameter(product.operand_dims(side)) for side in (0, 1)]
    side = rng.randint(0, 1)
    at = product.dimension(side)[1 if result else 0]

    def scaled(value: Value) -> Value:
        is_scalar = rng.random() < 0.5
        factor = program.parameter(() if is_scalar else (value.dims[at],))
        wide = program.broadcast(factor, value.dims, [] if is_scalar else [at])
        return program.op("multiply", value.dims, *_ordered(rng.randint(0, 1), wide, value))

    if result:
        return program.text(scaled(product.add(program, *operands)))
    operands[side] = scaled(operands[side])
    return program.text(product.add(program, *operands))


def chaining(rng: Random, inner: int) -> str:
    """Writes three matrices, of which the first (inner 0) or last two are multiplied first."""
    program = Program(rng.choice(TYPES))
    batch = (2,) if rng.random() < 0.5 else ()
    n = len(batch)
    sizes = [rng.randint(1, 4) for _ in range(4)]
    x, v, w = (program.parameter((*batch, *sizes[i : i + 2])) for i in range(3))
    both = "lhs_batch_dims={0}, rhs_batch_dims={0}, " if batch else ""
    attributes = f"{both}lhs_contracting_dims={{{n + 1}}}, rhs_contracting_dims={{{n}}}"

    def dot(lhs: Value, rhs: Value) -> Value:
        dims = (*lhs.dims[:-1], rhs.dims[-1])
        return program.op("dot", dims, lhs, rhs, attributes=attributes)

    return program.text(dot(dot(x, v), w) if inner == 0 else dot(x, dot(v, w)))


def _pointwise(rng: Random, program: Program, values: list[Value]) -> Value:
    opcode = rng.choice(["add", "multiply", "subtract"]) if values[1:] else "negate"
    return program.op(opcode, values[0].dims, *values)


def _uniform(rng: Random, program: Program) -> Value | None:
    return program.parameter(()) if rng.random() < 0.5 else None


def pointwise_of_concatenates(rng: Random) -> str:
    program = Program(rng.choice(TYPES))
    sizes = _sizes(rng)
    operands = [
        program.concatenate(1, *(program.parameter((2, size)) for size in sizes))
        for _ in range(rng.randint(1, 2))
    ]
    scalar = _uniform(rng, program)
    if scalar is not None:
        operands[1:] = [program.broadcast(scalar, operands[0].dims, [])]
    return program.text(_pointwise(rng, program, operands))


def concatenates_of_pointwise(rng: Random) -> str:
    program = Program(rng.choice(TYPES))
    opcode, scalar = rng.choice(["add", "multiply"]), _uniform(rng, program)
    parts = []
    for size in _sizes(rng):
        dims = (size, 3)
        lhs = program.parameter(dims)
        rhs = program.broadcast(scalar, dims, []) if scalar else program.parameter(dims)
        parts.append(program.op(opcode, dims, lhs, rhs))
    return program.text(program.concatenate(0, *parts))


def rearranging(rng: Random, *, result: bool) -> str:
    """Writes a pointwise operation on rearranged values, or a rearranged one."""
    program = Program(rng.choice(TYPES))
    dims = (2, 3, rng.randint(1, 4))
    order = rng.sample(range(3), 3)

    if rng.random() < 0.5:
        new, change = tuple(dims[i] for i in order), ("transpose", _dims(list(order)))
    else:
        new, change = (dims[0] * dims[1], dims[2]), ("reshape", "")

    def rearranged(value: Value) -> Value:
        return program.op(change[0], new, value, attributes=change[1])

    values = [program.parameter(dims) for _ in range(rng.randint(1, 2))]
    if result:
        values = [rearranged(value) for value in values]
    scalar = _uniform(rng, program)
    if scalar is not None:
        values[1:] = [program.broadcast(scalar, values[0].dims, [])]
    pointwise = _pointwise(rng, program, values)
    return program.text(pointwise if result else rearranged(pointwise))


PROGRAMS: dict[str, Callable[[Random], str]] = {
    "merge-dots:lhs": lambda rng: merging(rng, Dot, 0),
    "merge-dots:rhs": lambda rng: merging(rng, Dot, 1),
    "merge-convolutions:input": lambda rng: merging(rng, Convolution, 0),
    "merge-convolutions:kernel": lambda rng: merging(rng, Convolution, 1),
    "split-dot": lambda rng: splitting(rng, Dot),
    "split-convolution": lambda rng: splitting(rng, Convolution),
    "join-dots": lambda rng: joining(rng, Dot),
    "join-convolutions": lambda rng: joining(rng, Convolution),
    "join-contractions": contracting,
    "factor-products": lambda rng: factoring(rng, None),
    "factor-dots": lambda rng: factoring(rng, Dot),
    "factor-convolutions": lambda rng: factoring(rng, Convolution),
    "distribute-dot": lambda rng: distributing(rng, Dot),
    "distribute-convolution": lambda rng: distributing(rng, Convolution),
    "scale-operand:dot": lambda rng: scaling(rng, Dot, result=True),
    "scale-operand:convolution": lambda rng: scaling(rng, Convolution, result=True),
    "scale-result:dot": lambda rng: scaling(rng, Dot, result=False),
    "scale-result:convolution": lambda rng: scaling(rng, Convolution, result=False),
    "reassociate-dots:right": lambda rng: chaining(rng, 0),
    "reassociate-dots:left": lambda rng: chaining(rng, 1),
    "split-pointwise": pointwise_of_concatenates,
    "join-pointwise": concatenates_of_pointwise,
    "rearrange-result": lambda rng: rearranging(rng, result=True),
    "rearrange-operands": lambda rng: rearranging(rng, result=False),
}
"""Programs by the name of the rule."""
