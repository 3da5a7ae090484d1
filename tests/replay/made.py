"""Values of a replay, made by hand: as little as a test has to say."""

from pathlib import Path
from typing import Any

from emulator.replay.results import (
    Case,
    Event,
    Failure,
    PlayedStep,
    Request,
    Result,
    Trace,
    Webhook,
)
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.steps import Advance, Place, Step

BEGIN = "2026-01-01T00:00:00.000Z"
LATER = "2026-01-01T00:00:30.000Z"
HERE = Place(line=7, column=5)
ORDER = "pay_000001order"
OTHER = "pay_000002other"


def case(name: str = "mine", script: str = "- advance: 1s", description: str = "") -> Case:
    """A case whose script is YAML."""
    text = f"version: 1\nname: {name}\ndescription: {description!r}\nscript:\n{script}\n"
    source = f"cases/{name}.yaml"
    scenario = parse_scenario(text, source)
    return Case(source=source, path=Path(source), text=text, scenario=scenario)


def step(script: str) -> Step:
    """The only step of a script; the payments that it names are created before."""
    before = "- create: {as: order}\n- create: {as: other}\n"
    return case(script=f"{before}- {script}").scenario.script[-1]


def played(number: int = 1, **changes: Any) -> PlayedStep:
    values: dict[str, Any] = {
        "step": Advance(place=HERE, by_ms=1_000),
        "number": number,
        "text": "advance: 1s",
        "outcome": "0 effects",
        "at": BEGIN,
    }
    return PlayedStep(**values | changes)


def event(kind: str, payment: str = ORDER, at: str = BEGIN, reason: str | None = None) -> Event:
    return Event(
        id=f"evt_{kind}_{payment}", at=at, type=f"payment.{kind}", payment=payment, reason=reason
    )


def webhook(kind: str, payment: str = ORDER, **changes: Any) -> Webhook:
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
    return Webhook(**values | changes)


def request(**changes: Any) -> Request:
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
    return Request(**values | changes)


def failure(message: str = "create was refused: 400 invalid_amount", **changes: Any) -> Failure:
    values: dict[str, Any] = {"place": HERE, "message": message}
    return Failure(**values | changes)


def result(name: str = "mine", **changes: Any) -> Result:
    """A case that has passed, of one step, unless the changes say otherwise."""
    values: dict[str, Any] = {"steps": (played(),), "began_at": BEGIN, "trace": Trace()}
    return Result(case=case(name), **values | changes)


def failed(name: str = "mine", why: Failure | None = None) -> Result:
    why = why or failure()
    return result(name, steps=(played(), played(2, failure=why)), failure=why)
