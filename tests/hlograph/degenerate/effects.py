"""Random numbers, collectives, and operations with side effects."""

from itertools import product

from tests.hlograph.degenerate.writer import Dims, Writer, shape

HALF_ADD = """
half_add {
  half_x = bf16[] parameter(0)
  half_y = bf16[] parameter(1)
  ROOT half_r = bf16[] add(half_x, half_y)
}
"""


def random_numbers(w: Writer, dims: Dims) -> None:
    low, high, whole = w.operand("f32", (), 0), w.operand("f32", ()), shape("f32", dims)
    w.result(whole, f"rng({low}, {high}), distribution=rng_uniform")
    w.result(whole, f"rng({low}, {high}), distribution=rng_normal")
    n, m = w.operand("s32", (), 0), w.operand("s32", (), 3)
    w.result(shape("s32", dims), f"rng({n}, {m}), distribution=rng_uniform")
    for algorithm, element_type in product(
        ("rng_philox", "rng_three_fry", "rng_default"), ("u8", "u16", "u32", "u64", "s32")
    ):
        state = w.operand("u64", (3 if algorithm == "rng_philox" else 2,))
        count = 3 if algorithm == "rng_philox" else 2
        w.result(
            f"({shape('u64', (count,))}, {shape(element_type, dims)})",
            f"rng-bit-generator({state}), algorithm={algorithm}",
        )
    w.result("u64[2]", "rng-get-and-update-state(), delta=0")


def collectives(w: Writer, dims: Dims) -> None:
    x, whole = w.operand("f32", dims), shape("f32", dims)
    group = "replica_groups={{0}}"
    w.result(whole, f"all-reduce({x}), {group}, to_apply=add")
    w.result(whole, f"all-reduce({x}), replica_groups={{}}, to_apply=add")
    w.result(f"({whole}, {whole})", f"all-reduce({x}, {x}), {group}, to_apply=add")
    w.result(whole, f"collective-permute({x}), source_target_pairs={{{{0,0}}}}")
    w.result(whole, f"collective-permute({x}), source_target_pairs={{}}")
    w.result(whole, f"collective-broadcast({x}), {group}")
    w.result(f"({whole})", f"all-to-all({x}), {group}")
    if dims:
        w.result(whole, f"all-gather({x}), {group}, dimensions={{0}}")
        w.result(whole, f"reduce-scatter({x}), {group}, dimensions={{0}}, to_apply=add")
        w.result(whole, f"all-to-all({x}), {group}, dimensions={{0}}")
    w.result("u32[]", "replica-id()")
    w.result("u32[]", "partition-id()")


def half_collectives(w: Writer, dims: Dims) -> None:
    x, whole = w.operand("bf16", dims), shape("bf16", dims)
    w.result(whole, f"all-reduce({x}), replica_groups={{{{0}}}}, to_apply=half_add")
    if dims:
        w.result(
            whole,
            f"reduce-scatter({x}), replica_groups={{{{0}}}}, dimensions={{0}}, to_apply=half_add",
        )
    w.result(whole, f"reduce({x}, {w.operand('bf16', (), 0)}), dimensions={{}}, to_apply=half_add")
    w.result(whole, f"negate({x})")


def effects(w: Writer, dims: Dims) -> None:
    """Writes operations that exchange data with others, and asynchronous ones."""
    x, whole = w.operand("f32", dims), shape("f32", dims)
    token = w.add("token[]", "after-all()")
    w.result(f"({whole}, token[])", f"infeed({token})")
    w.result("token[]", f"outfeed({x}, {token}), outfeed_shape={whole}")
    sent = w.add(f"({whole}, u32[], token[])", f"send({x}, {token}), channel_id=1")
    w.result("token[]", f"send-done({sent}), channel_id=1")
    received = w.add(f"({whole}, u32[], token[])", f"recv({token}), channel_id=2")
    w.result(f"({whole}, token[])", f"recv-done({received}), channel_id=2")
    copied = w.add(f"({whole}, {whole}, u32[])", f"copy-start({x})")
    w.result(whole, f"copy-done({copied})")
    w.result(whole, f'custom-call({x}), custom_call_target="unknown"')
    w.result(whole, f'custom-call({x}), custom_call_target="Sharding", sharding={{replicated}}')
    w.result(whole, f'domain({x}), domain={{kind="sharding", entry={{}}, exit={{}}}}')
