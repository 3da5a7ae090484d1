"""Ethiopian mobile numbers, as customers write them (contract, section 4.4), and submissions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.payment_methods import (
    METHODS,
    PaymentMethod,
    customer_submission,
    mask_phone,
    method_of_phone,
    normalise_phone,
)
from tests.tables import rows, values

DIGITS = st.from_regex(r"[79][0-9]{8}", fullmatch=True)
PREFIXES = ["+251", "00251", "251", "0", ""]


@pytest.mark.parametrize("written", values(__file__, "numbers with blanks"))
def test_blanks_dashes_dots_brackets_and_direction_marks_are_removed(written: str) -> None:
    assert normalise_phone(written) == "+251900000001"


@pytest.mark.parametrize("written", values(__file__, "no phone numbers"))
def test_any_other_text_is_not_a_number(written: str) -> None:
    with pytest.raises(ValueError, match="not an Ethiopian mobile number"):
        normalise_phone(written)


@pytest.mark.clause("4.4.8")
@given(
    prefix=st.sampled_from(PREFIXES),
    digits=DIGITS,
    at=st.integers(0, 12),
    put=st.text(" -.()\u00a0\u202d"),
)
def test_a_normal_number_is_its_own_normal_form(
    prefix: str, digits: str, at: int, put: str
) -> None:
    written = f"{prefix}{digits}"
    normal = normalise_phone(written[:at] + put + written[at:])
    assert normal == f"+251{digits}"
    assert normalise_phone(normal) == normal


@given(st.text())
def test_any_text_is_a_number_or_a_refusal(written: str) -> None:
    try:
        normal = normalise_phone(written)
    except ValueError:
        return
    assert method_of_phone(normal) in ("telebirr", "mpesa")


@pytest.mark.clause("4.4.8")
@given(DIGITS)
def test_the_first_digit_determines_the_operator(digits: str) -> None:
    expected = {"9": "telebirr", "7": "mpesa"}[digits[0]]
    assert method_of_phone(f"+251{digits}") == expected


SHARED = {
    **METHODS,
    "cbe_birr": PaymentMethod("cbe_birr", "CBE Birr", phone_digits="9"),
    "both": PaymentMethod("both", "Both", phone_digits="79"),
}


@pytest.mark.parametrize(("digit", "offered", "method"), rows(__file__, "shared digits"))
def test_of_methods_with_a_shared_digit_the_first_offered_one_is_meant(
    digit: str, offered: list[str], method: str
) -> None:
    assert method_of_phone(f"+251{digit}00000001", offered, SHARED) == method


def test_a_submission_has_the_phone_or_the_bank_that_its_method_needs() -> None:
    by_phone = {"method": "mpesa", "phone": "0711223344"}
    for submission in (by_phone, {"method": "bank_transfer", "bank": "walia_test"}):
        assert customer_submission(submission["method"]) == submission
    assert customer_submission("wallet") == {"method": "wallet"}


@given(DIGITS)
def test_a_masked_number_shows_three_digits(digits: str) -> None:
    assert mask_phone(f"+251{digits}") == f"+251 {digits[0]}•• ••• •{digits[-2:]}"
