"""`python -m emulator` is `payments-emulator`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    if Path(sys.path[0]) == Path(__file__).parent:
        # Run as a file: `http` beside it would hide that of the standard library.
        del sys.path[0]
    from emulator.cli import main

    main()
