"""Checks an installed wheel, by the interpreter of the environment that has it.

PYTHON -I tests/distribution/installed_wheel.py [EXTRAS]

It takes a minute, and asserts what the wheel does with these extras, such as ``engine,learn`` or
``all``, and prints how many MB the environment has.
Without extras: nothing generic in site-packages, a search by ``hlograph.optimize``, and errors that
name the extra that is missing. With ``engine``: the extension found beside the package, the
command, and pages of the explorer. With gymnasium, too: an episode of an environment. With
``learn``: every module importable, the policies, and a search by the policy for time. With ``all``:
the server of the explorer. The flag -I keeps the checkout off the path.
"""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request
from collections.abc import Callable
from importlib.metadata import distribution
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

ATTEMPTS = 3
"""On a machine with much other work, a worker may be given up before it has imported torch."""

TEXT = """HloModule sums
ENTRY e {
  x = f32[128,64] parameter(0)
  y = f32[128,64] add(x, x)
  z = f32[128,64] add(x, x)
  ROOT w = f32[128,64] multiply(y, z)
}"""


def check_files() -> None:
    """Checks that the wheel put one package and its metadata into site-packages."""
    found = distribution("hlograph")
    located = [file for file in found.files or () if file.suffix != ".pyc"]
    files = {file.as_posix() for file in located}
    tops = {name.split("/")[0] for name in files} - {".."}
    assert tops == {"hlograph", f"hlograph-{found.version}.dist-info"}, tops
    assert {"hlograph/py.typed", "hlograph/_xla.pyi"} <= files
    assert not [name for name in files if name.endswith((".cc", ".h"))]
    size = sum(Path(file.locate()).stat().st_size for file in located)
    print(f"{len(files)} files, {size:,} bytes")


def size_of_environment() -> str:
    """Returns the MB of what is installed beside pip."""
    site = Path(sysconfig.get_path("purelib"))
    total = sum(
        file.stat().st_size
        for entry in site.iterdir()
        if not entry.name.startswith(("pip", "setuptools"))
        for file in (entry.rglob("*") if entry.is_dir() else [entry])
        if file.is_file() and file.suffix != ".pyc"
    )
    return f"{total / 1e6:,.0f} MB without pip and bytecode"


def check_base(extras: set[str]) -> None:
    """Optimizes a function, applies plans to it, and asks for extras that are not installed."""
    import jax
    import jax.numpy as jnp

    import hlograph

    def function(x: jax.Array) -> jax.Array:
        return (jnp.tanh(x @ x) / (1 + x)).sum(0)

    x = jnp.linspace(0, 1, 16384).reshape(128, 128)
    fast = hlograph.optimize(function, x, budget=5, store="plans", progress=False)
    assert fast.report.outcomes, "no plan was measured"
    assert jnp.allclose(fast(x), function(x), rtol=1e-4)
    print(fast.report.conclusion)
    names = ("program", "fingerprint", "text_fingerprint")
    identity = {name: getattr(fast.plan, name) for name in names}
    plans = [hlograph.Plan(**identity, flags={"xla_cpu_prefer_vector_width": 128})]
    if "engine" in extras:
        plans.append(hlograph.Plan(**identity, steps=("xla-simplify",)))
    for plan in plans:
        plan.save("plan.json")
        by_plan = hlograph.optimize(function, x, plan="plan.json")
        assert by_plan.plan == plan
        assert jnp.allclose(by_plan(x), function(x), rtol=1e-4)
    if "engine" not in extras:
        assert _missing(lambda: hlograph.parse(TEXT)).endswith("pip install 'hlograph[engine]'")
    if "learn" not in extras:
        message = _missing(lambda: importlib.import_module("hlograph.models.gat"))
        assert message.endswith("pip install 'hlograph[learn]'")


def _missing(call: Callable[[], object]) -> str:
    """Returns the message of an error that a call raises."""
    from hlograph import HloError

    try:
        call()
    except HloError as error:
        return str(error)
    raise AssertionError("expected an error")


def check_extension() -> None:
    """Checks that the extension finds XLA's libraries by itself, if they are beside hlograph."""
    import hlograph

    beside = Path(hlograph.__file__).parents[1] / "tensorflow"
    assert beside.exists(), f"no tensorflow beside {hlograph.__file__}"
    program = "import hlograph._xla as x; print(x.TENSORFLOW_VERSION)"
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    print("engine of tensorflow-cpu", _output(sys.executable, "-Ic", program, env=environment))


def check_modules() -> None:
    """Imports every module."""
    import hlograph

    names = [m.name for m in pkgutil.walk_packages(hlograph.__path__, "hlograph.")]
    for name in names:
        if not name.endswith("__main__"):
            importlib.import_module(name)
    generic = {"envs", "models", "experiments", "datasets", "benchmarks"} & set(sys.modules)
    assert not generic, generic
    assert {"hlograph.envs.tuning", "hlograph.models.gat"} <= set(sys.modules)
    print(f"{len(names)} modules of hlograph {hlograph.__version__}")


def check_command() -> None:
    """Runs the program hlograph, which is beside the interpreter."""
    program = str(Path(sys.executable).parent / "hlograph")
    assert "optimize" in _output(program, "--help")
    Path("sums.hlo").write_text(TEXT)
    print("op count", json.loads(_output(program, "parse", "sums.hlo", "--json"))["op_count"])


def check_explorer() -> None:
    """Writes pages that show a pipeline, which open from disk."""
    program = str(Path(sys.executable).parent / "hlograph")
    _output(program, "explore", "sums.hlo", "--pipeline", "xla-simplify", "--out", "steps")
    for name in ("index.html", "explorer.js", "explorer.css"):
        assert (Path("steps") / name).stat().st_size > 500, name


def check_server() -> None:
    """Serves pages, and asks for one."""
    program = str(Path(sys.executable).parent / "hlograph")
    command = (program, "explore", "sums.hlo")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        (address,) = islice((line for line in serving.stderr if line.startswith("http://")), 1)
        with urllib.request.urlopen(address.strip(), timeout=60) as page:
            assert b"<html" in page.read().lower()
        serving.terminate()


def check_environments() -> None:
    """Plays an episode, which needs gymnasium and no torch."""
    import gymnasium

    import hlograph.envs  # noqa: F401  registers the environments

    options = {"benchmarks": ["sums.hlo"], "observation": "op_counts"}
    env = gymnasium.make("hlograph/PassOrdering-v0", **options)
    _, info = env.reset(seed=0)
    start, done = info["op_count"], False
    env.action_space.seed(0)
    while not done:
        action = env.action_space.sample(info["action_mask"])
        _, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
    print(f"an episode: {start} to {info['op_count']} instructions")


def check_explored_policy() -> None:
    """Writes pages that show a policy's episode."""
    program = str(Path(sys.executable).parent / "hlograph")
    written = _output(program, "explore", "sums.hlo", "--policy", "gnn", "--out", "pages", "--json")
    assert json.loads(written)["pages"] == ["graph", "policy"], written


def check_policies() -> None:
    """Plays each policy that orders passes or rewrites, on a module."""
    from hlograph.experiments.play import play
    from hlograph.experiments.policies.shipped import available

    for name in available():
        if not name.startswith("tuning"):
            played = play(name, "sums.hlo")
            print(f"{name}: {played.start} to {played.op_count} by {played.passes}")


def check_search() -> None:
    """Optimizes a function by the policy for time and by predictions, in worker processes."""
    import jax
    import jax.numpy as jnp

    import hlograph

    def similar(x: jax.Array) -> jax.Array:
        return ((x[:, None] - x[None]) ** 2).sum(-1).min(1)

    x = jax.random.normal(jax.random.key(0), (256, 3))
    methods = ("policy", "predicted")
    for attempt in range(ATTEMPTS):
        store = f"plans-{attempt}"
        fast = hlograph.optimize(
            similar, x, budget=10, methods=methods, store=store, progress=False
        )
        if fast.report.outcomes:
            break
    assert fast.report.outcomes, "the policy proposed no plan that was measured"
    assert jnp.allclose(fast(x), similar(x), atol=1e-4)
    print(fast.report.conclusion)


def _output(*command: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout.strip()


def check(extras: set[str]) -> None:
    """Checks what the wheel does with extras."""
    print(size_of_environment())
    if "all" in extras:
        extras = extras | {"engine", "explore", "learn"}
    check_files()
    check_base(extras)
    if "engine" in extras:
        check_extension()
        check_command()
        check_explorer()
        if find_spec("gymnasium"):
            check_environments()
        if "explore" in extras:
            check_server()
    if extras >= {"engine", "learn"}:
        check_explored_policy()
        check_policies()
        check_search()
        check_modules()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["HLOGRAPH_CACHE"] = str(Path(folder) / "cache")
        check(set(",".join(sys.argv[1:]).split(",")))
    print("the wheel works")
