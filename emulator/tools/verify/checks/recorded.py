"""Checks of a recording: the judgements of the other checks, on relations among its exchanges.

A clause that the recording does not exercise has no finding. Requests that overlap may have been
served in any order, so what depends on their order is not judged.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise

from emulator.domain.instants import DAY_MS
from emulator.domain.payment import Status
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.domain.wire import PAYMENT_MEMBERS
from emulator.reporting import counted
from emulator.tools.verify.checks import consistency, creation, pages
from emulator.tools.verify.checks.refusals import (
    PARAMETERS_OF_CREATE,
    WITHOUT_KEY,
    ExpectedRefusal,
    wrong_parameter,
    wrong_query,
)
from emulator.tools.verify.client import ServiceResponse, json_text, member_text, printable
from emulator.tools.verify.findings import Check, Findings, assumed, stated
from emulator.tools.verify.session import (
    MAX_LIMIT,
    PAYMENTS,
    OwnPayment,
    Payment,
    Session,
    parse_instant,
)

# The precision of the instants of a service.
_SLACK_MS = 1_000
_KEY = "idempotency_key"
_UNCHANGING = [name for name in PAYMENT_MEMBERS if name not in consistency.CHANGING_FIELDS]
# The clauses of the filters.
_FILTERS = {"status": "4.3.5", "method": "4.3.6", "created_gte": "4.3.7", "created_lte": "4.3.8"}


def _is_timestamp(text: str) -> bool:
    return any(character.isdigit() for character in text)


_IS_VALID: Mapping[str, Callable[[str], bool]] = {
    "limit": lambda text: text.isdecimal() and int(text[:9]) in range(1, MAX_LIMIT + 1),
    "after": lambda text: text.startswith("pay_"),
    "status": lambda text: text in list(Status),
    "created_gte": _is_timestamp,
    "created_lte": _is_timestamp,
}


def _own(session: Session) -> Iterator[tuple[str, ServiceResponse]]:
    """The responses to the key of the session, each with its call; other requests have none."""
    for response in session.responses:
        request = response.request
        if request.key in (session.key, None):
            parent, _, id_ = request.path.rpartition("/")
            is_retrieve = (request.method, parent) == ("GET", PAYMENTS) and id_
            call = f"{request.method} {request.path}"
            calls = {f"POST {PAYMENTS}": "create", f"GET {PAYMENTS}": "list"}
            yield "retrieve" if is_retrieve else calls.get(call, ""), response


async def _refused(session: Session) -> Findings:
    """Wrong requests are refused as expected, and other create calls succeed."""
    findings: Findings = []
    for call, response in _own(session):
        if response.status == 429 or response.status >= 500:
            continue
        expected = _expected_refusal(call, response, session)
        if expected is not None:
            findings += expected.judge(response)
        elif call == "create" and response.status not in (401, 409):
            findings += _accepted(response)
    return findings


def _expected_refusal(
    call: str, response: ServiceResponse, session: Session
) -> ExpectedRefusal | None:
    request = response.request
    if request.key is None:
        return WITHOUT_KEY
    if response.status == 401:
        return None
    if call == "list":
        wrong = (each for each in request.query.items() if not _is_valid(*each))
        return next((wrong_query(*each) for each in wrong), None)
    if call == "create" and isinstance(body := request.value, dict):
        values = {name: body.get(name, ...) for name in PARAMETERS_OF_CREATE}
        if values[_KEY] is None:
            del values[_KEY]
        refusals = {
            name: found.refusal
            for name, value in values.items()
            if (found := wrong_parameter(name, value))
        }
        # Of several wrong fields, the service may name any.
        named = [name for name in refusals if str(response.param).startswith(name)]
        return next((refusals[name] for name in (*named, *refusals)), None)
    is_unknown = call == "retrieve" and request.path.rpartition("/")[2] not in session.created_ids
    return consistency.UNKNOWN_ID if is_unknown and response.is_refusal else None


def _is_valid(name: str, text: str) -> bool:
    return name not in _IS_VALID or _IS_VALID[name](text)


def _accepted(response: ServiceResponse) -> Findings:
    """A correct create call succeeds, unless the contract leaves open what is refused."""
    seen, body = response.summary, response.request.value
    if not isinstance(body, dict) or str(response.param).startswith(("methods", "expires_in")):
        return []
    if body.keys() - {*PARAMETERS_OF_CREATE}:
        return assumed(response.is_success, f"an unknown parameter: {seen}", "4.1.14")
    _, numbers = creation.LIMITS.get(str(response.param), ("", ("4.1.1",)))
    return stated(response.is_success, f"correct parameters: {seen}", *numbers)


async def _created(session: Session) -> Findings:
    """New payments are as they were ordered."""
    findings = creation.separate_checkouts([own.payment for own in session.all_created])
    for own in session.created:
        findings += creation.created(own.response)
        findings += creation.requested_fields(own.body, own.payment)
    return findings


async def _repeated(session: Session) -> Findings:
    """A repeated idempotency key has the first answer; each other create call, a new id."""
    findings: Findings = []
    first: dict[object, ServiceResponse] = {}
    ids: set[object] = set()
    for call, response in _own(session):
        body, payment = response.request.value, response.members
        if call != "create" or not isinstance(body, dict) or response.status not in (200, 201, 409):
            continue
        earlier = first.get(json_text(body.get(_KEY)))
        # How long a key is remembered is open.
        if earlier and _created_at(payment) < _created_at(earlier.members) + DAY_MS:
            findings += _repetition(earlier, response)
        elif response.is_success:
            is_new, seen = payment.get("id") not in ids, "two payments, two ids"
            findings += stated(is_new, seen, "2.1.1", otherwise="one id twice") if ids else []
            ids.add(payment.get("id"))
            if body.get(_KEY) is not None:
                first[json_text(body[_KEY])] = response
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
    return creation.retried(earlier, response, is_first=False)


async def _views(session: Session) -> Findings:
    """Each payment is equal in all responses, and changes as we assume."""
    own = {each.id: each.payment for each in session.created}
    first = {id(each.response) for each in session.created}
    views: dict[object, list[tuple[str, ServiceResponse, Payment]]] = {}
    different: dict[tuple[str, str], str] = {}
    seen: set[str] = set()
    findings: Findings = []
    for call, response in _own(session):
        if response.status == 404 and response.request.path.rpartition("/")[2] in own:
            what = f"a payment that was created: {response.summary}"
            different.setdefault((consistency.FOUND, ""), what)
        for payment in response.payments if call == "list" else [response.members]:
            is_replay = call == "create" and id(response) not in first
            if response.is_success and "id" in payment and not is_replay:
                views.setdefault(str(payment["id"]), []).append((call, response, payment))
        findings += (
            consistency.retrieved(response) if call == "retrieve" and response.is_success else []
        )
    for payment_id, of_payment in views.items():
        findings += _changes(of_payment)
        created = own.get(str(payment_id))
        # Equal forms once each.
        listed, retrieved = (
            list(
                {
                    repr([each.get(name, ...) for name in _UNCHANGING]): each
                    for call, _, each in of_payment
                    if call == wanted
                }.values()
            )
            for wanted in ("list", "retrieve")
        )
        seen |= {consistency.LISTED} if listed and (created or retrieved) else set()
        if created and retrieved:
            seen |= {consistency.CREATED, consistency.FOUND, consistency.RETRIEVED}
        how = "when retrieved" if retrieved else "when created" if created else "in another list"
        for form in retrieved or [created or of_payment[0][2]]:
            each = consistency.Views(created if retrieved else None, listed, form, how)
            for number, name, what in consistency.differences(each, _UNCHANGING):
                different.setdefault((number, name), what)
    return [*findings, *consistency.judged(seen, different)]


def _changes(views: list[tuple[str, ServiceResponse, Payment]]) -> Findings:
    """The status follows from the one before; a method and an instant stay once they are set."""
    findings: Findings = []
    for (_, response, payment), (_, later, after) in pairwise(views):
        start, end = payment.get("status"), after.get("status")
        if not later.follows(response) or {start, end} - {*Status}:
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
    created = {id(own.response): own for own in session.created}
    earlier: list[OwnPayment] = []
    # The pages before the next one, by their filters and the cursor.
    before: dict[tuple[object, str], ServiceResponse] = {}
    for call, page in _own(session):
        query = page.request.query
        earlier += [created[id(page)]] if id(page) in created else []
        if call != "list" or not page.is_success or not all(map(_is_valid, query, query.values())):
            continue
        filters = {name: query[name] for name in query if name not in ("limit", "after")}
        group, after = frozenset(filters.items()), query.get("after", "")
        findings += _page(page, filters) + _sequence(
            page, before.get((group, after)) if after else None, after, filters
        )
        if not after and not filters:
            findings += _newest(page, earlier)
        before |= {(group, cursor): page for cursor in (str(page.next_cursor), *page.ids[-1:])}
    return findings


def _page(page: ServiceResponse, filters: Mapping[str, str]) -> Findings:
    """The end of a page, its length and its filters."""
    has_next, count, query = page.has_next_page, len(page.data), page.request.query
    findings = pages.before_next_page(page) if has_next else pages.cursor_of_last_page(page)
    findings += stated(page.status == 200, page.summary, "7.5")
    limit = int(query.get("limit", pages.DEFAULT_LIMIT))
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
    at, bound = parse_instant(payment.get("created_at")), parse_instant(text)
    if name in ("status", "method"):
        return payment.get(name) == text or (name == "method" and payment.get(name) is None)
    return (
        at is None
        or bound is None
        or (at - bound) * (1 if name == "created_lte" else -1) <= _SLACK_MS
    )


def _sequence(
    page: ServiceResponse, previous: ServiceResponse | None, after: str, filters: Mapping[str, str]
) -> Findings:
    """The newest payment first, and after a cursor none again."""
    payments = [*(previous.payments[-1:] if previous else ()), *page.payments]
    instants = [_created_at(payment) for payment in payments]
    is_sorted = instants == sorted(instants, reverse=True)
    other = "oldest first" if instants == sorted(instants) else "in no order of creation"
    findings = assumed(is_sorted, "newest first", "4.3.11", otherwise=other) if payments[1:] else []
    if after:
        twice = len(page.ids) - len({*page.ids} - {after, *(previous.ids if previous else ())})
        seen = f"{counted(twice, 'payment')} of earlier pages after a cursor"
        findings += stated(not twice, seen, "4.3.4", "4.3.10")
    if previous and not filters:
        is_so = bool(page.payments) is previous.has_next_page
        other = "false before a further page" if page.payments else "true on the last page"
        findings += stated(is_so, "as the next page shows", "2.2.2", otherwise=other)
    return findings


def _newest(page: ServiceResponse, earlier: list[OwnPayment]) -> Findings:
    """The first page, if it is sorted, has the newest of the payments created before."""
    instants = [_created_at(payment) for payment in page.payments]
    is_sorted = instants == sorted(instants, reverse=True) and len({*instants}) > 1
    if page.has_next_page and not is_sorted:
        return []
    last = instants[-1] if page.has_next_page else -1
    expected = {
        own.id
        for own in earlier[-MAX_LIMIT:]
        if page.follows(own.response) and _created_at(own.payment) > last
    }
    seen = f"lists {len(expected & {*page.ids})} of {len(expected)} payments"
    return stated(expected <= {*page.ids}, seen, "4.3.1") if expected else []


CHECKS = tuple(Check(run=run) for run in (_refused, _created, _repeated, _views, _lists))
