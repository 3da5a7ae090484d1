"""Every refusal the product can give, named for what is true; none of them knows HTTP.

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
├── Unknown
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
    def __init__(self) -> None:
        super().__init__(
            "No API key was given. Send it in the header 'Authorization: Bearer <key>'."
        )


class InvalidApiKey(Unauthenticated):
    def __init__(self, message: str) -> None:
        super().__init__(message)


class RateLimitExceeded(Refusal):
    """The account's bucket is empty; `retry_after_s` whole seconds, at least 1, refill it."""

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
    """What came over the connection is not even HTTP."""


class InvalidJson(InvalidRequest):
    pass


class InvalidRequestBody(InvalidRequest):
    def __init__(self, message: str = "The request body must be a JSON object.") -> None:
        super().__init__(message)


class UnsupportedContentType(InvalidRequest):
    pass


class RequestTooLarge(InvalidRequest):
    def __init__(self, *, limit_bytes: int) -> None:
        super().__init__(f"The request body is larger than {limit_bytes:,} bytes.")


class MissingParameter(InvalidRequest):
    def __init__(self, param: str) -> None:
        super().__init__(f"The parameter '{param}' is required.", param=param)


class UnknownParameter(InvalidRequest):
    pass


class DuplicateParameter(InvalidRequest):
    def __init__(self, param: str) -> None:
        super().__init__(f"The parameter '{param}' is given more than once.", param=param)


class IdempotencyKeyHeader(InvalidRequest):
    def __init__(self) -> None:
        super().__init__(
            "The idempotency key belongs in the body, as 'idempotency_key', not in a header."
        )


class InvalidField(InvalidRequest):
    """One field is wrong: its code is `invalid_` and the name of the field.

    `kind` names the code where it differs from the field, as `clock` does for `now`.
    """

    def __init__(self, param: str, message: str, *, kind: str | None = None) -> None:
        super().__init__(message, param=param)
        self.kind = kind or param


class InvalidScenario(InvalidRequest):
    """A scenario has mistakes; the message tells each with its line and column."""


class InvalidFault(InvalidRequest):
    """A fault rule has mistakes; the message tells each."""


class Unknown(Refusal):
    """What was asked for does not exist here, or belongs to another account."""


class UnknownRoute(Unknown):
    def __init__(self, method: str, path: str) -> None:
        super().__init__(f"There is no {method} {path} here.")


class UnknownPayment(Unknown):
    def __init__(self, payment_id: str) -> None:
        super().__init__(f"There is no payment '{payment_id}'.")


class UnknownCheckout(Unknown):
    def __init__(self) -> None:
        super().__init__("There is no checkout at this address.")


class UnknownAccount(Unknown):
    def __init__(self, account_id: str) -> None:
        super().__init__(f"There is no account '{account_id}'.")


class UnknownEndpoint(Unknown):
    def __init__(self, endpoint_id: str) -> None:
        super().__init__(f"There is no webhook endpoint '{endpoint_id}'.")


class UnknownDelivery(Unknown):
    def __init__(self, delivery_id: str) -> None:
        super().__init__(f"There is no delivery '{delivery_id}'.")


class UnknownScenario(Unknown):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no scenario '{name}'.")


class UnknownFault(Unknown):
    def __init__(self, fault_id: str) -> None:
        super().__init__(f"There is no fault '{fault_id}'.")


class UnknownSnapshot(Unknown):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no snapshot '{name}'.")


class Conflict(Refusal):
    """The request is well formed, but the present state forbids it."""


class IdempotencyKeyReused(Conflict):
    def __init__(self) -> None:
        super().__init__(
            "This idempotency key was used before with different parameters.",
            param="idempotency_key",
        )


class IdempotencyKeyInUse(Conflict):
    """An earlier request with the same key has not been answered yet."""

    retry_after_s = 1

    def __init__(self) -> None:
        super().__init__(
            "A request with this idempotency key is still being processed.",
            param="idempotency_key",
        )


class IllegalTransition(Conflict):
    pass


class PaymentNotPayable(Conflict):
    pass


class ForbiddenOrigin(Refusal):
    """A web page, or a name that DNS may have been made to point here, is asking."""


class AccountIsPermanent(Conflict):
    def __init__(self) -> None:
        super().__init__("The first account cannot be deleted; reset it instead.")


class TooManyEndpoints(Conflict):
    def __init__(self, most: int) -> None:
        super().__init__(
            f"There are {most} webhook endpoints already, and no more are possible; delete one."
        )


class ScenarioIsPermanent(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(
            f"The scenario '{name}' comes from a file; it cannot be removed, but switched off."
        )


class TooManyScenarios(Conflict):
    def __init__(self, most: int) -> None:
        super().__init__(f"The account has {most} scenarios of its own already; remove one.")


class TooManyFaults(Conflict):
    def __init__(self, most: int) -> None:
        super().__init__(f"The account has {most} faults already; remove one.")


class TooMuchToRecord(Conflict):
    """A scenario file cannot hold what happened; `excess` says by what it would be too large."""

    def __init__(self, *, payments: int, actions: int, excess: str) -> None:
        super().__init__(
            f"Too much has happened for one scenario file: {payments:,} payments were created and"
            f" {actions:,} things done to them. {excess} Record a fresh account for each case, or"
            " reset this one before the case begins."
        )


class TooManySnapshots(Conflict):
    def __init__(self, most: int) -> None:
        super().__init__(f"The account has {most} snapshots already; delete one.")


class NotReady(Refusal):
    def __init__(self) -> None:
        super().__init__("The emulator is starting or stopping.")
