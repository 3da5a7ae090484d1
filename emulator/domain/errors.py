"""Defines every refusal of the program, named for its cause and independent of HTTP.

The first paragraph of each docstring is the cause in docs/reference/error-codes.md,
unless a clause names the code.

Refusal
├── Unauthenticated
│   ├── MissingApiKey
│   └── InvalidApiKey
├── RateLimitExceeded
├── InvalidRequest                 the request as a whole, or one field of it
│   ├── InvalidJson
│   ├── InvalidRequestBody
│   ├── UnsupportedContentType
│   ├── RequestTooLarge
│   ├── MissingParameter           param
│   ├── UnknownParameter           param
│   ├── DuplicateParameter         param
│   ├── IdempotencyKeyHeader
│   ├── InvalidField               param; its code is `invalid_` and the field's name
│   ├── InvalidScenario            param: the section
│   └── InvalidFault               param
├── NotFound
│   ├── UnknownRoute
│   ├── UnknownCheckout
│   └── UnknownObject
│       ├── UnknownPayment
│       ├── UnknownAccount
│       ├── UnknownEndpoint
│       ├── UnknownEvent
│       ├── UnknownDelivery
│       ├── UnknownRequest
│       ├── UnknownScenario
│       ├── UnknownFault
│       └── UnknownSnapshot
├── Conflict
│   ├── IdempotencyKeyReused
│   ├── IdempotencyKeyInUse
│   ├── IllegalTransition
│   ├── PaymentNotPayable
│   ├── DeliveryNotPending
│   ├── AccountIsPermanent
│   ├── ScenarioIsPermanent
│   ├── ScenarioWithoutScript
│   ├── TooMuchToRecord
│   └── LimitReached
│       ├── TooManyEndpoints
│       ├── TooManyScenarios
│       ├── TooManyFaults
│       └── TooManySnapshots
├── ForbiddenOrigin
└── NotReady
"""

from typing import ClassVar


class Refusal(Exception):
    """A request that is refused; the message is the reason in one sentence.

    A subclass with a constant reason has a `default_message`.
    """

    default_message: ClassVar[str]
    default_param: ClassVar[str | None] = None

    def __init__(self, message: str | None = None, *, param: str | None = None) -> None:
        self.message = self.default_message if message is None else message
        self.param = self.default_param if param is None else param
        super().__init__(self.message)


class Unauthenticated(Refusal):
    """The request has no valid API key (contract, section 5)."""


class MissingApiKey(Unauthenticated):
    """The `Authorization` header is missing or uses a scheme other than Bearer."""

    default_message = "No API key was given. Send it in the header 'Authorization: Bearer <key>'."


class InvalidApiKey(Unauthenticated):
    """The API key is malformed or unknown, or the `Authorization` header is repeated."""

    _ADVICE = "The emulator prints its test key at start: send that one, or one of another account."
    default_message = (
        "The API key is malformed; send test_ or live_ and 4 to 128 visible ASCII characters."
        f" {_ADVICE}"
    )
    unknown = f"The API key is unknown. {_ADVICE}"


class RateLimitExceeded(Refusal):
    """The account's rate limit is used up; `Retry-After` has the whole seconds to wait.

    `retry_after_s` is at least 1.
    """

    def __init__(self, *, retry_after_s: int, clock_is_frozen: bool) -> None:
        note = (
            " The account's clock is frozen: advance it to refill the limit."
            if clock_is_frozen
            else ""
        )
        super().__init__(f"Too many requests. Retry after {retry_after_s} s.{note}")
        self.retry_after_s = retry_after_s


class InvalidRequest(Refusal):
    """The request is malformed (contract, section 7: status 400)."""


class InvalidJson(InvalidRequest):
    """The request body is not strict JSON in UTF-8."""


class InvalidRequestBody(InvalidRequest):
    """The request body is not an object."""

    default_message = "The request body must be a JSON object."


class UnsupportedContentType(InvalidRequest):
    """The `Content-Type` is not accepted (use `application/json`), or its charset is not UTF-8."""


class RequestTooLarge(InvalidRequest):
    """The request body is too large."""

    def __init__(self, *, limit_bytes: int) -> None:
        super().__init__(f"The request body is larger than {limit_bytes:,} bytes.")


class MissingParameter(InvalidRequest):
    """A required parameter is absent or null."""

    def __init__(self, param: str, reason: str = "") -> None:
        message = f"The parameter '{param}' is required"
        super().__init__(f"{message}: {reason}." if reason else f"{message}.", param=param)


class UnknownParameter(InvalidRequest):
    """The parameter does not exist. In `/v1`, only with `--strict`."""


class DuplicateParameter(InvalidRequest):
    """The parameter occurs more than once. In `/v1`, only with `--strict`."""

    def __init__(self, param: str) -> None:
        super().__init__(f"The parameter '{param}' is given more than once.", param=param)


class IdempotencyKeyHeader(InvalidRequest):
    """The request has the header `Idempotency-Key`. Only with `--strict`."""

    default_message = (
        "The idempotency key belongs in the body, as 'idempotency_key', not in a header."
    )


class InvalidField(InvalidRequest):
    """The value of the field is invalid.

    The code is `invalid_` and the name of the field. `kind` replaces the name where they differ,
    as `clock` does for `now`.
    """

    def __init__(self, param: str, message: str, *, kind: str | None = None) -> None:
        super().__init__(message, param=param)
        self.kind = kind or param


class InvalidScenario(InvalidRequest):
    """The scenario has errors; the message lists each with its line and column."""


class InvalidFault(InvalidRequest):
    """The fault rule has errors; the message lists each."""


class NotFound(Refusal):
    """The path or the object does not exist, or belongs to another account."""


class UnknownRoute(NotFound):
    """The path does not exist, or does not support the HTTP method."""

    def __init__(self, method: str, path: str, *, advice: str | None = None) -> None:
        hint = _similar_path(path) if advice is None else f" {advice}"
        super().__init__(f"There is no {method} {path} here.{hint}")


def _similar_path(path: str) -> str:
    """A hint for a path of the contract with another beginning, or with a slash at the end."""
    meant = f"/v1{path.replace('/v1', '')}".rstrip("/")
    if path == meant or not meant.startswith("/v1/payments"):
        return ""
    if path.count("/v1") > 1:
        return f" Did you mean {meant}? '/v1' is in the base URL and in the path."
    slash = ", without the slash at the end" if path.rstrip("/") == meant else ""
    return f" Did you mean {meant}{slash}?"


class UnknownCheckout(NotFound):
    """No payment has this checkout URL."""

    default_message = "There is no checkout at this address."


class UnknownObject(NotFound):
    """The object of the kind `noun` does not exist, or belongs to another account.

    Without an identifier, the account and mode has no such object, so that none is the latest.
    """

    noun: ClassVar[str]

    def __init__(self, identifier: str | None = None, *, hint: str = "") -> None:
        if identifier is None:
            message = f"There is no latest {self.noun}: this account and mode has none."
        else:
            message = f"There is no {self.noun} '{identifier}'.{hint}"
        super().__init__(message)


class UnknownPayment(UnknownObject):
    """The payment does not exist, or belongs to another account or mode."""

    noun = "payment"


class UnknownAccount(UnknownObject):
    """The account does not exist."""

    noun = "account"


class UnknownEndpoint(UnknownObject):
    """The webhook endpoint does not exist, or belongs to another account or mode."""

    noun = "webhook endpoint"


class UnknownEvent(UnknownObject):
    """The event does not exist, or belongs to another account or mode."""

    noun = "event"


class UnknownDelivery(UnknownObject):
    """The delivery does not exist, or belongs to another account or mode."""

    noun = "delivery"


class UnknownRequest(UnknownObject):
    """The request is not in the journal, or belongs to another account or mode."""

    noun = "request"


class UnknownScenario(UnknownObject):
    """The scenario does not exist, or belongs to another account."""

    noun = "scenario"


class UnknownFault(UnknownObject):
    """The fault rule does not exist, or belongs to another account."""

    noun = "fault"


class UnknownSnapshot(UnknownObject):
    """The snapshot does not exist, or belongs to another account."""

    noun = "snapshot"


class Conflict(Refusal):
    """The request is valid, but the present state does not permit it."""


class IdempotencyKeyReused(Conflict):
    """An earlier request used this idempotency key with different parameters."""

    default_message = "This idempotency key was used before with different parameters."
    default_param = "idempotency_key"


class IdempotencyKeyInUse(Conflict):
    """An earlier request with this key is still being processed; `Retry-After` is 1."""

    retry_after_s = 1
    default_message = "A request with this idempotency key is still being processed."
    default_param = "idempotency_key"


class IllegalTransition(Conflict):
    """The payment's status does not permit the change."""


class PaymentNotPayable(Conflict):
    """The payment's status does not permit the selection of a payment method."""


class DeliveryNotPending(Conflict):
    """The delivery has no further attempt, or an attempt is in progress."""


class AccountIsPermanent(Conflict):
    """The first account cannot be deleted."""

    default_message = "The first account cannot be deleted; reset it instead."


class ScenarioIsPermanent(Conflict):
    """The scenario comes from a file and cannot be deleted."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The scenario '{name}' comes from a file and cannot be deleted; disable it instead."
        )


class ScenarioWithoutScript(Conflict):
    """The scenario has no script, so that nothing can be run."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The scenario '{name}' has no script; add a `script` section with steps to run it."
        )


class TooMuchToRecord(Conflict):
    """The history is too long for one scenario file.

    `excess` states which limit the file would exceed.
    """

    def __init__(self, *, payments: int, actions: int, excess: str) -> None:
        super().__init__(
            f"The history is too long for one scenario file: {payments:,} payments and {actions:,}"
            f" actions. {excess} Record a new account for each case, or reset this one before it."
        )


class LimitReached(Conflict):
    """The account has the maximum number of objects of the kind `noun`."""

    noun: ClassVar[str]

    def __init__(self, limit: int) -> None:
        super().__init__(f"The account has {limit} {self.noun} already; delete one.")


class TooManyEndpoints(LimitReached):
    """The account has the maximum number of webhook endpoints in this mode."""

    noun = "webhook endpoints"


class TooManyScenarios(LimitReached):
    """The account has the maximum number of scenarios added through the control API."""

    noun = "scenarios of its own"


class TooManyFaults(LimitReached):
    """The account has the maximum number of fault rules."""

    noun = "fault rules"


class TooManySnapshots(LimitReached):
    """The account has the maximum number of snapshots."""

    noun = "snapshots"


class ForbiddenOrigin(Refusal):
    """The request comes from a web page of another origin, or its `Host` is not allowed."""


class NotReady(Refusal):
    """The emulator is starting or stopping."""

    default_message = "The emulator is starting or stopping."
