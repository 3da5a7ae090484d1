"""The page of the checklist: its questions, and the evidence as lines of payments."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from emulator.server.dashboard.payment_diagram import url_text
from emulator.server.dashboard.sections import payment_shown
from emulator.server.dashboard.view_request import ViewRequest

# To judge 10,000 requests takes half a second, and 600 deliveries a tenth of a second. More than
# these are judged only on request; MAX_JUDGED_RECORDS is the limit of payments, and of deliveries.
MAX_JUDGED_REQUESTS, MAX_JUDGED_RECORDS = 500, 300
# Of a group of evidence.
MAX_SHOWN_PAYMENTS = 3

QUESTIONS = {
    "webhook-acknowledged": "Is each webhook answered with 2xx within the 15 s of an attempt?",
    "webhook-signature": "Is a forged, stale or unsigned webhook refused with 4xx?",
    "webhook-duplicate": "Is a repeated webhook answered with 2xx?",
    "webhook-order": "Are webhooks that arrive out of order answered with 2xx?",
    "create-idempotent": "Does each create have an idempotency_key?",
    "create-retried": "Is a create sent again, with its key, after a 5xx or a lost response?",
    "retry-after": "Do retries wait as long as a 429 says?",
    "polling": "Is a payment read at most once a second, and no more after its end?",
    "one-payment": "Does each order have one payment at a time?",
    "verified-before-paid": "Is a payment verified before the order is shown as paid?",
}


class EvidenceGroup(NamedTuple):
    """Equal evidence about one endpoint, or about requests.

    `ids` are the section and the id of each record, by the payment that they concern.
    """

    seen: str
    endpoint: str | None
    ids: Mapping[str, Sequence[tuple[str, str]]]

    @property
    def total(self) -> int:
        return sum(map(len, self.ids.values()))


async def checklist(page: ViewRequest) -> Mapping[str, Any]:
    """What this account's requests and deliveries show about the integration.

    `checklist` is None for an account with more than a few records, unless it is requested.
    """
    has_few = max(await page.engine.history.counts(page.owner)) <= MAX_JUDGED_RECORDS
    has_few &= len(page.owner.journal) <= MAX_JUDGED_REQUESTS
    is_judged = has_few or "judged" in page.query
    items = (await page.get("/checklist"))["data"] if is_judged else None
    urls = {name: each.url for name, each in page.endpoints.items()}
    names = {name for item in items or () for each in item["evidence"] for name in each["ids"]}
    deliveries = {name for name in names if name.startswith("dlv_")}
    found = page.engine.webhooks.deliveries
    subjects = await found.subjects(page.owner, deliveries) if deliveries else {}
    groups = {each["id"]: _grouped(page, each["evidence"], subjects, urls) for each in items or ()}
    shown = [
        name
        for of_item in groups.values()
        for group in of_item
        for name in [*group.ids][:MAX_SHOWN_PAYMENTS]
    ]
    return {
        "curl": page.curl("/checklist"),
        "checklist": items,
        "questions": QUESTIONS,
        "evidence": groups,
        "payments": await page.summaries(shown),
        "shown_payments": MAX_SHOWN_PAYMENTS,
    }


def _grouped(
    page: ViewRequest,
    evidence: Sequence[Mapping[str, Any]],
    subjects: Mapping[str, tuple[str, str]],
    urls: Mapping[str, str],
) -> list[EvidenceGroup]:
    """`subjects` are the payments and the endpoints of deliveries."""
    groups: dict[tuple[str, str | None], dict[str, list[tuple[str, str]]]] = {}
    for each in evidence:
        for name in each["ids"]:
            section, payment, endpoint = "payments", name, None
            if name in subjects:
                section, (payment, endpoint) = "webhooks", subjects[name]
            elif name.startswith("req_"):
                section = "requests"
                payment = payment_shown(page.owner.journal.entry(name).response_body)
            place = each["seen"], endpoint and url_text(urls, endpoint)
            groups.setdefault(place, {}).setdefault(payment, []).append((section, name))
    return [EvidenceGroup(*place, ids) for place, ids in groups.items()]
