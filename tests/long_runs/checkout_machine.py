"""Random calls on checkout pages, without a browser, and on the clock."""

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import httpx
from hypothesis import strategies as st
from hypothesis.stateful import rule

from emulator.domain.instants import format_instant
from tests.long_runs.drawn_calls import ACTS, PAYERS, WHICH, WHO, Caller, chosen, refusal_of
from tests.long_runs.plain_model import ANSWERS, Refused, normalised
from tests.long_runs.plain_state import METHODS, Json, Owner, Payment
from tests.long_runs.service_machine import ServiceMachine
from tests.server.checkout.reading import Page

LEAVES = ("", "/wait", "/bank", "/cancelled")


class CheckoutMachine(ServiceMachine):
    """Also the pages of the checkout and their forms, the clock and events."""

    def found(self, url: str) -> tuple[Caller, Payment] | None:
        for account in self.model.accounts.values():
            keys = (account.test_key, account.live_key)
            for owner, key in zip(account.state.owners, keys, strict=True):
                for payment in owner.payments:
                    if payment.url == url:
                        return Caller(account, owner, key), payment
        return None

    def visit(self, method: str, url: str, **sent: Any) -> httpx.Response:
        ServiceMachine.steps += method == "GET"
        response: httpx.Response = self.run(self.emulator.pages.request(method, url, **sent))
        return response

    @rule(which=WHICH, leaf=st.sampled_from(LEAVES), method=st.sampled_from(["", "cash", *METHODS]))
    def open_page(self, which: int, leaf: str, method: str) -> None:
        url = chosen(self.urls, which)
        response = self.visit("GET", f"{url}{leaf}", params={"method": method} if method else {})
        known = self.found(url)
        if known is None:
            assert (response.status_code, Page(response).name) == (404, "problem")
            return
        _, payment = known
        name = page_name(payment, leaf, method)
        if name.startswith("/c/"):
            assert response.status_code == 303
            assert response.headers["location"].partition("/c/")[2] == name.removeprefix("/c/")
            return
        page = Page(response)
        assert (response.status_code, page.name) == (410 if "expired" in name else 200, name)
        amount = f"ETB\u00a0{payment.order['amount'] / 100:,.2f}"
        assert amount in response.text or name == "leaving"
        if name == "leaving":
            target = "success_url" if payment.status == "completed" else "cancel_url"
            assert page.refresh == f"0;url={payment.order[target]}"

    @rule(
        which=WHICH,
        action=st.sampled_from(["", "", "/answer", "/cancel"]),
        form=PAYERS,
        answer=st.sampled_from([*ANSWERS, "maybe"]),
        is_forged=st.integers(0, 9).map(lambda number: number == 0),
    )
    def submit_form(
        self, which: int, action: str, form: Json, answer: str, is_forged: bool
    ) -> None:
        url = chosen(self.urls, which)
        opened = self.visit("GET", url)
        token = re.search('name="form_token" value="([^"]+)"', opened.text)
        known = self.found(url)
        if known is None or token is None:
            return
        self.touched, payment = caller, _ = known
        sent = {"form_token": "forged" if is_forged else token[1]}
        sent |= form if action == "" else {"answer": answer}
        response = self.visit("POST", f"{url}{action}", data=sent)
        refusal, target = (403,), ""
        if not is_forged:
            sent_form = (payment, action, form, answer)
            refusal, target = refusal_of(lambda: self.submitted(caller.owner, *sent_form))
        if refusal:
            assert (response.status_code, Page(response).name) == (refusal[0], "problem")
        else:
            assert response.status_code == 303, response.text
            token_of_url = url.rpartition("/")[2]
            path = response.headers["location"].partition(f"/c/{token_of_url}")[2]
            path = path if path.startswith("/") else path.partition("?")[0]
            assert path == target
        self.settle(caller)

    def submitted(
        self, owner: Owner, payment: Payment, action: str, form: Json, answer: str
    ) -> str:
        """Submit a form in the model; returns the path of the next page. Raises Refused."""
        method = form.get("method")
        if action == "/answer" and answer not in ANSWERS:
            raise Refused(400)
        if action == "/answer":
            # After an earlier answer, the page shows the present state.
            refusal_of(lambda: self.model.answer(owner, payment, answer))
        elif action == "/cancel":
            refusal, _ = refusal_of(lambda: self.model.cancel(owner, payment))
            return "" if refusal else "/cancelled"
        elif payment.status == "pending":
            if method in payment.methods and form.keys() == {"method"}:
                return ""
            if method in METHODS[:2] and method in payment.methods and "bank" not in form:
                refusal, _ = refusal_of(lambda: normalised(form.get("phone"), method))
                if refusal:
                    return ""
            self.model.pay(owner, payment, form)
        if payment.status == "pending":
            return ""
        is_at_bank = payment.method == METHODS[2] and payment.status == "processing"
        return "/bank" if is_at_bank else "/wait"

    @rule(who=WHO, **ACTS["move_the_clock"])
    def move_the_clock(self, who: int, span_ms: int, form: str) -> None:
        caller = self.caller(who)
        state = caller.state
        until = state.now + span_ms
        if form == "next":
            due = self.model.next_due(state)
            until = due[0] if due else state.now
        bodies: Json = {
            "seconds": {"seconds": span_ms / 1000},
            "until": {"until": format_instant(until)},
            "next": {"to": "next"},
        }
        if form == "now":
            response = self.control(caller, "PUT", "/clock", {"now": format_instant(until)})
        else:
            response = self.control(caller, "POST", "/clock/advance", bodies[form])
        expected = self.model.advance(state, until)
        assert response.status_code == 200, response.text
        assert response.json()["now"] == format_instant(until)
        if form != "now":
            found = response.json()["effects"]
            assert len(found) == len(expected), f"{expected} expected: {found}"
            for effect, wanted in zip(found, expected, strict=True):
                shown = {name: effect[name] for name in wanted}
                assert shown == wanted, f"{expected} expected: {found}"

    @rule(who=WHO, is_frozen=st.booleans(), rate=st.sampled_from([None, 0.5, 2, 60]))
    def set_the_flow(self, who: int, is_frozen: bool, rate: float | None) -> None:
        state = (caller := self.caller(who)).state
        body = {"frozen": is_frozen} if is_frozen or rate is None else {"rate": rate}
        assert self.control(caller, "PUT", "/clock", body).status_code == 200
        state.is_frozen, state.rate = is_frozen, body.get("rate", state.rate)

    @rule(ms=st.sampled_from([2, 1_000, 5_000, 30_000, 1_800_000]))
    def real_time_passes(self, ms: int) -> None:
        self.emulator.wall.move(ms)
        self.model.pass_time(ms)
        for account in self.model.accounts.values():
            self.settle(Caller(account, account.state.owners[0], account.test_key))

    @rule(who=WHO)
    def the_transitions_are_as_the_model_says(self, who: int) -> None:
        caller = self.caller(who)
        found = self.shown(caller, "/events/transitions")["data"]
        counts = Counter(
            (before[1], after[1])
            for payment in caller.owner.payments
            for before, after in pairwise(payment.timeline)
        )
        assert {(one["source"], one["target"]): one["count"] for one in found} == counts

    @rule(who=WHO)
    def the_clock_is_as_the_model_says(self, who: int) -> None:
        caller = self.caller(who)
        clock, due = self.shown(caller, "/clock"), self.model.next_due(caller.state)
        state = caller.state
        assert (clock["now"], clock["frozen"]) == (format_instant(state.now), state.is_frozen)
        assert clock["rate"] == (None if state.is_frozen else state.rate)
        if due is None:
            assert clock["next"] is None
        else:
            at, _, _, payment, what = due
            kind = what.kind if payment else "webhook_attempt"
            payment_id = payment.id if payment else what.payment
            assert clock["next"] == {"at": format_instant(at), "kind": kind, "payment": payment_id}

    @rule(who=WHO)
    def the_events_are_as_the_model_says(self, who: int) -> None:
        caller = self.caller(who)
        found = self.shown(caller, "/events?limit=1000")["data"][::-1]
        assert len({one.pop("id") for one in found}) == len(found)
        assert found == caller.owner.events


def page_name(payment: Payment, leaf: str, method: str) -> str:
    """The name of a page, or the path to which its address redirects."""
    status, token = payment.status, payment.url.rpartition("/")[2]
    is_at_bank = payment.method == METHODS[2] and payment.is_asked
    has_cancelled = payment.reason == "user_cancelled"
    if leaf == "/bank":
        return "bank" if is_at_bank else f"/c/{token}/wait"
    if leaf == "/cancelled":
        is_left = status == "pending" or (has_cancelled and payment.method is None)
        return "leaving" if is_left else f"/c/{token}"
    if leaf == "/wait" and status == "pending":
        return f"/c/{token}"
    if leaf == "/wait" and (status == "completed" or has_cancelled):
        return "leaving"
    if status == "pending":
        method = method if len(payment.methods) > 1 else payment.methods[0]
        if method not in payment.methods:
            return "choose"
        return "bank-choice" if method == METHODS[2] else "method-form"
    if status == "processing":
        return "bank" if is_at_bank and not leaf else "waiting"
    return f"result-{status}"
