"""The pages about requests: kinds, filters, and why a request was refused."""

import html
import subprocess

import pytest

from emulator.domain.clauses import clauses_of_code
from tests.docs.generated.error_codes import codes_of
from tests.server.dashboard import count, get, page, shown, texts
from tests.world import World, headers, order, world

FORM = "application/x-www-form-urlencoded"
HOSTILE = '</pre><script>alert("x")</script>\u202e' + "x" * 500


async def refuse(emulator: World, **changes: object) -> str:
    """A refused create call; returns the id of the request."""
    response = await emulator.api.post("/v1/payments", json=order(**changes), headers=headers())
    assert response.status_code == 400
    return str(response.headers["request-id"])


@pytest.mark.parametrize("code", [code for _, code in codes_of("v1")])
def test_every_code_of_the_contract_has_a_clause(code: str) -> None:
    assert clauses_of_code(code)


async def test_requests_are_grouped_by_kind_with_counts(emulator: World) -> None:
    await emulator.create()
    for _ in range(12):
        await refuse(emulator, amount=1)
    await emulator.api.get("/v1/payments?limitt=1", headers=headers())
    page = await get(emulator, "requests")
    text = await shown(emulator, "requests")
    assert "12 400 invalid_amount 1 200 1 201 1 with the warning unknown-parameter" in text
    assert 'href="/_emulator/view/requests?status=400&amp;code=invalid_amount"' in page.text


@pytest.mark.parametrize(
    ("filters", "rows"),
    [
        *(("", 4), ("method=POST", 3), ("path=/v1/payments*&status=4xx", 2)),
        *(("code=invalid_amount", 1), ("warning=unknown-parameter", 1)),
        ("warning=unknown-parameter:limitt&status=200", 1),
        ("status=none", 0),
    ],
)
async def test_the_filters_of_the_address_apply(emulator: World, filters: str, rows: int) -> None:
    await emulator.create()
    await refuse(emulator, amount=1)
    await refuse(emulator, currency="USD")
    await emulator.api.get("/v1/payments?limitt=1", headers=headers())
    page = (await get(emulator, f"requests?{filters}")).text
    assert count(page, "request-row") == rows
    assert count(page, "no-match") == (rows == 0)


async def test_a_refusal_is_shown_with_its_sentence_and_its_clauses(emulator: World) -> None:
    request = await refuse(emulator, amount="150.00")
    text = await shown(emulator, f"requests/{request}")
    assert 'Why was this refused? got "150.00": "amount" must be an integer' in text
    assert "Clause 4.1.2: amount : integer, in ETB cents." in text


async def test_the_headers_of_a_request_are_shown_with_a_masked_key(emulator: World) -> None:
    sent = {**headers(), "User-Agent": "shop/1.0 <b>", "Idempotency-Key": "order-7"}
    await emulator.api.get("/v1/payments", headers=sent)
    text = await shown(emulator, "requests/latest")
    assert "authorization: Bearer test_de…key" in text
    assert "user-agent: shop/1.0 <b>" in text
    assert "idempotency-key: order-7" in text
    assert sent["Authorization"] not in text


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("sk_nope", "with a key of another form"),
        ("test_unknown_key", "with the key test_un…key"),
        ("", "without a key"),
    ],
)
async def test_a_request_without_a_valid_key_is_shown_with_what_it_sent(
    emulator: World, key: str, words: str
) -> None:
    await emulator.api.get(
        "/v1/payments", headers={"Authorization": f"Bearer {key}"} if key else {}
    )
    for path in ("payments", "requests"):
        assert words in await shown(emulator, path)


async def test_a_warning_is_shown_with_its_sentence_and_its_clause(emulator: World) -> None:
    await emulator.api.get("/v1/payments?limitt=1", headers=headers())
    text = await shown(emulator, "requests/latest")
    assert "unknown-parameter:limitt : unknown body or query parameter (clause 4.1.14)" in text
    assert "With --strict it is 400 unknown_parameter ." in text


async def test_the_fault_of_a_request_is_shown(emulator: World) -> None:
    then = {"status": 500, "point": "after_commit"}
    await emulator.control("POST", "/faults", {"then": then, "times": 1})
    await emulator.api.post("/v1/payments", json=order(), headers=headers())
    text = await shown(emulator, "requests/latest")
    assert "A fault rule replaced the response 201: rule 1 of flt_" in text
    await emulator.control("PUT", "/scenarios/lost-answer/enabled", {"enabled": True})
    with pytest.raises(ConnectionResetError):
        await emulator.api.post("/v1/payments", json=order(), headers=headers())
    text = await shown(emulator, "requests/latest")
    assert "Why is there no response? A fault rule" in text
    assert "rule 1 of lost-answer ." in text


async def test_the_variants_of_a_response_are_shown() -> None:
    async with world(vary="charset,long-ids") as emulator:
        await emulator.create()
        html_of_page = await page(emulator, "requests/latest")
        assert texts(html_of_page, "variants") == [
            "The response has other forms that the contract allows (--vary): charset, long-ids."
        ]
    async with world() as emulator:
        await emulator.create()
        assert texts(await page(emulator, "requests/latest"), "variants") == []


async def test_the_response_of_a_gateway_is_shown_with_its_fault(emulator: World) -> None:
    then = {"status": 502, "body": "html"}
    await emulator.control("POST", "/faults", {"then": then, "times": 1})
    response = await emulator.api.get("/v1/payments", headers=headers())
    assert response.status_code == 502
    text = await shown(emulator, "requests/latest")
    assert "GET /v1/payments 502" in text
    assert "A fault rule applied to this request: rule 1 of flt_" in text
    assert " ".join(response.text.split()) in text
    assert "GET /v1/payments 502 fault" in await shown(emulator, "requests")


async def test_bodies_are_formatted_and_shown_as_they_were(emulator: World) -> None:
    body = '{"amount":15000,"amount":1,"x":1.50}'
    await emulator.api.post(
        "/v1/payments", content=body, headers={**headers(), "Content-Type": "application/json"}
    )
    page = (await get(emulator, "requests/latest")).text
    assert "  &#34;amount&#34;: 15000,\n  &#34;amount&#34;: 1,\n  &#34;x&#34;: 1.50\n" in page
    assert body.replace('"', "&#34;") in page


def arguments_of(page: str) -> list[str]:
    """What a shell passes to curl, when the command of a request's page is pasted into it."""
    command = html.unescape(page.partition('id="request-curl">')[2].partition("</pre>")[0])
    script = f"curl() {{ printf '%s\\n' \"$@\"; }}\nTEST_KEY=the_key\n{command}"
    printed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return printed.stdout.splitlines()


async def test_the_command_repeats_the_request(emulator: World) -> None:
    body = '@"{$(it\'s)}"'
    json = {**headers(), "Content-Type": "application/json"}
    await emulator.api.post("/v1/payments?a[]=1", content=body, headers=json)
    assert arguments_of((await get(emulator, "requests/latest")).text) == [
        *("-g", "http://127.0.0.1:8080/v1/payments?a[]=1"),
        *("-H", "Authorization: Bearer the_key", "-H", "Content-Type: application/json"),
        *("--data-raw", body),
    ]


@pytest.mark.parametrize(
    ("sent", "body", "copied"),
    [
        ("text/plain; charset='x'", "{}", ["Content-Type: text/plain; charset='x'"]),
        (FORM, "", [f"Content-Type: {FORM}"]),
        # Without a value, curl sends no such header.
        (None, "{}", ["Content-Type:"]),
        (None, "", []),
    ],
)
async def test_the_command_has_the_content_type_of_the_request(
    emulator: World, sent: str | None, body: str, copied: list[str]
) -> None:
    all_headers = headers() | ({} if sent is None else {"Content-Type": sent})
    response = await emulator.api.post("/v1/payments", content=body, headers=all_headers)
    page = (await get(emulator, f"requests/{response.headers['request-id']}")).text
    assert [each for each in arguments_of(page) if each.startswith("Content-Type")] == copied


async def test_texts_of_merchants_do_not_change_the_direction(emulator: World) -> None:
    await emulator.create(metadata={"note": HOSTILE})
    request = (await emulator.shown("/requests?method=POST"))["data"][0]["id"]
    page = (await get(emulator, f"requests/{request}")).text
    assert "\\u202e" in page


async def test_an_empty_journal_has_a_command(emulator: World) -> None:
    assert count((await get(emulator, "requests")).text, "lines") == 4


async def test_the_kind_that_is_shown_leads_back_to_all(emulator: World) -> None:
    await emulator.create()
    await refuse(emulator, amount=1)
    html = await page(emulator, "requests?status=400&code=invalid_amount")
    assert count(html, "request-row") == 1
    assert html.count('href="/_emulator/view/requests" aria-current="true"') == 1
