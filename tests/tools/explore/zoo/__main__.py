"""Measures the figures of the zoo: `python -m tests.tools.explore.zoo [--write] [NAME…]`.

Explores each wrong shop `--runs` times, in rounds of one run of each shop. The first failure must
have the expected verdict, be the same in every run, and have no part that fails. Explores each
correct shop once with all pairs of anomalies, and then with random histories of two to four
anomalies, `--seconds` with each of `--seeds` seeds. Nothing may fail, and each seed must draw some.
Each run is a line of the file `--results`, which is added to it at its end; runs that the file has
are not repeated, so that the measurement can be interrupted, and continued later. `--write` writes
the table of the wrong shops into `docs/reference/found-bugs.md`, also of a file with fewer runs.
`--rate NAME` only measures how many histories of a shop run in a second.
"""

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median
from threading import Lock
from typing import Any

from tests.cli.processes import REPOSITORY
from tests.docs.markdown import table
from tests.tools.explore.zoo.exploration import draw, explore, rate, smaller_failures
from tests.tools.explore.zoo.table import CORRECT_SHOPS, SHOPS, WRONG_SHOPS, Shop

PAGE = REPOSITORY / "docs/reference/found-bugs.md"
BEGIN, END = "<!-- figures -->\n", "<!-- end figures -->"
HEAD = ("bug", "program", "seen in", "verdict", "first failing history", "runs", "seconds")
# The number of the run of a correct shop with all pairs of anomalies.
ALL_PAIRS = 0
Run = dict[str, Any]


def run_once(shop: Shop, number: int, seconds: int) -> Run:
    """One run, as a line of the results; the first one of a wrong shop also runs smaller parts.

    That of a correct shop with the number 0 has all pairs, and other numbers are seeds.
    """
    with tempfile.TemporaryDirectory() as name:
        directory, drawn = Path(name), 0
        if shop.verdict or number == ALL_PAIRS:
            finding = explore(shop, directory, depth=2)
        else:
            finding, drawn = draw(shop, directory, seed=number, seconds=seconds)
        is_found = (finding.code, finding.verdict) == (int(bool(shop.verdict)), shop.verdict)
        problems = [] if is_found else [finding.output]
        if is_found and number == 1 and finding.saved is not None:
            problems += smaller_failures(finding, directory)
    if not (shop.verdict or number == ALL_PAIRS or drawn):
        problems.append(f"the seed {number} draws no history in {seconds} s")
    result = {"shop": shop.name, "number": number, "history": finding.history, "drawn": drawn}
    return {**result, "seconds": round(finding.seconds, 2), "problems": problems}


def measure(shops: Sequence[Shop], options: argparse.Namespace, file: Path) -> None:
    """Add the runs that the file does not have."""
    lock = Lock()
    known = {(run["shop"], run["number"]) for run in read_runs(file)}
    rounds = range(max(options.runs, options.seeds) + 1)

    def add(task: tuple[int, Shop]) -> None:
        number, shop = task
        line = json.dumps(run_once(shop, number, options.seconds))
        with lock, file.open("a", encoding="utf-8") as results:
            results.write(f"{line}\n")

    tasks = [
        (number, shop)
        for number in rounds
        for shop in shops
        if number != ALL_PAIRS or not shop.verdict
        if 0 < (options.runs if shop.verdict else options.seeds) >= number
        if (shop.name, number) not in known
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(add, tasks))


def read_runs(file: Path) -> list[Run]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def figures(runs: Sequence[Run]) -> tuple[str, list[str]]:
    """The table and its summary, and what is not as it must be."""
    by_shop = defaultdict[str, list[Run]](list)
    for run in runs:
        by_shop[run["shop"]].append(run)
    problems = [f"{run['shop']}: {problem}" for run in runs for problem in run["problems"]]
    for name, of_shop in by_shop.items():
        if len(histories := {run["history"] for run in of_shop}) > 1:
            problems.append(f"{name}: several first failures: {sorted(histories)}")
    wrong = [shop for shop in WRONG_SHOPS if shop.name in by_shop]
    rows = [_row(shop, by_shop[shop.name]) for shop in wrong if shop.source]
    slowest_s = max((run["seconds"] for shop in wrong for run in by_shop[shop.name]), default=0)
    of_seeds = [run for run in runs if run["number"] != ALL_PAIRS]
    seeds = [[r for r in of_seeds if r["shop"] == shop.name] for shop in CORRECT_SHOPS]
    summary = "; ".join(
        (
            *_counts("shops with a bug", "runs", [by_shop[shop.name] for shop in wrong]),
            *_counts("correct shops", "seeds", seeds),
            f"{sum(run.get('drawn', 0) for run in runs):,} random histories",
            f"the slowest bug took {slowest_s:.0f} s",
            f"{len(problems)} problems",
        )
    )
    return f"{table(HEAD, rows)}\n{summary}.\n", problems


def _row(shop: Shop, runs: Sequence[Run]) -> tuple[str, ...]:
    source, seconds = f"[{shop.source}]({shop.link})", median(run["seconds"] for run in runs)
    verdict, history = f"`{shop.verdict}`", runs[0]["history"] or "none"
    count = str(len(runs))
    return shop.description, shop.language, source, verdict, history, count, f"{seconds:.1f}"


def _counts(what: str, unit: str, runs: Sequence[Sequence[Run]]) -> Iterator[str]:
    numbers = sorted({len(of_shop) for of_shop in runs if of_shop})
    if numbers:
        each = " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1]))))
        yield f"{sum(map(bool, runs))} {what}, {each} {unit} each"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.explore.zoo", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="shops; by default those of the table"
    )
    parser.add_argument("--seeds", type=int, default=20, help="seeds of each correct shop")
    parser.add_argument("--seconds", type=int, default=15, help="seconds of each seed")
    parser.add_argument("--runs", type=int, default=100, help="runs of each wrong shop")
    parser.add_argument("--jobs", type=int, default=2, help="shops at the same time")
    parser.add_argument("--results", type=Path, default=Path("zoo.jsonl"), help="file of the runs")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--note", default="", help="a sentence after the table: when and where")
    parser.add_argument("--rate", metavar="NAME", help="only measure the rate of this shop")
    parser.add_argument(
        "--lag", type=int, help="with --rate: how late webhooks have an effect (ms)"
    )
    options = parser.parse_args()
    if options.rate:
        shop = SHOPS[options.rate]
        shop = shop if options.lag is None else replace(shop, lag_ms=options.lag)
        with tempfile.TemporaryDirectory() as directory:
            sys.stdout.write(rate(shop, Path(directory)))
        return 0
    if unknown := set(options.names) - SHOPS.keys():
        parser.error(f"unknown shops: {', '.join(sorted(unknown))}")
    # The others are those of the table of anomalies: the tests measure them.
    usual = [shop for shop in SHOPS.values() if shop.source or not shop.verdict]
    shops = [SHOPS[name] for name in options.names] or usual
    measure(shops, options, options.results)
    text, problems = figures(read_runs(options.results))
    text += f"{options.note}\n" if options.note else ""
    sys.stdout.write(text + "".join(f"{problem}\n" for problem in problems))
    if options.write and not problems:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}{text}{END}{after}", encoding="utf-8")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
