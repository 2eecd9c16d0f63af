"""Generates the type stubs of the native extensions, such as hlograph/_xla.pyi.

python -m tests.extension_stub --write
"""

import argparse
from pathlib import Path
from types import ModuleType

from nanobind.stubgen import StubGen

from hlograph._native import custom_calls, graphs, native

FOLDER = Path(__file__).parent.parent / "hlograph"
EXTENSIONS = {
    FOLDER / "_xla.pyi": native,
    FOLDER / "_graphs.pyi": graphs,
    FOLDER / "_custom_calls.pyi": custom_calls,
}
"""Functions that load the extensions, by the paths of their stubs."""


def generate(extension: ModuleType) -> str:
    """Returns the stub of an extension as it is built now."""
    generator = StubGen(module=extension, include_docstrings=True)
    generator.put(extension)
    return generator.get()


def main() -> None:
    """Prints the stubs, or writes them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the stubs, do not print them")
    write = parser.parse_args().write
    for path, load in EXTENSIONS.items():
        if write:
            path.write_text(generate(load()), encoding="utf-8")
        else:
            print(generate(load()))


if __name__ == "__main__":
    main()
