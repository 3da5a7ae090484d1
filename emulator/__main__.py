"""`python -m emulator` is `payments-emulator`."""

from emulator.cli import main

if __name__ == "__main__":
    main()
