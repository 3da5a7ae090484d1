"""Runs one parser in atheris: `python -m tests.long_runs.fuzzer PARSER [OPTION…] CORPUS`."""

import sys

import atheris

# The packages whose coverage guides the mutations.
GUIDING = (
    *("emulator.domain", "emulator.files", "emulator.scenarios", "emulator.settings"),
    *("emulator.http", "emulator.server.api", "emulator.tools"),
)


def main() -> None:
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=list(GUIDING)):
        from tests.long_runs.parsers import check
    atheris.Setup(sys.argv, lambda data: check(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
