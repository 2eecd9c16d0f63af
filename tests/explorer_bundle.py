"""Builds the files of the explorer from their TypeScript: `make explorer`.

    python -m tests.explorer_bundle --write

They are committed, as a package is built where there is no node. The first line of the bundle has a
digest of what it is made from and one of what was made, which a test checks without node.
"""

import argparse
import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path

from hlograph.storage.atomic_write import write_bytes_atomically

EXPLORER = Path(__file__).parent.parent / "hlograph" / "explorer"
WEB = EXPLORER / "web"
SITE = EXPLORER / "site"
BUNDLE = "explorer.js"
LICENCES = "LICENSES.txt"
BUILT = (BUNDLE, "explorer.css", "index.html", LICENCES)
SETTINGS = ("package.json", "package-lock.json", "tsconfig.json")
MOST_BYTES = 1_000_000


def first_line() -> str:
    """Returns the first line that the bundle has if it is current."""
    files = {name: (SITE / name).read_bytes() for name in BUILT}
    files[BUNDLE] = files[BUNDLE].partition(b"\n")[2]
    return _line(files)


def write() -> None:
    """Installs what the bundle needs, builds it, and writes the files of the site.

    Raises:
        subprocess.CalledProcessError: npm, the type checker or the bundler refuses.
    """
    if not _is_installed():
        command = ["npm", "ci", "--no-fund", "--no-audit", "--loglevel=error"]
        subprocess.run(command, cwd=WEB, check=True)
    subprocess.run(["npm", "run", "--silent", "build"], cwd=WEB, check=True)
    files = {
        "explorer.css": (WEB / "build" / "explorer.css").read_bytes(),
        "index.html": (WEB / "src" / "index.html").read_bytes(),
        LICENCES: _licences().encode(),
        BUNDLE: (WEB / "build" / BUNDLE).read_bytes(),
    }
    files[BUNDLE] = _line(files).encode() + b"\n" + files[BUNDLE]
    for name, content in files.items():
        write_bytes_atomically(SITE / name, content)
        print(f"{SITE / name}: {len(content):,} bytes")


def _is_installed() -> bool:
    installed = WEB / "node_modules" / ".package-lock.json"
    lock = WEB / "package-lock.json"
    return installed.is_file() and installed.stat().st_mtime >= lock.stat().st_mtime


def _licences() -> str:
    """Returns the licences of the packages that are part of the bundle."""
    files = sorted((WEB / "node_modules" / "@dagrejs").glob("*/LICENSE"))
    return "\n\n".join(f"{file.parent.name}\n\n{file.read_text().strip()}" for file in files) + "\n"


def _line(files: dict[str, bytes]) -> str:
    sources = [*(WEB / name for name in SETTINGS), *sorted((WEB / "src").rglob("*.*"))]
    read = ((path.relative_to(WEB).as_posix(), path.read_bytes()) for path in sources)
    return f"// hlograph explore. Sources: {_digest(read)} Built: {_digest(sorted(files.items()))}"


def _digest(files: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in files:
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def main() -> None:
    """Writes the files, if asked to, or says whether they are current."""
    parser = argparse.ArgumentParser(
        description="Builds the files of the explorer from their TypeScript."
    )
    parser.add_argument("--write", action="store_true", help="build and write the files")
    if parser.parse_args().write:
        write()
    current = (SITE / BUNDLE).read_text().partition("\n")[0] == first_line()
    print("current" if current else "not current: make explorer")


if __name__ == "__main__":
    main()
