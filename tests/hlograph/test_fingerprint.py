"""The fingerprint is the identity of a module's state."""

import random
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hlograph
from hlograph import Module

BASE = """
HloModule m
ENTRY main {
  p = f32[4,2] parameter(0)
  a = f32[4,2] exponential(p)
  b = f32[4,2] exponential(p)
  ROOT t = (f32[4,2], f32[4,2]) tuple(a, b)
}
"""

# Each is another state than BASE.
OTHERS = {
    "one shared instead of two equal": BASE.replace("tuple(a, b)", "tuple(a, a)").replace(
        "  b = f32[4,2] exponential(p)\n", ""
    ),
    "opcode": BASE.replace("b = f32[4,2] exponential", "b = f32[4,2] tanh"),
    "shape": BASE.replace("[4,2]", "[4,3]"),
    "element type": BASE.replace("f32", "f16"),
    "dead instruction": BASE.replace("  ROOT", "  dead = f32[4,2] tanh(p)\n  ROOT"),
    "sharing in dead code": BASE.replace(
        "  ROOT", "  d = f32[4,2] tanh(p)\n  e = f32[4,2] add(d, d)\n  ROOT"
    ),
    "no sharing in dead code": BASE.replace(
        "  ROOT",
        "  d = f32[4,2] tanh(p)\n  d2 = f32[4,2] tanh(p)\n  e = f32[4,2] add(d, d2)\n  ROOT",
    ),
    "control dependency": BASE.replace(
        "b = f32[4,2] exponential(p)", "b = f32[4,2] exponential(p), control-predecessors={a}"
    ),
    "layout": BASE.replace("p = f32[4,2]", "p = f32[4,2]{0,1}"),
    "aliasing": BASE.replace(
        "HloModule m", "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }"
    ),
    "sharding": BASE.replace("parameter(0)", "parameter(0), sharding={replicated}"),
    "frontend attribute": BASE.replace(
        "b = f32[4,2] exponential(p)", 'b = f32[4,2] exponential(p), frontend_attributes={k="v"}'
    ),
}


def test_different_states_differ():
    prints = {name: Module.from_text(text).fingerprint() for name, text in OTHERS.items()}
    prints["base"] = Module.from_text(BASE).fingerprint()
    assert len(set(prints.values())) == len(prints), prints


def test_names_and_metadata_do_not_count():
    renamed = (
        BASE.replace("a =", "zz =").replace("(a,", "(zz,").replace("HloModule m", "HloModule n")
    )
    renamed = renamed.replace("main", "entry").replace(
        "exponential(p)", 'exponential(p), metadata={op_name="exp" source_line=3}'
    )
    assert Module.from_text(renamed).fingerprint() == Module.from_text(BASE).fingerprint()


def test_what_a_proto_does_not_carry_does_not_count():
    module = Module.from_text(BASE.replace("HloModule m", "HloModule m, num_partitions=2"))
    assert Module.from_proto(module.to_proto()).fingerprint() == module.fingerprint()


def test_order_of_text_does_not_count():
    lines = BASE.splitlines()
    a, b = (
        lines.index("  a = f32[4,2] exponential(p)"),
        lines.index("  b = f32[4,2] exponential(p)"),
    )
    lines[a], lines[b] = lines[b], lines[a]
    assert Module.from_text("\n".join(lines)).fingerprint() == Module.from_text(BASE).fingerprint()


def test_constants_count_by_value():
    def print_of(constant: str) -> str:
        text = f"HloModule m\nENTRY e {{\n  ROOT c = f32[2] constant({constant})\n}}\n"
        return Module.from_text(text).fingerprint()

    assert print_of("{1, 2}") != print_of("{1, 3}")
    assert print_of("{0, 0}") != print_of("{-0.0, 0}")
    assert print_of("{1, 2}") == print_of("{1.0, 2.0}")


def test_a_computation_called_twice_is_not_two_equal_ones():
    text = """
HloModule m
f { x = f32[] parameter(0)
  ROOT y = f32[] tanh(x) }
g { x = f32[] parameter(0)
  ROOT y = f32[] tanh(x) }
ENTRY e {
  p = f32[] parameter(0)
  a = f32[] call(p), to_apply=f
  ROOT b = f32[] call(a), to_apply=%s
}
"""
    assert Module.from_text(text % "f").fingerprint() != Module.from_text(text % "g").fingerprint()


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_equal_for_clone_text_and_proto_along_random_walks(small_benchmarks, data):
    module = data.draw(st.sampled_from(small_benchmarks)).load().clone()
    names = data.draw(st.lists(st.sampled_from(hlograph.passes.names), max_size=12))
    for name in names:
        module.run(name)
    expected = module.fingerprint()
    assert module.clone().fingerprint() == expected
    assert Module.from_text(module.to_text()).fingerprint() == expected
    assert Module.from_proto(module.to_proto()).fingerprint() == expected


WALK = """
import random, sys
import hlograph
rng = random.Random(int(sys.argv[2]))
module = hlograph.corpus.benchmark(sys.argv[1]).load()
for _ in range(30):
    module.run(rng.choice(hlograph.passes))
print(module.fingerprint())
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_same_walk_in_another_process(small_benchmarks, seed):
    benchmark = small_benchmarks[seed]
    rng = random.Random(seed)
    module = benchmark.load()
    for _ in range(30):
        module.run(rng.choice(hlograph.passes))
    done = subprocess.run(
        [sys.executable, "-c", WALK, benchmark.name, str(seed)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == module.fingerprint()


def test_a_pass_that_reports_no_change_changes_nothing(small_benchmarks):
    for benchmark in small_benchmarks[::3]:
        start = benchmark.load()
        for entry in hlograph.passes:
            module = start.clone()
            if not module.run(entry):
                fresh = Module.from_proto(module.to_proto()).fingerprint()
                assert fresh == start.fingerprint(), (benchmark.name, entry.name)


SHAPES_ONLY = """
HloModule s
ENTRY main {
  p = %(type)s[%(size)d,3] parameter(0)
  half = %(type)s[] constant(%(value)s)
  halves = %(type)s[%(size)d,3] broadcast(half), dimensions={}
  product = %(type)s[%(size)d,3] multiply(p, halves)
  ROOT out = %(type)s[3,%(size)d] transpose(product), dimensions={1,0}
}
"""


def structure_of(text: str) -> str:
    return Module.from_text(text).structure()


def test_structure_is_opcodes_and_edges_alone():
    base = structure_of(SHAPES_ONLY % {"type": "f32", "size": 4, "value": "0.5"})
    assert base == structure_of(SHAPES_ONLY % {"type": "f32", "size": 7, "value": "0.5"})
    assert base == structure_of(SHAPES_ONLY % {"type": "bf16", "size": 4, "value": "0.25"})
    text = SHAPES_ONLY % {"type": "f32", "size": 4, "value": "0.5"}
    assert base != structure_of(text.replace("multiply(p, halves)", "add(p, halves)"))
    assert base != structure_of(text.replace("multiply(p, halves)", "multiply(halves, p)"))
    assert base != structure_of(text.replace("multiply(p, halves)", "multiply(p, p)"))


def test_structure_sees_calls_and_sharing():
    text = """
HloModule m
f { x = f32[] parameter(0)
  ROOT y = f32[] %s(x) }
ENTRY e {
  p = f32[] parameter(0)
  a = f32[] call(p), to_apply=f
  ROOT b = f32[] call(a), to_apply=f
}
"""
    assert structure_of(text % "tanh") != structure_of(text % "sine")
    shared = "HloModule m\nENTRY e {\n  p = f32[] parameter(0)\n  a = f32[] tanh(p)\n%s}\n"
    once = shared % "  ROOT s = f32[] add(a, a)\n"
    twice = shared % "  b = f32[] tanh(p)\n  ROOT s = f32[] add(a, b)\n"
    assert structure_of(once) != structure_of(twice)


def test_equal_fingerprints_have_equal_structures(small_benchmarks):
    for benchmark in small_benchmarks:
        module = benchmark.load()
        again = Module.from_proto(Module.from_text(module.to_text()).to_proto())
        assert again.structure() == module.structure() != module.fingerprint()
