"""Dots, convolutions, linear algebra and Fourier transforms."""

from itertools import product

from tests.hlograph.degenerate.writer import Dims, Writer, listed, shape, window


def dots(w: Writer, dims: Dims) -> None:
    x, y, rank = w.operand("f32", dims), w.operand("f32", dims), len(dims)
    integers = w.operand("s8", dims), w.operand("s8", dims)
    for contracted in range(min(rank, 2) + 1):
        for batch in range(min(rank - contracted, 2) + 1):
            over = listed(range(batch, batch + contracted))
            batches = listed(range(batch))
            free = dims[batch + contracted :]
            if batch + 2 * len(free) > 9:
                continue
            attributes = (
                f"lhs_batch_dims={batches}, rhs_batch_dims={batches}, "
                f"lhs_contracting_dims={over}, rhs_contracting_dims={over}"
            )
            result = (*dims[:batch], *free, *free)
            w.result(shape("f32", result), f"dot({x}, {y}), {attributes}")
            w.result(shape("s32", result), f"dot({integers[0]}, {integers[1]}), {attributes}")
    every = listed(range(rank))
    w.result("f32[]", f"dot({x}, {y}), lhs_contracting_dims={every}, rhs_contracting_dims={every}")
    w.result(
        shape("f32", dims),
        f"dot({x}, {y}), lhs_batch_dims={every}, rhs_batch_dims={every}, "
        "lhs_contracting_dims={}, rhs_contracting_dims={}",
    )
    vector = w.operand("f32", dims[-1:])
    if rank:
        last = f"lhs_contracting_dims={{{rank - 1}}}, rhs_contracting_dims={{0}}"
        w.result(shape("f32", dims[:-1]), f"dot({x}, {vector}), {last}")


def convolutions(w: Writer, dims: Dims) -> None:
    """Writes convolutions; the dimensions are the spatial ones."""
    if len(dims) > 3:
        return
    digits = "".join(map(str, range(len(dims))))
    labels = f"dim_labels=b{digits}f_{digits}io->b{digits}f"
    size = f"{window(size=(1,) * len(dims))}, " if dims else ""
    for batch, features, made in product((0, 1, 2), (0, 1, 2), (0, 1, 2)):
        x = w.operand("f32", (batch, *dims, features))
        kernel = w.operand("f32", (*(1 for _ in dims), features, made))
        w.result(shape("f32", (batch, *dims, made)), f"convolution({x}, {kernel}), {size}{labels}")
    x, kernel = w.operand("f32", (2, *dims, 2)), w.operand("f32", (*(1 for _ in dims), 1, 2))
    by_features = f"{size}{labels}, feature_group_count=2"
    w.result(shape("f32", (2, *dims, 2)), f"convolution({x}, {kernel}), {by_features}")
    kernel = w.operand("f32", (*(1 for _ in dims), 2, 2))
    by_batch = f"{size}{labels}, batch_group_count=2"
    w.result(shape("f32", (1, *dims, 2)), f"convolution({x}, {kernel}), {by_batch}")


def linear_algebra(w: Writer, dims: Dims) -> None:
    """Writes linear algebra; the dimensions are those of batches."""
    if len(dims) > 6:
        dims = dims[:6]
    for size, columns in product((0, 1, 2), (0, 1)):
        square, other = (*dims, size, size), (*dims, size, columns)
        x, b = w.operand("f32", square), w.operand("f32", other)
        factor = w.result(shape("f32", square), f"cholesky({x}), lower=true")
        w.result(
            shape("f32", other),
            f"triangular-solve({factor}, {b}), left_side=true, lower=true, unit_diagonal=false, "
            "transpose_a=TRANSPOSE",
        )
        turned = (*dims, columns, size)
        w.result(
            shape("f32", turned),
            f"triangular-solve({x}, {w.operand('f32', turned)}), left_side=false, lower=false, "
            "unit_diagonal=true, transpose_a=NO_TRANSPOSE",
        )
        pair = f"({shape('f32', other)}, {shape('f32', (*dims, min(size, columns)))})"
        w.result(pair, f'custom-call({b}), custom_call_target="Qr"')
        values = f"({shape('f32', square)}, {shape('f32', (*dims, size))})"
        w.result(
            values, f'custom-call({x}), custom_call_target="Eigh", backend_config="1,1,100,1e-6"'
        )


def ffts(w: Writer, dims: Dims) -> None:
    if not dims:
        return
    x, whole, lengths = w.operand("c64", dims), shape("c64", dims), listed(dims[-1:])
    for kind in ("FFT", "IFFT"):
        w.result(whole, f"fft({x}), fft_type={kind}, fft_length={lengths}")
