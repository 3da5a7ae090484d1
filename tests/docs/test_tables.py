"""The tables and lists of the documents match the program."""

import re
from pathlib import Path
from typing import Any

import httpx

from emulator.domain.clauses import CLAUSES
from emulator.domain.durations import UNIT_MS
from emulator.domain.payment import PING
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.domain.webhooks import (
    EVENT_TYPES_IN_ORDER,
    MAX_ENDPOINTS,
    MAX_TIMEOUT_MS,
    ROTATION_OVERLAP_MS,
    DeliveryState,
    Profile,
)
from emulator.http.exchange import (
    MAX_BYTES_READ,
    MAX_RESPONSE_BYTES,
    MAX_RESPONSE_PARTS,
    MAX_STORED_BYTES,
)
from emulator.server.control.app import RESOURCES
from emulator.server.engine.accounts.clock_service import MAX_ADVANCE_MS
from emulator.server.engine.delivery.attempts import DELAYS_MS, MAX_RETRY_AFTER_MS
from emulator.server.engine.delivery.gates import MAX_ATTEMPTS
from emulator.server.engine.delivery.job_selection import MAX_CONCURRENT_ATTEMPTS
from tests.docs.document import README, REPOSITORY, pages, part, rows, text_of
from tests.docs.generated import TABLES, generated, index
from tests.docs.generated.action import with_versions
from tests.server.engine.webhook_world import webhook_world
from tests.world import LIVE_KEY, World, headers, order, world

WEBHOOKS = "docs/guides/webhooks.md"
CONTROL_API = "docs/reference/control-api.md"
ERROR_CODES = "docs/reference/error-codes.md"
FIDELITY = "docs/reference/fidelity.md"
ARCHITECTURE = "ARCHITECTURE.md"
MAX_CHAPTER_LINES = 400
# Tables, which are looked up, do not count.
GENERATED = re.compile("<!-- generated: .*?<!-- end generated -->", re.DOTALL)
LONG = "a" * 3_000
# A request for each warning; a string is the query of a list call.
ODD_REQUESTS: list[str | dict[str, Any]] = [
    "NAME=1",
    "limit=5&limit=5",
    {"methods": ["telebirr", "telebirr"]},
    {"metadata": {"key": LONG}},
    {"success_url": f"https://shop.example/{LONG}"},
    {"cancel_url": f"https://shop.example/{LONG}"},
    "created_gte=2026-01-01",
    "created_lte=2026-01-01",
    {"headers": {"Idempotency-Key": "a"}},
    {"idempotency_key": LONG},
    {"expires_in": 1},
]


def test_the_generated_tables_are_up_to_date() -> None:
    for (page, name), table in TABLES.items():
        message = f"{page}, {name}: run `python -m tests.docs`"
        assert generated(name, text_of(page)) == table(), message


def test_the_recipes_name_the_present_version() -> None:
    assert "@v1.2.3" not in with_versions("uses: shop/etb-payments-emulator@v1.2.3")
    for page in pages():
        assert with_versions(text_of(page)) == text_of(page), f"{page}: run `python -m tests.docs`"


async def test_every_warning_is_listed_with_its_code(emulator: World) -> None:
    async with world(strict=True) as strict:
        seen = [await _seen(emulator, strict, request) for request in ODD_REQUESTS]
    listed = [
        (row[1].strip("`"), row[2].strip("`"))
        for row in rows(generated("warnings", text_of(ERROR_CODES)))
    ]
    only_warned = ("frequent-polling", "replayed-final-payment")
    assert listed == [*seen, *((slug, "stays a warning") for slug in only_warned)]


async def _seen(tolerant: World, strict: World, request: str | dict[str, Any]) -> tuple[str, str]:
    """The slug of the warning, and the code of the refusal."""
    served = await _send(tolerant, request)
    refused = await _send(strict, request)
    assert (served.is_success, refused.status_code) == (True, 400)
    slug = served.headers["emulator-warning"].replace(":limit", ":NAME")
    return slug, refused.json()["error"]["code"]


async def _send(to: World, request: str | dict[str, Any]) -> httpx.Response:
    if isinstance(request, str):
        return await to.api.get(f"/v1/payments?{request}", headers=headers())
    changes = dict(request)
    extra = changes.pop("headers", {})
    body = order(**changes)
    return await to.api.post("/v1/payments", json=body, headers={**headers(), **extra})


async def test_the_31st_read_of_a_live_payment_is_frequent_polling() -> None:
    async with world(strict=True) as strict:
        payment = await strict.create(LIVE_KEY)
        path, live = f"/v1/payments/{payment['id']}", headers(LIVE_KEY)
        reads = [await strict.api.get(path, headers=live) for _ in range(31)]
    warnings = [read.headers.get("emulator-warning") for read in reads]
    assert warnings == [None] * 30 + ["frequent-polling"]
    assert {read.status_code for read in reads} == {200}


def test_each_error_code_has_a_cause_of_its_own() -> None:
    causes = [row[2] for row in rows(text_of(ERROR_CODES)) if row[0].isdecimal()]
    assert len(causes) > 50
    assert not [cause for cause in causes if "value of the field" in cause]
    # The keys of `list_payments` and `created_…` come in pairs.
    assert len({re.sub("`[a-z_]+`", "", cause) for cause in causes}) > 0.8 * len(causes)


def test_every_call_of_the_control_api_is_listed() -> None:
    listed = [row[0].strip("`") for row in rows(text_of(CONTROL_API)) if "/_emulator" in row[0]]
    declared = [
        f"{operation.method} {operation.path}"
        for resource in RESOURCES
        for operation in resource.operations
    ]
    assert sorted(listed) == sorted(declared)


PATHS = {
    "GET /_emulator/clock": "/clock",
    "GET /_emulator/payments/{payment_id}": "/payments/{id}",
    "GET /_emulator/webhook_endpoints": "/webhook_endpoints",
    "GET /_emulator/deliveries": "/deliveries",
    "GET /_emulator/scenarios": "/scenarios",
    "GET /_emulator/faults": "/faults",
    "GET /_emulator/snapshots": "/snapshots",
}


async def test_the_members_of_a_response_are_listed(emulator: World) -> None:
    async with webhook_world(emulator=emulator):
        payment = await emulator.create()
        fault = {"when": {"request": "any"}, "then": {"latency": "1ms"}, "times": 1}
        assert (await emulator.control("POST", "/faults", fault)).status_code == 201
        assert (await emulator.control("PUT", "/snapshots/one")).status_code == 201
        responses = {
            call: await emulator.shown(path.format(id=payment["id"]))
            for call, path in PATHS.items()
        }
    for call, response in responses.items():
        [returned] = [row[2] for row in rows(text_of(CONTROL_API)) if row[0] == f"`{call}`"]
        members = list(response["data"][0] if "data" in response else response)
        listed = re.findall(r"\{([^{}]*)\}", returned)[0].split(", ")
        optional = {name.removesuffix("?") for name in listed if name.endswith("?")} - {*members}
        required = [name.removesuffix("?") for name in listed if name[:-1] not in optional]
        assert required == members, call


def test_every_transition_is_listed() -> None:
    life = part("docs/explanation/simulation.md", "The life of a payment")
    listed = {
        (since.strip("`"), row[1].strip("`"))
        for row in rows(life)
        for since in row[0].split(", ")
        if since
    }
    assert listed == {
        (since.value, to.value)
        for (since, to), edge in TRANSITIONS.items()
        if edge is not Edge.UNUSUAL
    }


async def test_a_delivery_is_as_documented() -> None:
    shown, _, body = (
        part(WEBHOOKS, "What arrives").split("```http\n")[1].split("```")[0].partition("\n\n")
    )
    async with webhook_world() as hooks:
        await hooks.emulator.create()
        await hooks.settle()
    [arrived] = hooks.receiver.received
    # The last two are for the connection.
    names = [name for name in arrived.headers if name not in {"accept-encoding", "connection"}]
    listed = [line.partition(":")[0] for line in shown.splitlines()[1:]]
    assert [*listed, "content-length"] == names
    assert re.findall(r'"(\w+)":', body.partition('"data"')[0]) == [*arrived.json][:-1]
    of_data = re.findall(r'"(\w+)":', body.partition('"data":')[2])
    assert of_data == [*arrived.json["data"]][: len(of_data)]


def test_every_type_of_event_is_listed() -> None:
    text = part(WEBHOOKS, "What arrives").partition("**`type`** is")[2].partition("- **")[0]
    assert re.findall(r"`([a-z._]+)`", text) == [*EVENT_TYPES_IN_ORDER, PING]


def test_every_retry_is_listed() -> None:
    for profile, row in zip(Profile, rows(part(WEBHOOKS, "Retries and time")), strict=True):
        delays = [delay.replace("min", "m").split() for delay in row[1].split(", ")]
        assert tuple(int(number) * UNIT_MS[unit] for number, unit in delays) == DELAYS_MS[profile]


def test_the_example_of_an_advance_covers_all_retries() -> None:
    hour_s = UNIT_MS["h"] // 1_000
    assert f'{{"seconds": {76 * hour_s}}}' in part(WEBHOOKS, "Retries and time")
    assert 75 * hour_s < sum(DELAYS_MS[Profile.STANDARD]) // 1_000 < 76 * hour_s


def test_every_state_of_a_delivery_is_listed() -> None:
    text = part(WEBHOOKS, "Looking at deliveries").partition("A delivery is")[2]
    assert re.findall("`([a-z]+)`", text.partition("- **")[0]) == [
        state.value for state in DeliveryState
    ]


RELIABLE = "What an endpoint can rely on"
LIMITS = [
    ("Retries and time", f"within {MAX_TIMEOUT_MS // 1_000} seconds"),
    ("Retries and time", f"at most {MAX_ADVANCE_MS // 1_000} seconds of real time"),
    (RELIABLE, f"{MAX_TIMEOUT_MS // 1_000} s for an attempt"),
    (RELIABLE, f"{MAX_BYTES_READ // 1_024} KiB are read"),
    (RELIABLE, f"{MAX_STORED_BYTES // 1_024} KiB kept"),
    (RELIABLE, f"at most {MAX_RESPONSE_BYTES // 1_024} KiB in {MAX_RESPONSE_PARTS:,} parts"),
    (RELIABLE, f"at most {MAX_ATTEMPTS} attempts under way"),
    (RELIABLE, f"{MAX_CONCURRENT_ATTEMPTS} attempts are under way"),
    (RELIABLE, f"at most {MAX_ENDPOINTS} endpoints"),
    (RELIABLE, f"off, by {MAX_RETRY_AFTER_MS // UNIT_MS['h']} hours at most"),
    ("Looking at deliveries", f"For {ROTATION_OVERLAP_MS // UNIT_MS['h']} hours"),
]


def test_every_limit_of_webhooks_is_as_documented() -> None:
    wrong = [
        limit for title, limit in LIMITS if limit not in " ".join(part(WEBHOOKS, title).split())
    ]
    assert wrong == []


def test_every_clause_is_stated_or_has_a_row_with_its_assumption() -> None:
    text = text_of(FIDELITY)
    assumed = rows(generated("fidelity", text))
    stated = generated("stated clauses", text).strip().split(", ")
    assert all(len(row) == 5 and row[3] for row in assumed)
    assert {*stated} | {row[0] for row in assumed} == {clause.number for clause in CLAUSES}
    assert len(stated) + len(assumed) == len(CLAUSES)


def test_every_package_is_in_the_table_of_layers() -> None:
    cells = " ".join(row[1] for row in rows(part(ARCHITECTURE, "Layers")))
    package = REPOSITORY / "emulator"
    packages = {file.parent.name for file in package.glob("*/__init__.py")}
    modules = (*package.glob("[!_]*.py"), *package.glob("tools/[!_]*.py"))
    packages |= {file.stem for file in modules}
    halves = ("server/*", "server/engine/*", "tools/*")
    subpackages = {
        file.parent.name for half in halves for file in package.glob(f"{half}/__init__.py")
    }
    assert set(re.findall(r"`(\w+)`", cells)) == packages | subpackages


def test_every_file_that_the_architecture_page_names_exists() -> None:
    paths = re.findall(r"`(\w[\w.-]*/[\w./-]*)`", text_of(ARCHITECTURE))
    assert len(paths) > 20
    places = (REPOSITORY, REPOSITORY / "emulator")
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []


def test_every_link_has_a_target() -> None:
    broken = [
        f"{page}: {link}"
        for page in pages()
        for link in re.findall(r"\]\((?!https?://)([^)\s]+)\)", text_of(page))
        if not _exists(page, link)
    ]
    assert broken == []


def _exists(page: str, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = ((REPOSITORY / page).parent / path).resolve() if path else REPOSITORY / page
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(document: Path) -> set[str]:
    """The anchors that code hosts give to headings."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}


CHAPTERS = [page for page in pages() if page.startswith("docs/")]


def test_every_chapter_is_short_and_is_in_the_index() -> None:
    listed = [f"docs/{each.path}" for chapters in index.CHAPTERS.values() for each in chapters]
    assert sorted([*listed, index.INDEX]) == sorted(CHAPTERS)
    for page in CHAPTERS:
        written = GENERATED.sub("", text_of(page))
        assert len(written.splitlines()) <= MAX_CHAPTER_LINES, page


def test_each_of_twenty_tasks_is_two_clicks_from_the_readme() -> None:
    assert len(index.TASKS) == 20
    assert f"]({index.INDEX})" in text_of(README)
    assert all(f"]({target})" in text_of(index.INDEX) for target in index.TASKS.values())


def test_the_readme_is_two_screens() -> None:
    text = text_of(README)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(text.splitlines()) <= 250
    assert len(prose.split()) <= 900


def test_every_chapter_begins_with_its_purpose_and_all_but_the_reference_end_with_links() -> None:
    for page in CHAPTERS:
        title, blank, first, *_ = text_of(page).splitlines()
        assert title.startswith("# "), page
        assert not blank, page
        assert first[0].isalnum() or first[0] == "`", f"{page}: no sentence below the title"
        if page != index.INDEX and "/reference/" not in page:
            *_, last = re.split(r"^## ", text_of(page), flags=re.MULTILINE)
            assert last.startswith("Next\n"), page
            assert len(re.findall(r"^- \[", last, re.MULTILINE)) >= 2, page
