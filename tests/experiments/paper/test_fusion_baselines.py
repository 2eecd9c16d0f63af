"""The comparison of fusion policies with XLA's own fusion."""

from experiments.paper.fusion_baselines import main


def test_each_policy_has_its_kernels_and_its_speed(capsys):
    arguments = ["--benchmarks", "loss/fenchel-young/grad", "--pairs", "1", "--sample-seconds", "0"]
    assert main(arguments) == 0
    table = capsys.readouterr().out
    row = next(line for line in table.splitlines() if "fenchel-young" in line)
    assert row.count("(") == 3


def test_a_benchmark_that_cannot_be_compiled_is_an_error(capsys):
    assert main(["--benchmarks", "dense-linear-algebra/svd/one"]) == 2
    assert "lapack" in capsys.readouterr().err
