"""The clauses of sections 2 and 3: the payment object, the list envelope, the states."""

from emulator.domain.clauses.clause import Basis, Clause

_OBJECT = "tests/api/test_payment_object.py::"
_CREATE = "tests/api/test_create_parameters.py::"
_LIST = "tests/api/test_list.py::"
_MOVES = "tests/domain/test_transitions.py::"
_TABLE = f"{_OBJECT}test_a_new_payment_is_as_the_table_says"

CLAUSES = (
    Clause(
        number="2.1.1",
        says="`id`: string, a unique payment identifier with the prefix `pay_`",
        here="`pay_` and 24 letters and digits",
        assumed="the length",
        knobs=("--seed",),
        tests=(
            _TABLE,
            f"{_OBJECT}"
            "test_ids_and_checkout_tokens_are_all_different_and_tell_nothing_of_each_other",
        ),
    ),
    Clause(
        number="2.1.2",
        says="`object`: string, always `payment`",
        here="Always `payment`",
        tests=(_TABLE,),
    ),
    Clause(
        number="2.1.3",
        says="`amount`: integer, in ETB cents; 100 units are 1 ETB",
        here="As it was given",
        tests=(
            _TABLE,
            "tests/checkout/test_texts.py::"
            "test_money_is_written_with_two_decimals_and_a_no_break_space",
        ),
    ),
    Clause(
        number="2.1.4",
        says="`currency`: string, always `ETB` in the current API version",
        here="Always `ETB`",
        tests=(_TABLE,),
    ),
    Clause(
        number="2.1.5",
        says="`status`: string, one of `pending`, `processing`, `completed`, `failed`,"
        " `expired`, `refunded`",
        here="One of these; a new payment is `pending`",
        assumed="that a new payment is `pending`",
        tests=(_TABLE, f"{_LIST}TestFilters::test_each_status_finds_its_own"),
    ),
    Clause(
        number="2.1.6",
        says="`method`: string or null, the payment method used; null until the customer"
        " selects one",
        here="Set when the customer submits a method, and never changed",
        assumed="the instant",
        tests=(
            _TABLE,
            f"{_OBJECT}test_it_keeps_its_fields_through_its_life",
            f"{_MOVES}TestMethod::test_it_stays",
        ),
    ),
    Clause(
        number="2.1.7",
        says="`checkout_url`: string, the URL to which the customer is redirected",
        here="An absolute URL with an unguessable token",
        knobs=("--checkout-url",),
        tests=(
            _TABLE,
            "tests/checkout/test_states.py::test_the_payment_id_is_no_way_to_its_checkout",
        ),
    ),
    Clause(
        number="2.1.8",
        says="`checkout_url` expires after 30 minutes by default",
        here="At `expires_at` an unpaid payment becomes `expired`, and its page answers 410",
        assumed="410, and that the payment expires with its URL",
        knobs=("expires_in", "expiry"),
        tests=(
            f"{_OBJECT}TestRetrieve::test_it_shows_the_payment_at_the_very_instant_that_it_expires",
            "tests/checkout/test_states.py::"
            "test_the_payment_expires_for_the_page_at_its_own_instant",
        ),
    ),
    Clause(
        number="2.1.9",
        says="`success_url`: string, where the customer is redirected after success",
        here="As it was given, to the letter",
        tests=(
            _TABLE,
            "tests/api/test_create_urls.py::TestUrls::"
            "test_good_ones_are_stored_and_returned_verbatim",
        ),
    ),
    Clause(
        number="2.1.10",
        says="`cancel_url`: string, where the customer is redirected on cancellation",
        here="As it was given, to the letter",
        tests=(
            _TABLE,
            "tests/api/test_create_urls.py::TestUrls::"
            "test_good_ones_are_stored_and_returned_verbatim",
        ),
    ),
    Clause(
        number="2.1.11",
        says="`metadata`: object of up to 20 key/value pairs; values are strings",
        here="As it was given, its order kept; without any an empty object",
        assumed="the order, and the empty object",
        tests=(
            f"{_CREATE}TestMetadata::test_good_ones_come_back_as_they_are_in_their_order",
            f"{_CREATE}TestMetadata::test_without_any_it_is_an_empty_object",
        ),
    ),
    Clause(
        number="2.1.12",
        says="`created_at`: string, an ISO 8601 timestamp, when the payment was created",
        here="UTC with milliseconds, such as `2026-01-01T00:00:00.000Z`",
        assumed="UTC and milliseconds",
        knobs=("--clock",),
        tests=(
            f"{_OBJECT}test_timestamps_are_utc_with_milliseconds",
            f"{_OBJECT}test_a_clock_that_flows_stamps_with_its_own_milliseconds",
        ),
    ),
    Clause(
        number="2.1.13",
        says="`expires_at`: string, an ISO 8601 timestamp, when the checkout URL expires",
        here="`created_at` and `expires_in`, written in the same way",
        assumed="UTC and milliseconds",
        knobs=("expires_in", "expiry"),
        tests=(
            f"{_OBJECT}test_timestamps_are_utc_with_milliseconds",
            "tests/engine/test_rules.py::"
            "test_an_expiry_rule_beats_expires_in_and_is_seen_in_expires_at",
        ),
    ),
    Clause(
        number="2.1.14",
        says="`completed_at`: string (ISO 8601 timestamp) or null, when the payment was"
        " confirmed; null until then",
        here="Set by `completed`, and kept by a refund",
        assumed="that a refund keeps it",
        tests=(
            _TABLE,
            f"{_OBJECT}test_it_keeps_its_fields_through_its_life",
            f"{_MOVES}TestCompletedAt::test_only_success_sets_it",
            f"{_MOVES}TestCompletedAt::test_a_refund_keeps_it",
        ),
    ),
    Clause(
        number="2.1.15",
        says="The payment object has these thirteen fields",
        here="Exactly these, in the order of the table; why a payment failed is none of them",
        assumed="that there is no fourteenth; the order",
        tests=(f"{_OBJECT}test_a_payment_has_exactly_the_thirteen_fields_in_their_order",),
    ),
    Clause(
        number="2.1.16",
        says="Method values named: `telebirr`, `mpesa`, `bank_transfer`",
        here="These three can be offered and paid with",
        assumed="that every account may offer them",
        knobs=("--methods",),
        tests=(
            f"{_CREATE}TestMethods::test_a_good_one_is_taken",
            f"{_LIST}TestFilters::test_each_method_finds_its_own_and_none_what_has_none",
        ),
    ),
    Clause(
        number="2.1.17",
        says="Complete list of method values: not shown",
        here="These three are all; another value is 400 `invalid_methods`",
        basis=Basis.ASSUMED,
        knobs=("--methods",),
        tests=(
            f"{_CREATE}TestMethods::test_a_bad_one_is_refused",
            f"{_CREATE}TestMethods::test_the_list_of_methods_is_configuration",
        ),
    ),
    Clause(
        number="2.2.1",
        says="`data`: array, the payment objects of the current page",
        here="Whole payment objects, as they are retrieved",
        tests=(f"{_OBJECT}test_a_payment_has_exactly_the_thirteen_fields_in_their_order",),
    ),
    Clause(
        number="2.2.2",
        says="`has_more`: boolean, true when a further page exists",
        here="True or false, never absent",
        tests=(f"{_LIST}TestPages::test_pages_together_are_the_whole_list",),
    ),
    Clause(
        number="2.2.3",
        says="`next_cursor`: string, a payment identifier to pass as `after` to obtain the next"
        " page",
        here="The id of the page's last payment",
        assumed="that it is the last payment's",
        tests=(f"{_LIST}TestPages::test_pages_together_are_the_whole_list",),
    ),
    Clause(
        number="2.2.4",
        says="`next_cursor` where there is no further page: not shown",
        here="Null",
        basis=Basis.ASSUMED,
        tests=(
            f"{_LIST}test_without_payments_there_is_an_empty_page",
            f"{_LIST}TestPages::test_after_the_last_there_is_an_empty_page",
        ),
    ),
    Clause(
        number="2.3.1",
        says="Error object: see section 7",
        here="One form for every error, those of the control API included",
        assumed="that there is no second form",
        tests=("tests/api/test_codes.py::test_each_code_is_answered_with_its_status_and_param",),
    ),
    Clause(
        number="3.1",
        says="States of `status`: `pending`, `processing`, `completed`, `failed`, `expired`,"
        " `refunded`",
        here="These six",
        tests=(
            f"{_MOVES}test_there_are_36_pairs",
            f"{_LIST}TestFilters::test_each_status_finds_its_own",
        ),
    ),
    Clause(
        number="3.2",
        says="Transitions: not shown",
        here="`pending` becomes `processing` or `expired`, `processing` becomes `completed` or"
        " `failed`, `completed` becomes `refunded`; a late success only where it is asked for",
        basis=Basis.ASSUMED,
        knobs=("outcomes", "POST /_emulator/payments/{payment_id}/transition"),
        tests=(
            f"{_MOVES}test_a_status_changes_only_along_its_edges",
            "tests/control/test_payments.py::test_no_other_edge_can_be_taken",
        ),
    ),
)
