"""Random calls on webhooks, each compared with the model."""

import json

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.long_runs.checkout_machine import CheckoutMachine
from tests.long_runs.drawn_calls import DRAFTS, WHICH, WHO, Caller, chosen
from tests.long_runs.plain_model import Refused
from tests.long_runs.plain_state import Delivery, Endpoint, Json, text

EVENTS = ["created", "processing", "completed", "failed", "expired", "refunded"]
PATHS = st.sampled_from(["/a", "/b"])
REPLIES = st.sampled_from([200, 204, 301, 500, 503, None])


class WebhookMachine(CheckoutMachine):
    """Also endpoints, their receivers, deliveries and events."""

    def open_endpoints(self, paths: list[str]) -> None:
        for path in paths:
            self.add_endpoint(who=0, path=path, events=None, profile=None)

    def delivered(self, caller: Caller) -> list[Json]:
        """The deliveries of the service, oldest first."""
        return list(self.shown(caller, "/deliveries?limit=1000")["data"])[::-1]

    def delivery(self, caller: Caller, which: int) -> tuple[str, Delivery]:
        """The id of a delivery, and the delivery of the model."""
        deliveries = caller.owner.deliveries
        order = sorted(range(len(deliveries)), key=lambda n: deliveries[n].status == "pending")
        place = chosen(order, which)
        return self.delivered(caller)[place]["id"], deliveries[place]

    @rule(
        who=WHO,
        path=PATHS,
        events=st.none() | st.lists(st.sampled_from(EVENTS), min_size=1, unique=True),
        profile=st.sampled_from([None, "default", "standard"]),
    )
    def add_endpoint(
        self, who: int, path: str, events: list[str] | None, profile: str | None
    ) -> None:
        caller = self.caller(who)
        if len(caller.owner.endpoints) >= 3:
            return
        url = self.receiver.url.replace("/hook", path)
        self.model.replies.setdefault(path, 200 if path == "/a" else 500)
        types = [f"payment.{each}" for each in EVENTS if events is None or each in events]
        body = {"url": url, "profile": profile}
        body |= {} if events is None else {"events": [f"payment.{each}" for each in events]}
        response = self.control(caller, "POST", "/webhook_endpoints", body)
        assert response.status_code == 201, response.text
        endpoint = Endpoint(response.json()["id"], path, types, profile or "default")
        caller.owner.endpoints.append(endpoint)

    @rule(path=PATHS, status=REPLIES)
    def change_the_receiver(self, path: str, status: int | None) -> None:
        self.model.replies[path] = status

    @rule(who=WHO, which=WHICH, change=st.sampled_from(["disable", "enable", "DELETE", "rotate"]))
    def change_endpoint(self, who: int, which: int, change: str) -> None:
        caller = self.caller(who)
        if not caller.owner.endpoints:
            return
        endpoint = chosen(caller.owner.endpoints, which)
        path = f"/webhook_endpoints/{endpoint.id}"
        if change == "DELETE":
            assert self.control(caller, "DELETE", path).status_code == 204
            self.model.disable(caller.owner, endpoint)
            endpoint.is_deleted = True
            caller.owner.endpoints.remove(endpoint)
        elif change == "rotate":
            assert self.control(caller, "POST", f"{path}/rotate").status_code == 200
        else:
            body = {"enabled": change == "enable"}
            assert self.control(caller, "PATCH", path, body).status_code == 200
            endpoint.enabled = True
            if change == "disable":
                self.model.disable(caller.owner, endpoint)
        found = self.shown(caller, "/webhook_endpoints")["data"][::-1]
        members = ("id", "events", "profile", "enabled")
        assert [{name: one[name] for name in members} for one in found] == [
            {name: getattr(one, name) for name in members} for one in caller.owner.endpoints
        ]

    @rule(
        who=WHO,
        which=WHICH,
        verb=st.sampled_from(["resend", "release", "drop"]),
        is_gone=st.integers(0, 5).map(lambda number: number == 0),
    )
    def act_on_delivery(self, who: int, which: int, verb: str, is_gone: bool) -> None:
        caller = self.caller(who)
        if not caller.owner.deliveries:
            return
        name, delivery = self.delivery(caller, which)
        usual = self.model.replies[delivery.endpoint.url]
        if is_gone:
            self.model.replies[delivery.endpoint.url] = 410
        response = self.control(caller, "POST", f"/deliveries/{name}/{verb}")

        def expect() -> bool:
            if verb == "resend" and delivery.endpoint.is_deleted:
                raise Refused(404, "webhook_endpoint_not_found", None)
            if verb != "resend" and delivery.status != "pending":
                raise Refused(409, "delivery_not_pending", None)
            if verb == "drop":
                delivery.status, delivery.due_at = "dropped", None
            else:
                trigger = "resend" if verb == "resend" else "schedule"
                if verb == "release":
                    delivery.sequence = self.model.next_sequence()
                self.model.attempt(caller.owner, delivery, trigger)
            return True

        self.agree(response, expect)
        self.model.replies[delivery.endpoint.url] = usual
        self.settle(caller)

    @rule(who=WHO, which=WHICH, status=st.sampled_from([200, 500, 410]))
    def ping(self, who: int, which: int, status: int) -> None:
        caller = self.caller(who)
        if not caller.owner.endpoints:
            return
        endpoint = chosen(caller.owner.endpoints, which)
        usual = self.model.replies[endpoint.url]
        self.model.replies[endpoint.url] = status
        response = self.control(caller, "POST", f"/webhook_endpoints/{endpoint.id}/ping")
        assert response.status_code == 200, response.text
        now = caller.state.now
        event = {"object": "event", "type": "ping", "timestamp": text(now), "data": {}}
        event["mode"] = caller.owner.mode
        delivery = Delivery(endpoint, event, now, None, self.model.next_sequence(), "failed")
        caller.owner.deliveries.append(delivery)
        self.model.attempt(caller.owner, delivery, "ping")
        self.model.replies[endpoint.url] = usual
        self.settle(caller)

    @rule(who=WHO, draft=DRAFTS, verb=st.sampled_from(["resend", "release", "drop"]))
    def pause_and_create(self, who: int, draft: Json, verb: str) -> None:
        """Nothing is attempted in a pause but what is requested."""
        caller = self.caller(who)
        if caller.owner.endpoints:
            path = "/deliveries/paused"
            assert self.control(caller, "PUT", path, {"paused": True}).json()["paused"]
            self.is_paused = True
            self.create_for(caller, draft)
            self.the_deliveries_are_as_the_model_says(who)
            self.act_on_delivery(who, 0, verb, is_gone=False)
            self.the_deliveries_are_as_the_model_says(who)
            self.is_paused = False
            assert not self.control(caller, "PUT", path, {"paused": False}).json()["paused"]
            self.settle(caller)

    @rule(who=WHO, status=st.sampled_from(["pending", "succeeded", "failed", "cancelled"]))
    def the_deliveries_are_as_the_model_says(self, who: int, status: str = "failed") -> None:
        caller = self.caller(who)
        found = self.delivered(caller)
        for shown, one in zip(found, caller.owner.deliveries, strict=True):
            assert shown["type"] == one.event["type"]
            assert (shown["payment"], shown["endpoint"]) == (one.payment, one.endpoint.id)
            assert (shown["status"], shown["created_at"]) == (one.status, text(one.created_at))
            assert shown["next_attempt_at"] == text(one.due_at)
            attempts = [(each["at"], each["trigger"], each["status"]) for each in shown["attempts"]]
            assert attempts == [(text(at), *result) for at, *result in one.attempts]
            for attempt in shown["attempts"]:
                body = json.loads(attempt["request"]["body"])
                assert body.pop("id") == shown["event"]
                assert body == one.event
        filtered = self.shown(caller, f"/deliveries?limit=1000&status={status}")["data"]
        assert filtered == [each for each in reversed(found) if each["status"] == status]
