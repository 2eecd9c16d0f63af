"""Tests that a release states each thing once, or that its statements agree."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml

import hlograph

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
SCHEMA = json.loads((ROOT / "tests" / "citation_schema.json").read_text(encoding="utf-8"))


def test_the_version_is_that_of_the_installed_package():
    assert hlograph.__version__ == PROJECT["version"]
    assert "__version__" in dir(hlograph)


def test_a_tree_that_was_never_installed_has_no_version():
    program = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}]; import hlograph as h; print(h.__version__)"
    )
    command = [sys.executable, "-ISc", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "0+unknown\n"


def test_the_citation_is_valid_and_of_this_version():
    jsonschema.validate(CITATION, SCHEMA)
    assert CITATION["version"] == PROJECT["version"]
    assert CITATION["license"] == PROJECT["license"]
    with pytest.raises(jsonschema.ValidationError, match="'authors' is a required property"):
        jsonschema.validate({k: v for k, v in CITATION.items() if k != "authors"}, SCHEMA)


def test_the_changelog_begins_with_what_comes_next():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert headings[0] == "Unreleased"
    for heading in headings[1:]:
        assert re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", heading)


def test_the_interpreters_are_those_of_the_wheels():
    prefix = "Programming Language :: Python :: 3."
    minors = [int(c.removeprefix(prefix)) for c in PROJECT["classifiers"] if c.startswith(prefix)]
    assert minors == [11, 12, 13]
    assert PROJECT["requires-python"] == f">=3.{minors[0]}"
