"""The program that measures the noise of run times."""

import re

from benchmarks.run_time_noise import main


def test_each_benchmark_has_a_row(capsys):
    assert main(["--benchmarks", "loss/fenchel-young/grad", "--repeats", "3"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "fenchel-young" in line)
    spread, most, worst = map(float, re.findall(r"\d+\.\d", row))
    assert spread >= 0
    assert most <= worst


def test_a_file_that_is_no_module_is_an_error(tmp_path, capsys):
    path = tmp_path / "broken.hlo"
    path.write_text("HloModule x")
    assert main(["--benchmarks", str(path)]) == 2
    assert "error: " in capsys.readouterr().err
