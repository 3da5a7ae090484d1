"""Declares the files of webhook forms: their keys, their JSON Schema, and how they are read.

A form is data: its texts have placeholders of a closed list, and nothing is computed.
"""

import json
import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from emulator.domain.message_text import WrittenNumber
from emulator.domain.webhooks import (
    BODY_PLACEHOLDERS,
    CONTENT_PLACEHOLDERS,
    EVENT_TYPES_IN_ORDER,
    HEADER_PLACEHOLDERS,
    METADATA_PLACEHOLDER,
    METADATA_PREFIX,
    PLACEHOLDER,
    STANDARD,
    Algorithm,
    ContentType,
    Encoding,
    SecretFormat,
    SignatureForm,
    WebhookForm,
)
from emulator.scenarios.entries import (
    Entry,
    FileContext,
    Problem,
    ScenarioError,
    hint_nearest,
    listed,
    noted,
)
from emulator.scenarios.kinds import JsonSchema, JsonValue, Kind, OrNull, PairsOf, Text, Word
from emulator.scenarios.loader import file_text, read_document, read_files
from emulator.scenarios.mappings import Key, MappingOf
from emulator.scenarios.scenario_file import NAME_FORM, NAME_PATTERN, VERSION, VERSION_KEY
from emulator.scenarios.values import Json, Scenario
from emulator.scenarios.webhook_form_rules import FORM_CHECKS
from emulator.settings.options import data_directory

MAX_FORM_CHARACTERS = 16_384
MAX_PLACEHOLDERS = 64
MAX_CACHED_FORMS = 16
SHIPPED_FORMS = ("standard", "timestamped-hex", "hex-header", "unsigned", "form-fields")

_DIRECTORY = data_directory("scenarios") / "webhook-forms"
_BRACES = re.compile(r"\{([^{}]*)\}")
_VISIBLE = re.compile(r"[!-~](?:[ -~]{0,510}[!-~])?", re.ASCII)
_PREFIX = re.compile(r"[ -~]{0,32}", re.ASCII)
_SEPARATOR = re.compile(r"[ -~]{0,8}", re.ASCII)
_HEADER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
# The sender writes these.
_SENT_ANYWAY = frozenset(
    {"connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent"}
)


class _Template(Text):
    """A text with placeholders of a closed list."""

    def __init__(
        self,
        placeholders: Collection[str],
        pattern: re.Pattern[str] | None = _VISIBLE,
        expected: str = "1 to 512 visible ASCII characters, and blanks between them",
    ) -> None:
        super().__init__(pattern, expected=expected)
        self._placeholders = placeholders

    def read(self, entry: Entry) -> str | None:
        """The text, after noting each placeholder that has no value there."""
        text = super().read(entry)
        for name in _BRACES.findall(text or ""):
            is_metadata = name.startswith(METADATA_PREFIX) and name != METADATA_PREFIX
            known = METADATA_PLACEHOLDER if is_metadata else name
            if known not in self._placeholders:
                own = (each for each in self._placeholders if not each.startswith("payment."))
                listed_own = listed((f"{{{each}}}" for each in own), "and")
                hint = hint_nearest(name, self._placeholders) or f"; it can have {listed_own}"
                entry.note(f"{entry.label} has no placeholder {{{name}}}{hint}")
        return text

    def schema(self) -> JsonSchema:
        return {"title": "text with placeholders", **super().schema()}


class _Body(Kind[str]):
    """A body, as the JSON that a form has."""

    _value = JsonValue(
        names=Text(
            expected="a name without placeholders, which only values have",
            accepts=lambda name: not _BRACES.search(name),
        ),
        texts=_Template(BODY_PLACEHOLDERS, None),
    )

    def read(self, entry: Entry) -> str | None:
        text = json.dumps(self._value.read(entry), ensure_ascii=False, separators=(",", ":"))
        if len(PLACEHOLDER.findall(text)) <= MAX_PLACEHOLDERS:
            return text
        entry.note(f"{entry.label} must not have more than {MAX_PLACEHOLDERS} placeholders")
        return None

    def schema(self) -> JsonSchema:
        return {}

    def write(self, value: str) -> Json:
        return json.loads(value)


_HEADER = Text(
    _HEADER_NAME,
    expected=(
        "a name of 1 to 64 lower-case letters, digits, - and _,"
        f" and not {listed(sorted(_SENT_ANYWAY), 'or')}"
    ),
    accepts=lambda name: name not in _SENT_ANYWAY,
)
_TYPE = Text(_VISIBLE, expected="visible ASCII characters, or null")


SIGNATURE = MappingOf(
    SignatureForm,
    {
        "algorithm": Key(
            Word(Algorithm),
            "What computes the signature. `token` sends the secret itself; `none` is for webhooks"
            " that are not signed.",
            required="hmac-sha1, hmac-sha256, hmac-sha512, token or none",
        ),
        "secret": Key(
            Word(SecretFormat),
            "How the secret becomes a key: `base64` (without `whsec_`), `hex`, or the UTF-8 bytes"
            " of the whole `text`.",
        ),
        "content": Key(
            _Template(CONTENT_PLACEHOLDERS),
            "What is signed; a header or the body has each placeholder of it.",
        ),
        "encoding": Key(
            Word(Encoding),
            "How the bytes of a signature are written.",
        ),
        "prefix": Key(
            Text(_PREFIX, expected="at most 32 visible ASCII characters", examples=["v1,"]),
            "What precedes each signature, such as `v1,`.",
        ),
        "separator": Key(
            Text(_SEPARATOR, expected="at most 8 visible ASCII characters", examples=[","]),
            "What joins the signatures of two secrets after a rotation.",
            default_text="only the new secret signs",
        ),
    },
)

FORM = MappingOf(
    WebhookForm,
    {
        "version": VERSION_KEY,
        "name": Key(
            Text(NAME_PATTERN, expected=NAME_FORM),
            "The name of the form, which messages use.",
            required="what the form is called",
        ),
        "events": Key(
            PairsOf(OrNull(_TYPE), Word(EVENT_TYPES_IN_ORDER)),
            "Our event type, such as `payment.completed`, and the type that is sent. `null` is not"
            " sent; a type that is left out keeps its name.",
            default_text="our types",
        ),
        "content_type": Key(
            Word(ContentType),
            "The media type of the body.",
        ),
        "body": Key(
            _Body(),
            "The body: any JSON, or fields in one flat mapping. A text that is one placeholder"
            " keeps the type of its value.",
            default_text="the body of `standard`",
            field="body_json",
        ),
        "signature": Key(
            SIGNATURE,
            "How a webhook is signed.",
            required="{algorithm: none} where webhooks are not signed",
        ),
        "headers": Key(
            PairsOf(_Template(HEADER_PLACEHOLDERS), _HEADER),
            "The headers, beside `content-type` and `user-agent`. One with `{signature}` is left"
            " out where there is none.",
        ),
    },
    *FORM_CHECKS,
)


def webhook_form_schema() -> JsonSchema:
    """The JSON Schema (2020-12) of files of webhook forms."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Webhook form of the ETB payments sandbox emulator",
        "description": "The event types, body, headers and signature of webhooks.",
        **FORM.schema(),
    }


def parse_webhook_form(text: str, source: str) -> WebhookForm:
    """Read a form, in YAML or JSON; `source` is what problems call it.

    Raises ScenarioError with every problem.
    """
    if len(text) > MAX_FORM_CHARACTERS:
        limit = f"must not be longer than {MAX_FORM_CHARACTERS:,} characters"
        raise ScenarioError.at(source, f"a webhook format {limit}")
    return read_document(text, FileContext(source), "a webhook format", FORM.read)


@lru_cache(MAX_CACHED_FORMS)
def shipped_form(name: str) -> WebhookForm:
    """One of SHIPPED_FORMS; `standard` is read from no file."""
    return STANDARD if name == STANDARD.name else _read_file(_DIRECTORY / f"{name}.yaml")


def load_webhook_form(name_or_file: str) -> WebhookForm:
    """A shipped form, or the form of a file. Raises ScenarioError."""
    is_shipped = name_or_file in SHIPPED_FORMS
    return shipped_form(name_or_file) if is_shipped else _read_file(Path(name_or_file))


def read_files_of_settings(
    webhook_format: str, paths: Sequence[str]
) -> tuple[WebhookForm | None, list[Scenario], list[Problem]]:
    """The form, None for `standard`, the scenarios, and the problems of all files."""
    form, problems = None, list[Problem]()
    with noted(problems):
        form = load_webhook_form(webhook_format)
    form = None if form is STANDARD else form
    forms = frozenset(() if form is None else (form,))
    by_file, more = read_files([Path(path) for path in paths], forms)
    return form, [*filter(None, by_file.values())], problems + more


def webhook_form_of(value: Json) -> WebhookForm:
    """The form of a `format` in the control API: a shipped name, or a form as JSON.

    Raises ScenarioError with every problem, whose message names the member.
    """
    if isinstance(value, str) and value in SHIPPED_FORMS:
        return shipped_form(value)
    if isinstance(value, dict):
        text = json.dumps(value, ensure_ascii=False, default=_number)
        try:
            return parse_webhook_form(text, "format")
        except ScenarioError as error:
            raise ScenarioError(map(_with_path, error.problems)) from None
    message = f"must be {listed(SHIPPED_FORMS, 'or')}, or a webhook format as an object"
    raise ScenarioError.at("format", message)


def _with_path(problem: Problem) -> Problem:
    path = f"{problem.path}: " if problem.path else ""
    return replace(problem, message=f"{path}{problem.message}")


def _number(number: WrittenNumber) -> float:
    return float(number.token)


def webhook_form_json(form: WebhookForm) -> dict[str, Json]:
    """The form as JSON, with each key, from which clients read webhooks."""
    return {
        "version": VERSION,
        "name": form.name,
        "events": dict(form.events),
        "content_type": form.content_type,
        "body": json.loads(form.body_json),
        "signature": form.signature._asdict(),
        "headers": dict(form.headers),
    }


def _read_file(file: Path) -> WebhookForm:
    hint = hint_nearest(str(file), SHIPPED_FORMS)
    hint = hint or f"; expected a file, or {listed(SHIPPED_FORMS, 'or')}"
    return parse_webhook_form(file_text(file, hint), str(file))
