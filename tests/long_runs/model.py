"""Random calls of every kind, compared with a plain model of the service."""

import logging
from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from emulator.domain.instants import format_instant
from tests.long_runs.drawn_calls import WHICH, WHO, chosen
from tests.long_runs.plain_model import Refused
from tests.long_runs.plain_state import KNOWN, Account, Json
from tests.long_runs.service_machine import ServiceMachine
from tests.long_runs.webhook_machine import WebhookMachine
from tests.world import START_MS, headers

UNIT = "steps"
COUNT = 100_000
STEPS_A_HISTORY = 100

_AFTER = {"after": "3s", "status": "failed", "reason": "limit_exceeded"}
OWN: list[Json] = [
    {"outcomes": [{"when": {"amount": 100}, "then": [_AFTER], "times": 2}]},
    {"outcomes": [{"when": {"method": "mpesa"}, "then": [{"after": "8s", "status": "completed"}]}]},
    {"expiry": [{"when": {"amount": 101}, "after": "20s", "times": 1}]},
    {"expiry": [{"when": {"method": "bank_transfer"}, "after": "5s"}], "enabled": False},
    {"checkout": [{"when": {"amount": 102}, "then": {"attempts": 2}}]},
    {"checkout": [{"when": {"mode": "test"}, "then": {"cancel": "fails"}}]},
    {"webhooks": [{"when": {"event": "payment.created"}, "then": {"copies": 2}, "times": 1}]},
    {"webhooks": [{"when": {"event": "payment.failed"}, "then": {"drop": True}}]},
    {"webhooks": [{"when": {"event": "payment.processing"}, "then": {"delay": "3s"}}]},
    {"webhooks": [{"when": {"event": "payment.processing"}, "then": {"hold": True}}]},
]
VERBS = st.sampled_from(["PUT", "PUT", "POST", "POST", "DELETE"])
NAMES = ["a", "b", "late-success", "several-attempts", "banks", "telebirr-test-numbers", "nothing"]
FAULTS: list[Json] = [
    {"when": {"request": "create_payment"}, "then": {"status": 500, "point": "after_commit"}},
    {"when": {"request": "create_payment", "nth": 2}, "then": {"status": 500}},
    {"when": {"every": 3, "mode": "live"}, "then": {"status": 429, "retry_after": "7s"}},
    {"when": {"request": "retrieve_payment"}, "then": {"status": 503}},
    {"when": {"request": "list_payments", "every": 2}, "then": {"status": 502, "body": "html"}},
]
# What is refused whatever the state is: method, path, body, status, code, param.
REFUSALS: list[tuple[str, str, Any, int, str, str | None]] = [
    ("POST", "/clock/advance", {"seconds": -1}, 400, "invalid_clock", "seconds"),
    ("POST", "/clock/advance", {"to": "end"}, 400, "invalid_clock", "to"),
    ("PUT", "/clock", {"now": "2020-01-01T00:00:00Z"}, 400, "invalid_clock", "now"),
    ("PUT", "/clock", {"frozen": True, "rate": 2}, 400, "invalid_clock", "rate"),
    ("POST", "/accounts", {"test_key": "test_demo_key"}, 400, "invalid_test_key", "test_key"),
    ("POST", "/accounts", {"colour": 1}, 400, "unknown_parameter", "colour"),
    ("GET", "/accounts/acct_no", None, 404, "account_not_found", None),
    ("DELETE", "/accounts/acct_demo", None, 409, "account_is_permanent", None),
    ("POST", "/webhook_endpoints", {"url": "shop"}, 400, "invalid_url", "url"),
    ("POST", "/webhook_endpoints", {}, 400, "missing_parameter", "url"),
    ("GET", "/webhook_endpoints/we_no", None, 404, "webhook_endpoint_not_found", None),
    ("POST", "/deliveries/dlv_no/resend", None, 404, "delivery_not_found", None),
    ("GET", "/deliveries?status=lost", None, 400, "invalid_status", "status"),
    ("GET", "/events/evt_no", None, 404, "event_not_found", None),
    ("PUT", "/scenarios/a", {"outcomes": [{"when": {}}]}, 400, "invalid_scenario", "outcomes"),
    ("DELETE", "/scenarios/banks", None, 409, "scenario_is_permanent", None),
    ("POST", "/faults", {"then": {"status": 700}}, 400, "invalid_fault", "then"),
    ("DELETE", "/faults/flt_no", None, 404, "fault_not_found", None),
    ("GET", "/snapshots/none", None, 404, "snapshot_not_found", None),
    ("POST", "/snapshots/none/restore", None, 404, "snapshot_not_found", None),
    ("GET", "/nothing", None, 404, "route_not_found", None),
]


class WholeService(WebhookMachine):
    """Also scenarios, faults, snapshots and accounts."""

    # Rules

    @rule(who=WHO, name=st.sampled_from("ab"), body=st.sampled_from(OWN))
    def put_scenario(self, who: int, name: str, body: Json) -> None:
        caller = self.caller(who)
        state = caller.state
        status = 200 if name in state.scenarios else 201
        response = self.control(caller, "PUT", f"/scenarios/{name}", body)
        assert response.status_code == status, response.text
        state.scenarios.pop(name, None)
        state.scenarios[name] = body
        state.switches.pop(name, None)
        state.forget_uses(name)

    @rule(who=WHO, name=st.sampled_from(NAMES), is_on=st.sampled_from([True, False, None]))
    def switch_scenario(self, who: int, name: str, is_on: bool | None) -> None:
        """Switch a scenario on or off, or (None) delete it."""
        caller = self.caller(who)
        state = caller.state
        listed = {each: is_enabled for each, _, is_enabled in state.listed()}

        def expect() -> bool:
            if name not in listed:
                raise Refused(404, "scenario_not_found", None)
            if is_on is None and name not in state.scenarios:
                raise Refused(409, "scenario_is_permanent", None)
            if listed[name] is not is_on:
                state.forget_uses(name)
            if is_on is None:
                del state.scenarios[name]
                state.switches.pop(name, None)
            elif listed[name] is not is_on:
                state.switches[name] = is_on
            return True

        if is_on is None:
            self.agree(self.control(caller, "DELETE", f"/scenarios/{name}"), expect, 204)
        else:
            body = {"enabled": is_on}
            self.agree(self.control(caller, "PUT", f"/scenarios/{name}/enabled", body), expect)
        found = self.shown(caller, "/scenarios")["data"]
        known = [each for each in found if each["name"] in KNOWN or each["origin"] == "control"]
        assert [(each["name"], each["enabled"]) for each in known] == [
            (each, is_enabled) for each, _, is_enabled in state.listed()
        ]

    @rule(who=WHO, which=WHICH, name=st.sampled_from(NAMES))
    def place_scenario(self, who: int, which: int, name: str) -> None:
        caller = self.caller(who)
        payment_id = self.payment(caller, which)
        path = f"/payments/{payment_id}/scenario"
        response = self.control(caller, "PUT", path, {"name": name})

        def expect() -> bool:
            payment = self.model.find(caller.owner, payment_id)
            if name not in [each for each, _, _ in caller.state.listed()]:
                raise Refused(404, "scenario_not_found", None)
            payment.scenario = name
            return True

        self.agree(response, expect)

    @rule(who=WHO, fault=st.sampled_from(FAULTS), times=st.sampled_from([None, 1, 2]))
    def post_fault(self, who: int, fault: Json, times: int | None) -> None:
        caller = self.caller(who)
        body = fault if times is None else {**fault, "times": times}
        response = self.control(caller, "POST", "/faults", body)
        assert response.status_code == 201, response.text
        caller.state.faults[response.json()["id"]] = body

    @rule(who=WHO)
    def remove_faults(self, who: int) -> None:
        caller = self.caller(who)
        state = caller.state
        found = self.shown(caller, "/faults")["data"][::-1]
        assert [(each["id"], each.get("used")) for each in found] == [
            (name, state.uses[name, "faults", 0] if "times" in body else None)
            for name, body in state.faults.items()
        ]
        for name in list(state.faults)[1:]:
            assert self.control(caller, "DELETE", f"/faults/{name}").status_code == 204
        assert self.control(caller, "DELETE", "/faults").status_code == 204
        state.faults.clear()

    # Snapshots and accounts

    @rule(who=WHO, name=st.sampled_from("xxxy"), verb=VERBS)
    def use_snapshot(self, who: int, name: str, verb: str) -> None:
        caller = self.caller(who)
        account, path = caller.account, f"/snapshots/{name}"
        if verb == "PUT":
            response = self.control(caller, "PUT", path)
            assert response.status_code == (200 if name in account.snapshots else 201)
            account.snapshots.pop(name, None)
            account.snapshots[name] = deepcopy(account.state)
        elif verb == "POST":
            response = self.control(caller, "POST", f"{path}/restore")
            if (saved := self.agree(response, lambda: self.model.saved(account, name))) is not None:
                account.state = deepcopy(saved)
            self.settle(caller)
        else:
            response = self.control(caller, "DELETE", path)
            self.agree(response, lambda: self.model.saved(account, name), 204)
            account.snapshots.pop(name, None)
        found = self.shown(caller, "/snapshots")["data"][::-1]
        assert [(each["name"], each["created_at"], each["payments"]) for each in found] == [
            (
                *(each, format_instant(saved.now)),
                {owner.mode: len(owner.payments) for owner in saved.owners},
            )
            for each, saved in account.snapshots.items()
        ]

    @rule(who=WHO, to_all=st.sampled_from([None] * 6 + [False, False, True]))
    def reset(self, who: int, to_all: bool | None) -> None:
        if to_all is None:
            return
        caller = self.caller(who)
        response = self.control(caller, "POST", "/reset", {"all": True} if to_all else None)
        assert response.status_code == 204, response.text
        self.model.reset(None if to_all else caller.account)

    @precondition(lambda self: len(self.model.accounts) < 4)
    @rule(
        start_ms=st.sampled_from([None, 0, 86_400_000]),
        key=st.sampled_from([None, "test_again", "test_other_key"]),
    )
    def create_account(self, start_ms: int | None, key: str | None) -> None:
        caller = self.caller(0)
        at = START_MS + (start_ms or 0)
        body = {} if start_ms is None else {"clock": f"frozen@{format_instant(at)}"}
        response = self.control(caller, "POST", "/accounts", {**body, "test_key": key})

        def expect() -> Json:
            if key in {account.test_key for account in self.model.accounts.values()}:
                raise Refused(400, "invalid_test_key", "test_key")
            return dict(response.json())

        members = self.agree(response, expect, 201)
        if members is None:
            return
        keys = (members["id"], members["test_key"], members["live_key"])
        self.model.accounts[members["id"]] = Account(*keys, at)

    @rule(which=WHICH)
    def delete_account(self, which: int) -> None:
        caller = self.caller(0)
        account = chosen(list(self.model.accounts.values()), which)
        if account.id == "acct_demo":
            return
        assert self.control(caller, "DELETE", f"/accounts/{account.id}").status_code == 204
        del self.model.accounts[account.id]
        response = self.run(self.emulator.control("GET", "/clock", key=account.test_key))
        assert (response.status_code, response.json()["error"]["code"]) == (401, "invalid_api_key")
        found = {each["id"] for each in self.shown(caller, "/accounts")["data"]}
        assert found == set(self.model.accounts)

    @rule(who=WHO, refusal=st.sampled_from(REFUSALS))
    def a_wrong_call_is_refused(
        self, who: int, refusal: tuple[str, str, Any, int, str, str | None]
    ) -> None:
        method, path, body, *expected = refusal
        response = self.control(self.caller(who), method, path, body)

        def expect() -> None:
            raise Refused(*expected)

        self.agree(response, expect)

    @rule(who=WHO)
    def the_journal_has_the_requests(self, who: int) -> None:
        caller = self.caller(who)
        assert self.shown(caller, "/requests/count") == {"count": caller.owner.calls}

    @rule(path=st.sampled_from(["/v1/payments", "/v1/nothing", "/_emulator/clock"]))
    def a_key_that_is_unknown_is_refused(self, path: str) -> None:
        keys = {"test_unknown": "invalid_api_key", "nonsense": "invalid_api_key"}
        for key, code in keys.items():
            response = self.run(self.emulator.api.get(path, headers=headers(key)))
            assert (response.status_code, response.json()["error"]["code"]) == (401, code)
        if path.startswith("/v1"):
            response = self.run(self.emulator.api.get(path))
            error = response.json()["error"]
            assert (response.status_code, error["code"]) == (401, "missing_api_key")
            assert response.headers["www-authenticate"] == "Bearer"


def run(
    first_seed: int, count: int, machine: type[ServiceMachine] = WholeService
) -> dict[str, str]:
    """Take steps until there are `count`, in histories of some steps each."""
    ServiceMachine.steps = histories = 0
    logger = logging.getLogger("emulator")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        while ServiceMachine.steps < count:
            take_steps(machine, first_seed, histories, count - ServiceMachine.steps)
            histories += 1
    except Exception as error:
        error.add_note(f"seed {first_seed}, history {histories}, step {ServiceMachine.steps}")
        raise
    finally:
        logger.setLevel(level)
    return {"Steps": f"{ServiceMachine.steps:,}", "Histories": f"{histories:,}"}


def take_steps(machine: type[ServiceMachine], first_seed: int, history: int, left: int) -> None:
    """One history; hypothesis would repeat parts of it in further ones."""
    run_state_machine_as_test(
        seed(first_seed * 1_000_000 + history)(machine),
        settings=settings(
            max_examples=1,
            stateful_step_count=min(STEPS_A_HISTORY, left),
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
