"""The texts of the pages: catalogues, the choice of a language, and amounts."""

import ast
import json
import re
from itertools import chain
from pathlib import Path

import pytest

from emulator.domain.payment import MAX_AMOUNT_MINOR
from emulator.domain.payment_methods import METHODS, PHONE_METHODS
from emulator.server.checkout import views
from emulator.server.checkout.rendering import LANGUAGES, load_catalogues, preferred_language
from emulator.settings import data_directory
from tests.server.checkout.visiting import customer
from tests.world import World

TEMPLATES = data_directory("templates") / "checkout"
PACKAGE = Path(views.__file__).parent
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def catalogue(language: str) -> dict[str, str]:
    entries: dict[str, str] = json.loads(
        (TEMPLATES / f"{language}.json").read_text(encoding="utf-8")
    )
    return entries


def test_all_languages_have_the_same_keys_and_placeholders() -> None:
    english = catalogue("en")
    for language in LANGUAGES:
        entries = catalogue(language)
        assert list(entries) == list(english)
        for key, text in entries.items():
            assert text.strip(), key
            assert set(_PLACEHOLDER.findall(text)) == set(_PLACEHOLDER.findall(english[key])), key


def templates() -> list[Path]:
    return sorted(TEMPLATES.rglob("*.html"))


def keys_in_templates() -> set[str]:
    """The keys that templates use."""
    sources = [template.read_text(encoding="utf-8") for template in templates()]
    return {key for source in sources for key in re.findall(r"""\bt\("(\w+)"[,)]""", source)}


def keys_in_code() -> set[str]:
    """The string constants of the package; the keys that views use are among them."""
    trees = [ast.parse(path.read_bytes()) for path in PACKAGE.glob("*.py")]
    constants = [
        node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)
    ]
    return {constant.value for constant in constants if isinstance(constant.value, str)}


def keys_of_methods() -> set[str]:
    """The keys that the code derives from the payment methods."""
    hints = (f"phone_hint_{method}" for method in PHONE_METHODS)
    return {*METHODS, *hints, *(f"phone_need_{method}" for method in PHONE_METHODS)}


def test_every_key_that_a_template_or_a_view_names_is_in_the_catalogue() -> None:
    named = {
        *keys_in_templates(),
        *views.CUSTOMER_ANSWERS.values(),
        *views.BANK_ANSWERS.values(),
        *chain(*views.TEXTS_OF_REASON.values()),
        "phone_invalid",
        *keys_of_methods(),
    }
    assert named <= set(catalogue("en"))


def test_every_key_is_used() -> None:
    assert set(catalogue("en")) <= keys_in_templates() | keys_in_code() | keys_of_methods()


def test_no_text_requests_a_pin() -> None:
    mentions = {"en": "PIN", "am": "ሚስጥር|ፒን"}
    for language, pin in mentions.items():
        keys = {key for key, text in catalogue(language).items() if re.search(pin, text)}
        assert keys == {"never_pin", "wrong_pin", "wrong_pin_answer"}, language


async def test_a_line_never_ends_inside_a_phone_number(emulator: World) -> None:
    page = await (await customer(emulator)).open("?method=telebirr")
    assert "09XX\u00a0XXX\u00a0XXX" in page.response.text


def test_no_template_has_words_of_its_own() -> None:
    for template in templates():
        source = template.read_text(encoding="utf-8")
        text = re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}", "", source, flags=re.DOTALL)
        shown = re.sub(r"<[^>]*>", "", text.replace("<!doctype html>", ""))
        # The digits are those of the phone's menu.
        assert set(re.findall(r"\w+", shown)) <= {"0", "1"}, f"{template.name}: {shown.split()}"


@pytest.mark.clause("2.1.3")
def test_money_is_written_with_two_decimals_and_a_no_break_space() -> None:
    catalogues = load_catalogues(TEMPLATES)
    for amount_minor, written in {
        100: "1.00",
        105: "1.05",
        123_450: "1,234.50",
        MAX_AMOUNT_MINOR: "90,071,992,547,409.91",
    }.items():
        assert catalogues["en"].money(amount_minor) == f"ETB\u00a0{written}"
        assert catalogues["am"].money(amount_minor) == f"ብር\u00a0{written}"


PREFERRED = {
    "": "en",
    "am": "am",
    "AM-ET,en;q=0.8": "am",
    "en, am": "en",
    "en;q=0.3, am;q=0.7": "am",
    "fr, am;q=0.1": "am",
    "fr": "en",
    "am;q=0": "en",
    "am;q=0.5;x=1, en;q=0.6": "en",
    "am;q=inf, en;q=0.1": "en",
    "am;q=2, en;q=0.1": "en",
    "am;q=abc, en;q=0.1": "en",
    "*": "en",
    ";;,,=;q": "en",
    "amharic": "en",
}


def test_the_accept_language_header_chooses_the_language() -> None:
    assert {header: preferred_language(header) for header in PREFERRED} == PREFERRED


async def test_the_language_of_the_address_overrides_that_of_the_browser(emulator: World) -> None:
    visitor = await customer(emulator)
    for leaf, header, language in (
        ("", "am", "am"),
        ("?lang=en", "am", "en"),
        ("?lang=am", "en", "am"),
        ("?lang=AM", "en", "am"),
        ("?lang=am-ET", "en", "am"),
        ("?lang=EN-gb", "am", "en"),
        ("?lang=fr", "am", "am"),
        ("?lang=fr-FR", "am", "am"),
        ("?lang=amharic", "en", "en"),
        ("?lang=-am", "en", "en"),
        ("?lang=", "am", "am"),
    ):
        headers = {"accept-language": header, "accept": "am", "x-language": "am"}
        page = await visitor.open(leaf, headers=headers)
        assert page.all("html")[0].attributes["lang"] == language


async def test_the_other_language_is_a_link_to_the_same_page(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.click(await visitor.pay("bank_transfer", bank="walia_test"), "language-am")
    assert "የባንክ ማስመሰያ ገጽ" in page.response.text
    assert "Walia Test Bank" in page.response.text


async def test_a_chosen_language_stays_to_the_end(emulator: World) -> None:
    visitor = await customer(emulator, amount=123_450)
    page = await visitor.open("?lang=AM-et")
    assert page.text("amount") == "ብር\u00a01,234.50"
    assert page.heading == "የመክፈያ ዘዴ ይምረጡ"
    assert page.text("merchant").endswith("ለ Demo Merchant ይክፈሉ")
    assert page.form(visitor.path).fields["lang"] == "am"
    page = await visitor.open("?lang=am&method=telebirr")
    page = await visitor.submit(page.form("pay-form"), page, phone="0911223344")
    assert page.heading == "ስልክዎን ይመልከቱ"
    assert page.response.url.params["lang"] == "am"
