"""Tests that envs, models and experiments of a wheel work under names of hlograph alone."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from distribution.carried import PACKAGES, POLICIES, ROOT, carried, copy, renamed
from experiments.policies.kind import KINDS as ALL_KINDS
from experiments.policies.shipped import KINDS, available

MODULES = {name: Path() for name in ("envs", "envs.tuning", "experiments", "experiments.policies")}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from envs import TuningEnv", "from hlograph.envs import TuningEnv"),
        ("    from envs.tuning import (\n", None),
        ("from hlograph.envs import a", "from hlograph.envs import a"),
        ("import os, numpy.models", "import os, numpy.models"),
        ("envs.tuning.x = models.y", "envs.tuning.x = models.y"),  # variables of these names
        ('entry = "envs.tuning:TuningEnv"', 'entry = "hlograph.envs.tuning:TuningEnv"'),
        ("# See envs.tuning, envs.Reward.", "# See hlograph.envs.tuning, hlograph.envs.Reward."),
        ('"""A\n  ``envs.tuning``"""', '"""A\n  ``hlograph.envs.tuning``"""'),
        ('"""python -m experiments.policies"""', '"""python -m experiments.policies"""'),
        ('"experiments.train.loop"', '"experiments.train.loop"'),  # which stays behind
        ('"models/shipped/envs.tuning"', '"models/shipped/envs.tuning"'),
    ],
)
def test_names_of_a_source(source: str, expected: str | None):
    if expected is None:
        source = f"def f():\n{source}        A, B)\n"
        expected = source.replace("from envs", "from hlograph.envs")
    assert renamed(source, MODULES) == expected


def test_an_import_that_cannot_be_renamed_is_refused():
    with pytest.raises(ValueError, match=r"write `from \.\.\. import \.\.\.` for: import envs"):
        renamed("import envs.tuning", MODULES)


def test_what_is_carried():
    modules = carried()
    whole = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in ("envs", "models")
        for file in (ROOT / package).rglob("*.py")
    }
    assert whole < set(modules)
    rest = set(modules) - whole
    # Playing needs no trainer and no study: one import more would take their packages along.
    assert {name.split(".")[1] for name in rest - {"experiments"}} == {
        "evaluate",
        "play",
        "policies",
        "search",
    }
    assert len(rest) < 40


def test_a_policy_of_each_kind_is_carried():
    modules = {entry.cls.partition(":")[0] for entry in ALL_KINDS.values()}
    assert modules < set(carried())
    files = {file.name.split("-seed")[0] for file in ROOT.glob(POLICIES)}
    shipped = {name.split("-seed")[0] for name in available()}
    assert set(KINDS) >= shipped
    assert files == shipped


PLAY = """
import sys
sys.path[:0] = {path!r}
import gymnasium, hlograph.envs
from hlograph.experiments.play import play
from hlograph.experiments.policies.shipped import available
from hlograph.experiments.policies.shipped import checkpoint_location
from hlograph.experiments.search.tuning.episodes import PlayedPolicy
from hlograph.optimization.methods import methods
from hlograph.plans import Program

text = '''HloModule sums
ENTRY e {{
  x = f32[64,64] parameter(0)
  y = f32[64,64] add(x, x)
  ROOT z = f32[64,64] multiply(y, x)
}}'''
module = hlograph.Module.read(text)
env = gymnasium.make("hlograph/Tuning-v0", benchmarks=[module])
assert type(env.unwrapped).__module__ == "hlograph.envs.tuning"
plan = PlayedPolicy(Program.of(module), "close", checkpoint_location("tuning")).decided(0).plan
print(plan.fingerprint == Program.of(module).fingerprint, *methods(["policy"]))
print(*available())
print(*(play(policy, module).op_count for policy in ("gnn", "op-counts", "rewrites")))
print(*sorted({packages!r} & set(sys.modules)))
"""


def test_a_policy_is_played_without_the_checkout(tmp_path: Path):
    """The copy lies in a package of links to the library's files, as in the wheel."""
    library = tmp_path / "hlograph"
    library.mkdir()
    for entry in (ROOT / "hlograph").iterdir():
        (library / entry.name).symlink_to(entry)
    for name in ("_xla", "_graphs", "_custom_calls"):
        spec = importlib.util.find_spec(f"hlograph.{name}")
        assert spec is not None
        assert spec.origin is not None
        extension = Path(spec.origin)
        if not (library / extension.name).exists():  # in site-packages
            (library / extension.name).symlink_to(extension)
    copy(library)
    path = [str(tmp_path), *(p for p in sys.path if p and Path(p) != ROOT)]
    program = PLAY.format(path=path, packages=set(PACKAGES))
    # Without site, no hook of an editable installation leads back to the checkout.
    command = [sys.executable, "-ISc", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    decided, policies, op_counts, generic = done.stdout.splitlines()
    assert decided == "True policy"
    assert policies.split() == [f"{kind}-seed0" for kind in KINDS]
    assert op_counts == "3 3 3"
    assert generic == ""
