"""The extension is loaded only with the tensorflow-cpu that it was built against."""

import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

from hlograph._native import native

ROOT = Path(__file__).parents[2]
ENGINE = "pip install 'hlograph[engine]'"
LOAD = """
import sys
sys.path[:0] = {path!r}
from hlograph import EngineUnavailableError
from hlograph._native import native
try:
    native()
except EngineUnavailableError as error:
    print(error)
print(sorted({{"tensorflow", "hlograph._xla"}} & set(sys.modules)))
"""


def _said(*path: str) -> list[str]:
    """Returns what a program prints that loads the extension, with this path before Python's own.

    Nothing is installed there.
    """
    command = [sys.executable, "-ISc", LOAD.format(path=path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def _stated(folder: Path, name: str, version: str, *lines: str) -> str:
    """Writes the metadata of an installed package, and returns the folder."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    text = "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines])
    (info / "METADATA").write_text(text + "\n")
    return str(folder)


def test_the_installed_package_requires_what_it_was_built_against():
    required = [text for text in requires("hlograph") or [] if text.startswith("tensorflow")]
    built = native().TENSORFLOW_VERSION
    assert [text.partition(";")[0] for text in required] == [f"tensorflow-cpu=={built}"]


def test_another_tensorflow_is_refused_before_it_is_loaded(tmp_path):
    older = _stated(tmp_path, "tensorflow_cpu", "2.19.0")
    message, loaded = _said(older, *sys.path)
    built = native().TENSORFLOW_VERSION
    assert f"built against tensorflow-cpu {built}, but 2.19.0 is installed" in message
    assert message.endswith(ENGINE)
    assert loaded == "[]"


def test_a_missing_tensorflow_is_named_with_its_version(tmp_path):
    message, loaded = _said(str(ROOT))
    assert "expected the package tensorflow-cpu, but" in message  # never installed: no version
    required = 'Requires-Dist: tensorflow-cpu==2.20.1; extra == "engine"'
    installed = _stated(tmp_path, "hlograph", "1.0", required)
    message, loaded = _said(str(ROOT), installed)
    assert "expected the package tensorflow-cpu==2.20.1" in message
    assert message.endswith(ENGINE)
    assert loaded == "[]"
