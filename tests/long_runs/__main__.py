"""One long run: prints what it measured; raises at the first thing that is not as it must be."""

import argparse
import importlib
import sys


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.long_runs", description=__doc__)
    parser.add_argument("name", choices=("crash", "model", "soak", "determinism", "walks"))
    parser.add_argument("--seed", type=int, default=1, help="the default is 1")
    parser.add_argument("--count", type=int, help="of kills, steps, minutes, runs or steps")
    options = parser.parse_args()
    module = importlib.import_module(f"tests.long_runs.{options.name}")
    measured = module.run(options.seed, options.count or module.COUNT)
    sys.stdout.writelines(f"- {what}: {value}\n" for what, value in measured.items())


if __name__ == "__main__":
    main()
