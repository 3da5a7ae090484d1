"""Sample results of a replay: each function has defaults for what a test does not need."""

from pathlib import Path
from typing import Any

from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.runner.results import (
    Case,
    CaseResult,
    Failure,
    PlayedStep,
    Trace,
    TracedEvent,
    TracedRequest,
    TracedWebhook,
)
from emulator.scenarios.values import AdvanceStep, Place, Step

BEGIN = "2026-01-01T00:00:00.000Z"
LATER = "2026-01-01T00:00:30.000Z"
HERE = Place(line=7, column=5)
ORDER = "pay_000001order"
OTHER = "pay_000002other"


def case(name: str = "mine", script: str = "- advance: 1s", description: str = "") -> Case:
    """A case with a script in YAML."""
    text = f"version: 1\nname: {name}\ndescription: {description!r}\nscript:\n{script}\n"
    source = f"cases/{name}.yaml"
    scenario = parse_scenario(text, source)
    return Case(source=source, path=Path(source), text=text, scenario=scenario)


def step(script: str) -> Step:
    """A step in YAML, which may name the payments `order` and `other`."""
    before = "- create: {as: order}\n- create: {as: other}\n"
    return case(script=f"{before}- {script}").scenario.script[-1]


def played(number: int = 1, **changes: Any) -> PlayedStep:
    values: dict[str, Any] = {
        "step": AdvanceStep(place=HERE, by_ms=1_000),
        "number": number,
        "text": "advance: 1s",
        "outcome": "0 effects",
        "at": BEGIN,
    }
    return PlayedStep(**values | changes)


def event(
    kind: str, payment: str = ORDER, at: str = BEGIN, reason: str | None = None
) -> TracedEvent:
    return TracedEvent(
        id=f"evt_{kind}_{payment}", at=at, type=f"payment.{kind}", payment=payment, reason=reason
    )


def webhook(kind: str, payment: str = ORDER, **changes: Any) -> TracedWebhook:
    values: dict[str, Any] = {
        "step": 1,
        "at": BEGIN,
        "type": f"payment.{kind}",
        "payment": payment,
        "id": f"evt_{kind}",
        "timestamp": "1767225600",
        "signature": "v1,c2lnbmF0dXJl",
        "body": '{"type":"payment.' + kind + '"}',
        "is_genuine": True,
    }
    return TracedWebhook(**values | changes)


def request(**changes: Any) -> TracedRequest:
    values: dict[str, Any] = {
        "id": "req_1",
        "at": BEGIN,
        "method": "POST",
        "path": "/v1/payments",
        "query": "",
        "status": 201,
        "request_body": '{"amount":10000}',
        "response_body": '{"id":"pay_1"}',
    }
    return TracedRequest(**values | changes)


def failure(message: str = "create was refused: 400 invalid_amount", **changes: Any) -> Failure:
    values: dict[str, Any] = {"place": HERE, "message": message}
    return Failure(**values | changes)


def result(name: str = "mine", **changes: Any) -> CaseResult:
    """A case with one step that passed, with changes."""
    values: dict[str, Any] = {"steps": (played(),), "began_at": BEGIN, "trace": Trace()}
    return CaseResult(case=case(name), **values | changes)


def failed(name: str = "mine", why: Failure | None = None) -> CaseResult:
    why = why or failure()
    return result(name, steps=(played(), played(2, failure=why)), failure=why)
