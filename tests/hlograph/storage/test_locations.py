"""Files are read from paths and URLs, with errors that name the location."""

import gzip
from pathlib import Path

import fsspec
import pytest

import hlograph
from hlograph import HloParseError, corpus
from hlograph.errors import DamagedFileError, HloError
from hlograph.storage.checked_file import read_checked, write_checked
from hlograph.storage.locations import (
    LocationError,
    as_location,
    cache_folder,
    files_below,
    is_file,
    is_url,
    join,
    read_bytes,
)
from tests.tiny_module import TINY

ENVIRONMENT = "HLOGRAPH_CORPUS"


@pytest.fixture
def memory():
    """Returns a file system in memory; its URLs begin with memory://."""
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.rm("/", recursive=True)


@pytest.mark.parametrize("url", ["s3://bucket/a.hlo", "filecache::s3://bucket/a", "HTTPS://x/y"])
def test_what_is_a_url(url):
    assert is_url(url)
    assert as_location(url) == url


@pytest.mark.parametrize("text", ["a/b.hlo", "/a//b", "HloModule m", "a: // b", "", "C:\\x"])
def test_what_is_a_path(text):
    assert not is_url(text)
    assert as_location(text) == Path(text)


def test_names_are_joined_where_the_chain_is_read():
    assert join(Path("a"), "b/c") == Path("a/b/c")
    assert join("s3://bucket/a/", "b/c") == "s3://bucket/a/b/c"
    assert join("filecache::s3://bucket", "b") == "filecache::s3://bucket/b"
    assert join("zip://in::s3://bucket/a.zip", "b") == "zip://in/b::s3://bucket/a.zip"


def test_files_below_a_folder(memory, tmp_path):
    names = ["one.hlo", "sub/two.hlo"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
        memory.pipe(f"/dump/{name}", name.encode())
    for folder in (tmp_path, "memory://dump", "memory://dump/", f"file://{tmp_path}"):
        found = list(files_below(folder))
        assert [name for _, name in found] == names
        assert [read_bytes(location).decode() for location, _ in found] == names
        assert is_file(found[0][0])
        assert not is_file(folder)


def test_a_module_is_read_from_a_url(memory, tmp_path):
    expected = hlograph.Module.from_text(TINY).fingerprint()
    memory.pipe("/tiny.hlo", TINY.encode())
    memory.pipe("/tiny.pb.gz", gzip.compress(hlograph.Module.from_text(TINY).to_proto()))
    (tmp_path / "tiny.txt").write_text(TINY)
    for url in ("memory://tiny.hlo", "memory://tiny.pb.gz", f"file://{tmp_path}/tiny.txt"):
        assert hlograph.Module.load(url).fingerprint() == expected
        assert hlograph.Module.read(url).fingerprint() == expected
        assert hlograph.parse(url).num_nodes == hlograph.parse(TINY).num_nodes


def test_what_cannot_be_read_is_told_of():
    with pytest.raises(FileNotFoundError, match=r"no file 'memory://nothing\.hlo'"):
        hlograph.parse("memory://nothing.hlo")
    with pytest.raises(HloParseError, match=r"cannot read the file 'what://x': .*what"):
        hlograph.parse("what://x")
    with pytest.raises(FileNotFoundError, match="nothing at memory://nothing"):
        read_bytes("memory://nothing")
    with pytest.raises(LocationError, match="cannot read what://x: ValueError"):
        is_file("what://x")
    with pytest.raises(LocationError, match="cannot read what://x: ValueError"):
        list(files_below("what://x"))


def test_a_checked_file_at_a_url(memory, tmp_path):
    write_checked(tmp_path / "file", "checkpoint", 1, b"data")
    content = (tmp_path / "file").read_bytes()
    memory.pipe("/good", content)
    memory.pipe("/cut", content[:-1])
    assert read_checked("memory://good", "checkpoint", 1) == b"data"
    with pytest.raises(DamagedFileError, match="memory://cut is cut off"):
        read_checked("memory://cut", "checkpoint", 1)


def test_the_corpus_at_a_url(memory, monkeypatch, tmp_path):
    shipped = corpus.load()
    some = sorted(shipped, key=lambda benchmark: benchmark.op_count)[:2]
    folder = corpus.root()
    memory.pipe("/datasets/manifest.csv", read_bytes(join(folder, "manifest.csv")))
    for benchmark in some:
        name = f"hlo/{benchmark.name}.hlo.zst"
        memory.pipe(f"/datasets/{name}", read_bytes(join(folder, name)))
    # The chain keeps copies on this machine, as one does with an object store.
    monkeypatch.setenv(ENVIRONMENT, "simplecache::memory://datasets")
    assert corpus.load().names == shipped.names
    for benchmark in some:
        assert corpus.benchmark(benchmark.name).load().fingerprint() == benchmark.fingerprint
    missing = next(benchmark.name for benchmark in shipped if benchmark not in some)
    with pytest.raises(HloParseError, match=f"there is no file .*{missing}"):
        corpus.benchmark(missing).load()
    monkeypatch.setenv(ENVIRONMENT, "memory://elsewhere")
    with pytest.raises(HloError, match="no corpus at memory://elsewhere"):
        corpus.load()


def test_own_modules_at_a_url(memory):
    memory.pipe("/dump/a/tiny.hlo", TINY.encode())
    memory.pipe("/dump/notes.md", b"not a module")
    (benchmark,) = corpus.from_folder("memory://dump")
    assert (benchmark.name, benchmark.source) == ("a/tiny", "memory://dump/a/tiny.hlo")
    assert benchmark.load().op_count == benchmark.op_count
    with pytest.raises(HloError, match="no HLO modules in 'memory://nothing'"):
        corpus.from_folder("memory://nothing")


def test_environment_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HLOGRAPH_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    assert not cache_folder().exists()


def test_default_is_in_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HLOGRAPH_CACHE", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == Path(tmp_path, ".cache", "hlograph")
