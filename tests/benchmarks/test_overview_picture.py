from benchmarks import overview_picture
from hlograph import Module


def test_picture_shows_what_xla_does():
    states = overview_picture.episode()
    assert [state.op_count for state in states] == [12, 9, 8]
    assert [state.gone for state in states] == [{"shifted", "turned", "back"}, {"exp.2"}, set()]
    for state in states:
        names = state.graph.names()[: state.op_count]
        assert set(names) <= set(overview_picture.PLACES)


def test_passes_of_the_picture_keep_what_is_computed():
    start = Module.from_text(overview_picture.LAYER)
    end = start.clone()
    for name in overview_picture.PASSES:
        end.run(name)
    assert start.equivalent_to(end)


def test_picture_is_written(tmp_path):
    overview_picture.draw(tmp_path / "overview.png")
    assert (tmp_path / "overview.png").read_bytes().startswith(b"\x89PNG")
