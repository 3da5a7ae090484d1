"""The tables of options, test numbers and clauses."""

import re
from collections.abc import Callable, Iterator

from emulator.domain.accounts import Mode
from emulator.domain.clauses import CLAUSES, WARNINGS, Basis, Clause
from emulator.domain.effects import Handset, Outcome
from emulator.domain.payment_methods import METHODS
from emulator.domain.variants import VARIANTS
from emulator.scenarios.loader import load_paths
from emulator.server.engine.accounts.checklist_items import ITEMS
from emulator.settings import OPTIONS, Option, data_directory
from tests.docs.generated.scenario_types import with_default
from tests.docs.markdown import table

_METHODS = [method for method in METHODS.values() if method.phone_digits]
_NOT_SHOWN = ": not shown"
# The page explains once that a client which follows the contract works under each rule.
_IS_VALID = re.compile(
    "(?:^|(?<=; ))"
    "(?:a (?:client|shop|handler)|an integer|a key that|the stated status|a retry) [^;]*",
    re.IGNORECASE,
)
_NO_DEFAULT = {True: "off", False: "none"}


def options_table() -> str:
    """Every option of `serve`: its flag, which the variable follows, its default, its help."""
    for option in OPTIONS:
        words = option.flag.removeprefix("--").replace("-", "_").upper()
        assert option.variable == f"EMULATOR_{words}", option
    names = [" ".join(filter(None, (each.flag, each.type.metavar))) for each in OPTIONS]
    texts = [with_default(_default(each), _prose(each.help)) for each in OPTIONS]
    rows = [(f"`{name}`", text) for name, text in zip(names, texts, strict=True)]
    return table(("option", "meaning"), rows)


def numbers_table() -> str:
    """The phone numbers of the shipped scenarios, by outcome."""
    numbers: dict[str, dict[str, str]] = {}
    for outcome, method, phone in _shipped_numbers():
        numbers.setdefault(outcome, {})[method] = f"`{phone}`"
    rows = [
        (outcome, *(phones.get(method.name, "") for method in _METHODS))
        for outcome, phones in numbers.items()
    ]
    return table(("outcome", *(method.title for method in _METHODS)), rows)


def warnings_table() -> str:
    """Every warning, with its code under `--strict`, and the clauses that describe it."""
    rows = [
        (
            f"`{slug}`",
            f"`{warning.strict_code}`" if warning.strict_code else "stays a warning",
            ", ".join(warning.clauses),
        )
        for slug, warning in WARNINGS.items()
    ]
    return table(("slug in the header", "code under `--strict`", "clause"), rows)


def variants_table() -> str:
    """Every variant, with what a client does."""
    rows = [(f"`{variant.name}`", variant.effect, variant.advice) for variant in VARIANTS]
    return table(("name", "effect", "what a client does"), rows)


def fidelity_table() -> str:
    """The clauses with an assumption: what the contract says, what the emulator does, and why."""
    head = ("clause", "the contract", "here", "assumed", "configured by")
    rows = [
        (
            clause.number,
            _prose(clause.says.removesuffix(_NOT_SHOWN)),
            _prose(clause.here),
            clause.assumed or "all",
            _configured_by(clause),
        )
        for clause in CLAUSES
        if has_assumption(clause)
    ]
    return table(head, rows)


def stated_clauses() -> str:
    """The clauses that the emulator follows without an assumption."""
    return ", ".join(clause.number for clause in CLAUSES if not has_assumption(clause)) + "\n"


def has_assumption(clause: Clause) -> bool:
    """Whether the table of assumptions has the clause."""
    return clause.basis is Basis.ASSUMED or clause.assumed is not None


def _configured_by(clause: Clause) -> str:
    others = [name for name in clause.settings if name.partition(" ")[2] not in clause.variants]
    variants = [f"--vary {','.join(clause.variants)}"] if clause.variants else []
    settings = ", ".join(f"`{name}`" for name in [*others, *variants])
    reason = _IS_VALID.sub("*valid*", clause.fixed_because or "")
    return "; ".join(filter(None, (settings, reason)))


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("docs/reference/fidelity.md", "fidelity"): fidelity_table,
    ("docs/reference/fidelity.md", "stated clauses"): stated_clauses,
    ("docs/guides/checklist.md", "checklist items"): lambda: table(
        ("id", "the integration"), [(f"`{item.id}`", item.title) for item in ITEMS]
    ),
    ("docs/guides/tolerant-clients.md", "variants"): variants_table,
    ("docs/reference/options.md", "options"): options_table,
    ("docs/reference/error-codes.md", "warnings"): warnings_table,
    ("docs/guides/checkout-page.md", "test numbers"): numbers_table,
}


def _prose(text: str) -> str:
    """A sentence with Markdown's signs in it as they are meant."""
    return text.replace("*", r"\*").replace("|", r"\|")


def _default(option: Option) -> str:
    text = option.default_text
    return f"`{text}`" if text else _NO_DEFAULT[option.is_switch]


def _shipped_numbers() -> Iterator[tuple[str, str, str]]:
    """The outcome, method and number of each rule for one number, telebirr's first."""
    shipped = load_paths([data_directory("scenarios")])
    rules = [rule for scenario in shipped if scenario.enabled for rule in scenario.outcomes]
    for method in _METHODS:
        for rule in rules:
            if rule.when.method == method.name and rule.when.phone and rule.when.mode is Mode.TEST:
                yield _outcome(rule.then), method.name, rule.when.phone


def _outcome(outcome: Outcome) -> str:
    assert not isinstance(outcome, Handset)
    [step] = outcome.steps
    when = f"after {step.after_ms // 1000} s" if step.after_ms else "at once"
    return f"{when} `{step.status}`" + (f", reason `{step.reason}`" if step.reason else "")
