"""Which calls the control API has, and on which of the engine's verbs each is spoken."""

from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.control.accounts import AccountCalls
from emulator.control.calls import Calls
from emulator.control.checkout_url import CheckoutUrlCalls
from emulator.control.clock import ClockCalls
from emulator.control.events import EventCalls
from emulator.control.openapi import DocumentCalls, Documents
from emulator.control.payments import PaymentCalls
from emulator.control.recording import RecordingCalls
from emulator.control.requests import RequestCalls
from emulator.control.scenarios import FaultCalls, ScenarioCalls
from emulator.control.snapshots import SnapshotCalls
from emulator.control.webhooks import DeliveryCalls, EndpointCalls
from emulator.domain.errors import UnknownRoute
from emulator.engine.engine import Engine
from emulator.engine.payments.payments import CheckoutAddress


def build(
    *,
    engine: Engine,
    calls: Calls,
    checkout: CheckoutAddress,
    documents: Documents,
) -> ASGIApp:
    """The application behind `/_emulator`; refusals are raised to whoever calls it.

    A router alone, because Starlette's application would answer what is raised by itself.
    """
    accounts = AccountCalls(calls, engine.accounts)
    clock = ClockCalls(calls, engine.clock_service)
    checkout_url = CheckoutUrlCalls(calls, checkout)
    payments = PaymentCalls(calls, engine.customer, engine.history, engine.scenarios)
    scenarios = ScenarioCalls(calls, engine.scenarios)
    faults = FaultCalls(calls, engine.scenarios)
    journal = RequestCalls(calls, engine.accounts)
    events = EventCalls(calls, engine.history)
    recording = RecordingCalls(calls, engine.recording)
    endpoints = EndpointCalls(calls, engine.webhooks.endpoints, engine.webhooks.deliveries)
    deliveries = DeliveryCalls(calls, engine.webhooks.deliveries)
    snapshots = SnapshotCalls(calls, engine.snapshots)
    openapi = DocumentCalls(documents)
    payment = "/_emulator/payments/{payment_id}"
    endpoint = "/_emulator/webhook_endpoints/{endpoint_id}"
    delivery = "/_emulator/deliveries/{delivery_id}"
    scenario = "/_emulator/scenarios/{name}"
    snapshot = "/_emulator/snapshots/{name}"
    return Router(
        routes=[
            Route("/_emulator/accounts", accounts.create, methods=["POST"]),
            Route("/_emulator/accounts", accounts.list, methods=["GET"]),
            Route("/_emulator/accounts/{account_id}", accounts.get, methods=["GET"]),
            Route("/_emulator/accounts/{account_id}", accounts.delete, methods=["DELETE"]),
            Route("/_emulator/reset", accounts.reset, methods=["POST"]),
            Route("/_emulator/checkout_url", checkout_url.read, methods=["GET"]),
            Route("/_emulator/checkout_url", checkout_url.put, methods=["PUT"]),
            Route("/_emulator/clock", clock.read, methods=["GET"]),
            Route("/_emulator/clock", clock.set, methods=["PUT"]),
            Route("/_emulator/clock/advance", clock.advance, methods=["POST"]),
            Route("/_emulator/events", events.list, methods=["GET"]),
            Route("/_emulator/openapi", openapi.list, methods=["GET"]),
            Route("/_emulator/openapi/", openapi.list, methods=["GET"]),
            Route("/_emulator/openapi/{name}", openapi.get, methods=["GET"]),
            Route("/_emulator/recording", recording.read, methods=["GET"]),
            Route(payment, payments.get, methods=["GET"]),
            Route(f"{payment}/pay", payments.pay, methods=["POST"]),
            Route(f"{payment}/answer", payments.answer, methods=["POST"]),
            Route(f"{payment}/cancel", payments.cancel, methods=["POST"]),
            Route(f"{payment}/transition", payments.transition, methods=["POST"]),
            Route(f"{payment}/scenario", payments.place, methods=["PUT"]),
            Route(f"{payment}/wait", payments.wait, methods=["GET"]),
            Route("/_emulator/webhook_endpoints", endpoints.create, methods=["POST"]),
            Route("/_emulator/webhook_endpoints", endpoints.list, methods=["GET"]),
            Route(endpoint, endpoints.get, methods=["GET"]),
            Route(endpoint, endpoints.change, methods=["PATCH"]),
            Route(endpoint, endpoints.delete, methods=["DELETE"]),
            Route(f"{endpoint}/rotate", endpoints.rotate, methods=["POST"]),
            Route(f"{endpoint}/ping", endpoints.ping, methods=["POST"]),
            Route("/_emulator/deliveries", deliveries.list, methods=["GET"]),
            Route(delivery, deliveries.get, methods=["GET"]),
            Route(f"{delivery}/resend", deliveries.resend, methods=["POST"]),
            Route("/_emulator/scenarios", scenarios.list, methods=["GET"]),
            Route(scenario, scenarios.get, methods=["GET"]),
            Route(scenario, scenarios.put, methods=["PUT"]),
            Route(scenario, scenarios.delete, methods=["DELETE"]),
            Route(f"{scenario}/enabled", scenarios.switch, methods=["PUT"]),
            Route("/_emulator/faults", faults.list, methods=["GET"]),
            Route("/_emulator/faults", faults.add, methods=["POST"]),
            Route("/_emulator/faults", faults.clear, methods=["DELETE"]),
            Route("/_emulator/faults/{fault_id}", faults.delete, methods=["DELETE"]),
            Route("/_emulator/requests", journal.list, methods=["GET"]),
            Route("/_emulator/requests/count", journal.count, methods=["GET"]),
            Route("/_emulator/snapshots", snapshots.list, methods=["GET"]),
            Route(snapshot, snapshots.save, methods=["PUT"]),
            Route(snapshot, snapshots.get, methods=["GET"]),
            Route(snapshot, snapshots.delete, methods=["DELETE"]),
            Route(f"{snapshot}/restore", snapshots.restore, methods=["POST"]),
            # Whatever is left, another verb on a path above included.
            Mount("", app=unknown_route),
        ],
    )


async def unknown_route(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    raise UnknownRoute(scope["method"], scope["path"])
