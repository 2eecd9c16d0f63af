"""Commands on files as people bring them."""

import pytest

from hlograph.commands.parse import Parse

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
