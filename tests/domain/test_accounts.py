"""API keys: their format and their masking (contract, section 5)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.accounts import AccountProfile, Mode, is_well_formed_key, mask_key, mask_keys
from tests.tables import rows, values

VISIBLE = st.characters(min_codepoint=ord("!"), max_codepoint=ord("~"))
KEYS = st.builds(
    str.__add__, st.sampled_from(["test_", "live_"]), st.text(VISIBLE, min_size=4, max_size=128)
)


@pytest.mark.clause("5.6")
@given(KEYS)
def test_a_prefix_and_visible_characters_are_a_key(key: str) -> None:
    assert is_well_formed_key(key)
    assert is_well_formed_key(key, Mode(key[:4]))
    other = Mode.LIVE if key.startswith("test") else Mode.TEST
    assert not is_well_formed_key(key, other)


@pytest.mark.clause("5.6")
@pytest.mark.parametrize("key", values(__file__, "no keys"))
def test_any_other_text_is_not_a_key(key: str) -> None:
    assert not is_well_formed_key(key)


@pytest.mark.parametrize(("key", "shown"), rows(__file__, "shown keys"))
def test_a_key_is_shown_by_its_ends(key: str, shown: str) -> None:
    assert mask_key(key) == shown


@given(KEYS)
def test_at_least_three_characters_of_its_word_stay_secret(key: str) -> None:
    shown = mask_key(key)
    assert "…" in shown
    assert key not in shown
    assert len(key) - len(shown.replace("…", "")) >= 3


def test_an_account_has_a_key_for_each_mode() -> None:
    profile = AccountProfile(id="acct_x", name="X", test_key="test_abcd", live_key="live_abcd")
    assert profile.key(Mode.TEST) == "test_abcd"
    assert profile.key(Mode.LIVE) == "live_abcd"


@pytest.mark.parametrize(("path", "shown"), rows(__file__, "keys in paths"))
def test_a_key_in_a_path_is_masked(path: str, shown: str) -> None:
    assert mask_keys(path) == shown


def escapes(character: str) -> tuple[str, ...]:
    """A character as it is, percent-encoded once or twice, and escaped in JSON once or twice."""
    code = ord(character)
    # A quote or a backslash as it is would end the text; a `%` would begin another character.
    plain = () if character in '"\\%' else (character,)
    return (*plain, *(f"%{code:02X}", f"%25{code:02X}"), *(f"\\u{code:04x}", f"\\\\u{code:04x}"))


@given(KEYS.filter(lambda key: key.startswith("live_")), st.data())
def test_a_live_key_is_masked_however_its_characters_are_encoded(
    key: str, data: st.DataObject
) -> None:
    written = "".join(data.draw(st.sampled_from(escapes(character))) for character in key)
    text = f'{{"note": "see {written} here"}}'
    masked = mask_keys(text)
    assert json.loads(masked)["note"].startswith("see live_")
    assert "…" in masked
    assert masked.endswith(' here"}')
    assert key[:9] not in masked
    assert mask_keys(text, lambda _: False) == masked


def test_a_test_key_is_masked_where_it_is_known() -> None:
    text = "test_demo_key, test_case_1 and live_demo_key"
    assert mask_keys(text, {"test_demo_key"}.__contains__) == (
        "test_de…key, test_case_1 and live_de…key"
    )


def test_a_known_key_of_any_shape_is_masked_alone() -> None:
    known = {"test_a+b/c==", "live_x.y'z;w"}.__contains__
    text = '{"keys": "test_a+b/c==, live_x.y\'z;w. test_a+b/c"}'
    assert mask_keys(text, known) == '{"keys": "test_…, live_…. test_a+b/c"}'
