"""Runs `payments-emulator` for `python -m emulator`."""

from emulator.cli import main

if __name__ == "__main__":
    main()
