"""Makes hlograph/_xla.pyi, the type stub of the native extension.

python -m tests.extension_stub --write
"""

from __future__ import annotations

import argparse
from pathlib import Path

from nanobind.stubgen import StubGen

from hlograph._native import native

STUB = Path(__file__).parent.parent / "hlograph" / "_xla.pyi"


def generate() -> str:
    """Returns the stub of the extension as it is built now."""
    generator = StubGen(module=native(), include_docstrings=True)
    generator.put(native())
    return generator.get()


def main() -> None:
    """Prints the stub, or writes it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help=f"write {STUB.name} instead of printing"
    )
    if parser.parse_args().write:
        STUB.write_text(generate(), encoding="utf-8")
    else:
        print(generate())


if __name__ == "__main__":
    main()
