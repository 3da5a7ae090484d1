"""Maps each refusal to its status, code, error object and headers."""

from collections.abc import Mapping

import msgspec

from emulator.domain import errors
from emulator.domain.errors import InvalidField, Refusal
from emulator.server.openapi.declarations import ErrorCode

ANSWERS: Mapping[type[Refusal], ErrorCode] = {
    errors.MissingApiKey: ErrorCode(401, "missing_api_key"),
    errors.InvalidApiKey: ErrorCode(401, "invalid_api_key"),
    errors.RateLimitExceeded: ErrorCode(429, "rate_limit_exceeded"),
    errors.InvalidJson: ErrorCode(400, "invalid_json"),
    errors.InvalidRequestBody: ErrorCode(400, "invalid_request_body"),
    errors.UnsupportedContentType: ErrorCode(400, "unsupported_content_type"),
    errors.RequestTooLarge: ErrorCode(400, "request_too_large"),
    errors.MissingParameter: ErrorCode(400, "missing_parameter"),
    errors.UnknownParameter: ErrorCode(400, "unknown_parameter"),
    errors.DuplicateParameter: ErrorCode(400, "duplicate_parameter"),
    errors.IdempotencyKeyHeader: ErrorCode(400, "idempotency_key_header"),
    errors.InvalidField: ErrorCode(400, None),
    errors.InvalidScenario: ErrorCode(400, "invalid_scenario"),
    errors.InvalidFault: ErrorCode(400, "invalid_fault"),
    errors.UnknownRoute: ErrorCode(404, "route_not_found"),
    errors.UnknownPayment: ErrorCode(404, "payment_not_found"),
    errors.UnknownCheckout: ErrorCode(404, "payment_not_found"),
    errors.UnknownAccount: ErrorCode(404, "account_not_found"),
    errors.UnknownEndpoint: ErrorCode(404, "webhook_endpoint_not_found"),
    errors.UnknownEvent: ErrorCode(404, "event_not_found"),
    errors.UnknownDelivery: ErrorCode(404, "delivery_not_found"),
    errors.UnknownRequest: ErrorCode(404, "request_not_found"),
    errors.UnknownScenario: ErrorCode(404, "scenario_not_found"),
    errors.UnknownFault: ErrorCode(404, "fault_not_found"),
    errors.UnknownSnapshot: ErrorCode(404, "snapshot_not_found"),
    errors.IdempotencyKeyReused: ErrorCode(409, "idempotency_key_reused"),
    errors.IdempotencyKeyInUse: ErrorCode(409, "idempotency_key_in_use"),
    errors.IllegalTransition: ErrorCode(409, "invalid_state_transition"),
    errors.PaymentNotPayable: ErrorCode(409, "payment_not_payable"),
    errors.DeliveryNotPending: ErrorCode(409, "delivery_not_pending"),
    errors.AccountIsPermanent: ErrorCode(409, "account_is_permanent"),
    errors.TooManyEndpoints: ErrorCode(409, "too_many_webhook_endpoints"),
    errors.ScenarioIsPermanent: ErrorCode(409, "scenario_is_permanent"),
    errors.ScenarioWithoutScript: ErrorCode(409, "scenario_has_no_script"),
    errors.TooManyScenarios: ErrorCode(409, "too_many_scenarios"),
    errors.TooManyFaults: ErrorCode(409, "too_many_faults"),
    errors.TooMuchToRecord: ErrorCode(409, "too_much_to_record"),
    errors.TooManySnapshots: ErrorCode(409, "too_many_snapshots"),
    errors.ForbiddenOrigin: ErrorCode(403, "forbidden_origin"),
    errors.NotReady: ErrorCode(503, "not_ready"),
}

# The contract's status 500; only the log has the details.
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


def code_in(body: bytes) -> str:
    """The code of an error object; empty where a body is none, as a page is."""
    try:
        return str(msgspec.json.decode(body)["error"]["code"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return ""


def error_headers(refusal: Refusal) -> list[tuple[bytes, bytes]]:
    """`Retry-After` where a retry can succeed, and the challenge of a 401."""
    if isinstance(refusal, errors.RateLimitExceeded | errors.IdempotencyKeyInUse):
        return [(b"retry-after", str(refusal.retry_after_s).encode())]
    if isinstance(refusal, errors.Unauthenticated):
        return [(b"www-authenticate", b"Bearer")]
    return []
