"""Declares the results that commands write as JSON, from which their schema follows."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal

import msgspec
from msgspec import Struct

from emulator import __version__

MAX_SUMMARY_ROWS = 5
Row = tuple[str, str, str]


class _Declared(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ResultEntry(_Declared, frozen=True, kw_only=True):
    """A result; `what_to_do` is null if nothing is to be done."""

    what_to_do: str | None


class ExploredHistory(ResultEntry, frozen=True, kw_only=True):
    """A history that ran; `failed` with `verdict`, and `fixed` where one of a saved file passed.

    It is `not_judged` where a saved file could not be replayed.

    `file` is the file of the integration. Only a failed history has `steps`. `saved` is the
    file for `--replay`, which is null with that option.
    """

    file: str
    history: str
    result: Literal["passed", "failed", "fixed", "not_judged"]
    duration_ms: int
    verdict: str | None = None
    expected: str | None = None
    seen: str | None = None
    steps: Sequence[str] = ()
    saved: str | None = None

    @property
    def words(self) -> Row:
        return "Histories", self.history, f"{self.verdict}: {self.seen}"


class RehearsedVariant(ResultEntry, frozen=True, kw_only=True):
    """A run of the suite with a variant; `exit_code` is null where it did not end in time.

    `is_finding` is whether the suite did not notice a false answer, or the shop did not survive a
    disturbance. `is_applicable` is whether a response or a webhook could show the variant.
    `own_scenarios` counts the scenarios of tests, which had precedence.
    """

    variant: str
    description: str
    rehearsal: Literal["false-answer", "disturbance"]
    scenario: str
    is_finding: bool
    is_applicable: bool
    exit_code: int | None
    duration_ms: int
    failed_tests: Sequence[str]
    last_lines: Sequence[str]
    own_scenarios: int

    @property
    def words(self) -> Row:
        if self.rehearsal == "false-answer":
            return "False answers", self.variant, "the suite did not notice it"
        return "Disturbances", self.variant, ", ".join(self.failed_tests) or "the suite failed"


class ResultEvidence(_Declared, frozen=True, kw_only=True):
    """What was seen, and the ids of the requests and deliveries that show it."""

    ids: Sequence[str]
    seen: str


class ChecklistEntry(ResultEntry, frozen=True, kw_only=True):
    """An item of the checklist: what the integration does, and whether it was seen to do so."""

    id: str
    title: str
    result: Literal["passed", "failed", "not_exercised"]
    evidence: Sequence[ResultEvidence]


ProbeVerdict = Literal["right", "wrong", "not_judged", "not_applicable"]


class ProbedCase(ResultEntry, frozen=True, kw_only=True):
    """What a webhook handler answered in a case, and what is right: `2xx` or `4xx`.

    `reason` is why there is no verdict, where there is none.
    """

    case: str
    result: ProbeVerdict
    answered: str
    expected: str
    reason: str | None


class _Results(_Declared, frozen=True, kw_only=True, tag_field="type"):
    """What each document has; later versions only add members.

    `is_complete` is false where a signal or a limit ended the command before all was done.
    """

    version: Literal[1] = 1
    is_complete: bool = True

    def encode(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


class ExploreResults(_Results, frozen=True, kw_only=True, tag="explore"):
    """The histories that ran, and the size up to which all ran.

    `is_complete` is whether all histories up to `--depth`, by default 2, ran; `is_sufficient` is
    whether all up to `--require-depth` ran. `digest` is equal for equal versions of the emulator,
    integrations, seeds and histories.
    """

    seed: int
    digest: str
    is_sufficient: bool = True
    complete_size: int | None
    results: Sequence[ExploredHistory]


class RehearseResults(_Results, frozen=True, kw_only=True, tag="rehearse"):
    """The runs of the suite with each variant; `command` starts the suite."""

    command: str
    results: Sequence[RehearsedVariant]


class ChecklistResults(_Results, frozen=True, kw_only=True, tag="checklist"):
    """The items of the checklist."""

    results: Sequence[ChecklistEntry]


class ProbeResults(_Results, frozen=True, kw_only=True, tag="probe"):
    """The answers of the webhook handler at `url`."""

    url: str
    results: Sequence[ProbedCase]


Results = ExploreResults | RehearseResults | ChecklistResults | ProbeResults


def results_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the results of these commands."""
    [schema], definitions = msgspec.json.schema_components([Results], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Results of a command of payments-emulator",
        "description": "What --json writes for explore, rehearse, checklist and probe.",
        **schema,
        "$defs": {
            name: each | {"description": _line(each["description"])}
            for name, each in definitions.items()
        },
    }


def summary_tables(files: Mapping[str, bytes]) -> Iterator[str]:
    """Tables in Markdown of what is to be done after `explore` and `rehearse`.

    `files` have names. Raises ValueError, with the name, for a file that is not one of theirs.
    """
    tables: defaultdict[str, list[Row | None]] = defaultdict(list)
    for name, content in files.items():
        try:
            document = msgspec.json.decode(content, type=ExploreResults | RehearseResults)
        except msgspec.DecodeError as error:  # a ValueError since msgspec 0.21
            expected = "expected what explore --json or rehearse --json wrote"
            raise ValueError(f"{name}: {expected}: {error}") from None
        for each in document.results:
            if isinstance(each, RehearsedVariant) and not each.is_applicable:
                continue
            title, what, result = each.words
            row = None if each.what_to_do is None else (what, result, each.what_to_do)
            tables[title].append(row)
        if isinstance(document, ExploreResults) and not document.is_sufficient:
            yield "**Not complete**: fewer histories ran than `--require-depth` requires.\n\n"
    for title, rows in tables.items():
        found = [row for row in rows if row is not None]
        yield f"### {title}: {len(found)} of {len(rows)}\n\n"
        if found:
            shown = [("what", "result", "what to do"), ("---",) * 3, *found[:MAX_SUMMARY_ROWS]]
            yield "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in shown) + "\n"
        if (others := len(found) - MAX_SUMMARY_ROWS) > 0:
            yield f"and {others} more\n\n"


def _cell(text: str) -> str:
    """The text in one line, with the signs of Markdown tables and of HTML as they are meant."""
    return _line(text).replace("|", r"\|").replace("<", "&lt;")


def _line(text: str) -> str:
    return " ".join(text.split())


def digest(*parts: object) -> str:
    """The SHA-256 of these parts and of the version of the emulator."""
    return sha256(msgspec.json.encode([__version__, *parts], order="deterministic")).hexdigest()
