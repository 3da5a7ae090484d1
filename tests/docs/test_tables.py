"""The tables and lists of the documents match the program."""

import re
from pathlib import Path

from emulator.domain.durations import UNIT_MS
from emulator.domain.payment_methods import DEFAULT_ORDER
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.domain.webhooks import (
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
from emulator.scenarios.loader import load_paths, parse_scenario
from emulator.scenarios.runner.assertions import REFUSAL_CHECKS
from emulator.scenarios.script import MAX_SCRIPT_STEPS, SCRIPT_STEPS
from emulator.server.control.requests import RequestQuery
from emulator.server.engine.accounts.clock_service import MAX_ADVANCE_MS
from emulator.server.engine.delivery.attempts import DELAYS_MS
from emulator.server.engine.delivery.dispatcher import MAX_CONCURRENT_ATTEMPTS
from emulator.server.engine.delivery.gates import MAX_ATTEMPTS
from emulator.server.engine.state.journal import (
    MAX_ENTRIES,
    MAX_JOURNAL_BYTES,
    MAX_STORED_BODY_BYTES,
)
from emulator.settings import data_directory
from tests.docs.document import CONTRIBUTING, README, REPOSITORY, pages, part, rows, text_of
from tests.docs.generated import TABLES, generated, index
from tests.docs.generated.action import with_versions
from tests.docs.generated.helpers import HELPERS, with_texts
from tests.server.engine.webhook_world import webhook_world

WEBHOOKS = "docs/guides/webhooks.md"
TIME = "docs/guides/time.md"
FORMAT = "docs/reference/scenario-format.md"
SCENARIOS = "docs/guides/scenarios.md"
FAULTS = "docs/guides/faults.md"
FIDELITY = "docs/reference/fidelity.md"
REQUESTS = "docs/guides/inspecting-requests.md"
MAX_CHAPTER_LINES = 400
# Tables, which are looked up, do not count.
GENERATED = re.compile("<!-- generated: .*?<!-- end generated -->", re.DOTALL)


def test_the_generated_tables_are_up_to_date() -> None:
    for (page, name), table in TABLES.items():
        message = f"{page}, {name}: run `python -m tests.docs`"
        assert generated(name, text_of(page)) == table(), message


def test_the_helpers_have_the_texts_of_the_payment() -> None:
    for page in HELPERS:
        assert with_texts(page, text_of(page)) == text_of(page), (
            f"{page}: run `python -m tests.docs`"
        )


def test_the_recipes_name_the_present_version() -> None:
    assert "@v1.2.3" not in with_versions("uses: shop/etb-payments-emulator@v1.2.3")
    for page in pages():
        assert with_versions(text_of(page)) == text_of(page), f"{page}: run `python -m tests.docs`"


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


RELIABLE = "Responses and limits"
LIMITS = [
    (FIDELITY, None, f"2xx within {MAX_TIMEOUT_MS // 1_000} s"),
    (TIME, "Advance the clock", f"after {MAX_ADVANCE_MS // 1_000} seconds of real time"),
    (WEBHOOKS, RELIABLE, f"reads at most {MAX_BYTES_READ // 1_024} KiB"),
    (WEBHOOKS, RELIABLE, f"the first {MAX_STORED_BYTES // 1_024} KiB"),
    (WEBHOOKS, RELIABLE, f"{MAX_RESPONSE_BYTES // 1_024} KiB in {MAX_RESPONSE_PARTS:,} parts"),
    (WEBHOOKS, RELIABLE, f"at most {MAX_ATTEMPTS} attempts under way"),
    (WEBHOOKS, RELIABLE, f"{MAX_CONCURRENT_ATTEMPTS} attempts are under way"),
    (WEBHOOKS, "Looking at deliveries", f"For {ROTATION_OVERLAP_MS // UNIT_MS['h']} hours"),
    (FORMAT, None, f"at most {MAX_SCRIPT_STEPS:,} steps"),
    (FORMAT, None, f"filled in: {DEFAULT_ORDER['amount']} cents in {DEFAULT_ORDER['currency']}"),
    (REQUESTS, None, f"the newest {MAX_ENTRIES:,} requests"),
    (REQUESTS, None, f"at most {MAX_JOURNAL_BYTES // 1_048_576} MiB"),
    (REQUESTS, None, f"each up to {MAX_STORED_BODY_BYTES // 1_024} KiB"),
]


def test_every_limit_is_as_documented() -> None:
    texts = [
        (part(page, title) if title else text_of(page), limit) for page, title, limit in LIMITS
    ]
    assert [limit for text, limit in texts if limit not in " ".join(text.split())] == []


def test_every_scenario_that_is_off_at_start_has_a_row() -> None:
    off = [s for s in load_paths([data_directory("scenarios")]) if not s.enabled]
    for page, title, is_of_webhooks in (
        (FAULTS, "Test a handler against faults", True),
        (SCENARIOS, "Ready-made cases", False),
    ):
        listed = [row[1].strip("`") for row in rows(part(page, title))]
        shipped = [f"{s.name}.yaml" for s in off if bool(s.webhooks) is is_of_webhooks]
        assert sorted(listed) == shipped, page


def test_the_examples_of_the_steps_are_a_script() -> None:
    steps = "".join(f"  - {row[1].strip('`')}\n" for row in rows(part(FORMAT, "Steps")))
    scenario = parse_scenario(f"version: 1\nname: steps\nscript:\n{steps}", "the table")
    assert len(scenario.script) == len(SCRIPT_STEPS)


def test_every_check_of_a_refusal_is_listed() -> None:
    _, _, text = part(FORMAT, "Steps").partition("**A refusal must be expected.**")
    names = [name.partition(":")[0] for name in re.findall("`([^`]+)`", text.partition("\n\n")[0])]
    assert set(names) - {"expect"} == REFUSAL_CHECKS


def test_every_filter_of_the_journal_has_a_row() -> None:
    listed = [row[0].strip("`") for row in rows(text_of(REQUESTS))]
    filters = [cell.partition("=")[0] for cell in listed if "=" in cell]
    assert sorted(filters) == sorted(RequestQuery.__struct_fields__)


def test_every_package_is_in_the_table_of_layers() -> None:
    cells = " ".join(row[1] for row in rows(part(CONTRIBUTING, "Layers")))
    package = REPOSITORY / "emulator"
    packages = {file.parent.name for file in package.glob("*/__init__.py")}
    modules = (*package.glob("[!_]*.py"), *package.glob("tools/[!_]*.py"))
    packages |= {file.stem for file in modules}
    halves = ("server/*", "server/engine/*", "tools/*")
    subpackages = {
        file.parent.name for half in halves for file in package.glob(f"{half}/__init__.py")
    }
    assert set(re.findall(r"`(\w+)`", cells)) == packages | subpackages


def test_every_file_that_the_architecture_names_exists() -> None:
    paths = re.findall(r"`(\w[\w.-]*/[\w./-]*)`", part(CONTRIBUTING, "Architecture"))
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
    listed = re.findall(r"\]\((.+?)\):", "".join(index.groups().values()))
    assert sorted([index.INDEX, *(f"docs/{path}" for path in listed)]) == sorted(CHAPTERS)
    for page in CHAPTERS:
        written = GENERATED.sub("", text_of(page))
        assert len(written.splitlines()) <= MAX_CHAPTER_LINES, page


def test_each_of_twenty_tasks_is_two_clicks_from_the_readme() -> None:
    assert len(set(index.tasks())) == 20
    assert f"]({index.INDEX})" in text_of(README)


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
