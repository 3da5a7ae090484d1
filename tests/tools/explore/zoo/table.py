"""Reads the table of the shops, `shops.yaml`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from emulator.tools.explore import needs
from emulator.tools.explore.anomalies import ANOMALY_BY_NAME
from emulator.tools.explore.needs import Need

GITHUB = "https://github.com/"
# Bugs that only a failure while the handler runs shows, or while a payment is created.
HANDLER_BUGS = (
    "remembers-before-read",
    "ships-then-fails",
    "pays-then-fails",
    "fails-in-background",
    "new-key-after-timeout",
    "first-signature-only",
    "error-is-failure",
    "loses-queue",
)
PYTHON, NODE, PHP = "Python", "Node.js", "PHP"
_VERDICT_KEYS = {
    "wrong-amount": "state.amount",
    "done-twice": "state.once",
    "account-wrong": "account",
    "not-closed": "state.closed",
}
_OUTCOME_KEYS = {
    "failed-then-paid": "again",
    "reversed": "unusual",
    "expired-processing": "unusual",
}
_NEEDED: Mapping[Need, str] = {
    needs.AGAIN: "again",
    needs.BETWEEN: "between",
    needs.TAMPER: "start.tamper",
    needs.JOB: "settle",
    needs.COMMON_JOB: "settle",
    needs.DISK: "run.durable",
    needs.CLOCK: "run.clock",
    needs.UNUSUAL: "unusual",
}


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A shop with one bug; a correct shop has no `bug`, `source`, `verdict` and `description`.

    `history` is the first history that fails, and `by_hand` are the steps of `test_by_hand` that
    show the loss. A shop with the bug of another one has these of the other one. `only` is the kind
    of anomaly without which no history of size 1 fails, if there is one. With `has_one_verdict`,
    all of size 1 that fail have the verdict. A bug without a `source` is from our own analysis.
    `form` is that of its webhooks.
    """

    name: str
    language: str
    ways: str = "webhook return job"
    lag_ms: int = 0
    workers: int = 1
    is_slow: bool = False
    form: str = "standard"
    bug: str = ""
    source: str = ""
    verdict: str = ""
    history: str = ""
    by_hand: str = ""
    description: str = ""
    also: tuple[str, ...] = ()
    only: str = ""
    has_one_verdict: bool = False

    @property
    def is_money(self) -> bool:
        """Whether the shop is one of `money_shop.py`: with prices and several payments."""
        return "money" in self.ways

    @property
    def size(self) -> int:
        """The number of anomalies in the first history that fails."""
        return self.history.count(",")

    @property
    def keys(self) -> list[str]:
        """The keys that the failure needs beside those of a first file.

        That has `start`, `state` with `paid` and `fulfilled`, `webhook`, `return` and `run`.
        """
        outcome, *anomalies = self.history.split(", ")
        needs = [need for name in anomalies for need in ANOMALY_BY_NAME[name].kind.needs]
        own = {
            _VERDICT_KEYS.get(self.verdict),
            _OUTCOME_KEYS.get(outcome),
            *map(_NEEDED.get, needs),
        }
        return sorted({*self.also, *filter(None, own)})

    @property
    def link(self) -> str:
        """The source in Markdown, as GitHub writes the name of an issue, if there is one."""
        if not self.source:
            return "own analysis"
        owner, repository, _, number = self.source.split("/")
        return f"[{owner}/{repository}#{number}]({GITHUB}{self.source})"


_TABLE: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("shops.yaml").read_text(encoding="utf-8")
)
_ROWS = {row["name"]: row for row in _TABLE["wrong"]}
_SHARED = ("source", "verdict", "history", "by_hand", "description")


def _wrong_shop(row: dict[str, Any]) -> Shop:
    """The shop of a row; what is true of its bug may be in the row of another shop."""
    bug = row.get("bug", row["name"])
    other = _ROWS.get(bug, {})
    return Shop(**{"bug": bug, **{key: other[key] for key in _SHARED if key in other}, **row})


WRONG_SHOPS = tuple(map(_wrong_shop, _TABLE["wrong"]))
CORRECT_SHOPS = tuple(Shop(**row) for row in _TABLE["correct"])
SHOPS = {shop.name: shop for shop in (*WRONG_SHOPS, *CORRECT_SHOPS)}


def _representatives() -> Iterator[Shop]:
    """The first wrong shop with each verdict, each program, and each word of `ways`."""
    known = set[str]()
    for shop in WRONG_SHOPS:
        kinds = {shop.verdict, shop.language, *shop.ways.split()}
        if not kinds <= known:
            known |= kinds
            yield shop


REPRESENTATIVES = tuple(_representatives())
