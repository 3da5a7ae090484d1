"""Explores the shops of `shops.yaml`, each until all histories of one anomaly ran.

Usage: `python -m tests.tools.explore.zoo [NAME...]`. It prints each difference from the table; the
exit code is then 1. `--rate` measures how many histories of a shop run in a second instead.
What runs where: the default lane has the table alone. The slow lane runs the first failing history
of each wrong shop, and explores the correct shops that are not slow and those wrong ones that
represent the verdicts, the programs and the ways. This command explores all.
"""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tests.tools.explore.zoo.exploration import Finding, explore, problem, rate
from tests.tools.explore.zoo.table import SHOPS, Shop


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.explore.zoo", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SHOPS, []], metavar="NAME", help="a shop")
    parser.add_argument("--rate", action="store_true", help="measure the rate, with two anomalies")
    parser.add_argument("--lag", type=int, help="how late webhooks have an effect (ms)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="shops at the same time")
    options = parser.parse_args()
    shops = [SHOPS[name] for name in options.names or SHOPS]
    if options.lag is not None:
        shops = [replace(shop, lag_ms=options.lag) for shop in shops]
    if options.rate:
        for shop in shops:
            with tempfile.TemporaryDirectory() as directory:
                sys.stdout.write(rate(shop, Path(directory)))
        return
    problems = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for shop, finding in zip(shops, pool.map(explored, shops), strict=True):
            difference = problem(shop, finding)
            problems += bool(difference)
            found = f"{finding.verdict}: {finding.history}" if finding.verdict else "none failed"
            sys.stdout.write(f"{shop.name}: {finding.seconds:.0f} s: {difference or found}\n")
            sys.stdout.flush()
    sys.exit(problems > 0)


def explored(shop: Shop) -> Finding:
    with tempfile.TemporaryDirectory() as directory:
        return explore(shop, Path(directory), depth=shop.size or 1)


if __name__ == "__main__":
    main()
