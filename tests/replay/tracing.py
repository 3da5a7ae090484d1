"""All that a case leaves behind, as bytes: what must be the same in every run."""

import json
from dataclasses import asdict
from hashlib import sha256

from emulator.replay.results import Result
from emulator.scenarios.writing import step_json


def trace_of(result: Result) -> bytes:
    """Steps, journal, events and webhooks, without durations."""
    return json.dumps(
        {
            "steps": [
                {
                    "step": step_json(step.step),
                    "outcome": step.outcome,
                    "at": step.at,
                    "payment": step.payment,
                    "failure": None if step.failure is None else asdict(step.failure),
                }
                for step in result.steps
            ],
            "names": dict(result.names),
            "requests": [asdict(request) for request in result.trace.requests],
            "events": [asdict(event) for event in result.trace.events],
            "webhooks": [asdict(webhook) for webhook in result.trace.webhooks],
            "oddities": [dict(oddity) for oddity in result.trace.oddities],
        },
        ensure_ascii=False,
        indent=1,
    ).encode()


def hash_of(result: Result) -> str:
    return sha256(trace_of(result)).hexdigest()
