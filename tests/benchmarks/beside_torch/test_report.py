"""The table and the file of results."""

import csv
import io
from dataclasses import replace

import pytest

from benchmarks.beside_torch.measuring import Row
from benchmarks.beside_torch.report import csv_text, markdown, write
from hlograph.execution.bootstrap import Interval

MADE_WITH = {
    "versions": {"jaxlib": "0.10.2", "torch": "2.13.0"},
    "time": "2026-01-01",
    "commit": "0123456789abcdef",
    "cpus": 2,
    "processor": "EPYC",
    "load": 0.1,
}
TIMES = Interval(10.0, 9.0, 11.0), Interval(2.5, 2.4, 2.6)
ROW = Row(
    "sorting/x",
    *TIMES,
    Interval(5.0, 5.0, 5.0),
    Interval(4.0, 3.9, 4.1),
    Interval(2, 1, 3),
    0.1,
    7.5,
    1e-6,
    15,
)
EAGER_ONLY = Row("fft/y", *TIMES, None, Interval(0.25, 0.2, 0.3), None, 0.1, None, 0.0, 15)


def test_the_table_has_a_line_for_each_program():
    lines = markdown([ROW, EAGER_ONLY], MADE_WITH).splitlines()
    assert lines[0].split(" | ")[3] == "torch.compile ms"
    ratios = "4.00 (3.90 to 4.10) | 2.00 (1.00 to 3.00)"
    assert lines[2] == f"| sorting/x | 10.0 | 2.50 | 5.00 | {ratios} | 0.10 | 7.50 |"
    assert lines[3] == "| fft/y | 10.0 | 2.50 |  | 0.25 (0.20 to 0.30) |  | 0.10 |  |"


def test_the_page_has_means_and_conditions():
    text = markdown([ROW, EAGER_ONLY], MADE_WITH)
    assert "Geometric mean over eager PyTorch: 1.00 on 2 programs; XLA is slower on 1" in text
    assert "Geometric mean over `torch.compile`: 2.00 on 1 programs" in text
    assert "commit `0123456789` with jaxlib 0.10.2, torch 2.13.0 on 2 cores of EPYC" in text


def test_the_file_has_medians_and_quartiles():
    first, second = csv.DictReader(io.StringIO(csv_text([ROW, EAGER_ONLY])))
    assert first["program"] == "sorting/x"
    assert [float(first[f"jax_ms{part}"]) for part in ("", "_low", "_high")] == list(TIMES[0])
    assert float(first["over_compiled"]) == 2
    assert second["over_compiled"] == second["torch_compile_s"] == ""


def test_a_table_is_written_beside_the_file(tmp_path):
    write([ROW], tmp_path / "found.csv", MADE_WITH)
    assert (tmp_path / "found.csv").read_text() == csv_text([ROW])
    assert (tmp_path / "found.md").read_text() == markdown([ROW], MADE_WITH)


@pytest.mark.parametrize("rows", [[], [EAGER_ONLY]])
def test_what_was_not_measured_has_no_mean(rows):
    assert "`torch.compile`" not in markdown(rows, MADE_WITH)


def test_plans_have_columns_of_their_own():
    planned = replace(ROW, planned_ms=Interval(2, 2, 2), planned_over_eager=Interval(0.8, 0.7, 0.9))
    text = markdown([planned, replace(ROW, over_eager=Interval(1.25, 1.2, 1.3))], MADE_WITH)
    lines = text.splitlines()
    assert lines[0].endswith("| with a plan ms | with a plan / eager |")
    assert lines[2].endswith("| 2.00 | 0.80 (0.70 to 0.90) |")
    assert lines[3].endswith("|  |  |")
    sentence = (
        "over eager PyTorch: 1.00 on 2 programs; XLA is slower on 1 of them, by more than 1.1"
    )
    assert f"{sentence} on 1." in text
