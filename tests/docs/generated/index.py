"""The index of the documents: the table of README.md, docs/index.md and llms.txt."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.docs.document import README
from tests.docs.markdown import table

INDEX, LLMS = "docs/index.md", "llms.txt"


@dataclass(frozen=True, slots=True)
class Chapter:
    """A page below `docs/`, its name in a list, and what its reader finds there."""

    path: str
    name: str
    subject: str


CHAPTERS: Mapping[str, tuple[Chapter, ...]] = {
    "Start": (Chapter("tutorial.md", "Tutorial", "from nothing to a green CI job in nine steps"),),
    "Make things happen": (
        Chapter("guides/checkout-page.md", "Checkout page", "the page, the phone and the banks"),
        Chapter("guides/time.md", "Time", "advance, set or freeze an account's clock"),
        Chapter(
            "guides/scenarios.md",
            "Scenarios and scripts",
            "configure what a payment does; write, replay and record whole cases",
        ),
        Chapter("guides/faults.md", "Faults", "make requests fail; disturb deliveries"),
        Chapter("guides/webhooks.md", "Webhooks", "register endpoints, test retries, resend"),
        Chapter(
            "guides/webhook-forms.md", "Webhook forms", "when the real webhooks look different"
        ),
        Chapter("guides/dashboard.md", "Dashboard", "follow and change everything in a browser"),
    ),
    "Test with it": (
        Chapter("guides/pytest.md", "pytest", "the fixtures, also for asynchronous code"),
        Chapter(
            "guides/test-helpers.md",
            "Node.js, PHP, Java and Go",
            "a test helper in one file, which starts the emulator",
        ),
        Chapter(
            "guides/browser-tests.md", "Browser tests", "Playwright; Next.js, NestJS, Vitest, Jest"
        ),
        Chapter(
            "guides/webhook-handlers.md", "Webhook handlers", "the rules; Python, Node.js and PHP"
        ),
        Chapter("guides/frameworks.md", "Frameworks", "handlers for Python and Node.js"),
        Chapter(
            "guides/frameworks-php-ruby-java-go.md",
            "More frameworks",
            "Laravel, Symfony, Rails, Spring and Go",
        ),
        Chapter("guides/accounts.md", "Accounts", "keys, isolated tests, idempotency keys"),
        Chapter(
            "guides/inspecting-requests.md", "Inspecting requests", "query what your code sent"
        ),
        Chapter("guides/checklist.md", "Checklist", "ten points about your integration"),
        Chapter("guides/explore.md", "Explore", "run your shop through every order of events"),
        Chapter(
            "guides/explore-any-shop.md", "Explore any shop", "shops with pages, forms and logins"
        ),
        Chapter("guides/rehearse.md", "Rehearse", "test your tests, with false answers"),
        Chapter(
            "guides/tolerant-clients.md",
            "Tolerant clients",
            "vary what the contract leaves open, with `--vary`",
        ),
        Chapter("guides/agents.md", "Coding agents", "find, fix and prove with JSON"),
        Chapter("guides/snapshots.md", "Snapshots", "save and restore an account"),
        Chapter(
            "guides/generated-clients.md", "Generated clients", "SDKs and the OpenAPI document"
        ),
    ),
    "Run it": (
        Chapter("guides/install.md", "Install", "from an address; what enters your environment"),
        Chapter("guides/containers.md", "Containers", "Docker, Compose, Testcontainers"),
        Chapter("guides/ci.md", "CI", "GitHub Actions, GitLab CI, slow runners"),
        Chapter("guides/https.md", "HTTPS", "certificates for localhost"),
        Chapter("guides/several-processes.md", "Several processes", "replicas behind nginx"),
        Chapter("guides/asgi.md", "ASGI", "another server, or a test without a socket"),
        Chapter("guides/connection-problems.md", "Connection problems", "find the correct address"),
    ),
    "Go live": (
        Chapter(
            "guides/comparing.md", "Comparing", "the real service, recorded traffic, incidents"
        ),
        Chapter("guides/going-to-production.md", "Going to production", "before the first payment"),
    ),
    "Look up": (
        Chapter("reference/options.md", "Options", "the options of `serve`"),
        Chapter("reference/commands.md", "Commands", "every command, its options and exit codes"),
        Chapter("reference/control-api.md", "Control API", "every call of `/_emulator`"),
        Chapter("reference/scenario-format.md", "Scenario format", "every key of a scenario file"),
        Chapter("reference/webhook-format.md", "Webhook format", "every key of a webhook form"),
        Chapter("reference/integration-format.md", "Integration format", "the file of `explore`"),
        Chapter("reference/verdicts.md", "Verdicts", "the failures of `explore`, and what to do"),
        Chapter("reference/test-helpers.md", "Test helpers", "every member; other languages"),
        Chapter(
            "reference/error-codes.md", "Error codes", "refused and unusual requests; idempotency"
        ),
        Chapter("reference/test-ids.md", "Test ids", "the `data-testid` values of the pages"),
        Chapter("reference/fidelity.md", "Fidelity", "every clause, stated or assumed"),
        Chapter("reference/found-bugs.md", "Found bugs", "what `explore` is tested with"),
    ),
    "Understand": (
        Chapter("explanation/simulation.md", "Simulation", "the life of a payment, and the limits"),
        Chapter("explanation/determinism.md", "Determinism", "what is the same in every run"),
        Chapter("explanation/security.md", "Security", "who can reach the emulator"),
    ),
}
# What readers want, and the section below `docs/` that shows it.
TASKS: Mapping[str, str] = {
    "see a payment in a browser, and pay it": "guides/checkout-page.md",
    "make a payment fail, expire or wait": "guides/checkout-page.md#test-numbers",
    "skip thirty minutes in a test": "guides/time.md",
    "lose a response, so that my code retries": "guides/faults.md#lose-a-response-after-the-commit",
    "receive a webhook and verify it": "guides/webhook-handlers.md#rules-for-a-handler",
    "get webhooks twice, late or forged": "guides/faults.md#test-a-handler-against-faults",
    "use another form or signature of webhooks": "guides/webhook-forms.md",
    "test with pytest": "guides/pytest.md",
    "test asynchronous Python, such as FastAPI": "guides/pytest.md#asynchronous-tests",
    "test Node.js, PHP, Java or Go": "guides/test-helpers.md",
    "test in a browser with Playwright": "guides/browser-tests.md",
    "write a helper for another language": "reference/test-helpers.md#another-language",
    "run tests in parallel, each with its own data": "guides/accounts.md",
    "find the order of events that loses money": "guides/explore.md",
    "know whether my tests notice a wrong answer": "guides/rehearse.md",
    "survive new members and statuses of the API": "guides/tolerant-clients.md",
    "run the emulator in CI": "guides/ci.md",
    "reach the emulator from a container": "guides/connection-problems.md",
    "know what enters my environment": "guides/install.md#what-enters-your-environment",
    "compare the emulator with the real service": "guides/comparing.md",
}


def readme_table() -> str:
    """A row for each group of chapters."""
    rows = [
        (f"**{group}**", ", ".join(f"[{each.name}](docs/{each.path})" for each in chapters))
        for group, chapters in CHAPTERS.items()
        if group != "Start"
    ]
    return table(("", "chapters"), rows)


def tasks_table() -> str:
    """The tasks of readers, each with the section that shows it."""
    names = {each.path: each.name for chapters in CHAPTERS.values() for each in chapters}
    rows = [
        (task, f"[{names[target.partition('#')[0]]}]({target})") for task, target in TASKS.items()
    ]
    return table(("I want to", "chapter"), rows)


def _lists(prefix: str) -> str:
    return "\n".join(
        f"## {group}\n\n"
        + "".join(f"- [{each.name}]({prefix}{each.path}): {each.subject}\n" for each in chapters)
        for group, chapters in CHAPTERS.items()
    )


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    (README, "chapters"): readme_table,
    (INDEX, "tasks"): tasks_table,
    (INDEX, "chapters"): lambda: _lists(""),
    (LLMS, "chapters"): lambda: _lists("docs/"),
}
