"""Prism checks every request and response of the shipped scenarios against both documents."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

from tests.cli.processes import REPOSITORY, SHARED_HANGS_AFTER_S, run, serving
from tests.interop.node import node_modules
from tests.interop.prism import PACKAGE, Exchange, Part, Proxied, Request, proxied
from tests.server.openapi.navigation import Json, Operation, objects, operations, resolved

PRINTED_BY = {"v1": ("openapi",), "control": ("openapi", "--control")}
# No document describes the errors of a gateway in front of the service.
SCENARIOS = sorted(
    path for path in (REPOSITORY / "scenarios").glob("*.yaml") if path.stem != "gateway-errors"
)
# No schema describes this refusal: the payment was created for other methods.
NO_SCHEMA_TELLS = {("pay_payment", "invalid_method")}
# What replay needs for the shipped scenarios.
CALLS = {
    *("create_payment", "retrieve_payment", "list_payments"),
    *("get_health", "get_clock", "create_account", "delete_account"),
    *("put_scenario", "switch_scenario"),
    *("create_webhook_endpoint", "list_webhook_endpoints"),
    *("advance_clock", "add_fault", "get_payment"),
    *("pay_payment", "answer_payment", "cancel_payment", "transition_payment"),
    *("list_events", "list_deliveries", "list_requests", "count_transitions"),
}
# Headers of the connection or of Prism, which no document describes.
NOT_OF_THE_ANSWER = re.compile(
    r"(?i)access-control-.+|connection|content-(length|type)|date|keep-alive|sl-violations"
)


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return node_modules(tmp_path_factory, PACKAGE)


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    printed = {name: run(*arguments) for name, arguments in PRINTED_BY.items()}
    return {name: json.loads(one.stdout) for name, one in printed.items()}


@pytest.fixture(scope="module")
def played(
    modules: Path, documents: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxied]:
    """All shipped scenarios have been played; what has passed is kept."""
    directory = tmp_path_factory.mktemp("prism")
    with proxied(modules, documents, directory) as prisms:
        play_all(prisms, directory)
        yield prisms


def play_all(prisms: Proxied, directory: Path) -> None:
    with serving(logs=directory, hangs_after_s=SHARED_HANGS_AFTER_S) as server:
        prisms.back.port = server.api_port
        ended = run("replay", "--url", prisms.url, *map(str, SCENARIOS))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"\n{len(SCENARIOS)} cases: {len(SCENARIOS)} passed, 0 failed" in ended.stdout


def call_of(exchange: Exchange, documents: Mapping[str, Any]) -> tuple[Operation, dict[str, str]]:
    """The one call of the documents that was made, with the parameters of its path.

    Of two paths that fit, it is the one with fewer parameters (OpenAPI 3.1.0, section 4.8.8).
    """
    path = urlsplit(exchange.request.target).path
    found = []
    for operation in (one for document in documents.values() for one in operations(document)):
        template = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", operation.path)
        match = re.fullmatch(template, path)
        if match and operation.method == exchange.request.method.lower():
            found.append((operation, match.groupdict()))
    return min(found, key=lambda call: len(call[1]))


def name_of(exchange: Exchange, documents: Mapping[str, Any]) -> str:
    return call_of(exchange, documents)[0].name


def objections(exchange: Exchange, to: str) -> list[str]:
    return [one.message for one in exchange.violations if one.location[0] == to]


def test_every_call_that_scenarios_need_has_passed_through_prism(
    played: Proxied, documents: dict[str, Any]
) -> None:
    passed = Counter(name_of(exchange, documents) for exchange in played.front.exchanges)
    assert set(passed) == CALLS
    assert passed["create_account"] == passed["delete_account"] == len(SCENARIOS)
    assert passed["create_payment"] > 2 * len(SCENARIOS)


def test_no_answer_is_another_than_the_documents_say(
    played: Proxied, documents: dict[str, Any]
) -> None:
    objected = {
        (name_of(exchange, documents), exchange.answer.status): found
        for exchange in played.front.exchanges
        if (found := objections(exchange, "response"))
    }
    assert objected == {}


def test_the_documents_refuse_the_requests_that_the_emulator_refuses_and_no_others(
    played: Proxied, documents: dict[str, Any]
) -> None:
    objected: dict[tuple[str, str | None], list[str]] = {}
    refused = set()
    for exchange in played.front.exchanges:
        answer = (name_of(exchange, documents), code_of(exchange))
        if found := objections(exchange, "request"):
            objected[answer] = found
        if exchange.answer.status == 400:
            refused.add(answer)
    assert set(objected) == refused - NO_SCHEMA_TELLS, objected
    assert refused > NO_SCHEMA_TELLS


def code_of(exchange: Exchange) -> str | None:
    """The code of a refusal, None where it is none."""
    error = json.loads(exchange.answer.body or "{}").get("error")
    return error and str(error["code"])


def test_no_answer_is_lost_but_those_that_the_scripts_let_be_lost(played: Proxied) -> None:
    scripts = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in SCENARIOS]
    scripted = sum(found.get("lost") is True for script in scripts for found in objects(script))
    assert len(played.front.lost) == scripted > 0
    assert all(error.endswith("reason: socket hang up") for error in played.front.lost)


def test_without_a_key_prism_refuses_as_the_emulator_does(played: Proxied, tmp_path: Path) -> None:
    exchange = read(played, "/v1/payments", tmp_path)
    assert exchange.answer.status == 401
    assert [(one.location, one.code) for one in exchange.violations] == [(("request",), 401)]


def test_a_recording_is_as_the_document_says_and_need_not_be_json(
    played: Proxied, tmp_path: Path
) -> None:
    exchange = read(played, "/_emulator/recording", tmp_path)
    assert exchange.answer.header("content-type").startswith("application/yaml")
    assert exchange.violations == ()


def read(prisms: Proxied, target: str, directory: Path) -> Exchange:
    """The exchange of a GET request to a fresh emulator, without a key."""
    request = Request(method="GET", target=target, headers=[("Host", "localhost")], body=b"")
    with serving(logs=directory, hangs_after_s=SHARED_HANGS_AFTER_S) as server:
        prisms.back.port = server.api_port
        exchange = prisms.front.passed(request)
    assert exchange is not None, prisms.front.lost
    return exchange


def test_prism_looks_at_all_that_passes(
    modules: Path, documents: dict[str, Any], tmp_path: Path
) -> None:
    """Where every schema allows nothing, it objects to every part of every exchange.

    Prism is silent about a schema that it cannot compile, and about what no schema speaks of.
    """
    contrary = {name: allowing_nothing(document) for name, document in documents.items()}
    with proxied(modules, contrary, tmp_path) as prisms:
        play_all(prisms, tmp_path)
    overlooked = {
        (name_of(exchange, documents), exchange.answer.status, part)
        for exchange in prisms.front.exchanges
        for part in parts(exchange, documents) - objected_to(exchange)
    }
    assert overlooked == set()
    assert {name_of(exchange, documents) for exchange in prisms.front.exchanges} == CALLS


def allowing_nothing(document: Json) -> Json:
    """The document with a schema that nothing fits wherever something is sent."""
    changed = deepcopy(document)
    for operation in operations(changed):
        for carrier in carriers(changed, operation.definition):
            carrier["schema"] = {**carrier["schema"], "not": {}}
    return changed


def carriers(document: Json, definition: Json) -> Iterator[Json]:
    """All in a call that has a schema: parameters, bodies, headers."""
    yield from (resolved(document, one) for one in definition.get("parameters", ()))
    yield from definition.get("requestBody", {}).get("content", {}).values()
    for response in definition["responses"].values():
        described = resolved(document, response)
        yield from (resolved(document, one) for one in described.get("headers", {}).values())
        yield from described.get("content", {}).values()


def parts(exchange: Exchange, documents: Mapping[str, Any]) -> set[Part]:
    """All that was sent, there and back, and that a document can speak of."""
    _, in_path = call_of(exchange, documents)
    sent: set[Part] = {("request", "path", name) for name in in_path}
    query = parse_qsl(urlsplit(exchange.request.target).query, keep_blank_values=True)
    sent |= {("request", "query", name) for name, _ in query}
    if exchange.request.body:
        sent.add(("request", "body"))
    names = {name.lower() for name, _ in exchange.answer.headers}
    sent |= {
        ("response", "header", name) for name in names if not NOT_OF_THE_ANSWER.fullmatch(name)
    }
    if exchange.answer.body:
        sent.add(("response", "body"))
    return sent


def objected_to(exchange: Exchange) -> set[Part]:
    return {
        one.location[:2] if one.location[1:2] == ("body",) else one.location[:3]
        for one in exchange.violations
    }
