"""Lowers programs for several devices, as they are after XLA's SPMD partitioner.

A lowering of jax only carries sharding annotations; the collectives come in when XLA partitions the
module. So the program is compiled by jaxlib for virtual host devices, and the module is taken as
jaxlib's compiler dumps it right after the pass. jaxlib's XLA is newer than the one that parses the
text here, so what the older one cannot read is rewritten to the same in older words.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from recipe import Recipe, Tree
from replica_groups import older_text
from tasks import Task, lower_task, scope_of

DEVICES = 8

_PASS = "spmd-partitioning"


def request_devices(count: int = DEVICES) -> None:
    """Makes the host platform offer virtual devices; a source calls it before it uses jax.

    Raises:
        RuntimeError: The backend is up already, with fewer devices.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={count}".strip()
    if jax.device_count() < count:
        raise RuntimeError(
            f"The backend of jax has {jax.device_count()} devices, not {count}: it was initialised"
            " before request_devices was called"
        )


def make_mesh(**axes: int) -> Mesh:
    """Returns a mesh of the first devices, axes by name and size, row-major."""
    sizes = tuple(axes.values())
    devices = np.array(jax.devices()[: int(np.prod(sizes))]).reshape(sizes)
    return Mesh(devices, tuple(axes))


def shift(values: Tree, axis: str, by: int = 1) -> Tree:
    """Returns what the device some places before has, around the devices of an axis."""
    size = jax.lax.axis_size(axis)
    return jax.lax.ppermute(values, axis, [(place, (place + by) % size) for place in range(size)])


def lower_partitioned(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    mesh: Mesh,
    in_specs: Any,
    out_specs: Any = None,
) -> str:
    """Returns the HLO text of one device's program, with its collectives.

    Args:
        function: The whole program; it may call `jax.shard_map` over the same mesh.
        arguments: Its abstract arguments.
        mesh: Devices to partition for.
        in_specs: A tree prefix of `PartitionSpec` for the arguments.
        out_specs: The same for the results; None leaves the choice to the partitioner.
    """

    def shardings(specs: Any) -> Any:
        def sharding(spec: Any) -> Any:
            return None if spec is None else NamedSharding(mesh, spec)

        return jax.tree.map(sharding, specs, is_leaf=lambda spec: spec is None)

    jitted = jax.jit(function, in_shardings=shardings(in_specs), out_shardings=shardings(out_specs))
    return partitioned_text(jitted.lower(*arguments))


def partitioned_text(lowered: jax.stages.Lowered) -> str:
    """Returns the HLO text of one device's program from a lowering with shardings."""
    with tempfile.TemporaryDirectory(prefix="partitioned-") as folder:
        # The compiler has no way to stop after the pass; without optimization it ends soonest.
        lowered.compile(
            compiler_options={
                "xla_dump_to": folder,
                "xla_dump_hlo_as_text": True,
                "xla_dump_hlo_pass_re": _PASS,
                "xla_dump_large_constants": True,
                "xla_backend_optimization_level": 0,
                "xla_llvm_disable_expensive_passes": True,
            }
        )
        dumps = sorted(Path(folder).glob(f"*.after_{_PASS}.*.txt"))
        if len(dumps) != 1:
            raise RuntimeError(f"Expected one module after {_PASS}, found {len(dumps)}")
        text = dumps[0].read_text()
    return older_text(text)


def sharded_task(task: Task, layout: str, split: dict[str, int]) -> Task:
    """Returns a task whose arrays are spread over devices.

    Args:
        task: The model and its loss.
        layout: Parts of the mesh and their sizes, as in `dp2-fsdp2-tp2`. `dp` splits the batch;
            `fsdp` splits the batch and each parameter's largest axis; `tp` and `ep` (tensor and
            expert parallelism) split the parameters that `split` names; `sp` splits sequences or
            the rows of images.
        split: Patterns for the path of a parameter to the axis that `tp` or `ep` splits.
    """
    axes = mesh_axes(layout)
    mesh = make_mesh(**axes)

    def parameter_spec(path: Any, leaf: Any) -> PartitionSpec:
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        spec: list[Any] = [None] * len(leaf.shape)
        for part in ("tp", "ep"):
            found = [axis for pattern, axis in split.items() if re.search(pattern, name)]
            if part in axes and found and leaf.shape[found[0]] % axes[part] == 0:
                spec[found[0]] = part
        free = [
            axis
            for axis, size in enumerate(leaf.shape)
            if spec[axis] is None and size % axes.get("fsdp", 1) == 0
        ]
        if "fsdp" in axes and free:
            spec[max(free, key=lambda axis: leaf.shape[axis])] = "fsdp"
        return PartitionSpec(*spec)

    def batch_spec(leaf: Any) -> PartitionSpec:
        if not leaf.shape:  # A random key.
            return PartitionSpec()
        rows = tuple(part for part in ("dp", "fsdp", "ep") if part in axes)
        spec: list[Any] = [rows or None] + [None] * (len(leaf.shape) - 1)
        if "sp" in axes:
            divisible = (
                axis for axis, size in enumerate(leaf.shape) if axis and size % axes["sp"] == 0
            )
            axis = next(divisible, None)
            if axis is not None:
                spec[axis] = "sp"
        return PartitionSpec(*spec)

    def placed(leaf: Any, spec: PartitionSpec) -> Any:
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, spec))

    def constrained(batch: Tree) -> Tree:
        # Programs that stack or slice batches lose the placement of their arguments.
        def constrain(leaf: Any) -> Any:
            if not leaf.shape:
                return leaf
            return jax.lax.with_sharding_constraint(leaf, NamedSharding(mesh, batch_spec(leaf)))

        return jax.tree.map(constrain, batch)

    return Task(
        params=jax.tree_util.tree_map_with_path(
            lambda path, leaf: placed(leaf, parameter_spec(path, leaf)), task.params
        ),
        state=jax.tree.map(lambda leaf: placed(leaf, PartitionSpec()), task.state),
        batch=jax.tree.map(lambda leaf: placed(leaf, batch_spec(leaf)), task.batch),
        forward=lambda params, state, *batch: task.forward(params, state, *constrained(batch)),
        loss=lambda params, state, *batch: task.loss(params, state, *constrained(batch)),
    )


def mesh_axes(layout: str) -> dict[str, int]:
    """Returns the axes of a mesh by name, from a layout such as `dp4-tp2`."""
    parts = [re.fullmatch(r"([a-z]+)(\d+)", part) for part in layout.split("-")]
    return {part[1]: int(part[2]) for part in parts if part}


def sharded_recipes(
    family: str,
    library: str,
    model: str,
    description: str,
    task: Callable[[], Task],
    programs: dict[str, tuple[str, ...]],
    size: str,
    split: dict[str, int],
) -> Iterator[Recipe]:
    """Yields partitioned programs of a task.

    Args:
        family: Model family.
        library: Distribution name of the library.
        model: The model's configuration; with the layout, the second part of the name.
        description: The model's class and configuration.
        task: Makes the task; called at lowering.
        programs: Layout to kinds of program, as `sharded_task` and `lower_task` take them.
        size: Batch size and the like, as it ends the name.
        split: As `sharded_task` takes it.
    """

    def lower(layout: str, kind: str) -> str:
        return partitioned_text(lower_task(sharded_task(task(), layout, split), kind))

    for layout, kinds in programs.items():
        for kind in kinds:
            yield Recipe(
                name=f"{family}/{model}-{layout}/{kind}-{size}",
                family=family,
                library=library,
                recipe=f"{description}; {kind}, {size}; partitioned over devices as {layout}",
                lower=lambda layout=layout, kind=kind: lower(layout, kind),
                scope=scope_of(kind),
            )
