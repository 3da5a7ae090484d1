"""Pages are rendered once, with placeholders for the values that differ between customers."""

import jinja2
import pytest

from emulator.domain.payment import MAX_AMOUNT_MINOR
from emulator.server.checkout.rendering import CachedPage, Placeholder
from tests.server.checkout.visiting import customer
from tests.world import World


def shape(source: str, *names: str) -> CachedPage:
    template = jinja2.Environment(autoescape=True).from_string(source)
    return CachedPage(template.render({name: Placeholder(name) for name in names}))


HOSTILE = "{{ 7*7 }} \ue000amount\ue001 %(x)s"
FILLED: list[tuple[str, dict[str, str], str]] = [
    (
        '<a href="{{ back }}">{{ merchant }}</a>',
        {"back": 'x" onclick="y', "merchant": "<b>&%s"},
        '<a href="x&#34; onclick=&#34;y">&lt;b&gt;&amp;%s</a>',
    ),
    ("100% {{ merchant }} {{ amount }}", {"merchant": HOSTILE, "amount": "1"}, f"100% {HOSTILE} 1"),
    ("{{ a }}|{{ b }}", {"a": "<\0>", "b": "\0&"}, "&lt;\0&gt;|\0&amp;"),
    ("{{ a }}{{ b }}{{ a }}", {"a": "1", "b": "2"}, "121"),
]


def test_values_are_escaped_and_never_taken_for_a_template_or_a_placeholder() -> None:
    for source, values, page in FILLED:
        assert shape(source, *values).fill(values) == page


def test_a_placeholder_without_a_value_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        shape("{{ merchant }}", "merchant").fill({})


@pytest.mark.parametrize("source", ["{% if merchant %}x{% endif %}", "{{ 'x' if not merchant }}"])
def test_a_template_cannot_test_a_placeholder(source: str) -> None:
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


async def test_a_page_sends_one_query_to_the_database(emulator: World) -> None:
    visitor = await customer(emulator)
    raw = emulator.running.engine.checkouts._database._raw
    for leaf in ("", "?method=telebirr", "?method=bank_transfer", "/status"):
        queries: list[str] = []
        raw.set_trace_callback(queries.append)
        response = await emulator.pages.get(visitor.path + leaf)
        raw.set_trace_callback(None)
        assert response.status_code == 200
        assert len(queries) == 1, (leaf, queries)
