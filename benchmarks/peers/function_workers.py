"""Peers that take a function: ONNX from a function in JAX, and PyTorch from its version there."""

from __future__ import annotations

import importlib
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.peers.npbench_programs import NPBenchJaxWorker, NPBenchProgram
from benchmarks.peers.worker import CallWorker, plainly
from hlograph.errors import HloError

_DATASETS = Path(__file__).parents[2] / "datasets"
_OF_JAX = 'LIBRARY = "jax"\n'  # sources of the corpus that import no other library


class NoVersionError(HloError):
    """Raised when a program has no version for a peer, which is then not asked for it."""


class OnnxWorker(CallWorker):
    """A function in JAX as jax2onnx exports it, in ONNX Runtime or OpenVINO.

    Args:
        folder: The prepared program.
        source: Name of a program of the corpus, or a program of NPBench.
        backend: What runs the exported model.
        threads: Threads of it.
    """

    def __init__(
        self,
        folder: str,
        source: str | NPBenchProgram,
        backend: Literal["onnxruntime", "openvino"],
        threads: int,
    ) -> None:
        super().__init__()
        import jax

        self._wide = isinstance(source, NPBenchProgram)
        jax.config.update("jax_enable_x64", self._wide)
        self._inputs = pickle.loads(Path(folder, "inputs.pickle").read_bytes())
        self._source, self._backend, self._threads = source, backend, threads

    def compile(self) -> float:
        """Exports and compiles the function, and returns the seconds that takes.

        Raises:
            HloError: The corpus has no function of it, or it is not exported or compiled.
        """
        import jax
        from jax2onnx import to_onnx  # pyright: ignore[reportMissingImports]

        specs = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in self._inputs]
        with plainly():
            function = self._function()
            begun = time.perf_counter()
            model = to_onnx(function, specs, enable_double_precision=self._wide)
            if self._backend == "onnxruntime":
                self._compile_onnxruntime(model.SerializeToString())
            else:
                self._compile_openvino(model.SerializeToString())
            return time.perf_counter() - begun

    def _function(self) -> Callable[..., Any]:
        """Returns the function of the prepared program's parameters, with a list of results."""
        if isinstance(self._source, NPBenchProgram):
            jit, arguments, dynamic = NPBenchJaxWorker(self._source).parts()
            static = {id(value) for value in arguments} - {id(value) for value in dynamic}

            def function(*values: Any) -> Any:
                rest = iter(values)
                return jit(*(v if id(v) in static else next(rest) for v in arguments))

            abstract: Any = tuple(dynamic)
        else:
            function, abstract = corpus_function(self._source)
        return flat_function(function, abstract)

    def _compile_onnxruntime(self, model: bytes) -> None:
        import onnxruntime  # pyright: ignore[reportMissingImports]

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [each.name for each in session.get_inputs()]
        fed = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(array)
            for name, array in zip(names, self._inputs, strict=True)
        }
        results = [each.name for each in session.get_outputs()]
        self._run = lambda: session.run_with_ort_values(results, fed)
        self._to_numpy = lambda value: value.numpy()

    def _compile_openvino(self, model: bytes) -> None:
        import openvino  # pyright: ignore[reportMissingImports]

        core = openvino.Core()
        settings = {
            "INFERENCE_NUM_THREADS": self._threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
        }
        request = core.compile_model(core.read_model(model), "CPU", settings).create_infer_request()
        for number, array in enumerate(self._inputs):
            request.set_input_tensor(number, openvino.Tensor(array))

        def run() -> list[Any]:
            request.infer()
            return [each.data for each in request.output_tensors]

        self._run, self._to_numpy = run, np.array

    def prepared(self) -> None:
        """Returns nothing: the inputs lie in the session."""

    def run(self, prepared: None) -> Any:
        """Makes one call, which waits for its results."""
        return self._run()

    def outputs(self) -> list[Any]:
        """Runs the function once, and returns its outputs."""
        with plainly():
            return [np.array(self._to_numpy(value)) for value in self._run()]


def flat_function(
    function: Callable[..., Any], abstract: tuple[Any, ...]
) -> Callable[..., list[Any]]:
    """Returns a function of the arrays that a lowering keeps, in order.

    jax drops arguments that are not used; they are zeros here.
    """
    import jax
    import jax.numpy as jnp

    leaves, tree = jax.tree.flatten(abstract)
    shapes = [jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf)) for leaf in leaves]

    def flat(*values: Any) -> list[Any]:
        return jax.tree.leaves(function(*jax.tree.unflatten(tree, values)))

    kept = jax.jit(flat).lower(*shapes)._lowering.compile_args["kept_var_idx"]

    def of_kept(*values: Any) -> list[Any]:
        rest = iter(values)
        return flat(
            *(
                next(rest) if number in kept else jnp.zeros(shape.shape, shape.dtype)
                for number, shape in enumerate(shapes)
            )
        )

    return of_kept


def corpus_function(name: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Returns the function in JAX of a program of the corpus, and its abstract arguments.

    Raises:
        HloError: It is not one of jax alone.
    """
    for recipe in _recipes():
        if recipe.name == name and (parts := getattr(recipe.lower, "args", ())):
            return parts[0].function, parts[0].arguments
    raise HloError(
        "takes a function in JAX, and the corpus has this program's module alone, made with "
        "other libraries than jax"
    )


def _recipes() -> Iterator[Any]:
    """Yields how the programs of the speed set are made that need no library but jax."""
    if str(_DATASETS) not in sys.path:
        sys.path.insert(0, str(_DATASETS))
    for file in sorted((_DATASETS / "speed" / "sources").glob("*.py")):
        if _OF_JAX not in file.read_text(encoding="utf-8"):
            continue
        try:
            source = importlib.import_module(f"speed.sources.{file.stem}")
        except ImportError:  # of another library after all
            continue
        yield from source.recipes()


class TorchWorker(CallWorker):
    """A program's version in PyTorch, eager or by ``torch.compile``.

    Args:
        folder: The prepared program.
        name: Name of the program in the speed set.
        compiled: True compiles it.
        threads: Threads of PyTorch.
    """

    def __init__(self, folder: str, name: str, compiled: bool, threads: int) -> None:
        super().__init__()
        from benchmarks.beside_torch.catalogue import MODELS

        if name not in MODELS:
            raise NoVersionError("has no version in PyTorch")
        import torch

        torch.set_num_threads(threads)
        self._model, self._compiled = MODELS[name], compiled
        arrays = pickle.loads(Path(folder, "inputs.pickle").read_bytes())
        self._arguments = self._model.prepare(*(torch.from_numpy(np.array(a)) for a in arrays))

    def compile(self) -> float:
        """Makes the function, calls it once, and returns the seconds that takes."""
        from benchmarks.beside_torch.program import eager

        if self._compiled:
            import torch

            from benchmarks.beside_torch.measuring import warm_compiler

            warm_compiler()
            compiler: Any = torch.compile
        else:
            compiler = eager
        begun = time.perf_counter()
        self._function = self._model.build(compiler)
        self.run(None)
        return time.perf_counter() - begun

    def prepared(self) -> None:
        """Returns nothing: the arguments lie ready."""

    def run(self, prepared: None) -> Any:
        """Calls the function."""
        return self._model.call(self._function, self._arguments)

    def outputs(self) -> list[Any]:
        """Runs the function once, and returns the program's outputs."""
        return [value.detach().numpy() for value in self._model.finish(self.run(None))]
