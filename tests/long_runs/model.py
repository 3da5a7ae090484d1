"""Random calls about payments, each compared with a plain model of the service."""

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, ClassVar

import httpx
from hypothesis import HealthCheck, Phase, assume, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from emulator.domain.instants import format_instant
from tests.long_runs.drawn_calls import (
    ACTS,
    DRAFTS,
    FOREIGN,
    SEVERAL_ACTS,
    WHICH,
    WHO,
    Caller,
    chosen,
    refusal_of,
)
from tests.long_runs.plain_model import STATUSES, Json, Model, Payment
from tests.world import World, headers, order, world

COUNT = 100_000
STEPS_A_HISTORY = 100


class PaymentMachine(RuleBasedStateMachine):
    """Creates, reads and changes payments, and moves the clock; `steps` counts all steps."""

    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.model = Model()
        self.ids = ["pay_unknown"]
        self.touched: Caller | None = None
        self.emulator: World

    @initialize(drafts=st.lists(DRAFTS, max_size=4), is_random=st.integers(0, 1 << 30))
    def open(self, drafts: list[Json], is_random: int) -> None:
        # Hypothesis begins with the simplest history, which repeats one call.
        assume(is_random)
        self.emulator = self.run(self.stack.enter_async_context(world()))
        for draft in drafts:
            self.create(who=0, draft=draft)

    def teardown(self) -> None:
        self.run(self.stack.aclose())
        self.runner.close()

    def run(self, call: Any) -> Any:
        return self.runner.run(call)

    def caller(self, who: int) -> Caller:
        """An account and mode; each rule begins with this call, which counts a step."""
        state = self.model.states[who > 1]
        mode = "live" if who == 1 else "test"
        PaymentMachine.steps += 1
        self.touched = Caller(state, state.owners[mode == "live"], f"{mode}_{state.key}")
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
            names = (newest["id"], newest["checkout_url"])
            return self.model.create(caller.owner, body, *names).shown(), False

        response = self.v1(caller, "POST", "", json=body)
        expected = self.agree(response, expect, 201)
        if expected is not None:
            shown, is_replay = expected
            assert json.dumps(response.json()) == json.dumps(shown)
            assert (response.headers.get("idempotent-replayed") == "true") == is_replay
            assert response.headers["location"] == f"/v1/payments/{shown['id']}"
            warnings = {"unknown-parameter:colour"} if "colour" in body else set()
            warnings |= {"duplicate-method"} if body["methods"] == ["mpesa", "mpesa"] else set()
            warnings |= {"unusual-expires-in"} if (body.get("expires_in") or 60) < 60 else set()
            status = self.model.find(caller.owner, shown["id"]).status
            if is_replay and status in ("failed", "expired", "refunded"):
                warnings.add("replayed-final-payment")
            found = response.headers.get("emulator-warning", "")
            assert {each.strip() for each in found.split(",") if each} == warnings

    def v1(self, caller: Caller, method: str, path: str, **sent: Any) -> httpx.Response:
        """A call of the contract."""
        url, key = f"/v1/payments{path}", headers(caller.key)
        response: httpx.Response = self.run(
            self.emulator.api.request(method, url, headers=key, **sent)
        )
        return response

    @rule(who=WHO, which=WHICH)
    def retrieve(self, who: int, which: int) -> None:
        caller = self.caller(who)
        name = self.payment(caller, which).replace("latest", "latest_is_unknown")
        response = self.v1(caller, "GET", f"/{name}")
        shown = self.agree(response, lambda: self.model.find(caller.owner, name).shown())
        if shown is not None:
            assert json.dumps(response.json()) == json.dumps(shown)

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

    @rule(who=WHO, **ACTS["pay"])
    def pay(self, who: int, which: int, payer: Json) -> None:
        self.pay_for(self.caller(who), which, payer)

    def pay_for(self, caller: Caller, which: int, payer: Json) -> None:
        def do(payment: Payment) -> None:
            body = self.model.with_method(payment, payer)
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
        self.act(*(caller, which, "cancel", None), self.model.cancel)

    @rule(who=WHO, **ACTS["transition"])
    def transition(self, who: int, which: int, edge: tuple[str, str], **body: Any) -> None:
        caller = self.caller(who)
        before, body["status"] = edge
        self.act(
            *(caller, which, "transition", body),
            lambda payment: self.model.transition(caller.owner, payment, body),
            before=before,
        )

    @rule(who=WHO, **ACTS["move_the_clock"])
    def move_the_clock(self, who: int, span_ms: int, form: str) -> None:
        caller = self.caller(who)
        state = caller.state
        until = state.now + span_ms
        if form == "next":
            due = state.next_due()
            until = due[0] if due else state.now
        bodies: Json = {
            "seconds": {"seconds": span_ms / 1000},
            "until": {"until": format_instant(until)},
            "next": {"to": "next"},
        }
        response = self.control(caller, "POST", "/clock/advance", bodies[form])
        expected = self.model.advance(state, until)
        assert response.status_code == 200, response.text
        assert response.json()["now"] == format_instant(until)
        found = response.json()["effects"]
        assert len(found) == len(expected), f"{expected} expected: {found}"
        for effect, wanted in zip(found, expected, strict=True):
            assert {name: effect[name] for name in wanted} == wanted, (expected, found)

    @rule(who=WHO)
    def the_clock_is_as_the_model_says(self, who: int) -> None:
        caller = self.caller(who)
        clock, due, state = self.shown(caller, "/clock"), caller.state.next_due(), caller.state
        assert clock["now"] == format_instant(state.now)
        if due is None:
            assert clock["next"] is None
        else:
            at, _, _, payment, what = due
            expected = {"at": format_instant(at), "kind": what.kind, "payment": payment.id}
            assert clock["next"] == expected

    @rule(who=WHO)
    def the_events_are_as_the_model_says(self, who: int) -> None:
        caller = self.caller(who)
        found = self.shown(caller, "/events?limit=1000")["data"][::-1]
        assert len({one.pop("id") for one in found}) == len(found)
        assert found == caller.owner.events

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
        for member in ("reason", "methods", "phone", "bank"):
            assert detail[member] == getattr(payment, member), member
        members = ("at", "kind", "status", "reason")
        assert [tuple(one[each] for each in members) for one in detail["scheduled"]] == [
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
        if touched is not None:
            expected = [payment.shown() for payment in reversed(touched.owner.payments)]
            assert self.shown(touched, "/payments?limit=100")["data"] == expected


def run(first_seed: int, count: int) -> dict[str, str]:
    """Take steps until there are `count`, in histories of some steps each."""
    PaymentMachine.steps = histories = 0
    logger = logging.getLogger("emulator")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        while PaymentMachine.steps < count:
            take_steps(first_seed, histories, count - PaymentMachine.steps)
            histories += 1
    except Exception as error:
        error.add_note(f"seed {first_seed}, history {histories}, step {PaymentMachine.steps}")
        raise
    finally:
        logger.setLevel(level)
    return {"Steps": f"{PaymentMachine.steps:,}", "Histories": f"{histories:,}"}


def take_steps(first_seed: int, history: int, left: int) -> None:
    """One history; hypothesis would repeat parts of it in further ones."""
    run_state_machine_as_test(
        seed(first_seed * 1_000_000 + history)(PaymentMachine),
        settings=settings(
            max_examples=1,
            stateful_step_count=min(STEPS_A_HISTORY, left),
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
