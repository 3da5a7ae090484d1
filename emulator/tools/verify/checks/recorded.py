"""Checks of a recording: the judgements of the other checks, on relations among its exchanges.

A clause that the recording does not exercise has no finding. Requests that overlap may have been
served in any order, so what depends on their order is not judged.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from urllib.parse import unquote

from emulator.domain.instants import DAY_MS
from emulator.domain.payment import Status
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.reporting import counted
from emulator.tools.verify.checks import consistency, creation, objects, pages, refusals
from emulator.tools.verify.client import ServiceResponse, json_text, member_text, printable
from emulator.tools.verify.contract import (
    DEFAULT_LIMIT,
    FIELDS,
    MAX_LIMIT,
    PARAMETERS,
    Payment,
    parse_instant,
)
from emulator.tools.verify.findings import Check, Findings, assumed, stated
from emulator.tools.verify.session import PAYMENTS, Session

# The precision of the instants of a service.
_SLACK_MS = 1_000
_KEY = "idempotency_key"
_UNCHANGING = [name for name in FIELDS if name not in consistency.CHANGING_FIELDS]
# The clauses of the filters.
_FILTERS = {"status": "4.3.5", "method": "4.3.6", "created_gte": "4.3.7", "created_lte": "4.3.8"}
# The clauses by which a call returns a payment.
_PAYMENT = {"create": consistency.CREATED, "retrieve": consistency.RETRIEVED}

# Whether a value of a query parameter may be right.
_MAY_BE: Mapping[str, Callable[[str], bool]] = {
    "limit": lambda text: text.isdecimal() and int(text[:9]) in range(1, MAX_LIMIT + 1),
    "after": lambda text: text.startswith("pay_"),
    "status": lambda text: text in list(Status),
    "created_gte": lambda text: any(map(str.isdigit, text)),
    "created_lte": lambda text: any(map(str.isdigit, text)),
}


def _own(session: Session) -> Iterator[tuple[str, ServiceResponse, str]]:
    """The responses to the key of the session and to none: the call, and the id in the path."""
    for response in session.responses:
        method, path = response.request.method, response.request.path
        parent, _, id_ = path.rpartition("/")
        call = {("POST", PAYMENTS): "create", ("GET", PAYMENTS): "list"}.get((method, path), "")
        if response.request.key in (session.key, None):
            is_retrieve = (method, parent) == ("GET", PAYMENTS) and id_
            yield "retrieve" if is_retrieve else call, response, id_


async def _refused(session: Session) -> Findings:
    """Wrong requests are refused as expected, and correct create calls are not."""
    findings: Findings = []
    created = session.created_ids
    for call, response, id_ in _own(session):
        if response.status == 429 or response.status >= 500:
            continue
        expected = _expected_refusal(call, response, is_unknown=id_ not in created)
        if expected is not None:
            findings += expected.judge(response)
        elif call == "create" and response.status not in (401, 409):
            # The contract leaves open what these may be, and what else is accepted.
            is_open = str(response.param).startswith(("methods", "expires_in"))
            body, seen = response.request.value, f"correct parameters: {response.summary}"
            if not is_open and isinstance(body, dict) and body.keys() <= {*PARAMETERS}:
                findings += stated(response.is_success, seen, "4.1.1")
    return findings


def _expected_refusal(
    call: str, response: ServiceResponse, *, is_unknown: bool
) -> refusals.ExpectedRefusal | None:
    request, body = response.request, response.request.value
    if request.key is None:
        return refusals.WITHOUT_KEY
    if response.status == 401:
        return None
    if call == "list":
        wrong = (each for each in request.query.items() if not _may_be(*each))
        return next((refusals.wrong_query(*each) for each in wrong), None)
    if call == "create" and isinstance(body, dict):
        # Of several wrong fields, the service may name any. A key that is null is none.
        given = {name: body.get(name, ...) for name in PARAMETERS}
        found = [
            each
            for name, value in given.items()
            if (name, value) != (_KEY, None) and (each := refusals.wrong_parameter(name, value))
        ]
        named = [each for each in found if str(response.param).startswith(str(each.param))]
        return next(iter([*named, *found]), None)
    is_wrong = call == "retrieve" and is_unknown and response.is_refusal
    return consistency.UNKNOWN_ID if is_wrong else None


def _may_be(name: str, text: str) -> bool:
    return name not in _MAY_BE or _MAY_BE[name](text)


async def _created(session: Session) -> Findings:
    """New payments are as they were ordered."""
    findings = objects.separate_checkouts([own.payment for own in session.all_created])
    for own in session.created:
        findings += objects.created(own.response)
        findings += objects.requested_fields(own.body, own.payment)
    return findings


async def _without_payment(session: Session) -> Findings:
    """Create and retrieve calls that succeed return a payment: a retrieve, the one of its path."""
    findings: Findings = []
    for call, response, id_ in _own(session):
        if call in _PAYMENT and response.is_success:
            returned, named = response.members.get("id"), unquote(id_)
            if not isinstance(returned, str):
                findings += stated(False, f"no payment: {response.summary}", _PAYMENT[call])
            elif call == "retrieve" and returned != named:
                seen = f"`id`: {json_text(returned)} in the response to {json_text(named)}"
                findings += stated(False, seen, _PAYMENT[call])
    return findings


async def _repeated(session: Session) -> Findings:
    """A repeated idempotency key has the first answer; each other create call, a new id."""
    findings: Findings = []
    first: dict[str, ServiceResponse] = {}
    ids: set[str] = set()
    for call, response, _ in _own(session):
        body = response.request.value
        if call != "create" or not isinstance(body, dict) or response.status not in (200, 201, 409):
            continue
        key, id_ = json_text(body.get(_KEY)), member_text(response.members, "id")
        earlier = first.get(key)
        # How long a key is remembered is open.
        if earlier and _created_at(response.members) < _created_at(earlier.members) + DAY_MS:
            findings += _repetition(earlier, response)
        elif response.is_success:
            seen, other = "two payments, two ids", "one id twice"
            findings += stated(id_ not in ids, seen, "2.1.1", otherwise=other) if ids else []
            ids.add(id_)
            first |= {} if body.get(_KEY) is None else {key: response}
    return findings


def _created_at(payment: Payment) -> int:
    return parse_instant(payment.get("created_at")) or 0


def _repetition(earlier: ServiceResponse, response: ServiceResponse) -> Findings:
    """Whether an absent parameter equals its default is open."""
    body, first = response.request.value, earlier.request.value
    other = sorted(name for name in body.keys() & first.keys() if body[name] != first[name])
    if other:
        return creation.reused_key(other[0], body[other[0]]).judge(response)
    if body != first or not response.follows(earlier):
        return []
    return objects.retried(earlier, response, is_first=False)


async def _views(session: Session) -> Findings:
    """Each payment is equal in all responses, and changes as we assume."""
    own = {each.id: each for each in session.created}
    first = {id(each.response) for each in session.created}
    views: dict[str, list[tuple[str, ServiceResponse, Payment]]] = {}
    different: dict[tuple[str, str], str] = {}
    findings: Findings = []
    for call, response, id_ in _own(session):
        if response.status == 404 and id_ in own:
            what = f"a payment that was created: {response.summary}"
            different.setdefault((consistency.FOUND, ""), what)
        if response.is_success and (call != "create" or id(response) in first):
            for payment in response.payments if call == "list" else [response.members]:
                views.setdefault(str(payment.get("id")), []).append((call, response, payment))
            findings += consistency.retrieved(response) if call == "retrieve" else []
    seen: set[str] = set()
    for id_, of_payment in views.items():
        findings += _changes(of_payment)
        # Forms that differ in what does not change, once each.
        forms: dict[str, dict[str, Payment]] = {"create": {}, "list": {}, "retrieve": {}}
        for call, _, payment in of_payment:
            form = repr([payment.get(name, ...) for name in _UNCHANGING])
            forms.setdefault(call, {})[form] = payment
        listed, retrieved = [*forms["list"].values()], [*forms["retrieve"].values()]
        created = own[id_].payment if id_ in own else None
        seen |= {consistency.LISTED} if listed and (created or retrieved) else set()
        if created and retrieved:
            seen |= {consistency.CREATED, consistency.FOUND, consistency.RETRIEVED}
        how = "when retrieved" if retrieved else "when created" if created else "in another list"
        for payment in retrieved or [created or of_payment[0][2]]:
            compared = consistency.Views(created if retrieved else None, listed, payment, how)
            for number, name, what in consistency.differences(compared, _UNCHANGING):
                different.setdefault((number, name), what)
    return [*findings, *consistency.judged(seen, different)]


def _changes(views: list[tuple[str, ServiceResponse, Payment]]) -> Findings:
    """The status follows from the one before; a method and an instant stay once they are set."""
    findings: Findings = []
    for (_, response, payment), (_, later, after) in pairwise(views):
        start, end = payment.get("status"), after.get("status")
        if not later.follows(response) or start not in [*Status] or end not in [*Status]:
            continue
        seen, wrong = "one after the other", f"{json_text(start)}, then {json_text(end)}"
        findings += assumed(_can_become(str(start), str(end)), seen, "3.2", otherwise=wrong)
        for name, number in (("method", "2.1.6"), ("completed_at", "2.1.14")):
            if payment.get(name) is not None and end != Status.PENDING:
                other = f"`{name}`: {member_text(payment, name)}, then {member_text(after, name)}"
                is_kept = consistency.is_same(name, payment, after)
                findings += stated(is_kept, "kept", number, otherwise=other)
    return findings


@cache
def _can_become(start: str, end: str) -> bool:
    return start == end or any(
        kind is Edge.ORDINARY and before == start and _can_become(after, end)
        for (before, after), kind in TRANSITIONS.items()
    )


async def _lists(session: Session) -> Findings:
    """Each page follows from its filters and its cursor, and has the payments created before."""
    findings: Findings = []
    own = {id(each.response) for each in session.created}
    created: list[ServiceResponse] = []
    # The pages before the next one, by their filters and the cursor.
    before: dict[tuple[object, str], ServiceResponse] = {}
    for call, page, _ in _own(session):
        query = page.request.query
        created += [page] if id(page) in own else []
        if call != "list" or not page.is_success or not all(map(_may_be, query, query.values())):
            continue
        filters = {name: query[name] for name in query if name not in ("limit", "after")}
        group, after = frozenset(filters.items()), query.get("after", "")
        previous = before.get((group, after)) if after else None
        findings += _page(page, filters) + _sequence(page, previous, after)
        if not filters:
            findings += _newest(page, created) if not after else []
            findings += _end(previous, page) if previous else []
        before |= {(group, cursor): page for cursor in (str(page.next_cursor), *page.ids[-1:])}
    return findings


def _page(page: ServiceResponse, filters: Mapping[str, str]) -> Findings:
    """The end of a page, its length and its filters."""
    has_next, count, query = page.has_next_page, len(page.data), page.request.query
    findings = pages.before_next_page(page) if has_next else pages.cursor_of_last_page(page)
    findings += stated(page.status == 200, page.summary, "7.5")
    limit = int(query.get("limit", DEFAULT_LIMIT))
    if has_next or count >= limit:
        numbers = ("4.3.15", "8.5") if "limit" in query else ("4.3.3", "8.5")
        seen = f"`limit` {limit}: {counted(count, 'payment')}"
        findings += stated(count == limit, seen, *numbers)
    for name in filters.keys() & _FILTERS.keys():
        wrong = sum(not _matches(payment, name, filters[name]) for payment in page.payments)
        seen = f"`{name}={printable(filters[name])}`: {wrong} other payments"
        findings += stated(not wrong, seen, _FILTERS[name])
    return findings


def _matches(payment: Payment, name: str, text: str) -> bool:
    """Whether a payment may be on a page with a filter; one without a method may."""
    if name in ("status", "method"):
        return payment.get(name) == text or (name == "method" and payment.get(name) is None)
    at, bound = parse_instant(payment.get("created_at")), parse_instant(text)
    too_late_ms = 0 if at is None or bound is None else at - bound
    return (too_late_ms if name == "created_lte" else -too_late_ms) <= _SLACK_MS


def _instants(page: ServiceResponse) -> list[int]:
    return [_created_at(payment) for payment in page.payments]


def _sequence(page: ServiceResponse, previous: ServiceResponse | None, after: str) -> Findings:
    """The newest payment first, and after a cursor none again."""
    instants = [*(_instants(previous)[-1:] if previous else ()), *_instants(page)]
    is_sorted = instants == sorted(instants, reverse=True)
    other = "oldest first" if instants == sorted(instants) else "in no order of creation"
    findings = assumed(is_sorted, "newest first", "4.3.11", otherwise=other) if instants[1:] else []
    if after:
        twice = len(page.ids) - len({*page.ids} - {after, *(previous.ids if previous else ())})
        seen = f"{counted(twice, 'payment')} of earlier pages after a cursor"
        findings += stated(not twice, seen, "4.3.4", "4.3.10")
    return findings


def _end(previous: ServiceResponse, page: ServiceResponse) -> Findings:
    is_so = bool(page.payments) is previous.has_next_page
    other = "false before a further page" if page.payments else "true on the last page"
    return stated(is_so, "as the next page shows", "2.2.2", otherwise=other)


def _newest(page: ServiceResponse, created: list[ServiceResponse]) -> Findings:
    """A first page, if it is sorted, has the newest of the payments created before."""
    instants, ids = _instants(page), {*page.ids}
    if page.has_next_page and (instants != sorted(instants, reverse=True) or len({*instants}) < 2):
        return []
    last = instants[-1] if page.has_next_page else -1
    expected = {
        str(each.members["id"])
        for each in created[-MAX_LIMIT:]
        if page.follows(each) and _created_at(each.members) > last
    }
    seen = f"lists {len(expected & ids)} of {len(expected)} payments"
    return stated(expected <= ids, seen, "4.3.1") if expected else []


CHECKS = tuple(map(Check, (_refused, _created, _without_payment, _repeated, _views, _lists)))
