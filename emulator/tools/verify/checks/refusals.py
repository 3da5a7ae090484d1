"""Checks that the service refuses wrong requests: a table of requests and expected responses.

The contract states some statuses, the named field and one error code; the rest is assumed.
"""

import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from emulator.tools.verify.client import (
    JSON,
    ServiceRequest,
    ServiceResponse,
    member_text,
    printable,
)
from emulator.tools.verify.contract import MIN_AMOUNT, PARAMETERS, REQUIRED, WRONG_VALUES
from emulator.tools.verify.findings import Check, Findings, assumed, stated
from emulator.tools.verify.session import PAYMENTS, Session, basic_credentials

FIELD = "7.7"
"""The clause that a 400 names the field."""
CODES = "7.13"
"""The clause of the error codes that the contract does not print."""

Send = Callable[[Session], Awaitable[ServiceResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRefusal:
    """A request that the service must refuse with a status, an error code and a named field.

    `states` and `assumes` are the clauses of the status; any 4xx satisfies `states_4xx`. The code
    is assumed unless there are `states_code`. Without a `param` no field is expected, and none of
    a 404 if `may_be_404`. `assumes_param` are the clauses of the field in the expected status.
    """

    what: str
    send: Send
    status: int = 400
    code: str
    param: str | None = None
    states: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    states_4xx: tuple[str, ...] = ()
    states_code: tuple[str, ...] = ()
    states_param: tuple[str, ...] = (FIELD,)
    assumes_param: tuple[str, ...] = ()
    may_be_404: bool = False

    @property
    def check(self) -> Check:
        of_param = (*self.assumes_param, *(() if self.param is None else self.states_param))
        numbers = (*self.states, *self.assumes, *self.states_4xx, *(self.states_code or (CODES,)))
        return Check(self._run, (*numbers, *of_param))

    async def _run(self, session: Session) -> Findings:
        return self.judge(await self.send(session))

    def judge(self, response: ServiceResponse) -> Findings:
        """Compare the status, then the code, then the field."""
        seen = f"{self.what}: {response.summary}"
        has_status, has_code = response.status == self.status, response.code == self.code
        findings = stated(response.is_refusal, seen, *self.states_4xx)
        findings += stated(has_status, seen, *self.states)
        findings += assumed(has_status, seen, *self.assumes)
        if self.states_code and response.is_refusal:
            findings += stated(has_code, seen, *self.states_code)
        elif has_status and not self.states_code:
            code = f"`{self.code}`"
            findings += assumed(has_code, code, CODES, otherwise=f"{seen}, not {code}")
        named, param = response.param, f"param {member_text(response.error, 'param')}"
        if has_status:
            findings += assumed(named == self.param, param, *self.assumes_param)
        # The contract has 404 for objects that do not exist; it need not name a field.
        is_404 = self.may_be_404 and response.status == 404
        if self.param is None or response.is_success or is_404:
            return findings
        # `methods[0]` and `metadata.pair` name the field, too.
        parts = f"{self.param}.", f"{self.param}["
        is_named = named == self.param or (isinstance(named, str) and named.startswith(parts))
        seen = f"{self.what}: {param}" if response.status == 400 else seen
        is_so = is_named and response.status == 400
        return findings + stated(is_so, seen, *self.states_param)


def expectation(
    what: str,
    send: Send,
    *assumes: str,
    is_so: Callable[[Session, ServiceResponse], bool] = lambda _, response: response.is_success,
) -> Check:
    """A check of the response to a request, which should succeed unless `is_so` is given."""

    async def run(session: Session) -> Findings:
        response = await send(session)
        return assumed(is_so(session, response), f"{what}: {response.summary}", *assumes)

    return Check(run, assumes)


def sent(**fields: Any) -> Send:
    """Send a request with these fields, or with these functions of the session as fields.

    The default key is the session's key.
    """

    def send(session: Session) -> Awaitable[ServiceResponse]:
        values = {
            name: value(session) if callable(value) else value for name, value in fields.items()
        }
        return session.client.send(ServiceRequest(**{"key": session.key} | values))

    return send


def created_with(**changes: Any) -> Send:
    """Send a create call with some members changed."""
    return lambda session: session.create(session.order(**changes))


def wrong_query(name: str, value: str | int) -> ExpectedRefusal:
    """The refusal of a value of a query parameter; a wrong cursor need not be named."""
    is_cursor, query = name == "after", dict[str, Any]({name: value})
    return ExpectedRefusal(
        what=f"`{name}={printable(str(value))}`",
        send=lambda session: session.page(**query),
        code="invalid_cursor" if is_cursor else f"invalid_{name}",
        param=None if is_cursor else name,
        assumes=("4.3.15", "8.5") if name == "limit" else ("4.3.13",),
    )


def path_of_first(session: Session) -> str:
    return f"{PAYMENTS}/{session.first.id}"


_INVALID = ("5.4", "7.8")
_INVALID_KEYS: tuple[tuple[str, str, Callable[[Session], str] | None, tuple[str, ...]], ...] = (
    ("without `Authorization`", "missing_api_key", None, ("4.0.5", *_INVALID)),
    ("with an unknown `test_` key", "invalid_api_key", lambda one: one.unknown_key, _INVALID),
    ("with a letter after the key", "invalid_api_key", lambda one: f"{one.key}x", _INVALID),
    ("with the key in another case", "invalid_api_key", lambda one: one.key.swapcase(), _INVALID),
)


_unauthorised = partial(ExpectedRefusal, status=401)


def unauthorised(what: str, **fields: Any) -> Iterator[Check]:
    """The checks that a request with these fields, but without a valid key, is refused."""
    for how, code, key, states in _INVALID_KEYS:
        send = sent(**fields, key=key)
        yield _unauthorised(what=f"{what} {how}", send=send, code=code, states=states).check


_HOW, _CODE, _, _STATES = _INVALID_KEYS[0]
WITHOUT_KEY = _unauthorised(what=_HOW, send=sent(key=None), code=_CODE, states=_STATES)
_ONE = {"limit": "1"}

_BASIC = sent(query=_ONE, key=lambda one: basic_credentials(one.key), scheme="Basic")
_WITHOUT_BEARER = (
    ("an unknown path without `Authorization`", sent(path="/v1/unknown", key=None), "4.0.5"),
    ("the key by the scheme `Basic`", _BASIC, "5.1"),
    ("the key without a scheme", sent(query=_ONE, scheme=""), "5.1"),
)
AUTHENTICATION = (
    *unauthorised("a list", query=_ONE),
    *(
        _unauthorised(what=what, send=send, code=_CODE, assumes=(number,)).check
        for what, send, number in _WITHOUT_BEARER
    ),
    expectation("`bearer`", sent(query=_ONE, scheme="bearer"), "5.1"),
)


def wrong_parameter(param: str, value: object, note: str = "") -> ExpectedRefusal | None:
    """The refusal of a value that breaks a rule, `...` if it is absent; None if it breaks none.

    The note describes the value in reports, if the value would be too long.
    """
    is_absent = value is ...
    rule = next((rule for rule in PARAMETERS[param] if rule.is_broken(value)), None)
    if rule is None or (is_absent and param not in REQUIRED):
        return None
    # The contract shows the refusal of a wrong amount (4.1, rule 1).
    is_printed = param == "amount" and not is_absent
    shown = f"no `{param}`" if is_absent else f"`{param}` {printable(json.dumps(value))}"
    return ExpectedRefusal(
        what=note or shown,
        send=created_with(**{param: value}),
        code="missing_parameter" if is_absent else f"invalid_{param}",
        param=param,
        states=rule.states,
        assumes=rule.assumes,
        states_code=("4.1.18",) if is_printed else (),
        states_param=(FIELD, "4.1.17") if is_printed else (FIELD,),
    )


WRONG_PARAMETERS = tuple(filter(None, (wrong_parameter(*row) for row in WRONG_VALUES)))


async def _first_wrong_field(session: Session) -> Findings:
    response = await created_with(amount=MIN_AMOUNT - 1, currency="USD")(session)
    seen = f"`amount` and `currency`: param {member_text(response.error, 'param')}"
    return assumed(response.param == "amount", seen, "4.1.17")


PARAMETER_CHECKS = (
    *(wrong.check for wrong in WRONG_PARAMETERS),
    Check(_first_wrong_field, ("4.1.17",)),
)


def _without_end(text: str) -> str:
    return text[:-1]


def _created_from(content: Callable[[str], str], media_type: str) -> Send:
    """Send a create call with other content than its JSON, or of another media type."""

    def send(session: Session) -> Awaitable[ServiceResponse]:
        body = session.order()
        encoded = content(json.dumps(body)).encode()
        return session.create(body, content=encoded, media_type=media_type)

    return send


_TYPE, _BODY = ("4.0.1",), ("4.0.2",)
BODIES = tuple(
    ExpectedRefusal(
        what=what,
        send=_created_from(content, media_type),
        code=code,
        states_4xx=states_4xx,
        assumes=assumes,
    ).check
    for what, content, media_type, code, states_4xx, assumes in (
        ("a body of `text/plain`", str, "text/plain", "unsupported_content_type", _TYPE, _TYPE),
        ("a body without `Content-Type`", str, "", "unsupported_content_type", _TYPE, _TYPE),
        ("no body", "".format, JSON, "invalid_json", _BODY, _BODY),
        ("a body that breaks off", _without_end, JSON, "invalid_json", ("1.1", *_BODY), _BODY),
        (
            "a byte order mark before the body",
            "\ufeff{}".format,
            JSON,
            "invalid_json",
            (),
            ("1.1",),
        ),
        ("an array as the body", "[{}]".format, JSON, "invalid_request_body", (), _BODY),
    )
)

_PATCH = sent(method="PATCH", path=path_of_first, body=json.dumps({"metadata": {}}).encode())
_DELETE = sent(method="DELETE", path=lambda session: f"{PAYMENTS}/{session.unknown_id}")
ROUTES = (
    *(
        ExpectedRefusal(
            what=what, send=send, status=404, code="route_not_found", states=states, assumes=assumes
        ).check
        for what, send, states, assumes in (
            ("`PATCH` of a payment", _PATCH, (), ("4.0.3",)),
            ("`DELETE` of an unknown id", _DELETE, (), ("4.0.3",)),
            ("`/v1/payments/`", sent(path=f"{PAYMENTS}/"), (), ("7.9",)),
            ("an unknown path", sent(path="/v1/no_such_call"), ("7.9",), ()),
        )
    ),
    # Outside the contract's root any response is allowed, except a list of payments.
    *(
        expectation(
            f"`{path}`",
            sent(path=path),
            "9.1",
            is_so=lambda _, response: not (response.is_success and "data" in response.members),
        )
        for path in ("/payments", "/v2/payments")
    ),
)
