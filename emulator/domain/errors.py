"""Every refusal the product can give, named for what is true; none of them knows HTTP.

The first paragraph of each docstring is the cause in docs/reference/error-codes.md.

Refusal
├── Unauthenticated
│   ├── MissingApiKey
│   └── InvalidApiKey
├── RateLimitExceeded
├── InvalidRequest                 the request as a whole, or one field of it
│   ├── MalformedHttp
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
│   ├── UnknownPayment
│   ├── UnknownCheckout
│   ├── UnknownAccount
│   ├── UnknownEndpoint
│   ├── UnknownDelivery
│   ├── UnknownScenario
│   ├── UnknownFault
│   └── UnknownSnapshot
├── Conflict
│   ├── IdempotencyKeyReused
│   ├── IdempotencyKeyInUse
│   ├── IllegalTransition
│   ├── PaymentNotPayable
│   ├── AccountIsPermanent
│   ├── TooManyEndpoints
│   ├── ScenarioIsPermanent
│   ├── TooManyScenarios
│   ├── TooManyFaults
│   ├── TooMuchToRecord
│   └── TooManySnapshots
├── ForbiddenOrigin
└── NotReady
"""


class Refusal(Exception):
    """Something a caller asked for that will not be done, and why, in one sentence."""

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


class Unauthenticated(Refusal):
    """The request does not say convincingly whose it is (contract, section 5)."""


class MissingApiKey(Unauthenticated):
    """The `Authorization` header is missing or uses a scheme other than Bearer."""

    def __init__(self) -> None:
        super().__init__(
            "No API key was given. Send it in the header 'Authorization: Bearer <key>'."
        )


class InvalidApiKey(Unauthenticated):
    """The API key is malformed or unknown."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


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


class MalformedHttp(InvalidRequest):
    """The request is not valid HTTP."""


class InvalidJson(InvalidRequest):
    """The request body is not strict JSON in UTF-8."""


class InvalidRequestBody(InvalidRequest):
    """The request body is not an object."""

    def __init__(self, message: str = "The request body must be a JSON object.") -> None:
        super().__init__(message)


class UnsupportedContentType(InvalidRequest):
    """The `Content-Type` is not accepted (use `application/json`), or its charset is not UTF-8."""


class RequestTooLarge(InvalidRequest):
    """The request body is too large."""

    def __init__(self, *, limit_bytes: int) -> None:
        super().__init__(f"The request body is larger than {limit_bytes:,} bytes.")


class MissingParameter(InvalidRequest):
    """A required parameter is absent or null."""

    def __init__(self, param: str) -> None:
        super().__init__(f"The parameter '{param}' is required.", param=param)


class UnknownParameter(InvalidRequest):
    """The parameter does not exist. In `/v1`, only with `--strict`."""


class DuplicateParameter(InvalidRequest):
    """The parameter occurs more than once. In `/v1`, only with `--strict`."""

    def __init__(self, param: str) -> None:
        super().__init__(f"The parameter '{param}' is given more than once.", param=param)


class IdempotencyKeyHeader(InvalidRequest):
    """The request has the header `Idempotency-Key`. Only with `--strict`."""

    def __init__(self) -> None:
        super().__init__(
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
    """What was asked for does not exist here, or belongs to another account."""


class UnknownRoute(NotFound):
    """The path does not exist, or does not support the HTTP method."""

    def __init__(self, method: str, path: str) -> None:
        super().__init__(f"There is no {method} {path} here.")


class UnknownPayment(NotFound):
    """The payment does not exist, or belongs to another account or mode."""

    def __init__(self, payment_id: str) -> None:
        super().__init__(f"There is no payment '{payment_id}'.")


class UnknownCheckout(NotFound):
    """No payment has this checkout URL."""

    def __init__(self) -> None:
        super().__init__("There is no checkout at this address.")


class UnknownAccount(NotFound):
    """The account does not exist."""

    def __init__(self, account_id: str) -> None:
        super().__init__(f"There is no account '{account_id}'.")


class UnknownEndpoint(NotFound):
    """The webhook endpoint does not exist, or belongs to another account or mode."""

    def __init__(self, endpoint_id: str) -> None:
        super().__init__(f"There is no webhook endpoint '{endpoint_id}'.")


class UnknownDelivery(NotFound):
    """The delivery does not exist, or belongs to another account or mode."""

    def __init__(self, delivery_id: str) -> None:
        super().__init__(f"There is no delivery '{delivery_id}'.")


class UnknownScenario(NotFound):
    """The scenario does not exist, or belongs to another account."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no scenario '{name}'.")


class UnknownFault(NotFound):
    """The fault rule does not exist, or belongs to another account."""

    def __init__(self, fault_id: str) -> None:
        super().__init__(f"There is no fault '{fault_id}'.")


class UnknownSnapshot(NotFound):
    """The snapshot does not exist, or belongs to another account."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no snapshot '{name}'.")


class Conflict(Refusal):
    """The request is well formed, but the present state forbids it."""


class IdempotencyKeyReused(Conflict):
    """An earlier request used this idempotency key with different parameters."""

    def __init__(self) -> None:
        super().__init__(
            "This idempotency key was used before with different parameters.",
            param="idempotency_key",
        )


class IdempotencyKeyInUse(Conflict):
    """An earlier request with this key is still being processed; `Retry-After` is 1."""

    retry_after_s = 1

    def __init__(self) -> None:
        super().__init__(
            "A request with this idempotency key is still being processed.",
            param="idempotency_key",
        )


class IllegalTransition(Conflict):
    """The payment's status does not permit the change."""


class PaymentNotPayable(Conflict):
    """The payment's status does not permit the selection of a payment method."""


class ForbiddenOrigin(Refusal):
    """The request comes from a web page of another origin, or its `Host` is not allowed."""


class AccountIsPermanent(Conflict):
    """The first account cannot be deleted."""

    def __init__(self) -> None:
        super().__init__("The first account cannot be deleted; reset it instead.")


class TooManyEndpoints(Conflict):
    """The account has the maximum number of webhook endpoints in this mode."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"There are {most} webhook endpoints already, and no more are possible; delete one."
        )


class ScenarioIsPermanent(Conflict):
    """The scenario comes from a file and cannot be deleted."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The scenario '{name}' comes from a file; it cannot be removed, but switched off."
        )


class TooManyScenarios(Conflict):
    """The account has the maximum number of scenarios added through the control API."""

    def __init__(self, most: int) -> None:
        super().__init__(f"The account has {most} scenarios of its own already; remove one.")


class TooManyFaults(Conflict):
    """The account has the maximum number of fault rules."""

    def __init__(self, most: int) -> None:
        super().__init__(f"The account has {most} faults already; remove one.")


class TooMuchToRecord(Conflict):
    """The history is too long for one scenario file.

    `excess` states which limit the file would exceed.
    """

    def __init__(self, *, payments: int, actions: int, excess: str) -> None:
        super().__init__(
            f"Too much has happened for one scenario file: {payments:,} payments were created and"
            f" {actions:,} things done to them. {excess} Record a fresh account for each case, or"
            " reset this one before the case begins."
        )


class TooManySnapshots(Conflict):
    """The account has the maximum number of snapshots."""

    def __init__(self, most: int) -> None:
        super().__init__(f"The account has {most} snapshots already; delete one.")


class NotReady(Refusal):
    """The emulator is starting or stopping."""

    def __init__(self) -> None:
        super().__init__("The emulator is starting or stopping.")
