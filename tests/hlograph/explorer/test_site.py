"""Sites as folders: what is in them, and what a site refuses to replace."""

from pathlib import Path

import pytest

from hlograph import HloError
from hlograph.explorer.site import SHIPPED, SITE, Contents, Page, Site, data_file, write_site
from tests.hlograph.explorer.site_files import content_of

TEXT = "quotes ' \" and \\ lines \n \u2028 and \N{SNOWMAN}"


def contents(**files: object) -> Contents:
    return Contents("title", (Page("graph", "graph", "Graph", {"module": "m"}),), files)


def test_a_site_has_its_pages_and_data(tmp_path: Path):
    files = write_site(tmp_path / "site", contents(m={"text": TEXT}, later=lambda: 1))
    names = {file.relative_to(tmp_path / "site").as_posix() for file in files}
    assert names == {*SHIPPED, SITE, "data/m.js"}
    assert names == {
        f.relative_to(tmp_path / "site").as_posix() for f in tmp_path.rglob("*") if f.is_file()
    }
    assert content_of((tmp_path / "site/data/m.js").read_bytes()) == {"text": TEXT}
    summary = content_of((tmp_path / "site" / SITE).read_bytes())
    assert isinstance(summary, dict)
    assert summary["title"] == "title"
    assert [page["name"] for page in summary["pages"]] == ["graph"]
    assert summary["live"] == []


def test_a_site_replaces_a_site_and_nothing_else(tmp_path: Path):
    write_site(tmp_path / "site", contents(old=1))
    write_site(tmp_path / "site", contents(new=2))
    assert sorted(f.name for f in (tmp_path / "site/data").iterdir()) == ["new.js", "site.js"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.tex").write_text("years of work")
    with pytest.raises(HloError, match="other files than a site"):
        write_site(tmp_path / "other", contents())
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["thesis.tex"]
    assert not list(tmp_path.glob(".*"))


def test_a_site_that_fails_leaves_the_old_one(tmp_path: Path):
    write_site(tmp_path / "site", contents(m=1))
    with pytest.raises(HloError, match="does not fit into JSON"):
        write_site(tmp_path / "site", contents(m={"not": float("nan")}))
    assert content_of((tmp_path / "site/data/m.js").read_bytes()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_data_made_on_demand_is_made_once():
    calls = []
    site = Site(contents(later=lambda: calls.append(1) or "made"))
    assert "data/later.js" in site.paths(live=True)
    first = site.read("data/later.js", live=True)
    assert first is not None
    assert content_of(first) == "made"
    assert site.read("data/later.js", live=True) == first
    assert len(calls) == 1
    assert site.read("data/none.js") is None
    assert site.read("../secret") is None


def test_names_are_checked():
    with pytest.raises(HloError, match="small letters"):
        Page("graph", "My page", "", {})
    with pytest.raises(HloError, match="several called 'a'"):
        Contents("", (Page("graph", "a", "", {}), Page("steps", "a", "", {})))
    with pytest.raises(HloError, match="data file"):
        contents(**{"../x": 1})


def test_a_data_file_is_one_line():
    assert data_file("m", TEXT).count(b"\n") == 1
