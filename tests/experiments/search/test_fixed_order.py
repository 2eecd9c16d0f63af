"""A search for one order of passes keeps what gains."""

import json
import re

import pytest

import hlograph
from experiments.evaluate import best_known
from experiments.search.fixed_order import FILE, main
from experiments.search.pipelines import Order


def test_a_search_keeps_what_gains(tmp_path, capsys):
    arguments = ("--count", "4", "--op-limit", "150", "--generations", "3", "--variants", "6")
    places = [tmp_path / "first", tmp_path / "again"]
    for out in places:
        status = main([*arguments, "--num-workers", "1", "--call-cost", "0.1", "--out", str(out)])
        assert status == 0
    # With calls that cost so much, an order without some pass is always better.
    orders = [json.loads((out / FILE).read_text()) for out in places]
    assert orders[0] == orders[1]
    whole = Order.of(hlograph.pipelines["xla-simplify"])
    assert 0 < len(orders[0]["first"]) < len(whole.first)
    assert "xla-simplify / left" in capsys.readouterr().out


def test_a_search_begins_with_an_order(tmp_path, capsys):
    start, out = tmp_path / "start.json", tmp_path / "out"
    order = Order(("call-inliner",), ("algsimp", "dce"), ())
    order.save(start)
    arguments = ["--count", "2", "--op-limit", "100", "--num-workers", "1", "--out", str(out)]
    assert main([*arguments, "--generations", "0", "--start", str(start)]) == 0
    assert "at the start" in capsys.readouterr().out
    assert Order.load(out / FILE) == order


def test_passes_of_the_order_to_begin_with_are_drawn_too(tmp_path, capsys):
    recorded = {name for row in best_known.current().values() for name in row.passes}
    unknown = next(name for name in hlograph.passes.names if name not in recorded)
    start, counts = tmp_path / "start.json", []
    for number, name in enumerate(("call-inliner", unknown)):
        Order((name,), ("dce",), ()).save(start)
        out = ["--num-workers", "1", "--out", str(tmp_path / str(number))]
        limits = ["--count", "1", "--op-limit", "30", "--generations", "0"]
        assert main([*limits, *out, "--start", str(start)]) == 0
        counts.append(int(re.findall(r"(\d+) passes", capsys.readouterr().out)[0]))
    assert counts[1] == counts[0] + 1


@pytest.mark.parametrize(
    "text", ["", "[]", '{"once": []}', '{"once": 1, "first": [], "second": []}']
)
def test_a_file_without_an_order_is_refused(tmp_path, capsys, text):
    start = tmp_path / "start.json"
    start.write_text(text)
    assert main(["--start", str(start), "--out", str(tmp_path / "out")]) == 2
    assert "holds no order" in capsys.readouterr().err
