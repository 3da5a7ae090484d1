"""The clauses of the general rules and of section 4.1: what a create call takes."""

from emulator.domain.clauses.clause import Basis, Clause

_BODY = "tests/api/test_create_body.py::"
_CREATE = "tests/api/test_create_parameters.py::"
_URLS = "tests/api/test_create_urls.py::TestUrls::"
_RETRY = "tests/api/test_idempotency.py::"
_ROUTES = "tests/api/test_routes.py::"

CLAUSES = (
    Clause(
        number="4.0.1",
        says="POST and PATCH requests must carry `Content-Type: application/json`",
        here="Of a POST another type, none, or a charset other than UTF-8 is 400"
        " `unsupported_content_type`; there is no PATCH",
        assumed="400 and the code",
        tests=(
            f"{_BODY}TestMediaType::test_json_in_utf_8_is_taken",
            f"{_BODY}TestMediaType::test_all_else_is_not",
            f"{_BODY}TestMediaType::test_a_body_without_a_media_type_is_not_taken",
        ),
    ),
    Clause(
        number="4.0.2",
        says="POST and PATCH requests must carry a JSON body",
        here="Of a POST 400 `invalid_json`; what is no object `invalid_request_body`; over 256 KiB"
        " `request_too_large`",
        assumed="the codes and the size",
        tests=(
            f"{_BODY}TestJson::test_what_is_not_json_is_refused",
            f"{_BODY}TestJson::test_what_is_no_object_is_refused",
            f"{_BODY}TestSize::test_one_byte_more_is_too_large",
        ),
    ),
    Clause(
        number="4.0.3",
        says="Calls that take PATCH: not shown",
        here="None: 404 `route_not_found`, as for every unknown path and verb",
        basis=Basis.ASSUMED,
        tests=(
            f"{_ROUTES}test_a_verb_that_the_contract_does_not_have_is_no_route",
            f"{_ROUTES}test_a_payment_cannot_be_posted_to",
        ),
    ),
    Clause(
        number="4.0.4",
        says="GET requests use query parameters",
        here="A body and its media type do not matter to a GET",
        assumed="that a body is ignored",
        tests=(f"{_ROUTES}test_a_body_and_a_media_type_do_not_matter_to_a_read",),
    ),
    Clause(
        number="4.0.5",
        says="Every request carries the `Authorization` header",
        here="It is looked at first, before the route",
        assumed="that it comes first",
        tests=("tests/api/test_authentication.py::test_authentication_comes_before_everything",),
    ),
    Clause(
        number="4.1.1",
        says="`POST /v1/payments` creates a payment",
        here="It does, and an event tells of it",
        tests=(
            "tests/api/test_payment_object.py::test_a_new_payment_is_as_the_table_says",
            f"{_RETRY}TestSameParameters::test_without_a_key_every_request_is_a_payment",
        ),
    ),
    Clause(
        number="4.1.2",
        says="`amount`: integer, in ETB cents",
        here='A JSON integer of at most 2^53-1: `100.0`, `1e3` and `"100"` are refused',
        assumed="that a whole number with a point or an exponent is no integer; the maximum",
        tests=(
            f"{_CREATE}TestAmount::test_a_good_one_is_taken",
            f"{_CREATE}TestAmount::test_a_bad_one_is_refused",
        ),
    ),
    Clause(
        number="4.1.3",
        says="`amount`: minimum 100 (1 ETB), a positive integer",
        here="100 is taken; 99, 0 and less are refused",
        tests=(
            f"{_CREATE}TestAmount::test_a_good_one_is_taken",
            f"{_CREATE}TestAmount::test_a_bad_one_is_refused",
        ),
    ),
    Clause(
        number="4.1.4",
        says="`currency`: must be `ETB`",
        here="Exactly so written, else 400 `invalid_currency`",
        assumed="that small letters are refused; the code",
        tests=(
            f"{_CREATE}TestCurrency::test_a_bad_one_is_refused",
            f"{_CREATE}TestCurrency::test_an_escaped_letter_is_a_letter",
        ),
    ),
    Clause(
        number="4.1.5",
        says="`methods`: array, the payment methods to offer; at least one is required",
        here="Offered in their order; an entry given twice is listed once, with a warning",
        assumed="the order, and that duplicates are served",
        knobs=("--methods", "--strict"),
        tests=(
            f"{_CREATE}TestMethods::test_a_good_one_is_taken",
            f"{_CREATE}TestMethods::test_a_bad_one_is_refused",
            "tests/checkout/test_states.py::test_methods_are_offered_in_the_order_of_the_payment",
            "tests/api/test_oddities.py::test_what_is_odd_is_served_with_its_slug",
        ),
    ),
    Clause(
        number="4.1.6",
        says="`success_url`: string, an HTTPS URL",
        here="Absolute, with a host and without white space, else 400 `invalid_success_url`; with"
        " user information, a backslash, more than 2048 characters, or a host or port that no"
        " browser opens, it is served with a warning",
        assumed="the code; which URLs get a warning",
        knobs=("--allow-http-localhost", "--strict"),
        tests=(
            f"{_URLS}test_bad_ones_are_refused",
            f"{_URLS}test_http_elsewhere_is_not",
            f"{_URLS}test_http_that_only_looks_local_is_not",
            f"{_URLS}test_what_no_browser_opens_is_served_with_a_warning",
        ),
    ),
    Clause(
        number="4.1.7",
        says="`cancel_url`: string, an HTTPS URL",
        here="Absolute, with a host and without white space, else 400 `invalid_cancel_url`; with"
        " user information, a backslash, more than 2048 characters, or a host or port that no"
        " browser opens, it is served with a warning",
        assumed="the code; which URLs get a warning",
        knobs=("--allow-http-localhost", "--strict"),
        tests=(
            f"{_URLS}test_bad_ones_are_refused",
            f"{_URLS}test_http_elsewhere_is_not",
            f"{_URLS}test_http_that_only_looks_local_is_not",
            f"{_URLS}test_what_no_browser_opens_is_served_with_a_warning",
        ),
    ),
    Clause(
        number="4.1.8",
        says="`metadata`: object of up to 20 key/value pairs",
        here="20 are taken, 21 are 400 `invalid_metadata`; long keys and values get a warning",
        assumed="the code",
        knobs=("--strict",),
        tests=(
            f"{_CREATE}TestMetadata::test_good_ones_come_back_as_they_are_in_their_order",
            f"{_CREATE}TestMetadata::test_a_bad_one_is_refused",
        ),
    ),
    Clause(
        number="4.1.9",
        says="`metadata`: values must be strings",
        here="Anything else is 400 `invalid_metadata`",
        assumed="the code",
        tests=(f"{_CREATE}TestMetadata::test_a_bad_one_is_refused",),
    ),
    Clause(
        number="4.1.10",
        says="`idempotency_key`: a unique string that lets a failed request be retried safely",
        here="A retry makes no second payment and no second event",
        tests=(
            f"{_RETRY}test_a_retry_is_answered_byte_for_byte_as_the_first_request",
            f"{_RETRY}test_a_retry_after_a_restart_is_still_a_retry",
            f"{_CREATE}TestIdempotencyKey::test_a_bad_one_is_refused",
        ),
    ),
    Clause(
        number="4.1.11",
        says="`expires_in`: integer, seconds until the checkout expires",
        here="`expires_at` is that much later than `created_at`",
        tests=(
            f"{_CREATE}TestExpiresIn::test_a_good_one_is_taken",
            f"{_CREATE}TestExpiresIn::test_a_bad_one_is_refused",
        ),
    ),
    Clause(
        number="4.1.12",
        says="`expires_in`: default 1800",
        here="1800",
        tests=(f"{_CREATE}TestExpiresIn::test_a_good_one_is_taken",),
    ),
    Clause(
        number="4.1.13",
        says="Required or optional marking of each parameter other than `methods`: not shown",
        here="`amount`, `currency`, `success_url` and `cancel_url` are required as well, else 400"
        " `missing_parameter`; null counts as absent",
        basis=Basis.ASSUMED,
        tests=(
            f"{_CREATE}test_what_is_required_may_not_be_missing",
            f"{_CREATE}test_what_is_optional_may_be_null",
        ),
    ),
    Clause(
        number="4.1.14",
        says="Parameters that are not in the table: not shown",
        here="Served with a warning",
        basis=Basis.ASSUMED,
        knobs=("--strict",),
        tests=(
            "tests/api/test_oddities.py::test_what_is_odd_is_served_with_its_slug",
            "tests/api/test_oddities.py::test_under_strict_it_is_refused",
        ),
    ),
    Clause(
        number="4.1.15",
        says="Response: the payment object",
        here="The same that is retrieved",
        tests=(
            "tests/api/test_payment_object.py::"
            "test_a_payment_has_exactly_the_thirteen_fields_in_their_order",
        ),
    ),
    Clause(
        number="4.1.16",
        says="201 is the status listed for creation",
        here="201, with the path of the payment in `Location`",
        assumed="the header",
        tests=("tests/api/test_payment_object.py::test_the_location_leads_to_the_payment",),
    ),
    Clause(
        number="4.1.17",
        says="An invalid amount is a 400 whose `error.param` names the field",
        here="So is every invalid field; the first in the order of the table is named",
        assumed="which is named first",
        tests=(
            f"{_CREATE}TestAmount::test_a_bad_one_is_refused",
            f"{_CREATE}test_only_the_first_problem_is_told_in_the_order_of_the_table",
            f"{_CREATE}test_a_refusal_names_the_top_level_field",
        ),
    ),
    Clause(
        number="4.1.18",
        says="An invalid amount has, for example, the code `invalid_amount`",
        here="`invalid_amount` for whatever is wrong with it",
        tests=(f"{_CREATE}TestAmount::test_a_bad_one_is_refused",),
    ),
    Clause(
        number="4.1.19",
        says="An idempotency key reused with different parameters is a 409",
        here="Compared after defaults; the order of `methods` counts, that of members and of"
        " metadata does not",
        assumed="what counts as different",
        tests=(
            f"{_RETRY}TestSameParameters::test_different_parameters_are_a_conflict",
            f"{_RETRY}TestSameParameters::test_the_same_parameters_are_a_retry",
        ),
    ),
    Clause(
        number="4.1.20",
        says="How a retry is answered: not shown",
        here="201 with the bytes of the first answer, and `Idempotent-Replayed: true`",
        basis=Basis.ASSUMED,
        tests=(
            f"{_RETRY}test_a_retry_is_answered_byte_for_byte_as_the_first_request",
            f"{_RETRY}test_the_first_answer_is_replayed_whatever_became_of_the_payment",
        ),
    ),
    Clause(
        number="4.1.21",
        says="What uses an idempotency key up, and for whom: not shown",
        here="A payment that is created, for its account and mode; a refusal leaves the key free",
        basis=Basis.ASSUMED,
        tests=(
            f"{_RETRY}test_a_key_belongs_to_one_account_and_mode",
            f"{_RETRY}TestWhatUsesNoKey::test_an_invalid_body_uses_no_key",
        ),
    ),
    Clause(
        number="4.1.22",
        says="How long an idempotency key is remembered: not shown",
        here="24 hours of the account's clock",
        basis=Basis.ASSUMED,
        tests=(
            f"{_RETRY}TestRetention::test_to_the_last_millisecond_it_is_the_same_payment",
            f"{_RETRY}TestRetention::test_then_the_key_is_free",
        ),
    ),
    Clause(
        number="4.1.23",
        says="Concurrent use of one idempotency key: not shown",
        here="One creates; the others wait for its answer, after 5 s 409 `idempotency_key_in_use`",
        basis=Basis.ASSUMED,
        tests=(
            f"{_RETRY}TestTogether::test_64_duplicates_create_one_payment",
            "tests/engine/test_key_in_use.py::"
            "test_a_retry_waits_five_seconds_of_real_time_and_is_then_told_to_come_again",
        ),
    ),
)
