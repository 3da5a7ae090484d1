"""Random calls about payments, each compared with the model."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, ClassVar

import httpx
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from emulator.domain.instants import format_instant
from tests.long_runs.drawn_calls import (
    ACTS,
    DRAFTS,
    FILTERS,
    FOREIGN,
    QUERIES,
    REQUIRED,
    SEVERAL_ACTS,
    WHICH,
    WHO,
    WRONG,
    Caller,
    chosen,
    refusal_of,
)
from tests.long_runs.plain_model import Model, Refused, normalised
from tests.long_runs.plain_state import METHODS, STATUSES, UNLIMITED, Json, Owner, Payment
from tests.server.webhooks.receiver import HANG_UP, Received, Receiver, Reply, Response, receiving
from tests.world import World, headers, order, world


class ServiceMachine(RuleBasedStateMachine):
    """Creates, reads and changes payments; `steps` counts the steps of all machines."""

    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.model = Model()
        self.ids = ["pay_unknown"]
        self.urls = ["http://127.0.0.1:8081/c/unknown"]
        self.touched: Caller | None = None
        self.is_paused = False
        self.emulator: World
        self.receiver: Receiver

    @initialize(
        drafts=st.lists(DRAFTS, max_size=4),
        paths=st.lists(st.sampled_from(["/a", "/b"]), max_size=3),
        is_random=st.integers(0, 1 << 30),
    )
    def open(self, drafts: list[Json], paths: list[str], is_random: int) -> None:
        # Hypothesis begins with the simplest history, which repeats one call.
        assume(is_random)
        self.emulator = self.run(self.stack.enter_async_context(world()))
        self.receiver = self.run(self.stack.enter_async_context(receiving(self.receive)))
        self.open_endpoints(paths)
        for draft in drafts:
            self.create(who=0, draft=draft)

    def open_endpoints(self, paths: list[str]) -> None:
        """Add the endpoints that there are from the start."""

    def teardown(self) -> None:
        self.run(self.stack.aclose())
        self.runner.close()

    def run(self, call: Any) -> Any:
        return self.runner.run(call)

    def receive(self, received: Received) -> Response:
        status = self.model.replies[received.path]
        wait = {"Retry-After": "7"} if status == 503 else {}
        return HANG_UP if status is None else Reply(status=status, headers=wait)

    def caller(self, who: int) -> Caller:
        """An account and mode; each rule begins with this call, which counts a step."""
        accounts = list(self.model.accounts.values())
        account = accounts[0] if who < 2 else chosen(accounts, who)
        key = account.live_key if who == 1 else account.test_key
        ServiceMachine.steps += 1
        self.touched = Caller(account, account.state.owners[who == 1], key)
        return self.touched

    def payment(self, caller: Caller, which: int, status: str = "pending") -> str:
        """The id of a payment of the caller, those with a status first, or rarely of any other."""
        if which == FOREIGN:
            return str(chosen(self.ids, len(caller.owner.payments) // 2))
        if which == FOREIGN - 1:
            return "latest"
        is_missing = all(payment.status != status for payment in caller.owner.payments)
        if is_missing and which < FOREIGN // 2 and status in STATUSES[:2]:
            self.create_for(caller, {"amount": 103})
            if status == "processing":
                self.pay_for(caller, 0, {"phone": "0911111111"})
        own = sorted(caller.owner.payments, key=lambda payment: payment.status == status)
        return str(chosen([payment.id for payment in own] or self.ids, which))

    def control(self, caller: Caller, method: str, path: str, body: Any = None) -> httpx.Response:
        response: httpx.Response = self.run(
            self.emulator.control(method, path, body, key=caller.key)
        )
        return response

    def shown(self, caller: Caller, path: str) -> Any:
        response = self.control(caller, "GET", path)
        assert response.status_code == 200, response.text
        return response.json()

    def agree(self, response: httpx.Response, expect: Callable[[], Any], status: int = 200) -> Any:
        """The response is as the model says: a refusal, or what `expect` returns."""
        refusal, expected = refusal_of(expect)
        if refusal:
            error = response.json()["error"]
            assert error.keys() <= {"code", "message", "param"}
            found = (response.status_code, error["code"], error.get("param"))
            assert found == refusal, f"{refusal} expected: {response.text}"
        else:
            assert response.status_code == status, response.text
        return expected

    def settle(self, caller: Caller) -> None:
        """Wait for the attempts that are due; they are effects of no advance."""
        if self.is_paused:
            return
        self.model.advance(caller.state, caller.state.now)
        if any(owner.deliveries for owner in caller.state.owners):
            response = self.control(caller, "POST", "/clock/advance", {"seconds": 0})
            assert response.json()["effects"] == []

    def v1(
        self,
        caller: Caller,
        request: str,
        expect: Callable[[], Any],
        status: int = 200,
        **sent: Any,
    ) -> tuple[httpx.Response, Any]:
        """A call of the contract, which a fault rule may change; with None after a fault."""
        method, path = ("POST" if request == "create_payment" else "GET"), sent.pop("path", "")
        response = self.run(
            self.emulator.api.request(
                method, f"/v1/payments{path}", headers=headers(caller.key), **sent
            )
        )
        caller.owner.calls += 1
        fault = self.model.fault(caller.owner, request)
        name, then = fault or ("", {})
        is_late = then.get("point") == "after_commit"
        expected = None
        if not fault or is_late:
            expected = self.agree(response, expect, then.get("status", status))
        # A late fault does not apply to a request that is refused.
        if fault and (expected is not None or not is_late):
            caller.state.uses[name, "faults", 0] += 1
            assert response.status_code == then["status"], response.text
            after = then.get("retry_after", "")[:-1] or None
            assert response.headers.get("retry-after") == after
            expected = None
        return response, expected

    @rule(who=WHO, acts=SEVERAL_ACTS)
    def several_acts(self, who: int, acts: list[tuple[str, Json]]) -> None:
        for name, arguments in acts:
            getattr(self, name)(who, **arguments)

    @rule(who=WHO, **ACTS["create"])
    def create(self, who: int, draft: Json) -> None:
        self.create_for(self.caller(who), draft)

    def create_for(self, caller: Caller, draft: Json) -> None:
        body = order(**draft)

        def expect() -> tuple[Json, bool]:
            first = self.model.replayed(caller.owner, body)
            if first is not None:
                return first, True
            newest = self.shown(caller, "/payments?limit=1")["data"][0]
            self.ids.append(newest["id"])
            self.urls.append(newest["checkout_url"])
            names = (newest["id"], newest["checkout_url"])
            return self.model.create(caller.owner, body, *names).shown(), False

        response, expected = self.v1(caller, "create_payment", expect, 201, json=body)
        if expected is not None:
            shown, is_replay = expected
            assert json.dumps(response.json()) == json.dumps(shown)
            assert (response.headers.get("idempotent-replayed") == "true") == is_replay
            assert response.headers["location"] == f"/v1/payments/{shown['id']}"
            warnings = {"unknown-parameter:colour"} if "colour" in body else set()
            warnings |= {"duplicate-method"} if body["methods"] == ["mpesa", "mpesa"] else set()
            warnings |= {"unusual-expires-in"} if (body.get("expires_in") or 60) < 60 else set()
            found = response.headers.get("emulator-warning", "")
            assert {each.strip() for each in found.split(",") if each} == warnings
        self.settle(caller)

    @rule(who=WHO, draft=DRAFTS, wrong=st.sets(st.sampled_from([*WRONG]), min_size=1), which=WHICH)
    def create_wrongly(self, who: int, draft: Json, wrong: set[str], which: int) -> None:
        caller, body = self.caller(who), order(**draft)
        body |= {name: chosen([*WRONG[name][0], None], which) for name in wrong}
        problems = [
            ("missing_parameter" if body[name] is None else WRONG[name][1], name)
            for name in WRONG
            if name in wrong and (body[name] is not None or name in REQUIRED)
        ]
        if problems:

            def expect() -> None:
                raise Refused(400, *problems[0])

            self.v1(caller, "create_payment", expect, json=body)

    @rule(who=WHO, which=WHICH)
    def retrieve(self, who: int, which: int) -> None:
        caller = self.caller(who)
        name = self.payment(caller, which).replace("latest", "latest_is_unknown")
        response, shown = self.v1(
            *(caller, "retrieve_payment", lambda: self.model.find(caller.owner, name).shown()),
            path=f"/{name}",
        )
        if shown is not None:
            assert json.dumps(response.json()) == json.dumps(shown)

    @rule(who=WHO, query=QUERIES, is_control=st.booleans())
    def list(self, who: int, query: Json, is_control: bool) -> None:
        caller = self.caller(who)
        times = [payment.created_at for payment in caller.owner.payments] or [caller.state.now]
        for name in ("created_gte", "created_lte"):
            if name in query:
                query[name] = chosen(times, query[name][0]) + query[name][1]
        if "after" in query:
            query["after"] = self.payment(caller, query["after"])
            query["after"] = query["after"].replace("latest", "latest_is_unknown")
        sent = {
            name: format_instant(value) if name.startswith("created") else value
            for name, value in query.items()
        }

        def expect() -> Json:
            known = {name: value for name, value in query.items() if is_control or name in FILTERS}
            return page(caller.owner, known)

        if is_control:
            path = f"/payments?{httpx.QueryParams(sent)}"
            response = self.control(caller, "GET", path)
            expected = self.agree(response, expect)
        else:
            response, expected = self.v1(caller, "list_payments", expect, params=sent)
            warned = ",".join(f"unknown-parameter:{name}" for name in query if name not in FILTERS)
            if expected is not None:
                assert response.headers.get("emulator-warning", "").replace(" ", "") == warned
        if expected is not None:
            assert json.dumps(response.json()) == json.dumps(expected)

    @rule(who=WHO, limit=st.integers(1, 4), status=st.none() | st.sampled_from(STATUSES))
    def pages_contain_each_payment_once(self, who: int, limit: int, status: str | None) -> None:
        caller, found = self.caller(who), []
        chosen_status = f"&status={status}" if status else ""
        cursor: str | None = ""
        while cursor is not None:
            after = f"&after={cursor}" if cursor else ""
            shown = self.shown(caller, f"/payments?limit={limit}{chosen_status}{after}")
            found += [payment["id"] for payment in shown["data"]]
            cursor = shown["next_cursor"]
        expected = [each.id for each in caller.owner.payments if status in (None, each.status)]
        assert found == expected[::-1]

    def act(
        self,
        caller: Caller,
        which: int,
        verb: str,
        body: Any,
        do: Callable[[Payment], None],
        before: str = "pending",
    ) -> None:
        """A call of the control API that changes a payment."""
        name = self.payment(caller, which, before)
        response = self.control(caller, "POST", f"/payments/{name}/{verb}", body)

        def expect() -> Json:
            payment = self.model.find(caller.owner, name)
            do(payment)
            return payment.shown()

        expected = self.agree(response, expect)
        if expected is not None:
            assert json.dumps(response.json()) == json.dumps(expected)
        self.settle(caller)

    @rule(who=WHO, **ACTS["pay"])
    def pay(self, who: int, which: int, payer: Json) -> None:
        self.pay_for(self.caller(who), which, payer)

    def pay_for(self, caller: Caller, which: int, payer: Json) -> None:
        def do(payment: Payment) -> None:
            body = self.model.with_payer(caller.owner, payment, payer)
            self.model.pay(caller.owner, payment, body)

        self.act(caller, which, "pay", payer, do)

    @rule(who=WHO, **ACTS["answer"])
    def answer(self, who: int, which: int, answer: str) -> None:
        caller = self.caller(who)
        self.act(
            *(caller, which, "answer", {"answer": answer}),
            lambda payment: self.model.answer(caller.owner, payment, answer),
            before="processing",
        )

    @rule(who=WHO, **ACTS["cancel"])
    def cancel(self, who: int, which: int) -> None:
        caller = self.caller(who)
        self.act(
            *(caller, which, "cancel", None),
            lambda payment: self.model.cancel(caller.owner, payment),
        )

    @rule(who=WHO, **ACTS["transition"])
    def transition(self, who: int, which: int, edge: tuple[str, str], **body: Any) -> None:
        caller = self.caller(who)
        before, body["status"] = edge
        self.act(
            *(caller, which, "transition", body),
            lambda payment: self.model.transition(caller.owner, payment, body),
            before=before,
        )

    @rule(who=WHO, which=WHICH, status=st.sampled_from(STATUSES))
    def the_detail_is_as_the_model_says(self, who: int, which: int, status: str) -> None:
        caller = self.caller(who)
        name = self.payment(caller, which)
        response = self.control(caller, "GET", f"/payments/{name}")
        payment = self.agree(response, lambda: self.model.find(caller.owner, name))
        if payment is None:
            return
        detail = response.json()
        assert detail["payment"] == payment.shown()
        for member in ("reason", "methods", "phone", "bank", "scenario"):
            assert detail[member] == getattr(payment, member), member
        changes = [one for one in detail["scheduled"] if one["kind"] != "webhook_attempt"]
        assert [(one["at"], one["kind"], one["status"], one["reason"]) for one in changes] == [
            (format_instant(one.at), one.kind, one.status, one.reason) for one in payment.due
        ]
        members = ("type", "status", "method", "reason", "at")
        assert [tuple(one[each] for each in members) for one in detail["timeline"]] == (
            payment.timeline
        )
        waited = self.shown(caller, f"/payments/{name}/wait?status={status}&timeout=0")
        assert waited["payment"] == payment.shown()
        assert waited["reached"] == (status in {each[1] for each in payment.timeline})

    @invariant()
    def the_list_is_as_the_model_says(self) -> None:
        touched, self.touched = self.touched, None
        if touched is not None and touched.account.id in self.model.accounts:
            state = self.model.accounts[touched.account.id].state
            owner = state.owners[touched.owner.mode == "live"]
            expected = [payment.shown() for payment in reversed(owner.payments)]
            assert self.shown(touched, "/payments?limit=100")["data"] == expected


def page(owner: Owner, query: Json) -> Json:
    """A page of the list. Raises Refused."""
    limit, ids = query.get("limit", "10"), [payment.id for payment in owner.payments]
    if not limit.isdigit() or not 1 <= int(limit) <= 100:
        raise Refused(400, "invalid_limit", "limit")
    if "after" in query and query["after"] not in ids:
        raise Refused(400, "invalid_cursor", "after")
    for name, values in (("status", STATUSES), ("method", METHODS)):
        if name in query and query[name] not in values:
            raise Refused(400, f"invalid_{name}", name)
    for name in ("amount_gte", "amount_lte"):
        if not query.get(name, "0").isdigit():
            raise Refused(400, f"invalid_{name}", name)
    phone = normalised(query["phone"]) if "phone" in query else None
    before = ids.index(query["after"]) if "after" in query else len(ids)
    data = [
        payment.shown()
        for payment in reversed(owner.payments[:before])
        if query.get("status") in (None, payment.status)
        and query.get("method") in (None, payment.method)
        and query.get("created_gte", 0) <= payment.created_at
        and payment.created_at <= query.get("created_lte", UNLIMITED)
        and int(query.get("amount_gte", 0)) <= payment.order["amount"]
        and payment.order["amount"] <= int(query.get("amount_lte", UNLIMITED))
        and phone in (None, payment.phone)
    ]
    has_more = len(data) > int(limit)
    data = data[: int(limit)]
    return {"data": data, "has_more": has_more, "next_cursor": data[-1]["id"] if has_more else None}
