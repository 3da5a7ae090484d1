"""The clauses of sections 4.2 and 4.3: retrieving a payment, listing payments."""

from emulator.domain.clauses.clause import Basis, Clause

_LIST = "tests/api/test_list.py::"
_RETRIEVE = "tests/api/test_payment_object.py::TestRetrieve::"
_POLLING = "tests/api/test_payment_object.py::TestPolling::"

CLAUSES = (
    Clause(
        number="4.2.1",
        says="`GET /v1/payments/:id`, where `id` is a payment identifier (`pay_` prefix)",
        here="An id has to be right to the letter",
        tests=(f"{_RETRIEVE}test_an_id_has_to_be_right_to_the_letter",),
    ),
    Clause(
        number="4.2.2",
        says="No body",
        here="None is needed, and one that is sent does not matter",
        assumed="that a body is ignored",
        tests=("tests/api/test_routes.py::test_a_body_and_a_media_type_do_not_matter_to_a_read",),
    ),
    Clause(
        number="4.2.3",
        says="Response: the full payment object",
        here="As it is now: what is due has happened",
        assumed="that nothing due is outstanding",
        tests=(
            f"{_RETRIEVE}test_it_shows_the_payment_at_the_very_instant_that_it_expires",
            f"{_RETRIEVE}test_reading_changes_nothing",
        ),
    ),
    Clause(
        number="4.2.4",
        says="Polling for status is meant for use before going live",
        here="More than 30 reads of one live payment get a warning, under `--strict` too",
        assumed="the number",
        tests=(
            f"{_POLLING}test_a_live_payment_that_is_read_more_than_thirty_times_is_warned_of",
            f"{_POLLING}test_in_the_sandbox_anybody_may_poll",
        ),
    ),
    Clause(
        number="4.2.5",
        says="In production, webhooks are the intended way to learn of status changes",
        here="Every change of status is told by a webhook, in both modes",
        knobs=("--webhook-url", "POST /_emulator/webhook_endpoints"),
        tests=(
            "tests/engine/test_delivering.py::"
            "test_every_change_of_a_payment_is_told_with_the_payment_as_it_was_then",
        ),
    ),
    Clause(
        number="4.2.6",
        says="A payment that does not exist is a 404",
        here="404 `payment_not_found`",
        assumed="the code",
        tests=(f"{_RETRIEVE}test_what_does_not_exist_is_not_found",),
    ),
    Clause(
        number="4.2.7",
        says="A payment that belongs to another account is a 404",
        here="The very answer of one that does not exist; so is a payment of the other mode",
        assumed="that the answers cannot be told apart; the other mode",
        tests=(f"{_RETRIEVE}test_anothers_payment_is_answered_like_one_that_does_not_exist",),
    ),
    Clause(
        number="4.3.1",
        says="`GET /v1/payments` lists payments",
        here="Those of the key's account and mode",
        assumed="that the modes have lists of their own",
        tests=(f"{_LIST}test_every_account_and_mode_has_a_list_of_its_own",),
    ),
    Clause(
        number="4.3.2",
        says="`limit`: number of results, 1 to 100",
        here="In plain digits; anything else is 400 `invalid_limit`",
        assumed="that what is out of bounds is refused; the code",
        tests=(
            f"{_LIST}TestLimit::test_plain_digits_are_a_number",
            f"{_LIST}TestLimit::test_all_else_is_refused",
        ),
    ),
    Clause(
        number="4.3.3",
        says="`limit`: default 10",
        here="10",
        tests=(f"{_LIST}TestLimit::test_the_default_is_ten",),
    ),
    Clause(
        number="4.3.4",
        says="`after`: the previous page's `next_cursor`; returns the page after that payment"
        " identifier",
        here="Any payment of the account and mode is a cursor, one that the filters leave out too",
        assumed="that any payment is a cursor",
        tests=(
            f"{_LIST}TestPages::test_pages_together_are_the_whole_list",
            f"{_LIST}TestPages::test_a_payment_that_never_matched_is_a_cursor_too",
        ),
    ),
    Clause(
        number="4.3.5",
        says="`status`: filter by a status value",
        here="What is due has happened before the filter looks",
        assumed="that nothing due is outstanding",
        tests=(
            f"{_LIST}TestFilters::test_each_status_finds_its_own",
            f"{_LIST}TestFilters::test_a_filter_sees_what_is_due_at_this_very_millisecond",
        ),
    ),
    Clause(
        number="4.3.6",
        says="`method`: filter by method",
        here="By the method that the customer chose; a payment without one is not found",
        assumed="that the methods offered do not count",
        knobs=("--methods",),
        tests=(f"{_LIST}TestFilters::test_each_method_finds_its_own_and_none_what_has_none",),
    ),
    Clause(
        number="4.3.7",
        says="`created_gte`: ISO 8601 timestamp; only payments created after it",
        here="To the millisecond; one without offset is read as UTC, with a warning; see 4.3.14",
        assumed="how a timestamp without offset is read",
        knobs=("--strict",),
        tests=(
            f"{_LIST}TestBounds::test_bounds_are_inclusive_to_the_millisecond",
            "tests/api/test_oddities.py::test_what_is_tolerated_is_read_as_meant",
        ),
    ),
    Clause(
        number="4.3.8",
        says="`created_lte`: ISO 8601 timestamp; only payments created before it",
        here="To the millisecond; one without offset is read as UTC, with a warning; see 4.3.14",
        assumed="how a timestamp without offset is read",
        knobs=("--strict",),
        tests=(
            f"{_LIST}TestBounds::test_bounds_are_inclusive_to_the_millisecond",
            "tests/api/test_oddities.py::test_what_is_tolerated_is_read_as_meant",
        ),
    ),
    Clause(
        number="4.3.9",
        says="Response: the list envelope with `data`, `has_more` and `next_cursor`",
        here="Exactly these three, in this order",
        assumed="that there is no fourth; the order",
        tests=(f"{_LIST}test_without_payments_there_is_an_empty_page",),
    ),
    Clause(
        number="4.3.10",
        says="Pagination is cursor-based",
        here="The pages together are the whole list; none shifts when payments arrive",
        tests=(
            f"{_LIST}TestPages::test_pages_together_are_the_whole_list",
            f"{_LIST}TestPages::test_a_page_never_shifts_because_new_payments_arrive",
        ),
    ),
    Clause(
        number="4.3.11",
        says="Ordering of results: not shown",
        here="Newest first; of equal times the later created first",
        basis=Basis.ASSUMED,
        tests=(f"{_LIST}test_the_newest_payment_comes_first",),
    ),
    Clause(
        number="4.3.12",
        says="Whether the timestamp bounds are inclusive: not shown",
        here="Both are",
        basis=Basis.ASSUMED,
        tests=(f"{_LIST}TestBounds::test_bounds_are_inclusive_to_the_millisecond",),
    ),
    Clause(
        number="4.3.13",
        says="A cursor, a filter or a timestamp that is none: not shown",
        here="400 `invalid_cursor`, `invalid_status`, `invalid_method`, `invalid_created_gte` or"
        " `invalid_created_lte`; an empty value is a value",
        basis=Basis.ASSUMED,
        knobs=("--methods",),
        tests=(
            f"{_LIST}TestPages::"
            "test_every_cursor_that_is_no_payment_of_ours_gets_one_identical_answer",
            f"{_LIST}TestFilters::test_an_unknown_value_is_refused",
            f"{_LIST}TestBounds::test_what_is_no_timestamp_is_refused",
        ),
    ),
    Clause(
        number="4.3.14",
        says="Which forms of ISO 8601 a timestamp may have: not shown",
        here="A date, a time and an offset, extended or basic. With a warning: an ordinal or a week"
        " date, a basic form beside an extended one, `T24:00:00`, a leap second (`23:59:60` UTC)"
        " and an offset with seconds. 400: a part of an hour or a minute, `:60` elsewhere, a year"
        " or a month alone",
        basis=Basis.ASSUMED,
        knobs=("--strict",),
        tests=(
            f"{_LIST}TestBounds::test_a_rare_form_is_read_as_it_is_meant",
            f"{_LIST}TestBounds::test_what_is_no_timestamp_is_refused",
            "tests/api/test_oddities.py::test_what_is_odd_is_served_with_its_slug",
            "tests/api/test_oddities.py::test_under_strict_it_is_refused",
        ),
    ),
)
