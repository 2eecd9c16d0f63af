"""The program: a run over programs that ends and goes on."""

import importlib.util

import pytest

from benchmarks.enzyme_patterns import main

is_installed = importlib.util.find_spec("enzyme_ad") is not None
needs_enzyme = pytest.mark.skipif(not is_installed, reason="enzyme-ad is not installed")

TEXT = """HloModule transposed
ENTRY main {
  x = f32[64,32] parameter(0)
  y = f32[32,64] transpose(x), dimensions={1,0}
  z = f32[32,64] sine(y)
  ROOT r = f32[64,32] transpose(z), dimensions={1,0}
}
"""


@pytest.mark.skipif(is_installed, reason="enzyme-ad is installed")
def test_a_missing_library_is_named(tmp_path, capsys):
    assert main(["--split", "train", "--out", str(tmp_path)]) == 2
    assert "pip install enzyme-ad" in capsys.readouterr().err


@needs_enzyme
@pytest.mark.slow
def test_patterns_are_measured_and_a_run_goes_on(tmp_path, capsys):
    (tmp_path / "x.hlo").write_text(TEXT)
    page = tmp_path / "page.md"
    page.write_text("<!-- begin: enzyme -->\n<!-- end -->\n")
    arguments = ["--programs", str(tmp_path / "x.hlo"), "--budget", "8"]
    arguments += ["--out", str(tmp_path / "out"), "--page", str(page)]
    assert main([*arguments, "--minutes", "0"]) == 0
    assert "1 of 1 programs are not measured yet" in capsys.readouterr().out
    assert main(arguments) == 0
    assert "full: " in capsys.readouterr().out
    assert "| `full` | 1 |" in page.read_text()
    text = page.read_text()
    assert main(arguments) == 0
    assert text.partition("Measured")[0] == page.read_text().partition("Measured")[0]
