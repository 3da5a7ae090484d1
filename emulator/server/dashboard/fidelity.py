"""The page about fidelity: the clauses, the transitions that occurred, and a plot of deliveries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from statistics import median
from typing import Any

from emulator.domain.clauses import CLAUSES, Basis
from emulator.domain.transitions import TRANSITIONS
from emulator.server.dashboard.state_diagram import diagram
from emulator.server.dashboard.view_request import ViewRequest

MAX_PLOTTED = 100
MAX_SHOWN_EVIDENCE = 8
# To judge 10,000 requests takes half a second; more than these only on request.
MAX_JUDGED_REQUESTS, MAX_JUDGED_PAYMENTS = 500, "100"

_LEFT, _WIDTH, _HEIGHT = 68, 640, 150
# The axis of latency is logarithmic: 1 ms to 100 s.
_DECADES = 5
_TICKS = {0: "1 ms", 1: "10 ms", 2: "100 ms", 3: "1 s", 4: "10 s", 5: "100 s"}
_BAR_UNIT, _MAX_BAR_ATTEMPTS = 8, 8


async def fidelity(page: ViewRequest) -> Mapping[str, Any]:
    """The clauses by their basis, and what this account has exercised."""
    transitions = (await page.get("/events/transitions"))["data"]
    counts = {(each["source"], each["target"]): each["count"] for each in transitions}
    deliveries = await page.get("/deliveries", limit=str(MAX_PLOTTED))
    return {
        "clauses": {
            "Assumed: the contract is silent": [c for c in CLAUSES if c.basis is Basis.ASSUMED],
            "Stated, with an assumed detail": [c for c in CLAUSES if c.assumed],
            "Stated": [c for c in CLAUSES if c.basis is Basis.STATED and not c.assumed],
        },
        "diagram": diagram({transition: str(count) for transition, count in counts.items()}),
        "covered": len(counts),
        "transition_count": len(TRANSITIONS),
        "plot": delivery_plot(deliveries["data"]),
        "curl": page.curl("/checklist"),
        "checklist": await _checklist(page, has_more=deliveries["has_more"]),
    }


async def _checklist(page: ViewRequest, *, has_more: bool) -> list[Mapping[str, Any]] | None:
    """The judged items; None for an account with more than a few records, unless requested."""
    if "checklist" not in page.query and (
        has_more
        or (await page.get("/requests/count"))["count"] > MAX_JUDGED_REQUESTS
        or (await page.get("/payments", limit=MAX_JUDGED_PAYMENTS))["next_cursor"]
    ):
        return None
    return [_linked(page, item) for item in (await page.get("/checklist"))["data"]]


def _linked(page: ViewRequest, item: Mapping[str, Any]) -> Mapping[str, Any]:
    """An item of the checklist, with the addresses of the pages of its evidence."""
    shown = [
        {"seen": each["seen"], "links": {id_: page.address("search", q=id_) for id_ in each["ids"]}}
        for each in item["evidence"][:MAX_SHOWN_EVIDENCE]
    ]
    return {**item, "shown": shown}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """An attempt; `y` is its latency."""

    x: int
    y: int
    is_success: bool
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A delivery; the height is its number of attempts."""

    x: int
    y: int
    height: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """The attempts of the newest deliveries, oldest delivery first.

    `ticks` are positions of the axis of latency with their texts.
    """

    left: int
    width: int
    height: int
    base: int
    ticks: Sequence[tuple[int, str]]
    dots: Sequence[Dot]
    bars: Sequence[Bar]
    summary: str


def delivery_plot(deliveries: Sequence[Mapping[str, Any]]) -> Plot | None:
    """The plot of deliveries, given newest first; None before the first attempt."""
    attempted = [delivery for delivery in reversed(deliveries) if delivery["attempts"]]
    if not attempted:
        return None
    step = _WIDTH / len(attempted)
    base = _HEIGHT + 16 + _BAR_UNIT * _MAX_BAR_ATTEMPTS
    dots, bars = [], []
    for index, delivery in enumerate(attempted):
        x = _LEFT + round((index + 0.5) * step)
        count = len(delivery["attempts"])
        height = _BAR_UNIT * min(count, _MAX_BAR_ATTEMPTS)
        title = f"{delivery['type']}: attempts {count}"
        bars.append(Bar(x=x, y=base - height, height=height, title=title))
        dots += [_dot(x, delivery, attempt) for attempt in delivery["attempts"]]
    return Plot(
        left=_LEFT,
        width=_LEFT + _WIDTH,
        height=base + 24,
        base=base,
        ticks=[(_y(10**decade), text) for decade, text in _TICKS.items()],
        dots=dots,
        bars=bars,
        summary=_summary(attempted),
    )


def _dot(x: int, delivery: Mapping[str, Any], attempt: Mapping[str, Any]) -> Dot:
    result = attempt["status"] or attempt["error"]
    return Dot(
        x=x,
        y=_y(attempt["duration_ms"]),
        is_success=_is_success(attempt),
        title=f"{delivery['type']}, attempt {attempt['number']}: {result},"
        f" {attempt['duration_ms']:.0f} ms",
    )


def _y(duration_ms: float) -> int:
    decade = min(max(log10(max(duration_ms, 1)), 0), _DECADES)
    return _HEIGHT - round(decade * (_HEIGHT - 12) / _DECADES)


def _is_success(attempt: Mapping[str, Any]) -> bool:
    return attempt["status"] is not None and attempt["status"] // 100 == 2


def _summary(attempted: Sequence[Mapping[str, Any]]) -> str:
    attempts = [attempt for delivery in attempted for attempt in delivery["attempts"]]
    durations = [attempt["duration_ms"] for attempt in attempts]
    failed = sum(not _is_success(attempt) for attempt in attempts)
    return (
        f"Deliveries: {len(attempted)}. Attempts: {len(attempts)}, of which {failed} failed."
        f" Latency: median {median(durations):.0f} ms, maximum {max(durations):.0f} ms."
    )
