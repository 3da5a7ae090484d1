"""Measures how many histories of a shop run in a second.

Usage: `python -m tests.tools.explore.zoo NAME`.
"""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.tools.explore.zoo.exploration import rate
from tests.tools.explore.zoo.table import SHOPS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.explore.zoo", description=__doc__)
    parser.add_argument("name", choices=SHOPS, metavar="NAME", help="a shop of `shops.yaml`")
    parser.add_argument("--lag", type=int, help="how late webhooks have an effect (ms)")
    options = parser.parse_args()
    shop = SHOPS[options.name]
    shop = shop if options.lag is None else replace(shop, lag_ms=options.lag)
    with tempfile.TemporaryDirectory() as directory:
        sys.stdout.write(rate(shop, Path(directory)))


if __name__ == "__main__":
    main()
