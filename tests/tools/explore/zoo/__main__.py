"""Prints the full figures of the zoo: `python -m tests.tools.explore.zoo [--write] [NAME…]`.

Explores each wrong shop `--runs` times and each correct shop with `--seeds` seeds. The first
failure must have the expected verdict, be the same in every run, and have no part that fails.
`--write` writes the table of the wrong shops into `docs/reference/found-bugs.md`. `--rate NAME`
only measures how many histories of a shop run in a second.
"""

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from tests.cli.processes import REPOSITORY
from tests.docs.markdown import table
from tests.tools.explore.zoo.exploration import Finding, explore, rate, smaller_failures
from tests.tools.explore.zoo.table import CORRECT_SHOPS, SHOPS, WRONG_SHOPS, Shop

PAGE = REPOSITORY / "docs/reference/found-bugs.md"
BEGIN, END = "<!-- figures -->\n", "<!-- end figures -->"
HEAD = ("bug", "program", "seen in", "verdict", "first failing history", "seconds")
Row = tuple[str, ...]


def wrong_row(shop: Shop, runs: int) -> tuple[Row, list[str]]:
    """The row of a wrong shop, and what is not as it must be."""
    findings: list[Finding] = []
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        findings = [explore(shop, directory, depth=2) for _ in range(runs)]
        histories = {finding.history for finding in findings}
        problems += [each.output for each in findings if each.verdict != shop.verdict]
        if len(histories) > 1:
            problems.append(f"several first failures: {sorted(histories)}")
        if findings[0].saved is not None:
            problems += smaller_failures(findings[0], directory)
    first = findings[0]
    source = f"[{shop.source}]({shop.link})"
    seconds = f"{median(finding.seconds for finding in findings):.1f}"
    history = first.history or "none"
    _report(shop, problems)
    row = (shop.description, shop.language, source, f"`{first.verdict}`", history, seconds)
    return row, problems


def false_alarms(shop: Shop, seeds: int) -> list[str]:
    """The failures of a correct shop, and other ends."""
    with tempfile.TemporaryDirectory() as name:
        findings = [explore(shop, Path(name), depth=1, seed=seed) for seed in range(1, seeds + 1)]
    alarms = [finding.output for finding in findings if finding.code != 0]
    _report(shop, alarms)
    return alarms


def _report(shop: Shop, problems: list[str]) -> None:
    sys.stderr.write(f"{shop.name}: {len(problems)} problems\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.explore.zoo", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="shops; by default all")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of each correct shop")
    parser.add_argument("--runs", type=int, default=100, help="runs of each wrong shop")
    parser.add_argument("--jobs", type=int, default=2, help="shops at the same time")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--rate", metavar="NAME", help="only measure the rate of this shop")
    options = parser.parse_args()
    if options.rate:
        with tempfile.TemporaryDirectory() as directory:
            sys.stdout.write(rate(SHOPS[options.rate], Path(directory)))
        return 0
    names = set(options.names or SHOPS)
    # The others are those of the table above: the tests measure them.
    wrong = [shop for shop in WRONG_SHOPS if shop.name in names and shop.source]
    correct = [shop for shop in CORRECT_SHOPS if shop.name in names]
    if unknown := names - SHOPS.keys():
        parser.error(f"unknown shops: {', '.join(sorted(unknown))}")
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda shop: wrong_row(shop, options.runs), wrong))
        alarms = list(pool.map(lambda shop: false_alarms(shop, options.seeds), correct))
    problems = [
        f"{shop.name}: {problem}"
        for shop, found in zip(
            [*wrong, *correct], [*(row[1] for row in rows), *alarms], strict=True
        )
        for problem in found
    ]
    text = table(HEAD, [row for row, _ in rows])
    summary = (
        f"\n{len(wrong)} shops with a bug, {options.runs} runs each;"
        f" {len(correct)} correct shops, {options.seeds} seeds each; {len(problems)} problems.\n"
    )
    sys.stdout.write(text + summary + "".join(f"{problem}\n" for problem in problems))
    if options.write and not problems:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}{text}{summary}{END}{after}", encoding="utf-8")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
