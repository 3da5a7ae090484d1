"""Creates resources in the emulator, so that Schemathesis requests existing ones.

They belong to the test mode of the first account, the default of a call.
"""

from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

import httpx
from schemathesis import Case

from tests.server.openapi.rich_world import LIVES
from tests.world import TEST_KEY, headers, order

# Payments last longer than any clock is moved.
TEN_YEARS_S = 315_360_000
OWN_SCENARIO = {"description": "Own.", "script": [{"create": {"amount": 15_000}}]}
NEVER_APPLIES = {"when": {"mode": "live", "nth": 1_000_000}, "then": {"status": 500}}


class Targets:
    """The identifiers of existing resources, by the parameters that take them."""

    def __init__(self, base_url: str) -> None:
        # A connection for each request, because the server may close an idle one.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(base_url=base_url, limits=limits)
        self.own_url = f"{base_url}/_emulator/health"
        self.known: dict[str, list[str]] = {}
        # A deleted name is never used again, because Schemathesis expects that it stays deleted.
        self._names = (f"own-{number}" for number in count(1))
        self.refresh()

    def refresh(self) -> None:
        """Lists the resources and creates missing ones."""
        accounts = self._all("accounts", lambda: self._post("accounts"))
        endpoints = self._all("webhook_endpoints", self._make_endpoint)
        payments = [event["data"] for event in self._all("events", self._make_payments)]
        faults = self._all("faults", lambda: self._post("faults", NEVER_APPLIES))
        scenarios = self._all(
            "scenarios", lambda: self._put("scenarios", OWN_SCENARIO), origin="control"
        )
        snapshots = self._all("snapshots", lambda: self._put("snapshots"))
        self.known = {
            "account": ["acct_demo"],
            "account_id": _ids(accounts),
            "payment_id": _ids(payments),
            "payment": _ids(payments),
            "endpoint_id": _ids(endpoints),
            "endpoint": _ids(endpoints),
            "delivery_id": _ids(self._all("deliveries")),
            "fault_id": _ids(faults),
            "request_id": _ids(self._all("requests")),
            "after": _ids(payments),
            **{
                f"before /_emulator/{what}": _ids(self._all(what))
                for what in ("requests", "events", "deliveries")
            },
            "scenarios": [scenario["name"] for scenario in scenarios],
            "snapshots": [snapshot["name"] for snapshot in snapshots],
        }

    def payment(self, *actions: dict[str, Any]) -> str:
        """A new payment after these actions."""
        payment_id = str(self._request("POST", "/v1/payments", order(expires_in=TEN_YEARS_S))["id"])
        for body in actions:
            action = "transition" if "status" in body else "pay"
            self._post(f"payments/{payment_id}/{action}", body)
        return payment_id

    def soon(self, case: Case) -> str:
        """An instant shortly after the clock of the account of a call."""
        account = (case.query or {}).get("account")
        query = {} if account is None else {"account": account}
        response = self._client.get("/_emulator/clock", params=query)
        # The response for an unknown account is an error.
        now = response.json().get("now", "2026-01-01T00:00:00.000Z")
        return f"{now[:-1]}9Z"

    def _all(
        self, what: str, make: Callable[[], object] | None = None, **having: str
    ) -> list[dict[str, Any]]:
        """The resources of a kind with these members; `make` creates them if there are none."""
        found = [
            one
            for one in self._request("GET", f"/_emulator/{what}")["data"]
            if having.items() <= one.items() and one["id" if "id" in one else "name"] != "acct_demo"
        ]
        if found or make is None:
            return found
        make()
        return self._all(what, **having)

    def _make_endpoint(self) -> None:
        self._post("webhook_endpoints", {"url": self.own_url})

    def _put(self, what: str, body: Any = None) -> None:
        self._request("PUT", f"/_emulator/{what}/{next(self._names)}", body)

    def _make_payments(self) -> None:
        for life in LIVES:
            self.payment(*life)
        self._post("clock/advance", {"seconds": 0})

    def _post(self, what: str, body: Any = None) -> dict[str, Any]:
        return self._request("POST", f"/_emulator/{what}", body)

    def _request(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        response = self._client.request(method, path, json=body, headers=headers(TEST_KEY))
        assert response.is_success, response.text
        return dict(response.json())


def _ids(found: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(one["id"] for one in found))


@cache
def targets_of(base_url: str) -> Targets:
    return Targets(base_url)
