"""The program ``hlograph``, as ``python -m hlograph``."""

from __future__ import annotations

import sys

from hlograph.commands.command_line import main

if __name__ == "__main__":
    sys.exit(main())
