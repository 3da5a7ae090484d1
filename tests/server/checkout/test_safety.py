"""Protection of the customer: headers, tokens, origins, escaping, and limits of request bodies."""

import html
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from emulator.server.engine.accounts.account_registry import NewAccount
from tests.server.checkout.reading import Page
from tests.server.checkout.visiting import Customer, customer
from tests.world import CHECKOUT_PORT, World, world

HOSTILE = "\"><script>alert(1)</script><b title='{{7*7}}{x}"
HTML = {"accept": "text/html"}
MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}

POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self';"
    " font-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def assert_is_safe(response: httpx.Response) -> None:
    assert response.headers["content-security-policy"] == POLICY
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "same-origin"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["request-id"].startswith("req_")


async def test_every_response_has_the_headers_that_protect_it(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.open("?method=telebirr")
    form = page.form("pay-form")
    for leaf in ("", "/wait", "/cancelled"):
        assert_is_safe(await emulator.pages.get(visitor.path + leaf))
    assert_is_safe(await emulator.pages.head(visitor.path))
    responses = [
        await emulator.pages.post(visitor.path, data={"method": "telebirr"}),
        await emulator.pages.get("/c/unknown"),
        await emulator.pages.get("/nothing"),
        await visitor.post(form, page, phone="1"),
        await visitor.post(form, page, phone="0900000001"),
        await emulator.pages.get(f"{visitor.path}/wait"),
    ]
    assert [response.status_code for response in responses] == [403, 404, 404, 303, 303, 200]
    for response in responses:
        assert_is_safe(response)


async def test_the_files_of_a_page_may_be_cached_for_ever(emulator: World) -> None:
    visitor = await customer(emulator)
    for leaf in ("", "?method=telebirr", "/wait"):
        page = await visitor.open(leaf)
        loaded = [link.attributes["href"] for link in page.all("link")]
        loaded += [script.attributes["src"] for script in page.all("script")]
        assert len(loaded) == 5, leaf
        for address in loaded:
            response = await emulator.pages.get(page.response.url.join(address))
            assert response.status_code == 200, address
            assert response.headers["content-type"] == MEDIA_TYPES[address.rpartition(".")[2]]
            assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert response.headers["x-content-type-options"] == "nosniff"


async def test_a_form_without_the_token_of_this_checkout_is_refused_and_changes_nothing(
    emulator: World,
) -> None:
    visitor = await customer(emulator)
    other = await (await customer(emulator)).open("?method=telebirr")
    foreign = other.form("pay-form").fields["form_token"]
    for token in (None, "", "wrong", "é", foreign):
        for leaf, fields in (
            ("", {"method": "telebirr", "phone": "0900000001"}),
            ("/answer", {"answer": "approve"}),
            ("/cancel", {"x": "y"}),
        ):
            data = fields if token is None else {**fields, "form_token": token}
            page = Page(await emulator.pages.post(visitor.path + leaf, data=data))
            assert page.response.status_code == 403, (token, leaf)
            assert page.heading == "This form does not come from this payment page"
            back = page.response.url.join(page.get("back-to-payment").attributes["href"])
            assert back.path == visitor.path
    assert await visitor.statuses() == ["pending"]


async def test_a_form_opened_before_a_restart_is_accepted_after_it(tmp_path: Path) -> None:
    database = str(tmp_path / "state.db")
    async with world(seed=None, database=database) as emulator:
        before = await customer(emulator)
        page = await before.open("?method=telebirr")
    async with world(seed=None, database=database) as emulator:
        after = replace(before, world=emulator)
        shown = await after.submit(page.form("pay-form"), page, phone="0911223344")
        assert shown.name == "waiting"


LOCAL = f"http://127.0.0.1:{CHECKOUT_PORT}"
PUBLIC = "https://pay.staging.test"


ORIGINS = {
    None: {
        LOCAL: 303,
        "https://evil.example": 403,
        "null": 403,
        "": 403,
        f"http://127.0.0.1:{CHECKOUT_PORT + 1}": 403,
        f"http://evil.example/127.0.0.1:{CHECKOUT_PORT}": 403,
    },
    f"{PUBLIC}/shop": {PUBLIC: 303},
    f"{PUBLIC}:443/shop": {
        PUBLIC: 303,
        f"{PUBLIC}:443": 303,
        "HTTPS://Pay.Staging.Test": 403,  # browsers write the scheme in lower case
        f"{PUBLIC}:8443": 403,
        "foo://pay.staging.test": 403,
    },
}


@pytest.mark.parametrize("public_url", ORIGINS)
async def test_a_form_of_another_origin_is_refused(public_url: str | None) -> None:
    async with world(checkout_url=public_url) as emulator:
        for origin, status in ORIGINS[public_url].items():
            payment = await emulator.create()
            checkout = httpx.URL(payment["checkout_url"])
            path = checkout.path.removeprefix("/shop")
            visitor = Customer(world=emulator, payment_id=payment["id"], path=path)
            page = await visitor.open("?method=telebirr")
            form = page.form("pay-form")
            response = await visitor.post(form, page, {"origin": origin}, phone="0911223344")
            assert response.status_code == status, origin
            is_refused = status == 403
            assert await visitor.statuses() == ["pending", "processing"][: 1 if is_refused else 2]
            if not is_refused:
                # Links are relative, so that they stay below the path of a proxy.
                address = checkout.join(response.headers["location"])
                assert address.path == f"{checkout.path}/wait"


async def test_a_refused_host_shows_how_to_allow_it(emulator: World) -> None:
    path = (await customer(emulator)).path
    host = {"host": "pay.shop.example"}
    page = Page(await emulator.pages.get(path, headers=HTML | host))
    assert page.response.status_code == 403
    assert page.heading == "This page is not known under this address"
    assert "--allowed-hosts pay.shop.example" in page.text("detail")
    assert_is_safe(page.response)
    for address in (path, "/"):
        response = await emulator.pages.get(address, headers=host)
        assert response.json()["error"]["code"] == "forbidden_origin", address


def assert_is_clean(page: Page) -> None:
    """There is no script but our own, and no element that `HOSTILE` would open."""
    assert all("src" in script.attributes for script in page.all("script"))
    assert "alert(1)" not in "".join(script.text for script in page.all("script"))
    assert not any("7*7" in element.attributes.get("title", "") for element in page.elements)


async def test_values_of_the_merchant_are_escaped(emulator: World) -> None:
    engine = emulator.app.engine
    account = await engine.accounts.create(NewAccount(name=HOSTILE, test_key="test_hostile"))
    url = "https://shop.example/?a=\"><script>alert(1)</script>&b='%20;url=x"
    visitor = await customer(emulator, account.profile.test_key, success_url=url, cancel_url=url)
    for leaf in ("", "?method=telebirr", "?method=bank_transfer", "/cancelled"):
        page = await visitor.open(leaf)
        assert_is_clean(page)
        assert HOSTILE in html.unescape(page.response.text)
    page = await visitor.pay("telebirr", phone=HOSTILE[:32])
    assert page.get("phone").attributes["value"] == HOSTILE[:32]
    assert_is_clean(page)
    page = await visitor.pay("telebirr", phone="0900000001")
    assert page.refresh == f"0;url={url}"
    assert page.get("back").attributes["href"] == url
    assert_is_clean(page)


@pytest.mark.clause("1.7")
async def test_the_redirect_is_exactly_the_url_of_the_merchant(emulator: World) -> None:
    for url in (
        "https://shop.example/ok?order=1&next=%2Fa%20b#part",
        "https://shop.example",
        "https://shop.example/?q=a;url=b,c&&",
        "https://ሱቅ.example/ተከፍሏል?x=é",
        "HTTPS://Shop.Example:443/%7e/./x/../",
    ):
        visitor = await customer(emulator, success_url=url)
        page = await visitor.pay("telebirr", phone="0900000001")
        assert page.refresh == f"0;url={url}"
        assert page.get("back").attributes["href"] == url


async def test_a_checkout_from_the_dashboard_shows_where_it_would_redirect(emulator: World) -> None:
    for language in ("", "lang=am&"):
        visitor = await customer(emulator, success_url="https://shop.example/ok")
        page = await visitor.open(f"?{language}dashboard=1&method=telebirr")
        page = await visitor.submit(page.form("pay-form"), page, phone="0900000001")
        assert page.refresh is None
        assert "https://shop.example/ok" in page.get("at-shop").text
        assert page.get("back").attributes["href"] == "https://shop.example/ok"


FORM = "application/x-www-form-urlencoded"
REFUSED_BODIES = [
    ("application/json", b'{"method":"telebirr","phone":"0900000001"}'),
    ("multipart/form-data; boundary=x", b"--x--"),
    ("text/plain", b"method=telebirr"),
    ("", b"method=telebirr"),
    (f"{FORM}; charset=utf-16", b"method=telebirr"),
    (FORM, b"phone=\xff\xfe"),
    (FORM, b"phone=%ff%fe"),
    (FORM, b"phone=" + b"9" * 16_384),
    (FORM, b"a=1&" * 21),
]


async def test_a_body_that_is_no_small_form_is_refused_with_a_page(emulator: World) -> None:
    visitor = await customer(emulator)
    for leaf in ("", "/answer", "/cancel"):
        unknown = await emulator.pages.post(f"/c/unknown{leaf}", data={"a": "b"})
        assert unknown.status_code == 404, leaf
        for content_type, body in REFUSED_BODIES:
            response = await emulator.pages.post(
                visitor.path + leaf, content=body, headers={"content-type": content_type}
            )
            assert response.status_code == 400, (content_type, body[:20])
            assert Page(response).heading == "We could not read this form"
    assert await visitor.statuses() == ["pending"]


UNKNOWN_ROUTES = [
    *(("PUT", ""), ("DELETE", ""), ("PATCH", "/wait"), ("OPTIONS", ""), ("POST", "/wait")),
    *(("GET", "/answer"), ("GET", "/cancel"), ("GET", "/nothing"), ("GET", "/"), ("GET", "/wait/")),
]


async def test_an_unknown_route_is_404_as_a_page_or_as_json(emulator: World) -> None:
    checkout = (await customer(emulator)).path
    for method, leaf in UNKNOWN_ROUTES:
        page = Page(await emulator.pages.request(method, checkout + leaf, headers=HTML))
        assert page.response.status_code == 404, (method, leaf)
        assert page.heading == "There is no such page"
        response = await emulator.pages.request(method, checkout + leaf)
        assert response.status_code == 404, (method, leaf)
        if method == "GET":
            assert response.text == page.response.text
        else:
            assert response.json()["error"]["code"] == "route_not_found"


UNKNOWN_ADDRESSES = (
    *("//", "/c", "/c/", "/c/token/nothing", "/robots.txt"),
    *("/static/", "/static/none.css"),
)


@pytest.mark.clause("1.10")
async def test_every_other_address_of_the_checkout_listener_is_a_page_with_404(
    emulator: World,
) -> None:
    for path in UNKNOWN_ADDRESSES:
        url = f"http://127.0.0.1:{CHECKOUT_PORT}{path}"
        page = Page(await emulator.pages.get(url))
        for accept in ("text/html", "image/avif,image/webp,*/*;q=0.8", "application/json"):
            response = await emulator.pages.get(url, headers={"accept": accept})
            assert response.text == page.response.text, path
        assert page.response.status_code == 404, path
        assert page.heading == "There is no such page"
        assert page.text("simulation-banner") == "No real money moves."
        assert page.text("simulation") == "This page is a simulation."
        assert_is_safe(page.response)
        for link in page.all("link"):
            loaded = await emulator.pages.get(page.response.url.join(link.attributes["href"]))
            assert loaded.status_code == 200
        head = await emulator.pages.head(url)
        assert head.status_code == 404, path
        assert_is_safe(head)
    page = Page(await emulator.pages.get("/c?lang=am"))
    assert page.all("html")[0].attributes["lang"] == "am"
    assert page.heading == "እንዲህ ያለ ገጽ የለም"


async def test_a_tool_that_waits_for_the_port_gets_200_and_a_line_of_text(emulator: World) -> None:
    url = f"http://127.0.0.1:{CHECKOUT_PORT}/"
    for accept in ("*/*", "text/html", "application/json"):
        response = await emulator.pages.get(url, headers={"accept": accept})
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/plain; charset=utf-8"
        assert response.text.startswith("ETB payments emulator: the checkout pages.")
        assert response.text.count("\n") == 1
        assert_is_safe(response)
    assert (await emulator.pages.head(url)).status_code == 200
    assert (await emulator.pages.post(url)).status_code == 404
