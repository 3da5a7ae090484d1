"""The parameters `success_url` and `cancel_url` (contract, section 4.1)."""

from typing import Any

import pytest

from tests.api.calls import WARNING, post, refused
from tests.world import World, order, world

URLS = ("success_url", "cancel_url")
HTTP_ON_LOCAL_NAMES = [
    "http://localhost/ok",
    "http://localhost:3000/ok?order=1#top",
    "http://LOCALHOST/",
    "http://127.0.0.1:8000",
    "http://127.8.9.10/",
    "http://[::1]:8000/ok",
    "http://web/ok",
    "http://web:3000/ok",
    "http://shop.localhost/",
    "http://shop.test/ok",
    "http://host.docker.internal:3000/ok",
    "http://host.containers.internal/",
    "http://127.1/ok",
    "http://2130706433/ok",
    "http://%6cocalhost/",
    "http://ሱቅ.test/",
    "http://localhost:/",
    "http://localhost./ok",
]
HTTP_ELSEWHERE = [
    "http://shop.example/ok",
    "http://10.0.0.1/",
    "http://192.168.1.10/ok",
    "http://8.8.8.8/",
    "http://[2001:db8::1]/",
    "http://[::ffff:8.8.8.8]/",
    "http://localhost.example/",
    "http://shop.local/",
    "http://test.example/",
    "http://docker.internal/",
    "http://localhost@shop.example/",
    "http://shop.example#localhost",
    "http://shop.example?localhost",
]
# A browser opens another host than a careless reader of the URL expects, or none.
HTTP_THAT_LOOKS_LOCAL = [
    "http://evil.example\\@localhost/",
    "http://evil.example\\.localhost/",
    "http:\\\\localhost/",
    "http://localhost\\ok",
    "http://localhost/a\\b",
    "http://user@localhost/",
    "http://:@localhost/",
    "http://@localhost/",
    "http://evil.example\t@localhost/",
    "http://local\thost/",
    "http://localhost:65536/",
    "http://localhost:22/",
    "http://134744072/",
    "http://0x08080808/",
    "http://010.8.8.8/",
    "http://8.2056/",
    "http://１３４７４４０７２/",
    "http://evil。example/",
    "http://evil%2eexample/",
    "http://evil%2Eexample%2f.localhost/",
    "http://evil\u2488example/",
    "http://\u3164134744072/",
    "http://ሱቅ/",
    "http://.localhost/",
    "http://a..test/",
    "http://xn--/",
    "http://a|b/",
    "http://a%00/",
]


@pytest.mark.parametrize("param", URLS)
class TestUrls:
    """4.1: HTTPS URL for redirect."""

    @pytest.mark.clause("2.1.9", "2.1.10")
    @pytest.mark.parametrize(
        "url",
        [
            "https://shop.example",
            "https://shop.example/",
            "https://shop.example/ok?order=1&x[]=2#top",
            "https://shop.example:8443/ok",
            "https://shop.example?ok",
            "https://shop.example#ok",
            "https://localhost/ok",
            "https://10.0.0.1/ok",
            "https://[::1]/ok",
            "https://[2001:DB8::1]:8443/ok",
            "HTTPS://SHOP.EXAMPLE/OK",
            "https://ሱቅ.example/እሺ?ክፍያ=1",
            "https://xn--fsq.example/",
            "https://shop.example/%20%zz",
            "https://shop.example/<>\"{}|^`'",
            "https://shop.example/a/../b//c",
            "https://shop.example/{CHECKOUT_ID}",
            "https://shop.example/\U0001f600",
            "https://shop_1.example/",
            "https://shop.example/" + "a" * (2048 - 21),
        ],
    )
    async def test_a_valid_url_is_returned_unchanged(
        self, emulator: World, param: str, url: str
    ) -> None:
        response = await post(emulator, order(**{param: url}))
        assert response.status_code == 201, response.text
        assert response.json()[param] == url
        assert WARNING not in response.headers
        assert (await emulator.retrieve(response.json()["id"]))[param] == url

    @pytest.mark.clause("4.1.6", "4.1.7")
    @pytest.mark.parametrize(
        "url",
        [
            "",
            "x",
            "shop.example",
            "/ok",
            "//shop.example/ok",
            "https",
            "https:",
            "https:shop.example",
            "https:/shop.example",
            "https://",
            "https:///x",
            "https://?x",
            "https://#x",
            "https://:443/",
            "https://user@/",
            "https://user:pass@:443/",
            "https://[::1",
            "https://[",
            "https://[]/",
            "https://[zz]/",
            "https://[b5]/",
            "https://[1:2:3]/",
            "https://[127.0.0.1]/",
            "https://[::1%eth0]/",
            "https://::1/",
            "https:\\\\shop.example",
            "http://shop.example/ok",
            "http://localhost/ok",
            "http\u017f://shop.example/ok",
            "ftp://shop.example/ok",
            "javascript:alert(1)",
            "data:text/html,x",
            "myapp://ok",
            "mailto:a@shop.example",
            " https://shop.example",
            "https://shop.example ",
            "https://shop.example/a b",
            "https://shop example/",
            "https://shop.example/\n",
            "\thttps://shop.example/",
            "https://shop.example/\r\nLocation: x",
            "https://shop.example/\x00",
            "https://shop\x00.example/",
            "https://shop.example/\x1b",
            "https://shop.example/\x7f",
            "https://shop.example/\x85",
            "https://shop.example/\xa0",
            "https://shop.example/\u2028",
            "https://shop.example/\u3000",
            1,
            True,
            [],
            ["https://shop.example"],
            {},
        ],
    )
    async def test_an_invalid_url_is_refused(self, emulator: World, param: str, url: Any) -> None:
        assert await refused(emulator, order(**{param: url})) == (f"invalid_{param}", param)

    @pytest.mark.parametrize("url", HTTP_ON_LOCAL_NAMES)
    async def test_http_on_local_names_is_accepted_where_it_is_allowed(
        self, param: str, url: str
    ) -> None:
        async with world(allow_http_localhost=True) as emulator:
            response = await post(emulator, order(**{param: url}))
            assert response.json()[param] == url
            assert WARNING not in response.headers
        async with world() as emulator:
            assert await refused(emulator, order(**{param: url})) == (f"invalid_{param}", param)

    @pytest.mark.clause("4.1.6", "4.1.7")
    @pytest.mark.parametrize("url", HTTP_ELSEWHERE)
    async def test_http_on_other_hosts_is_refused(self, param: str, url: str) -> None:
        async with world(allow_http_localhost=True) as emulator:
            assert await refused(emulator, order(**{param: url})) == (f"invalid_{param}", param)

    @pytest.mark.clause("4.1.6", "4.1.7")
    @pytest.mark.parametrize("url", HTTP_THAT_LOOKS_LOCAL, ids=ascii)
    async def test_http_that_only_looks_local_is_refused(self, param: str, url: str) -> None:
        """Browsers read `\\` as `/`, decode a host and read a number as an address."""
        async with world(allow_http_localhost=True) as emulator:
            assert await refused(emulator, order(**{param: url})) == (f"invalid_{param}", param)

    @pytest.mark.clause("4.1.6", "4.1.7")
    @pytest.mark.parametrize(
        "url",
        [
            "https://shop.example:65536/",
            "https://shop.example:22/ok",
            "https://shop.example:0/",
            "https://</ok",
            "https://a|b/",
            "https://a^b/",
            "https://%/",
            "https://a%00.example/",
            "https://xn--/",
            "https://shop.xn--/ok",
            "https://XN--.example/ok",
            "https://shop.example.a.b.xn--/ok",
            f"https://{'a' * 64}.example/ok",
            f"https://{'a.' * 130}example/ok",
            "https://999.1.1.1/ok",
            "https://1.2.3.4.5/",
            "https://shop..example/",
            "https://a\u200db.example/",
            "https://evil.example\\@shop.example/ok",
            "https://shop.example\\ok",
            "https://shop.example/a\\b",
            "https://user:22@shop.example/",
        ],
        ids=ascii,
    )
    async def test_a_url_that_no_browser_opens_gets_a_warning(self, param: str, url: str) -> None:
        """The contract says no more than "an HTTPS URL"."""
        slug = f"unusual-{param.replace('_', '-')}"
        async with world() as emulator:
            response = await post(emulator, order(**{param: url}))
            assert response.json()[param] == url
            assert response.headers[WARNING] == slug
        async with world(strict=True) as emulator:
            assert await refused(emulator, order(**{param: url})) == (f"invalid_{param}", param)

    @pytest.mark.parametrize(
        ("url", "named"),
        [
            ("https://user@shop.example/", "user information"),
            ("https://shop.example/a\\b", "backslash"),
            ("https://shop.example:65536/", "port"),
            ("https://999.1.1.1/", "host"),
            ("https://shop.example/" + "a" * 2048, "2048"),
        ],
    )
    async def test_strict_names_the_unusual_part_of_a_url(
        self, param: str, url: str, named: str
    ) -> None:
        async with world(strict=True) as emulator:
            response = await post(emulator, order(**{param: url}))
            assert named in response.json()["error"]["message"]
