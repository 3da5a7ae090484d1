"""What a replay has come to: step by step, what was wrong, and what the emulator remembers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from emulator.replay.diff import Row
from emulator.scenarios.steps import Json, Place, Step
from emulator.scenarios.values import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A file with a script: `source` is what the user calls it, `text` what stands in it."""

    source: str
    path: Path
    text: str
    scenario: Scenario

    @property
    def name(self) -> str:
        return self.scenario.name

    @property
    def has_rules(self) -> bool:
        scenario = self.scenario
        return bool(scenario.outcomes or scenario.expiry or scenario.faults or scenario.webhooks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One thing that is not as expected, both sides beside each other; `note` may say why."""

    place: Place
    subject: str
    rows: tuple[Row, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a case ended at a step."""

    place: Place
    message: str
    mismatches: tuple[Mismatch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedStep:
    """A step as it was played: `number` counts those of the case, `at` is when, virtually.

    `turns` tells, for each repeat that it stands in, from without to within, which time it was.
    `payment` is the id of the payment that it is about; `outcome` tells in short what came of it,
    `status` with which status it was answered, 0 where it was not, and `is_replay` whether that
    repeated an earlier answer.
    """

    step: Step
    number: int
    text: str
    outcome: str
    at: str
    turns: tuple[int, ...] = ()
    payment: str | None = None
    status: int = 0
    is_refused: bool = False
    is_replay: bool = False
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A status that a payment took on."""

    id: str
    at: str
    type: str
    payment: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A webhook that arrived, `at` the instant of its attempt, during the `step`-th step."""

    step: int
    at: str
    type: str
    payment: str | None
    id: str
    timestamp: str
    signature: str
    body: str
    is_genuine: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as the journal has it; no status: the connection was cut."""

    id: str
    at: str
    method: str
    path: str
    query: str
    status: int | None
    request_body: str
    response_body: str
    warnings: tuple[str, ...] = ()
    error: Json = None
    fault: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What the emulator remembers of a case at its end, the oldest first.

    `oddities` are what went wrong on purpose with deliveries, as the rules say it. `is_cut` says
    that there was more than the emulator tells.
    """

    events: tuple[Event, ...] = ()
    webhooks: tuple[Webhook, ...] = ()
    requests: tuple[Request, ...] = ()
    oddities: tuple[Mapping[str, Json], ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A case that was played, to its end or to its first failure.

    `kept_account` is the id of the account that was left for the user to look at. `duration_ms`
    is wire time, and the only thing here that differs from run to run.
    """

    case: Case
    steps: tuple[PlayedStep, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    began_at: str = ""
    trace: Trace = field(default_factory=Trace)
    kept_account: str | None = None
    duration_ms: float = 0.0
    failure: Failure | None = None

    @property
    def has_passed(self) -> bool:
        return self.failure is None
