"""How a refusal is answered: the one table from what is true to a status and a code."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from emulator.domain import errors
from emulator.domain.errors import InvalidField, Refusal


@dataclass(frozen=True, slots=True)
class Answer:
    """The status and the code of a refusal; a code of None is made from the field's name."""

    status: int
    code: str | None


ANSWERS: Mapping[type[Refusal], Answer] = {
    errors.MissingApiKey: Answer(401, "missing_api_key"),
    errors.InvalidApiKey: Answer(401, "invalid_api_key"),
    errors.RateLimitExceeded: Answer(429, "rate_limit_exceeded"),
    # The contract has no code for it; it is the nearest: nothing can be read.
    errors.MalformedHttp: Answer(400, "invalid_request_body"),
    errors.InvalidJson: Answer(400, "invalid_json"),
    errors.InvalidRequestBody: Answer(400, "invalid_request_body"),
    errors.UnsupportedContentType: Answer(400, "unsupported_content_type"),
    errors.RequestTooLarge: Answer(400, "request_too_large"),
    errors.MissingParameter: Answer(400, "missing_parameter"),
    errors.UnknownParameter: Answer(400, "unknown_parameter"),
    errors.DuplicateParameter: Answer(400, "duplicate_parameter"),
    errors.IdempotencyKeyHeader: Answer(400, "idempotency_key_header"),
    errors.InvalidField: Answer(400, None),
    errors.InvalidScenario: Answer(400, "invalid_scenario"),
    errors.InvalidFault: Answer(400, "invalid_fault"),
    errors.UnknownRoute: Answer(404, "route_not_found"),
    errors.UnknownPayment: Answer(404, "payment_not_found"),
    errors.UnknownCheckout: Answer(404, "payment_not_found"),
    errors.UnknownAccount: Answer(404, "account_not_found"),
    errors.UnknownEndpoint: Answer(404, "webhook_endpoint_not_found"),
    errors.UnknownDelivery: Answer(404, "delivery_not_found"),
    errors.UnknownScenario: Answer(404, "scenario_not_found"),
    errors.UnknownFault: Answer(404, "fault_not_found"),
    errors.UnknownSnapshot: Answer(404, "snapshot_not_found"),
    errors.IdempotencyKeyReused: Answer(409, "idempotency_key_reused"),
    errors.IdempotencyKeyInUse: Answer(409, "idempotency_key_in_use"),
    errors.IllegalTransition: Answer(409, "invalid_state_transition"),
    errors.PaymentNotPayable: Answer(409, "payment_not_payable"),
    errors.AccountIsPermanent: Answer(409, "account_is_permanent"),
    errors.TooManyEndpoints: Answer(409, "too_many_webhook_endpoints"),
    errors.ScenarioIsPermanent: Answer(409, "scenario_is_permanent"),
    errors.TooManyScenarios: Answer(409, "too_many_scenarios"),
    errors.TooManyFaults: Answer(409, "too_many_faults"),
    errors.TooMuchToRecord: Answer(409, "too_much_to_record"),
    errors.TooManySnapshots: Answer(409, "too_many_snapshots"),
    errors.ForbiddenOrigin: Answer(403, "forbidden_origin"),
    errors.NotReady: Answer(503, "not_ready"),
}

INTERNAL_ERROR_CAUSE = (
    "A fault rule caused the error, or the emulator has a defect; the log has the details."
)
# The contract's status 500; the detail is in the log and nowhere else.
INTERNAL_ERROR_BODY = (
    b'{"error":{"code":"internal_error","message":"Something went wrong on our side. Retry."}}'
)


def status_of(refusal: Refusal) -> int:
    return ANSWERS[type(refusal)].status


def code_of(refusal: Refusal) -> str:
    code = ANSWERS[type(refusal)].code
    if code is None and isinstance(refusal, InvalidField):
        return f"invalid_{refusal.kind}"
    return str(code)


def error_body(refusal: Refusal) -> bytes:
    """The contract's error object (section 7); `param` only where one field is at fault."""
    return error_object(code_of(refusal), refusal.message, refusal.param)


def error_object(code: str, message: str, param: str | None = None) -> bytes:
    error = {"code": code, "message": message}
    if param is not None:
        error["param"] = param
    return msgspec.json.encode({"error": error})


def error_headers(refusal: Refusal) -> list[tuple[bytes, bytes]]:
    """`Retry-After` where waiting helps, and the challenge of a 401."""
    if isinstance(refusal, errors.RateLimitExceeded | errors.IdempotencyKeyInUse):
        return [(b"retry-after", str(refusal.retry_after_s).encode())]
    if isinstance(refusal, errors.Unauthenticated):
        return [(b"www-authenticate", b"Bearer")]
    return []
