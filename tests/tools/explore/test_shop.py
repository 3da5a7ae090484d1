"""The requests and commands of a customer: cookies, forms, values of responses, and bounds."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any

import pytest
import yaml

from emulator.clock import RealClock
from emulator.domain.user_error import UserError
from emulator.domain.webhooks import STANDARD
from emulator.http.response import HttpResponse
from emulator.tools.child_process import MAX_OUTPUT_BYTES
from emulator.tools.explore.integration_file import parse_integration
from emulator.tools.explore.observation import ObservedOrder, Sample
from emulator.tools.explore.response_value import MAX_TEXT_CHARACTERS, Count, ResponseValue
from emulator.tools.explore.shop import Shop, StartFailed, Values
from emulator.tools.explore.shop_client import MAX_COOKIES, Browser, ShopClient

HOST = "http://127.0.0.1:3000"
OK = b"HTTP/1.1 200 OK\r\n"
MOVED = b"HTTP/1.1 302 Found\r\n"


@dataclass
class Server:
    """A server that responds by path, and keeps the requests: line, headers, body."""

    responses: Mapping[str, bytes]
    port: int = 0
    requests: list[tuple[str, Mapping[str, str], str]] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, rest = head.partition(b"\r\n")
        headers = {name.lower(): value for name, value in message_from_bytes(rest).items()}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests.append((line.decode().rpartition(" ")[0], headers, body.decode()))
        path = line.decode().split(" ")[1]
        response = self.responses[path]
        writer.write(response if b"\r\n\r\n" in response else response + b"\r\n")
        writer.close()


@asynccontextmanager
async def serving(responses: Mapping[str, bytes]) -> AsyncIterator[Server]:
    served = Server(responses)
    async with await asyncio.start_server(served.answer, "127.0.0.1", 0) as server:
        served.port = server.sockets[0].getsockname()[1]
        yield served


def shop(start: Any, state: Any = None, *, port: int = 3000, **variables: str) -> Shop:
    state = {"request": f"GET {HOST}/orders/{{order}}", "paid": {"match": "is paid"}} | (
        state or {}
    )
    document = {"version": 1, "name": "shop", "start": start, "state": state}
    if "command" in state:
        del state["request"]
    text = yaml.safe_dump(document).replace(":3000", f":{port}")
    integration = parse_integration(text, "shop.yaml")
    return Shop(
        integration,
        ShopClient(RealClock()),
        secret="",
        form=STANDARD,
        wall=RealClock(),
        variables=variables,
    )


async def started(start: Any, responses: Mapping[str, bytes]) -> tuple[int, Values, Server]:
    """The last status, the values, and the server."""
    async with serving(responses) as server:
        response, values = await shop(start, port=server.port).start(Browser())
    return response.status, values, server


async def problem_of(start: Any, responses: Mapping[str, bytes]) -> tuple[str, Server]:
    """Why an order cannot be started, and the server."""
    async with serving(responses) as server:
        with pytest.raises(StartFailed) as caught:
            await shop(start, port=server.port).start(Browser())
    return str(caught.value), server


async def read(state: Any, response: bytes = b"", order: str = "7", **variables: str) -> Sample:
    start = {"request": f"POST {HOST}/", "order": "$.id"}
    async with serving({"/orders/7": response}) as server:
        explored = shop(start, state, port=server.port, **variables)
        observed = ObservedOrder(id=order, statuses={"pay_1": "pending"})
        return await explored.read_state(observed, 1)


ORDER = {"request": f"POST {HOST}/", "order": "$.id"}
LOGIN = {"request": f"GET {HOST}/login", "values": {"csrf": {"match": 'value="([^"]+)"'}}}


async def test_requests_share_cookies_and_take_values_from_earlier_responses() -> None:
    cookies = b"Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2; SameSite=Strict\r\n"
    status, values, server = await started(
        [
            LOGIN,
            {"request": f"POST {HOST}/login", "form": {"csrf": "{csrf}", "name": "Abebe & Co"}},
            {"request": f"POST {HOST}/orders", "json": {"is": ["{csrf}", 7]}, "order": "$.id"},
            {
                "request": f"GET {HOST}/orders/{{order}}",
                "headers": {"X-Token": "{csrf}"},
                "values": {"next": {"header": "Location"}},
            },
            {"request": "GET {next}", "checkout_url": {"match": "https://.+"}},
        ],
        {
            "/login": OK + b"Content-Type: text/html\r\n" + cookies + b'\r\n<p value="x&amp;/y">',
            "/orders": OK + b'Set-Cookie: a=; Max-Age=0\r\n\r\n{"id": "a/b"}',
            "/orders/a%2Fb": MOVED + b"Location: /pay?order=a\r\n",
            "/pay?order=a": OK + b"\r\ngo to\nhttps://pay/1\n",
        },
    )
    assert status == 200
    assert values == {
        "csrf": "x&/y",
        "order": "a/b",
        "next": "/pay?order=a",
        "checkout_url": "https://pay/1",
    }
    lines, headers, bodies = zip(*server.requests, strict=True)
    assert lines == (
        "GET /login",
        "POST /login",
        "POST /orders",
        "GET /orders/a%2Fb",
        "GET /pay?order=a",
    )
    assert [each.get("cookie") for each in headers] == [None, "a=1; b=2", "a=1; b=2", "b=2", "b=2"]
    assert bodies[1:3] == ("csrf=x%26%2Fy&name=Abebe+%26+Co", '{"is": ["x&/y", 7]}')
    assert headers[1]["content-type"] == "application/x-www-form-urlencoded"
    assert headers[3]["x-token"] == "x&/y"


async def test_a_customer_who_starts_again_logs_in_again() -> None:
    responses = {"/login": OK + b'Set-Cookie: a=1\r\n\r\nvalue="x"', "/": OK + b'\r\n{"id": 7}'}
    async with serving(responses) as server:
        explored, browser = shop([LOGIN, ORDER], port=server.port), Browser()
        for _ in range(2):
            await explored.start(browser)
    cookies = [headers.get("cookie") for _, headers, _ in server.requests]
    assert cookies == [None, "a=1", None, "a=1"]


async def test_a_browser_comes_back_without_cookies_of_the_same_site_only() -> None:
    browser = Browser()
    headers = [("set-cookie", "a=1; SameSite=Lax"), ("set-cookie", "b=2; SameSite = Strict")]
    browser.store(f"{HOST}/login", HttpResponse(status=200, headers=headers), now_ms=0)
    assert browser.headers(f"{HOST}/", from_other_site=True) == {"cookie": "a=1"}
    assert browser.headers(f"{HOST}/", from_other_site=False) == {"cookie": "a=1; b=2"}
    assert browser.headers("http://other/", from_other_site=False) == {}


ENDED = [
    "Max-Age=0",
    "max-age=-1; expires=Thu, 01 Jan 2099 00:00:00 GMT",
    "Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
    "expires=Thu, 01-Jan-1970 00:00:01 GMT; path=/",
]
KEPT = [
    "Max-Age=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
    "Expires=Thu, 01 Jan 2099 00:00:00 GMT",
    "Expires=tomorrow",
]


@pytest.mark.parametrize(
    ("attributes", "is_kept"),
    [*((each, False) for each in ENDED), *((each, True) for each in KEPT)],
)
def test_a_browser_deletes_a_cookie_that_has_expired(attributes: str, is_kept: bool) -> None:
    browser = Browser()
    for header in ("a=1", f"a=2; {attributes}"):
        response = HttpResponse(status=200, headers=[("set-cookie", header)])
        browser.store(f"{HOST}/", response, now_ms=RealClock().system_ms())
    sent = browser.headers(f"{HOST}/", from_other_site=False)
    assert sent == ({"cookie": "a=2"} if is_kept else {})


async def test_a_browser_drops_the_oldest_cookies_of_a_host() -> None:
    browser = Browser()
    for number in range(2 * MAX_COOKIES):
        response = HttpResponse(status=200, headers=[("set-cookie", f"c{number}=1")])
        browser.store(f"{HOST}/", response, now_ms=0)
    [cookies] = browser.headers(f"{HOST}/", from_other_site=False).values()
    assert cookies.split("; ") == [f"c{n}=1" for n in range(MAX_COOKIES, 2 * MAX_COOKIES)]


PROBLEMS = [
    ({"order": "$.id"}, b'\r\n{"number": 7}', "no order at $.id, where $ has the members: number"),
    ({"order": "$.id"}, b"\r\n<html>", "no order at $.id, where $ is null"),
    (
        {"order": {"header": "location"}},
        b"Server: x\r\n",
        "no order at the header location, where the headers are: server",
    ),
    (
        {"order": {"header": "location", "match": "s/(.+)"}},
        b"Location: /cart\r\n",
        "no order at a match of 's/(.+)' in the header location",
    ),
    (
        {"order": {"path": "$.url", "match": "s/(.+)"}},
        b'\r\n{"url": "/cart"}',
        "no order at a match of 's/(.+)' in $.url",
    ),
    (
        {"order": "$.id", "payment": {"match": "pay_.+"}},
        b'\r\n{"id": 7}',
        "no payment at a match of 'pay_.+' in its text",
    ),
]


@pytest.mark.parametrize(("places", "response", "expected"), PROBLEMS)
async def test_a_value_that_a_start_does_not_have_is_reported_with_what_there_is(
    places: Any, response: bytes, expected: str
) -> None:
    problem, server = await problem_of({"request": f"POST {HOST}/", **places}, {"/": OK + response})
    line = f"POST http://127.0.0.1:{server.port}/"
    assert problem == f"{line}: the response has {expected}"


async def test_a_request_that_fails_ends_a_start() -> None:
    start = [LOGIN, {"request": f"POST {HOST}/orders", "order": "$.id"}]
    refused = b"HTTP/1.1 403 Forbidden\r\n\r\nno token"
    problem, server = await problem_of(start, {"/login": refused})
    expected = f"the order cannot be started: GET http://127.0.0.1:{server.port}/login"
    assert problem == f"{expected}: 403 no token"
    assert len(server.requests) == 1


async def test_a_value_that_is_no_url_is_reported() -> None:
    follow = {"request": "GET {link}", "order": "$.id"}
    start = [{"request": f"GET {HOST}/login", "values": {"link": "$.link"}}, follow]
    with pytest.raises(UserError, match="'mailto:x' is no http or https URL"):
        await started(start, {"/login": OK + b'\r\n{"link": "mailto:x"}'})


TEXTS = [
    (b"order 7 is paid, 2 parcels", (True, False, 2)),
    (b"order 7 is open", (False, False, 0)),
    (b"order 7\nclosed\n", (False, True, 0)),
]


@pytest.mark.parametrize(("text", "summary"), TEXTS)
async def test_a_state_can_be_a_text(text: bytes, summary: tuple[bool, bool, int]) -> None:
    state = {"closed": {"match": "^closed$"}, "fulfilled": {"match": "([0-9]+) parcels"}}
    sample = await read(state, OK + b"\r\n" + text)
    assert sample.summary == summary
    # Only what is declared is compared with that of other histories.
    again = await read(state, OK + b"\r\n" + text + b" at noon")
    assert again.state == sample.state


@pytest.mark.parametrize(
    ("pattern", "text", "count"),
    [("<li>", "<li>a<li>b", 2), ("<li>", "", 0), (r"n=(\d+)", "n=3, n=9", 3), ("n=(x)?", "n=", 1)],
)
def test_a_pattern_counts_by_its_number_or_by_its_matches(
    pattern: str, text: str, count: int
) -> None:
    response = HttpResponse(status=200, body=text.encode())
    assert Count(match=pattern).count(response) == count


async def test_a_state_without_json_is_reported_where_a_path_needs_it() -> None:
    state = {"paid": {"path": "$.paid"}}
    with pytest.raises(UserError, match=r"cannot read the state of order 7: GET .*: no JSON"):
        await read(state, OK + b"\r\npaid")


async def test_commands_have_their_values_quoted_and_the_variables_of_the_shop() -> None:
    command = """printf '{"id": "%s", "is": "%s paid"}' {order} "$WORD"; echo a warning >&2"""
    state = {"command": command, "paid": {"path": "$.is", "match": "not paid"}}
    sample = await read(state, order="a; 'b", WORD="not")
    assert sample.is_paid
    assert sample.state == b'{"id": "a; \'b", "is": "not paid"}'


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        ("echo out; echo no such order >&2; exit 3", "exit code 3: no such order"),
        ("echo no database; exit 1", "exit code 1: no database"),
        ("kill -9 $$", "exit code -9: "),
        (
            f"head -c {2 * MAX_OUTPUT_BYTES} /dev/zero",
            f"the output has {MAX_OUTPUT_BYTES:,} bytes or more",
        ),
    ],
)
async def test_a_command_that_fails_is_reported(command: str, seen: str) -> None:
    problem, _ = await problem_of({"command": command, "order": "$.id"}, {})
    assert problem == f"the order cannot be started: {command}: {seen}".rstrip()


SLOW = [
    pytest.param("(a+)+b", "a" * 60, id="groups"),
    pytest.param("(.*.*.*)*z", "a" * 90_000, id="many"),
    # Some seconds: the timer is looked at between steps, and each of these searches all blanks.
    pytest.param(r"\s*x", " " * MAX_TEXT_CHARACTERS, id="blanks", marks=pytest.mark.deep),
]


@pytest.mark.parametrize(("pattern", "text"), SLOW)
def test_a_search_that_takes_too_long_is_ended(pattern: str, text: str) -> None:
    response = HttpResponse(status=200, body=text.encode())
    with pytest.raises(UserError, match=r"needs more than 0\.5 s .*; write a pattern with"):
        ResponseValue(match=pattern).read(response)
    assert ResponseValue(match="[ab]").read(HttpResponse(status=200, body=b"xab")) == "a"


def test_a_text_that_is_too_long_is_not_searched() -> None:
    response = HttpResponse(status=200, body=b"a" * (MAX_TEXT_CHARACTERS + 1))
    with pytest.raises(UserError, match=r"no text of more than 262,144 .* \(got 262,145\)"):
        ResponseValue(match="b").read(response)


async def test_an_application_without_an_address_has_commands_only() -> None:
    explored = shop({"command": "true", "order": "$.id"}, {"command": "true {order}"})
    assert explored.integration.url == ""
    assert not await explored.serves_several()


async def test_a_start_ends_with_the_first_value_that_is_missing() -> None:
    start = [LOGIN, {"request": f"POST {HOST}/orders/{{csrf}}", "order": "$.id"}]
    problem, server = await problem_of(start, {"/login": OK})
    assert problem.endswith(
        'the response has no csrf at a match of \'value="([^"]+)"\' in its text'
    )
    assert len(server.requests) == 1
