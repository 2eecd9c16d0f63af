"""Commands on files as people bring them."""

import json

import pytest

from hlograph import Module, Plan
from hlograph.commands.optimize import Optimize
from hlograph.commands.parse import Parse
from hlograph.errors import HloWarning
from hlograph.reading.xla_protos import message_class
from tests.tiny_module import TINY

OPTIMIZE = ("optimize", "own.hlo", "--budget", "0.1", "--methods", "passes", "--store", "store")

CUSTOM_CALL = """HloModule own

ENTRY main {
  p = f32[4]{0} parameter(0)
  ROOT r = f32[4]{0} custom-call(p), custom_call_target="TARGET", api_version=VERSION
}
"""


@pytest.mark.parametrize(
    ("target", "version", "told"),
    [
        ("own_target", "API_VERSION_ORIGINAL", "'own_target', and jaxlib has no code for it"),
        ("own_target", "API_VERSION_TYPED_FFI", "'own_target', and jaxlib has no code for it"),
        ("xla_ffi_python_cpu_callback", "API_VERSION_TYPED_FFI", "without callbacks into Python"),
    ],
)
def test_custom_calls_without_code_are_named(call, user_folder, target, version, told):
    text = CUSTOM_CALL.replace("TARGET", target).replace("VERSION", version)
    (user_folder / "own.hlo").write_text(text)
    status, out, err = call(*OPTIMIZE)
    assert (status, out) == (1, "")
    assert told in err.splitlines()[-1]
    assert "Traceback" not in err


def test_a_failure_of_the_program_itself_is_one_line(call, monkeypatch):
    def fail(command: Parse) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(Parse, "run", fail)
    status, out, err = call("parse", "tiny.hlo")
    assert (status, out) == (1, "")
    assert err.startswith("error: hlograph itself failed: ZeroDivisionError: division by zero")
    with pytest.raises(ZeroDivisionError):
        call("parse", "tiny.hlo", "--debug")


def test_a_file_with_several_modules_asks_which(call, user_folder):
    other = TINY.replace("HloModule tiny", "HloModule other")
    (user_folder / "both.hlo").write_text(f"{TINY}\n// -----\n\n{other}")
    status, out, err = call("parse", "both.hlo")
    assert (status, out) == (1, "")
    assert "2 modules: 0: 'tiny' in line 2, 1: 'other'" in err
    assert json.loads(call("parse", "both.hlo", "--module", "other", "--json")[1])["op_count"] == 8
    assert call("optimize", "both.hlo", *OPTIMIZE[2:], "--module", "1")[0] == 0
    assert Plan.load(user_folder / "both.plan.json").program == "other"


def test_what_a_paste_has_beside_its_module_is_said(call, user_folder):
    (user_folder / "paste.md").write_text(f"See:\n```\n{TINY}```\n")
    status, _, err = call("parse", "paste.md")
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith("warning: read the module 'tiny' in line 4 of 'paste.md'; left out: 2")


def test_inputs_of_a_snapshot_are_measured_on(call, user_folder):
    snapshot = message_class("xla.HloSnapshot")()
    snapshot.hlo.hlo_module.ParseFromString(Module.from_text(TINY).to_proto())
    argument = snapshot.arguments.add(f32s=[1, 2, 3, 4])
    argument.shape.element_type = 11
    argument.shape.dimensions.append(4)
    (user_folder / "own.hlo").write_bytes(snapshot.SerializeToString())
    job = Optimize(source="own.hlo").job_of("own.hlo", "close")
    assert job.given is not None
    assert job.given[0].tolist() == [1, 2, 3, 4]
    argument.shape.dimensions[0] = 2
    del argument.f32s[2:]
    (user_folder / "own.hlo").write_bytes(snapshot.SerializeToString())
    with pytest.warns(HloWarning, match="do not fit"):
        assert Optimize(source="own.hlo").job_of("own.hlo", "close").given is None
