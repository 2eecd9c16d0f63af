"""Files of XLA's dumps: their kinds, and the file with the module."""

import pytest

from hlograph.reading.dumps import first_module_of

STEM = "module_0004.jit_f"
BEFORE = f"{STEM}.before_optimizations.txt"
AFTER = f"{STEM}.cpu_after_optimizations.txt"


@pytest.mark.parametrize(
    ("file", "beside", "expected"),
    [
        (AFTER, [BEFORE, f"{STEM}.before_optimizations.hlo.pb"], BEFORE),
        (f"{STEM}.cpu_after_optimizations-live-range.txt", [AFTER], AFTER),
        (f"{STEM}.debug_options", [BEFORE, AFTER], BEFORE),
        (f"{STEM}.part_00.ir-no-opt.ll", [f"{STEM}.before_optimizations.hlo.pb"], None),
        (AFTER, ["module_0005.jit_f.before_optimizations.txt"], ""),
        (AFTER, ["module_0004.jit_other.before_optimizations.txt"], ""),
        (BEFORE, [], ""),
        ("notes.txt", [BEFORE], ""),
    ],
)
def test_the_module_beside_a_file(tmp_path, file, beside, expected):
    for name in {file, *beside}:
        (tmp_path / name).write_text("")
    expected = beside[0] if expected is None else expected
    assert first_module_of(tmp_path / file) == (str(tmp_path / expected) if expected else None)
