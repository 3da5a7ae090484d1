"""The parameters `success_url` and `cancel_url` (contract, section 4.1)."""

from typing import Any

import pytest

from tests.server.api.calls import WARNING, post, refusal, refused
from tests.world import World, order, world

URLS = ("success_url", "cancel_url")
# More hosts, and how browsers parse them: tests/domain/test_hosts.py.
HTTP_ON_LOCAL_NAMES = [
    *("http://localhost/ok", "http://localhost:3000/ok?order=1#top", "http://LOCALHOST/"),
    *("http://127.0.0.1:8000", "http://[::1]:8000/ok", "http://2130706433/ok"),
    *("http://web:3000/ok", "http://shop.test/ok", "http://host.docker.internal:3000/ok"),
    *("http://%6cocalhost/", "http://ሱቅ.test/", "http://localhost:/", "http://localhost./ok"),
]
HTTP_ELSEWHERE = [
    *("http://shop.example/ok", "http://10.0.0.1/", "http://[2001:db8::1]/"),
    *("http://localhost.example/", "http://localhost@shop.example/"),
    *("http://shop.example#localhost", "http://shop.example?localhost"),
    # Browsers read `\\` as `/`, decode a host and read a number as an address.
    *("http://evil.example\\@localhost/", "http://evil.example\\.localhost/"),
    *("http:\\\\localhost/", "http://localhost\\ok", "http://localhost/a\\b"),
    *("http://user@localhost/", "http://:@localhost/", "http://@localhost/"),
    *("http://evil.example\t@localhost/", "http://local\thost/"),
    *("http://localhost:65536/", "http://localhost:22/", "http://134744072/", "http://8.2056/"),
    *("http://evil。example/", "http://evil%2Eexample%2f.localhost/", "http://\u3164134744072/"),
    *("http://ሱቅ/", "http://.localhost/", "http://a|b/"),
]

VALID = [
    *("https://shop.example", "https://shop.example/", "HTTPS://SHOP.EXAMPLE/OK"),
    *("https://shop.example:8443/ok", "https://shop.example?ok", "https://shop.example#ok"),
    "https://shop.example/ok?order=1&x[]=2#top",
    *("https://localhost/ok", "https://10.0.0.1/ok", "https://shop_1.example/"),
    *("https://[::1]/ok", "https://[2001:DB8::1]:8443/ok"),
    *("https://ሱቅ.example/እሺ?ክፍያ=1", "https://xn--fsq.example/"),
    *("https://shop.example/%20%zz", "https://shop.example/<>\"{}|^`'"),
    *("https://shop.example/a/../b//c", "https://shop.example/{CHECKOUT_ID}"),
    *("https://shop.example/\U0001f600", "https://shop.example/" + "a" * (2048 - 21)),
]
INVALID: list[Any] = [
    *("", "x", "shop.example", "/ok", "//shop.example/ok"),
    # Without a host.
    *("https", "https:", "https:shop.example", "https:/shop.example", "https://"),
    *("https:///x", "https://?x", "https://#x", "https://:443/", "https://user@/"),
    *("https://user:pass@:443/", "https:\\\\shop.example"),
    # Brackets without an IPv6 address, and an address without brackets.
    *("https://[::1", "https://[", "https://[]/", "https://[zz]/", "https://[b5]/"),
    *("https://[1:2:3]/", "https://[127.0.0.1]/", "https://[::1%eth0]/", "https://::1/"),
    # Other schemes.
    *("http://shop.example/ok", "http://localhost/ok", "http\u017f://shop.example/ok"),
    *("ftp://shop.example/ok", "javascript:alert(1)", "data:text/html,x", "myapp://ok"),
    "mailto:a@shop.example",
    # White space and control characters.
    *(" https://shop.example", "https://shop.example ", "\thttps://shop.example/"),
    *("https://shop example/", "https://shop\x00.example/"),
    *(
        f"https://shop.example/{text}"
        for text in ("a b", "\n", "\r\nLocation: x", "\x00", "\x1b", "\x7f", "\x85")
    ),
    *(f"https://shop.example/{blank}" for blank in "\xa0\u2028\u3000"),
    # Other types.
    *(1, True, [], ["https://shop.example"], {}),
]
UNUSUAL = [
    *(
        (f"https://{host}/ok", "has a host or a port that no browser opens")
        for host in (
            *("shop.example:65536", "shop.example:22", "shop.example:0"),
            *("<", "a|b", "%", "a%00.example", "shop..example", "a\u200db.example"),
            *("xn--", "XN--.example", "shop.example.a.b.xn--"),
            *("a" * 64 + ".example", "a." * 130 + "example", "999.1.1.1", "1.2.3.4.5"),
        )
    ),
    *(
        (url, "has a backslash, which browsers read as a slash")
        for url in (
            "https://evil.example\\@shop.example/ok",
            "https://shop.example\\ok",
            "https://shop.example/a\\b",
        )
    ),
    *(
        (f"https://{user}@shop.example/", "has user information")
        for user in ("", "user", "user:22")
    ),
    ("https://shop.example/" + "a" * 2028, "is over 2048 characters long"),
    ("https://shop.example/" + "a" * 100_000, "is over 2048 characters long"),
]


@pytest.mark.parametrize("param", URLS)
class TestUrls:
    """4.1: HTTPS URL for redirect."""

    @pytest.mark.clause("2.1.9", "2.1.10")
    async def test_a_valid_url_is_returned_unchanged(self, emulator: World, param: str) -> None:
        for url in VALID:
            response = await post(emulator, order(**{param: url}))
            assert response.status_code == 201, response.text
            assert response.json()[param] == url
            assert WARNING not in response.headers
            assert (await emulator.retrieve(response.json()["id"]))[param] == url

    @pytest.mark.clause("4.1.6", "4.1.7")
    async def test_an_invalid_url_is_refused(self, emulator: World, param: str) -> None:
        for url in INVALID:
            refusal = await refused(emulator, order(**{param: url}))
            assert refusal == (f"invalid_{param}", param), url

    async def test_http_on_local_names_is_accepted_where_it_is_allowed(
        self, emulator: World, param: str
    ) -> None:
        async with world(allow_http_localhost=True) as allowing:
            for url in HTTP_ON_LOCAL_NAMES:
                body = order(**{param: url})
                response = await post(allowing, body)
                assert response.json()[param] == url
                assert WARNING not in response.headers
                assert await refused(emulator, body) == (f"invalid_{param}", param), url

    @pytest.mark.clause("4.1.6", "4.1.7")
    async def test_http_on_other_hosts_is_refused(self, param: str) -> None:
        async with world(allow_http_localhost=True) as emulator:
            for url in HTTP_ELSEWHERE:
                refusal = await refused(emulator, order(**{param: url}))
                assert refusal == (f"invalid_{param}", param), url

    @pytest.mark.clause("4.1.6", "4.1.7")
    async def test_an_unusual_url_gets_a_warning(self, emulator: World, param: str) -> None:
        """The contract states only "an HTTPS URL"."""
        async with world(strict=True) as strict:
            for url, reason in UNUSUAL:
                response = await post(emulator, order(**{param: url}))
                assert response.json()[param] == url
                assert response.headers[WARNING] == f"unusual-{param.replace('_', '-')}"
                response = await post(strict, order(**{param: url}))
                assert refusal(response) == (400, f"invalid_{param}", param)
                assert f'The URL of "{param}" {reason} (got' in response.json()["error"]["message"]
