"""The clauses of sections 7, 8 and 9: errors, limits, versions."""

from emulator.domain.clauses.clause import Basis, Clause

_CODES = "tests/api/test_codes.py::"
_EACH_CODE = f"{_CODES}test_each_code_is_answered_with_its_status_and_param"
_CREATE = "tests/api/test_create_parameters.py::"
_LIMIT = "tests/api/test_rate_limit.py::"
_LIST = "tests/api/test_list.py::"
_OBJECT = "tests/api/test_payment_object.py::"

CLAUSES = (
    Clause(
        number="7.1",
        says="Every error response body contains an `error` object",
        here="Also for unknown paths, and for what is not even HTTP",
        tests=(
            _EACH_CODE,
            "tests/api/test_robustness.py::test_any_request_is_answered_in_the_contracts_words",
            "tests/app/test_connections.py::"
            "test_what_is_no_http_is_answered_400_in_the_contract_s_form",
        ),
    ),
    Clause(
        number="7.2",
        says="`error.code`: string, machine-readable",
        here="Small letters and `_`",
        assumed="how it is written",
        tests=(_EACH_CODE,),
    ),
    Clause(
        number="7.3",
        says="`error.message`: string, human-readable",
        here="Names the received value, with keys masked and at most 64 characters long, and the"
        " accepted ones; one fixed message for every cursor that is refused",
        assumed="the words",
        tests=(
            _EACH_CODE,
            "tests/api/test_messages.py::test_a_parameter_of_a_create_call",
            "tests/api/test_messages.py::test_a_parameter_of_a_list_call",
            "tests/api/test_messages.py::test_a_cursor_gets_one_message_whatever_it_is",
        ),
    ),
    Clause(
        number="7.4",
        says="`error.param`: string, the field at fault, where one applies",
        here="Left out where no field is at fault, and on 401, 404, 429 and 500",
        assumed="that it is left out, and not null",
        tests=(_EACH_CODE,),
    ),
    Clause(
        number="7.5",
        says="200: success",
        here="Of a retrieve and of a list",
        tests=(
            f"{_OBJECT}TestRetrieve::test_reading_changes_nothing",
            f"{_LIST}test_without_payments_there_is_an_empty_page",
        ),
    ),
    Clause(
        number="7.6",
        says="201: created",
        here="Of a create call",
        tests=(f"{_OBJECT}test_the_location_leads_to_the_payment",),
    ),
    Clause(
        number="7.7",
        says="400: bad request; `error.param` tells which field is invalid",
        here="The top-level name of the field; none where the body as a whole is at fault",
        assumed="the name of a nested field",
        tests=(_EACH_CODE, f"{_CREATE}test_a_refusal_names_the_top_level_field"),
    ),
    Clause(
        number="7.8",
        says="401: unauthorised, missing or invalid API key",
        here="Before anything else is looked at",
        tests=("tests/api/test_authentication.py::test_a_missing_or_invalid_key_yields_401",),
    ),
    Clause(
        number="7.9",
        says="404: not found, the resource does not exist or belongs to another account",
        here="`payment_not_found`, and `route_not_found` for an unknown path or verb",
        assumed="the codes",
        tests=(_EACH_CODE, "tests/api/test_routes.py::test_an_unknown_path_is_no_route"),
    ),
    Clause(
        number="7.10",
        says="409: conflict, for example an idempotency key reused with different parameters",
        here="`idempotency_key_reused` or `idempotency_key_in_use`, with the param"
        " `idempotency_key`",
        assumed="the codes and the param",
        tests=(_EACH_CODE,),
    ),
    Clause(
        number="7.11",
        says="429: rate limit exceeded; the client waits the number of seconds in `Retry-After`",
        here="Whole seconds, at least 1; who waits so long is served",
        assumed="that they are whole, and at least 1",
        knobs=("--rate-limit", "faults"),
        tests=(
            f"{_LIMIT}test_who_waits_as_long_as_told_is_served",
            f"{_LIMIT}test_whole_seconds_are_told_and_what_is_less_is_rounded_up",
        ),
    ),
    Clause(
        number="7.12",
        says="500: server error; retry",
        here="Only where a rule says so, before or after the payment was created",
        knobs=("faults",),
        tests=(
            "tests/api/test_faults.py::"
            "test_after_the_commit_the_payment_exists_and_the_retry_is_the_replay",
            f"{_CODES}test_a_500_says_nothing_of_what_went_wrong",
        ),
    ),
    Clause(
        number="7.13",
        says="The full list of `error.code` values, beyond `invalid_amount`: not shown",
        here="A code for each kind of refusal, such as `missing_parameter`;"
        " docs/reference/error-codes.md lists them",
        basis=Basis.ASSUMED,
        tests=(_EACH_CODE, f"{_CODES}test_no_code_is_left_out"),
    ),
    Clause(
        number="8.1",
        says="Minimum `amount`: 100 (ETB cents)",
        here="100",
        tests=(
            f"{_CREATE}TestAmount::test_a_good_one_is_taken",
            f"{_CREATE}TestAmount::test_a_bad_one_is_refused",
        ),
    ),
    Clause(
        number="8.2",
        says="`metadata` pairs: at most 20, values strings",
        here="20 are taken, 21 are refused",
        tests=(
            f"{_CREATE}TestMetadata::test_good_ones_come_back_as_they_are_in_their_order",
            f"{_CREATE}TestMetadata::test_a_bad_one_is_refused",
        ),
    ),
    Clause(
        number="8.3",
        says="`expires_in` default: 1800 seconds",
        here="1800 seconds",
        tests=(f"{_CREATE}TestExpiresIn::test_a_good_one_is_taken",),
    ),
    Clause(
        number="8.4",
        says="Checkout URL lifetime: 30 minutes by default",
        here="30 minutes to the millisecond",
        knobs=("expires_in", "expiry"),
        tests=(
            f"{_OBJECT}TestRetrieve::test_it_shows_the_payment_at_the_very_instant_that_it_expires",
            "tests/checkout/test_states.py::"
            "test_the_payment_expires_for_the_page_at_its_own_instant",
        ),
    ),
    Clause(
        number="8.5",
        says="List `limit`: 1 to 100, default 10",
        here="1 and 100 are taken, 0 and 101 refused",
        assumed="that what is out of bounds is refused",
        tests=(
            f"{_LIST}TestLimit::test_the_default_is_ten",
            f"{_LIST}TestLimit::test_plain_digits_are_a_number",
            f"{_LIST}TestLimit::test_all_else_is_refused",
        ),
    ),
    Clause(
        number="8.6",
        says="Sandbox timeout scenario: 30 seconds",
        here="30 seconds of the account's clock",
        knobs=("outcomes", "POST /_emulator/clock/advance"),
        tests=(
            "tests/control/test_payments.py::test_paying_has_the_outcome_of_the_number",
            "tests/control/test_payments.py::"
            "test_an_unanswered_handset_times_out_after_thirty_seconds",
        ),
    ),
    Clause(
        number="8.7",
        says="When the rate limit is exceeded, then 429 with a `Retry-After` header is returned",
        here="429 `rate_limit_exceeded`",
        assumed="the code",
        knobs=("--rate-limit", "faults"),
        tests=(f"{_LIMIT}test_on_a_frozen_clock_it_is_exact",),
    ),
    Clause(
        number="8.8",
        says="Rate limit thresholds and windows: not shown",
        here="Off, since an invented threshold would fail tests at random; when on, a bucket for"
        " each account and mode, on the account's clock",
        basis=Basis.ASSUMED,
        knobs=("--rate-limit",),
        tests=(
            f"{_LIMIT}test_by_default_there_is_none",
            f"{_LIMIT}test_each_account_and_mode_has_a_bucket_of_its_own",
        ),
    ),
    Clause(
        number="8.9",
        says="Minimum and maximum of `expires_in`: not shown",
        here="1 second to ten years; under a minute or over a day with a warning",
        basis=Basis.ASSUMED,
        knobs=("--strict",),
        tests=(
            f"{_CREATE}TestExpiresIn::test_unusual_ones_are_served_with_a_warning",
            f"{_CREATE}TestExpiresIn::test_a_bad_one_is_refused",
        ),
    ),
    Clause(
        number="9.1",
        says="The version is carried in the path as `/v1`",
        here="There is nothing without it, and no other version",
        assumed="that there is no other",
        tests=(
            "tests/api/test_routes.py::"
            "test_outside_of_the_contract_and_of_our_own_there_is_nothing",
        ),
    ),
    Clause(
        number="9.2",
        says="In the current API version `currency` is always `ETB`",
        here="Any other is refused, and none is answered",
        tests=(
            f"{_CREATE}TestCurrency::test_a_bad_one_is_refused",
            f"{_OBJECT}test_a_new_payment_is_as_the_table_says",
        ),
    ),
    Clause(
        number="9.3",
        says="Rules for introducing new versions, deprecation and compatibility: not shown",
        here="There is one version, and none is announced",
        basis=Basis.ASSUMED,
        tests=("tests/api/test_routes.py::test_an_unknown_path_is_no_route",),
    ),
)
