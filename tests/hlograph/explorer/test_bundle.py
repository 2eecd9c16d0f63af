"""The files that the browser loads are those that the TypeScript in the repository gives."""

from tests.explorer_bundle import BUILT, BUNDLE, MOST_BYTES, SITE, WEB, first_line


def test_the_bundle_is_current():
    line = (SITE / BUNDLE).read_text(encoding="utf-8").partition("\n")[0]
    assert line == first_line(), "the bundle is not current: run `make explorer`, which needs node"
    assert (SITE / "index.html").read_bytes() == (WEB / "src" / "index.html").read_bytes()


def test_the_bundle_is_small():
    assert sum((SITE / name).stat().st_size for name in BUILT) < MOST_BYTES
