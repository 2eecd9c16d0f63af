"""Programs that jaxlib compiles wrongly, by the reports of others. Run DIES in a child."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

NUMBERS = lax.ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))


def matvec():
    """jax#39103: the last of 40,000 rows are wrong."""
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((3, 3), np.float32)
    x = rng.standard_normal((40_000, 3), np.float32)

    def energies(matrix, x):
        return jax.vmap(lambda row: jnp.sum((matrix @ row) ** 2))(x)

    return energies, (matrix, x), ((x @ matrix.T) ** 2).sum(1)


def negative_padding():
    """xla#48713: reads outside of the image."""
    image = np.random.default_rng(0).standard_normal((2, 15, 6, 8), np.float32)
    kernel = np.eye(8, dtype=np.float32).reshape(1, 1, 8, 8)

    def cropped(image, kernel):
        return lax.conv_general_dilated(
            image, kernel, (1, 1), [(0, 0), (-5, 1)], dimension_numbers=NUMBERS
        )

    return cropped, (image, kernel), np.pad(image[:, :, 5:], ((0, 0), (0, 0), (0, 1), (0, 0)))


def rank_7():
    """jax#40412: ends the process."""
    rng = np.random.default_rng(0)
    u, v = (rng.standard_normal((3, 1, 2, 2, 8, 8, 8), np.float32) for _ in range(2))
    return lambda u, v: jnp.sum(u * v, axis=3), (u, v), (u * v).sum(3)


def broadcast_of_rank_7():
    """jax#39257: ends the process, or hangs."""
    rng = np.random.default_rng(0)
    observed = rng.random((2, 4, 6), np.float32)
    likelihood = rng.random((2, 4, 6, 9, 9, 9, 9), np.float32)

    def weighted(observed, likelihood):
        return jnp.sum(observed[..., None, None, None, None] * likelihood, axis=2)

    expected = (observed[..., None, None, None, None] * likelihood).sum(2)
    return weighted, (observed, likelihood), expected


def slice_of_slice():
    """xla#49121: the sum of both indices is clamped, and not each of them."""
    x = np.arange(12, dtype=np.float32)

    def rolled(x, shift, start):
        return lax.dynamic_slice(jnp.roll(x, shift), [start], [5])

    arguments = x, np.array(4, np.int32), np.array(20, np.int32)
    return rolled, arguments, np.roll(x, 4)[7:]


def crop_before_window():
    """xla#48715: the negative padding is added to that of the window."""
    x = np.arange(3, 11, dtype=np.float32).reshape(1, 8)

    def sums(x):
        cropped = lax.pad(x, np.float32(0), [(0, 0, 1), (-1, 0, 0)])
        return lax.reduce_window(cropped, np.float32(0), lax.add, (1, 2), (1, 1), [(0, 0), (1, 0)])

    cropped = x[:, 1:]
    return sums, (x,), cropped + np.pad(cropped, ((0, 0), (1, 0)))[:, :-1]


def short_loop():
    """tensorflow#123067: a loop of one iteration is removed."""
    x = np.array([0, 1, 2, 3], np.float32)

    def once(x):
        step = lambda state: (state[0] + 2, -state[1])  # noqa: E731
        return lax.while_loop(lambda state: state[0] < 1, step, (jnp.int32(0), x))[1]

    return once, (x,), -x


def cropping_window():
    """xla#48719: ends the process."""
    x = np.arange(32, dtype=np.float32).reshape(8, 4)

    def cropped(x):
        return lax.reduce_window(x, np.float32(0), lax.add, (1, 1), (1, 1), [(-1, 0), (0, 0)])

    return cropped, (x,), x[1:]


def division_by_zero():
    """stablehlo#2971: ends the process where it is computed at compile time."""
    x = np.arange(6, dtype=np.int32)

    def divided(x):
        return x + lax.div(jnp.full(6, 5, jnp.int32), jnp.zeros(6, jnp.int32))

    return divided, (x,), x - 1


def sort_of_two_bits():
    """Ends the process: a byte of each element is written where it has 2 bits."""
    x = np.random.default_rng(0).integers(0, 4, 1 << 14).astype(ml_dtypes.uint2)
    return lambda x: jnp.sort(x), (x,), np.sort(x.astype(np.int32))


def folds_much():
    """Takes a GB while it is compiled, which computes arrays, and little when it runs."""

    def last(x):
        padded = lax.pad(jnp.ones(1, jnp.complex64), jnp.complex64(2), [(0, 44_000_000, 0)])
        return x + lax.rev(-padded, (0,))[:4]

    return last, (np.ones(4, np.float32),)


WRONG = {
    "matvec": matvec,
    "negative_padding": negative_padding,
    "slice_of_slice": slice_of_slice,
    "crop_before_window": crop_before_window,
    "short_loop": short_loop,
}
DIES = {
    "rank_7": rank_7,
    "broadcast_of_rank_7": broadcast_of_rank_7,
    "cropping_window": cropping_window,
    "division_by_zero": division_by_zero,
    "sort_of_two_bits": sort_of_two_bits,
}
