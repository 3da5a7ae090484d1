"""Judges what was observed of a history: safety, liveness, and confluence."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain, combinations

from msgspec import Struct

from emulator.domain.message_text import counted_runs
from emulator.domain.payment import Status
from emulator.scenarios.values import Json
from emulator.tools.explore.histories import History, HistoryName, without_repetitions
from emulator.tools.explore.observation import (
    HAS_MONEY,
    HAS_NO_MONEY,
    Judgement,
    Observation,
    ObservedOrder,
)
from emulator.tools.explore.steps import CHANGES, KILLS, READ_FAULTS, Manner, StepAction
from emulator.tools.explore.verdicts import Verdict

SEEN_FACTS = (
    "fulfilled-twice",
    "charged-twice",
    "done-twice",
    "payment-shared",
    "forged-accepted",
)


class HistoryFailure(Struct, frozen=True):
    """A failed judgement after a step (from 1): what was expected, and what was seen.

    `reference` is the history with whose end the end was compared, if any; `before` are the last
    histories before, by name. `runs` is how many runs failed, of how many, if not all did.
    """

    verdict: Verdict
    step: int
    expected: str
    seen: str
    observation: Observation
    reference: History | None = None
    before: tuple[HistoryName, ...] = ()
    runs: str = ""

    @property
    def is_seen_fact(self) -> bool:
        """Whether it is true of this run, even if no other run shows it; an end may be late."""
        last = max(order.final.step for order in self.observation.orders)
        is_early = self.verdict is Verdict.PAID_WITHOUT_MONEY and self.step < last
        return self.verdict.id in SEEN_FACTS or is_early


_FINAL = (*HAS_MONEY, *HAS_NO_MONEY)
_REFUNDS = (StepAction.REFUND, StepAction.REVERSE)
# The retry may come after the refund.
_RETRIED = (*READ_FAULTS, *KILLS)
_Verdicts = Iterator[Judgement]


def judge(observation: Observation) -> HistoryFailure | None:
    """The first failed judgement of one history, or None."""
    orders = enumerate(observation.orders)
    safety = (
        chain(_safety(order), _effects(observation, order, number)) for number, order in orders
    )
    verdicts = chain(
        _forged(observation),
        _shared(observation),
        *safety,
        _ends(observation),
        observation.problems,
        _deliveries(observation),
    )
    return next((HistoryFailure(*each, observation) for each in verdicts), None)


def is_settled(observation: Observation) -> bool:
    """Whether no state that is expected in the end is missing; a slow application needs time."""
    return next(_ends(observation), None) is None


def _forged(observation: Observation) -> _Verdicts:
    for before, after in observation.forged:
        if before.summary != after.summary:
            seen = f"the order was {before.text}, and is {after.text}"
            yield Verdict.FORGED_ACCEPTED, after.step, "the webhook changes nothing", seen


def _shared(observation: Observation) -> _Verdicts:
    for first, second in combinations(observation.orders, 2):
        for payment in sorted(first.statuses.keys() & second.statuses.keys()):
            seen = f"the orders {first.id} and {second.id} have {payment}"
            step = second.final.step
            yield Verdict.PAYMENT_SHARED, step, "each order has a payment of its own", seen


def _safety(order: ObservedOrder) -> _Verdicts:
    live = order.live_payments
    if order.is_changed:
        live = tuple(each for each in live if order.statuses.get(each) == Status.COMPLETED)
    if len(live) > 1:
        expected = "one payment of the order is completed or may still complete"
        seen = f"{len(live)} payments: {', '.join(live)}"
        yield Verdict.CHARGED_TWICE, order.final.step, expected, seen
    for sample in order.samples:
        if (sample.fulfilled or 0) > 1:
            expected = "the order is fulfilled at most once"
            seen = f"it is fulfilled {sample.fulfilled} times"
            yield Verdict.FULFILLED_TWICE, sample.step, expected, seen
    for sample in order.samples:
        if sample.is_paid and sample.money not in HAS_MONEY and not order.is_reversed:
            expected = f"the order is not paid: its payment is {sample.money}"
            yield Verdict.PAID_WITHOUT_MONEY, sample.step, expected, "the order is paid"


def _effects(observation: Observation, order: ObservedOrder, number: int) -> _Verdicts:
    steps = observation.history.steps
    reached = [CHANGES.get(step.action) for step in steps if step.order == number]
    most = max(1, sum(each in _FINAL for each in reached))
    for sample in order.samples:
        for path, count in sample.once:
            if not 0 <= count <= most:
                expected = f"{path} is from 0 to {most}: once for each final status"
                yield Verdict.DONE_TWICE, sample.step, expected, f"it is {count}"
    final, statuses = order.final, order.statuses
    completed = (each for each in order.payments if statuses[each["id"]] == Status.COMPLETED)
    paid = sum(each["amount"] for each in completed)
    is_usual = all(step.manner is not Manner.OTHER_AMOUNT for step in steps)
    if is_usual and final.amount not in (None, paid) and final.is_paid and paid:
        expected = f"the paid order costs what was paid: {paid} cents"
        yield Verdict.WRONG_AMOUNT, final.step, expected, f"it costs {final.amount} cents"


def _ends(observation: Observation) -> _Verdicts:
    """The end of each order, if the application could know whether the order has money."""
    judged = filter(observation.is_judged, observation.orders)
    return chain(*map(_end, judged), _accounts(observation))


def _end(order: ObservedOrder) -> _Verdicts:
    final, status = order.final, order.final.money
    if status == Status.REFUNDED and final.is_paid and not final.is_refunded:
        wrong, state = Verdict.PAID_WITHOUT_MONEY, "refunded"
    elif status in HAS_NO_MONEY and final.is_paid:
        wrong, state = Verdict.PAID_WITHOUT_MONEY, "not paid"
    elif order.is_changed:
        return
    elif status == Status.COMPLETED and not final.is_paid:
        wrong, state = Verdict.MONEY_WITHOUT_PAID, "paid"
    elif status == Status.COMPLETED and final.fulfilled == 0:
        wrong, state = Verdict.NOT_FULFILLED, "fulfilled"
    elif status in HAS_NO_MONEY and not final.is_closed:
        wrong, state = Verdict.NOT_CLOSED, "closed"
    else:
        return
    expected = f"the order is {state}: its payment is {status}"
    text = "still open" if wrong is Verdict.NOT_CLOSED else final.text
    values = f": {final.shown[state]}" if state in final.shown else ""
    yield wrong, final.step, expected, f"the order is {text}{values}"


def _accounts(observation: Observation) -> _Verdicts:
    """An account grows by the completed payments; by less where they are refunded or not known.

    What an order reserves at its start is released when its end is known.
    """
    for key, account in observation.accounts.items():
        orders = [each for each in observation.orders + observation.others if each.account == key]
        certain, possible = 0, [0]
        for order, payment in ((each, payment) for each in orders for payment in each.payments):
            known = payment["id"], order.statuses[payment["id"]]
            value = payment["amount"] if account.by is None else account.by
            is_known = known in observation.could_know
            is_reserved = known == order.money and not is_known
            if known[1] == Status.COMPLETED and is_known and not order.is_changed:
                certain += value
            elif known[1] in HAS_MONEY or order.is_reversed or is_reserved:
                possible.append(value)
        least = certain + sum(value for value in possible if value < 0)
        most = certain + sum(value for value in possible if value > 0)
        if not least <= account.growth <= most:
            expected = f"the account grows by {least}" + f" to {most}" * (most > least)
            step = observation.orders[-1].final.step
            yield Verdict.ACCOUNT_WRONG, step, expected, f"it grows by {account.growth}"


def _deliveries(observation: Observation) -> _Verdicts:
    for delivery in observation.unacknowledged.values():
        expected = f"{delivery.event.type} is answered with 2xx in the end"
        seen = f"{counted_runs(delivery.results)}. {delivery.cause}".rstrip()
        yield Verdict.NEVER_ACKNOWLEDGED, delivery.step, expected, seen


class Comparison(Struct, frozen=True, kw_only=True):
    """Which places of a state are compared.

    Not those that the file ignores, and not those that are `unstable`: there equal histories
    differ. What the file declares is stable.
    """

    ignored: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    unstable: frozenset[str] = frozenset()

    def has(self, place: str) -> bool:
        is_unstable = _is_in(place, self.unstable) and not _is_in(place, self.declared)
        return not (is_unstable or _is_in(place, self.ignored))


def _is_in(place: str, paths: Iterable[str]) -> bool:
    return any(place == path or place.startswith((f"{path}.", f"{path}[")) for path in paths)


def is_comparable(observation: Observation, reference: Observation) -> bool:
    """Whether a history must end as another one with the same facts.

    It must where it only repeats facts. In another order it may end differently where the
    application could not know the payment's last status: then it may know an earlier one in one
    order, and none in another; or where a second payment was refused. A refund before the
    completion may leave an order that was never fulfilled. Where a payment completes after it
    failed or expired, the application may know of that failure or not, and so have sent an e-mail.
    """
    runs, steps = (observation, reference), observation.history.steps
    numbers = {tuple(len(order.payments) for order in each.orders) for each in runs}
    if len(numbers) > 1 or any(step.action is StepAction.COMPLETE for step in steps):
        return False
    is_told = all(each.knows_end(order) for each in runs for order in each.orders)
    is_refunded = any(step.action in _REFUNDS for step in steps)
    is_retried = any(step.manner in _RETRIED for step in steps)
    orders = {without_repetitions(each.history.steps) for each in runs}
    if len(orders) == 1 and not (is_refunded and is_retried):
        return is_told
    is_judged = all(each.is_judged(order) for each in runs for order in each.orders)
    return is_judged and not is_refunded


def compare_ends(
    observation: Observation, reference: Observation, compared: Comparison
) -> HistoryFailure | None:
    """Compare the end with the end of a history of the same facts."""
    step = observation.orders[0].final.step
    same = f"the same end as in the history: {reference.history.title}"
    values = Verdict.CONFLUENCE, step, same
    for place, seen in differences(observation, reference):
        if compared.has(place):
            return HistoryFailure(*values, seen, observation, reference.history)
    pairs = zip(observation.accounts.values(), reference.accounts.values(), strict=False)
    for growth, expected in ((first.growth, second.growth) for first, second in pairs):
        if growth != expected:
            seen = f"the account grows by {growth}, not {expected}"
            return HistoryFailure(*values, seen, observation, reference.history)
    return None


def differences(observation: Observation, reference: Observation) -> Iterator[tuple[str, str]]:
    """Each place at which the ends of the orders differ, and how."""
    for order, other in zip(observation.orders, reference.orders, strict=False):
        ends = (json.loads(each.final.state) for each in (other, order))
        expected, found = (dict(places_of("$", end)) for end in ends)
        for place in expected | found:
            first, second = expected.get(place, ...), found.get(place, ...)
            # A short id may also be another value by chance, so equal values are equal too.
            is_equal = first == second or _normal(first, other) == _normal(second, order)
            if not (is_equal and isinstance(first, bool) is isinstance(second, bool)):
                should, does = ("missing" if e is ... else repr(e) for e in (first, second))
                is_count = all(type(each) in (int, float) for each in (first, second))
                advice = f"; derive it from the payment, or add `{place}` to `ignore`"
                yield place, f"{place} is {does}, not {should}{advice * is_count}"


def unstable_places(observation: Observation, reference: Observation) -> frozenset[str]:
    """The places at which the ends of equal histories differ; a list as a whole."""
    places = (place.partition("[")[0] for place, _ in differences(observation, reference))
    return frozenset(place for place in places if place != "$")


def places_of(place: str, state: Json) -> Iterator[tuple[str, Json]]:
    """Each place in a state with its value; an empty object or list is a value, too."""
    if isinstance(state, dict) and state:
        parts = [(f"{place}.{key}", each) for key, each in state.items()]
    elif isinstance(state, list) and state:
        parts = [(f"{place}[{index}]", each) for index, each in enumerate(state)]
    else:
        yield place, state
        return
    for part in parts:
        yield from places_of(*part)


def _normal(value: Json, order: ObservedOrder) -> Json:
    """A value with the ids of its own order replaced, by characters that no id has."""
    for number, own_id in enumerate(order.own_ids):
        if isinstance(value, str):
            value = value.replace(own_id, chr(number))
        elif str(value) == own_id:
            return chr(number)
    return value
