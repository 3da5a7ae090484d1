"""The parameters `success_url` and `cancel_url` (contract, section 4.1)."""

import pytest

from tests.server.api.calls import WARNING, post, refused
from tests.server.api.redirect_url_values import UNUSUAL
from tests.world import World, order, world

URLS = ("success_url", "cancel_url")
# More hosts, and how browsers parse them: test_browser_hosts.py.
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


@pytest.mark.parametrize("param", URLS)
class TestUrls:
    """4.1: HTTPS URL for redirect."""

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

    async def test_the_message_of_an_unusual_url_has_the_reason(self, param: str) -> None:
        async with world(strict=True) as strict:
            for url, reason in UNUSUAL:
                response = await post(strict, order(**{param: url}))
                assert f'The URL of "{param}" {reason} (got' in response.json()["error"]["message"]
