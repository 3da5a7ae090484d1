"""The call on the checklist of the merchant's integration."""

from typing import Annotated

from msgspec import Struct

from emulator.domain.errors import UnknownEndpoint
from emulator.server.control.calls import Call
from emulator.server.control.resources import operation, shown
from emulator.server.control.types import EndpointId
from emulator.server.engine.accounts.checklist import ItemResult, judge_owner
from emulator.server.engine.accounts.checklist_items import ITEMS, MAX_EVIDENCE
from emulator.server.openapi.declarations import Resource, doc


class ChecklistQuery(Struct, frozen=True):
    exclude_endpoint: Annotated[
        EndpointId | None,
        doc("An endpoint that is not the merchant's; its deliveries are ignored."),
    ] = None


class Evidence(Struct, frozen=True, kw_only=True):
    """What shows the result of an item."""

    ids: Annotated[
        tuple[str, ...],
        doc(
            "The identifiers of requests and deliveries; of a payment where there are none.",
            ["req_hpcSRFDABu6WYquXIXwoYGit"],
        ),
    ]
    seen: Annotated[str, doc("What was seen.", "without an idempotency_key")]


class ChecklistItem(Struct, frozen=True, kw_only=True):
    """One item of the checklist."""

    id: Annotated[str, doc("Its identifier.", ITEMS[0].id)]
    title: Annotated[str, doc("What the integration does, without its subject.", ITEMS[0].title)]
    result: ItemResult
    evidence: Annotated[
        list[Evidence], doc(f"The failures, otherwise the successes, at most {MAX_EVIDENCE}.")
    ]
    exercise: Annotated[str, doc("How to exercise it.", ITEMS[0].exercise)]


class Checklist(Struct, frozen=True):
    """The checklist."""

    data: Annotated[list[ChecklistItem], doc("The items, always in the same order.")]


@operation("GET /checklist", "The items.", UnknownEndpoint)
async def get_checklist(call: Call, query: ChecklistQuery) -> Checklist:
    """Judge the integration.

    Judges the merchant's integration by ten items, from the stored requests and deliveries of the
    account and mode. Nothing is computed before this call. Durations are real time.
    """
    engine, endpoint = call.engine, query.exclude_endpoint
    if endpoint is not None:
        call.owner.endpoint(endpoint)
    judged = await judge_owner(
        call.owner,
        engine.history,
        engine.webhooks.deliveries,
        excluded_endpoint=endpoint,
        now_ms=engine.wall.monotonic_ms(),
    )
    return Checklist(
        [
            shown(
                ChecklistItem,
                item,
                result=result,
                evidence=[shown(Evidence, finding) for finding in findings],
            )
            for item, result, findings in judged
        ]
    )


CHECKLIST = Resource(
    tag="Checklist",
    description="Ten items about the merchant's integration, judged by what the emulator stored.",
    operations=(get_checklist,),
)
