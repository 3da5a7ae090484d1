"""Runs `payments-emulator` for `python -m emulator`."""

import os
import sys

if __name__ == "__main__":
    if sys.path[0] == os.path.dirname(__file__):  # noqa: PTH120 - pathlib loads slowly
        # Run as a file: `http` beside it would hide the standard library's `http`.
        del sys.path[0]
    from emulator.cli import main

    main()
