"""Pages are rendered once, with slots for what differs from customer to customer."""

import jinja2
import pytest

from emulator.checkout.rendering import CachedPage, Placeholder
from emulator.domain.payment import MAX_AMOUNT_MINOR
from tests.checkout.visiting import customer
from tests.world import World


def shape(source: str, *names: str) -> CachedPage:
    template = jinja2.Environment(autoescape=True).from_string(source)
    return CachedPage(template.render({name: Placeholder(name) for name in names}))


def test_what_is_filled_in_is_escaped() -> None:
    page = shape('<a href="{{ back }}">{{ merchant }}</a>', "back", "merchant")
    assert page.fill({"back": 'x" onclick="y', "merchant": "<b>&%s"}) == (
        '<a href="x&#34; onclick=&#34;y">&lt;b&gt;&amp;%s</a>'
    )


def test_what_is_filled_in_is_no_template_and_opens_no_slot() -> None:
    page = shape("100% {{ merchant }} {{ amount }}", "merchant", "amount")
    hostile = "{{ 7*7 }} \ue000amount\ue001 %(x)s"
    assert page.fill({"merchant": hostile, "amount": "1"}) == f"100% {hostile} 1"


def test_what_is_filled_in_may_hold_any_character() -> None:
    page = shape("{{ a }}|{{ b }}", "a", "b")
    assert page.fill({"a": "<\0>", "b": "\0&"}) == "&lt;\0&gt;|\0&amp;"


def test_a_slot_may_stand_anywhere_and_often() -> None:
    assert shape("{{ a }}{{ b }}{{ a }}", "a", "b").fill({"a": "1", "b": "2"}) == "121"


def test_a_slot_that_is_left_open_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        shape("{{ merchant }}", "merchant").fill({})


@pytest.mark.parametrize("source", ["{% if merchant %}x{% endif %}", "{{ 'x' if not merchant }}"])
def test_a_template_can_ask_nothing_about_a_slot(source: str) -> None:
    with pytest.raises(TypeError, match="merchant"):
        shape(source, "merchant")


async def test_a_long_amount_is_written_smaller(emulator: World) -> None:
    for amount, name in ((15_000, "amount"), (MAX_AMOUNT_MINOR, "amount long")):
        page = await (await customer(emulator, amount=amount)).open()
        assert page.get("amount").attributes["class"] == name


async def test_customers_of_one_page_see_their_own(emulator: World) -> None:
    first = await customer(emulator, amount=100)
    second = await customer(emulator, amount=12_345_600)
    for leaf in ("", "?method=telebirr", "?method=bank_transfer"):
        pages = [await visitor.open(leaf) for visitor in (first, second, first)]
        amounts = [page.text("amount") for page in pages]
        assert amounts == ["ETB\u00a01.00", "ETB\u00a0123,456.00", "ETB\u00a01.00"]
        assert pages[0].response.text == pages[2].response.text
        tokens = {page.form("/cancel").fields["form_token"] for page in pages}
        assert len(tokens) == 2


@pytest.mark.parametrize("leaf", ["", "?method=telebirr", "?method=bank_transfer", "/status"])
async def test_a_page_asks_the_database_one_question(emulator: World, leaf: str) -> None:
    visitor = await customer(emulator)
    asked: list[str] = []
    raw = emulator.running.engine.checkouts._database._raw
    raw.set_trace_callback(asked.append)
    response = await emulator.pages.get(visitor.path + leaf)
    raw.set_trace_callback(None)
    assert response.status_code == 200
    assert len(asked) == 1, asked
