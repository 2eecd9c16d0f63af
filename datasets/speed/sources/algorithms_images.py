"""Images: filters, edges, corners, warps, flow, morphology, segmentation, denoising."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy import ndimage
from recipe import Recipe, array
from speed.programs import Program, program_recipes

LIBRARY = "jax"
FAMILY = "image-processing"


def shifted(image: jax.Array, radius: int) -> jax.Array:
    """Returns all shifts of an image within a square window, stacked in front."""
    height, width = image.shape
    wide = jnp.pad(image, radius, mode="edge")
    size = 2 * radius + 1
    return jnp.stack(
        [wide[i : i + height, j : j + width] for i in range(size) for j in range(size)]
    )


def gaussian(image: jax.Array, sigma: float = 2.0, radius: int = 6) -> jax.Array:
    """Returns images blurred by two convolutions along the axes."""
    weights = jnp.exp(-0.5 * (jnp.arange(-radius, radius + 1) / sigma) ** 2)
    weights = weights / weights.sum()
    wide = image[:, None]
    wide = jax.lax.conv(wide, weights[None, None, :, None], (1, 1), "SAME")
    return jax.lax.conv(wide, weights[None, None, None, :], (1, 1), "SAME")[:, 0]


def median(image: jax.Array) -> jax.Array:
    """Returns an image through a median filter of 5x5, by sorting windows."""
    return jnp.median(shifted(image, 2), axis=0)


def bilateral(image: jax.Array, width: jax.Array) -> jax.Array:
    """Returns an image through a bilateral filter of 7x7."""
    around = shifted(image, 3)
    place = jnp.arange(-3, 4) ** 2
    near = jnp.exp(-0.1 * (place[:, None] + place).reshape(-1))
    weights = near[:, None, None] * jnp.exp(-((around - image) ** 2) / (0.1 + width))
    return jnp.sum(weights * around, axis=0) / weights.sum(axis=0)


def patches_mean(image: jax.Array, width: jax.Array) -> jax.Array:
    """Returns an image denoised by means over similar patches (non-local means)."""

    def shift(carry: Any, move: jax.Array) -> Any:
        total, weights = carry
        moved = jnp.roll(image, move, (0, 1))
        apart = jax.lax.reduce_window(
            (image - moved) ** 2, 0.0, jax.lax.add, (5, 5), (1, 1), "SAME"
        )
        weight = jnp.exp(-apart / (5.0 + 20.0 * width))
        return (total + weight * moved, weights + weight), None

    moves = jnp.stack(jnp.meshgrid(jnp.arange(-3, 4), jnp.arange(-3, 4)), axis=-1).reshape(-1, 2)
    start = (jnp.zeros_like(image), jnp.zeros_like(image))
    (total, weights), _ = jax.lax.scan(shift, start, moves)
    return total / weights


def edges(images: jax.Array) -> jax.Array:
    """Returns thin edges of images: slopes, their directions, maxima along them, thresholds."""
    across = jnp.array([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
    kernels = jnp.stack([across, across.T])[:, None]
    slopes = jax.lax.conv(images[:, None], kernels, (1, 1), "SAME")
    x, y = slopes[:, 0], slopes[:, 1]
    size = jnp.sqrt(x**2 + y**2)
    sector = jnp.round(jnp.arctan2(y, x) / (jnp.pi / 4)).astype(jnp.int32) % 4
    moves = ((0, 1), (1, 1), (1, 0), (1, -1))
    ahead = jnp.stack([jnp.roll(size, move, (1, 2)) for move in moves])
    behind = jnp.stack([jnp.roll(size, (-i, -j), (1, 2)) for i, j in moves])
    most = jnp.take_along_axis(jnp.maximum(ahead, behind), sector[None], axis=0)[0]
    thin = jnp.where(size >= most, size, 0.0)
    strong = thin > 4.0

    def grow(_: int, strong: jax.Array) -> jax.Array:
        near = jax.lax.reduce_window(strong, False, jax.lax.bitwise_or, (1, 3, 3), (1,) * 3, "SAME")
        return near & (thin > 2.0)

    return jax.lax.fori_loop(0, 8, grow, strong)


def corners(image: jax.Array) -> Any:
    """Returns the 100 best corners (Harris) that are maxima of their surroundings."""
    down, right = jnp.gradient(image)
    products = jnp.stack([down * down, right * right, down * right])
    first, second, mixed = gaussian(products)
    score = first * second - mixed**2 - 0.05 * (first + second) ** 2
    most = jax.lax.reduce_window(score, -jnp.inf, jax.lax.max, (7, 7), (1, 1), "SAME")
    return jax.lax.top_k(jnp.where(score == most, score, 0.0).reshape(-1), 100)


def warp(images: jax.Array, transforms: jax.Array) -> jax.Array:
    """Returns images through affine maps, by linear interpolation."""
    rows, columns = jnp.indices(images.shape[1:], jnp.float32)
    middle = images.shape[1] / 2

    def one(image: jax.Array, transform: jax.Array) -> jax.Array:
        turn = jnp.eye(2) + 0.1 * transform[:, :2]
        y, x = rows - middle, columns - middle
        places = [turn[i, 0] * y + turn[i, 1] * x + middle + transform[i, 2] for i in (0, 1)]
        return ndimage.map_coordinates(image, places, order=1, mode="constant")

    return jax.vmap(one)(images, transforms)


def flow(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns the movement between two images by 60 rounds of Horn and Schunck."""
    down, right = jnp.gradient(0.5 * (first + second))
    change = second - first

    def mean(field: jax.Array) -> jax.Array:
        wide = jnp.pad(field, ((0, 0), (1, 1), (1, 1)), mode="edge")
        sides = wide[:, 2:, 1:-1] + wide[:, :-2, 1:-1] + wide[:, 1:-1, 2:] + wide[:, 1:-1, :-2]
        return sides / 4

    def step(_: int, field: jax.Array) -> jax.Array:
        around = mean(field)
        error = (down * around[0] + right * around[1] + change) / (1.0 + down**2 + right**2)
        return around - error * jnp.stack([down, right])

    return jax.lax.fori_loop(0, 60, step, jnp.zeros((2, *first.shape)))


def morphology(images: jax.Array) -> jax.Array:
    """Returns the gradient of opened images: minima, maxima and differences of windows."""
    window, ones = (1, 7, 7), (1, 1, 1)

    def erode(x: jax.Array) -> jax.Array:
        return jax.lax.reduce_window(x, jnp.inf, jax.lax.min, window, ones, "SAME")

    def dilate(x: jax.Array) -> jax.Array:
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, ones, "SAME")

    opened = dilate(erode(images))
    return dilate(opened) - erode(opened)


def box_means(images: jax.Array) -> jax.Array:
    """Returns images in units of local deviations, by tables of cumulative sums."""
    size = 15

    def mean(values: jax.Array) -> jax.Array:
        table = jnp.cumsum(jnp.cumsum(values, axis=1), axis=2)
        table = jnp.pad(table, ((0, 0), (1, 0), (1, 0)))
        total = table[:, size:, size:] - table[:, :-size, size:]
        total = total - table[:, size:, :-size] + table[:, :-size, :-size]
        return jnp.pad(total / size**2, ((0, 0), (7, 7), (7, 7)), mode="edge")

    centre = mean(images)
    spread = jnp.maximum(mean(images**2) - centre**2, 0.0)
    return (images - centre) / jnp.sqrt(spread + 1e-2)


def total_variation(image: jax.Array, weight: jax.Array) -> jax.Array:
    """Returns an image denoised by 60 rounds of Chambolle's algorithm for total variation."""

    def divergence(p: jax.Array) -> jax.Array:
        down = p[0] - jnp.pad(p[0], ((1, 0), (0, 0)))[:-1]
        return down + p[1] - jnp.pad(p[1], ((0, 0), (1, 0)))[:, :-1]

    def step(_: int, p: jax.Array) -> jax.Array:
        error = divergence(p) - image / (0.1 + weight)
        down = jnp.pad(jnp.diff(error, axis=0), ((0, 1), (0, 0)))
        right = jnp.pad(jnp.diff(error, axis=1), ((0, 0), (0, 1)))
        slope = jnp.stack([down, right])
        return (p + 0.25 * slope) / (1 + 0.25 * jnp.sqrt(jnp.sum(slope**2, axis=0)))

    p = jax.lax.fori_loop(0, 60, step, jnp.zeros((2, *image.shape)))
    return image - (0.1 + weight) * divergence(p)


def recipes() -> Iterator[Recipe]:
    """Yields the programs on images."""
    plane, batch, scalar = array(256, 256), array(8, 256, 256), array()
    programs = (
        ("gaussian/b8-n256", gaussian, (batch,)),
        ("median/n128", median, (array(128, 128),)),
        ("bilateral/n192", bilateral, (array(192, 192), scalar)),
        ("patches-mean/n128", patches_mean, (array(128, 128), scalar)),
        ("edges/b4-n256", edges, (array(4, 256, 256),)),
        ("corners/n256", corners, (plane,)),
        ("warp/b8-n256", warp, (batch, array(8, 2, 3))),
        ("flow/n256-t60", flow, (plane, plane)),
        ("morphology/b4-n256", morphology, (array(4, 256, 256),)),
        ("box-means/b8-n256", box_means, (batch,)),
        ("total-variation/n256-t60", total_variation, (plane, scalar)),
        (
            "resize/b4-n256-to-384",
            lambda images: jax.image.resize(images, (4, 384, 384, 3), "bicubic"),
            (array(4, 256, 256, 3),),
        ),
    )
    for name, function, arguments in programs:
        words = f"{name.split('/')[0]} of images"
        yield from program_recipes(
            LIBRARY, [Program(f"{FAMILY}/{name}", words, function, arguments)]
        )
