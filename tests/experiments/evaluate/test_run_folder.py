"""Tests what is published of the folder of a run."""

import json

import pytest

from experiments.evaluate.run_folder import published_provenance


@pytest.mark.parametrize("recorded", ["{folder}", "/elsewhere/runs/bank", "None"])
def test_a_path_of_the_machine_is_not_published(tmp_path, recorded):
    folder = tmp_path / "bank"
    folder.mkdir()
    out = recorded.format(folder=folder)
    command = "record" if out == "None" else f"record --out {out}"
    made = {"command": command, "settings": {"out": out, "kernels": "None"}}
    (folder / "made.json").write_text(json.dumps(made))
    published = published_provenance(folder)
    assert published["command"] == ("record" if out == "None" else "record --out bank")
    assert published["settings"]["kernels"] == "None"
