"""Plays a case in its own account until its first failure."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from emulator.clock import SystemClock
from emulator.files.yaml_writer import line_of_yaml
from emulator.http import emulator_calls as calls
from emulator.http.client import (
    AccountNotCreated,
    EmulatorClient,
    TemporaryAccount,
)
from emulator.http.emulator_calls import PaymentsEmulatorError
from emulator.http.received_webhooks import WebhookReceiver
from emulator.http.response import HttpResponse
from emulator.scenarios import values
from emulator.scenarios.runner.assertions import REFUSAL_CHECKS, WEBHOOK_CHECKS, Assertions
from emulator.scenarios.runner.results import Case, CaseResult, Failure, PlayedStep
from emulator.scenarios.runner.step_executor import (
    ImpossibleStep,
    NamedPayments,
    StepExecutor,
    StepOutcome,
)
from emulator.scenarios.runner.trace import WebhookInbox, collect_trace
from emulator.scenarios.scenario_file import step_json
from emulator.scenarios.values import Expect, Place, Step

ACCOUNT_SETTINGS: Mapping[str, object] = {"clock": "frozen@2026-01-01T00:00:00Z", "seed": 0}
"""The settings of the account in which a script is played, the same in every run."""
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
BEGIN = Place(line=1, column=1)
# Steps that cause webhooks; an advance waits for them itself.
_WEBHOOK_STEPS = (values.Create, values.Pay, values.CustomerAnswer, values.Transition)
# Steps whose response `expect` examines only if it is a refusal.
_UNEXAMINED_STEPS = (values.AdvanceStep, values.AddFault)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The emulator of a run, and its accounts.

    In a private emulator (`is_private`) keys follow from the names of the cases, so that ids are
    equal in every run, and accounts are not deleted. With a `key`, the cases run in its account.
    Otherwise the accounts have the endpoints of the emulator's first account.
    """

    client: EmulatorClient
    is_private: bool
    wall: SystemClock
    receiver: WebhookReceiver | None = None
    key: str | None = None


def account_word(name: str) -> str:
    """The form of a case's name that API keys may contain; unique within a run."""
    return name.replace("-", "_")


def _account_settings(case: Case, context: RunContext) -> dict[str, object]:
    settings: dict[str, object] = {"name": case.name, **ACCOUNT_SETTINGS}
    if context.is_private:
        word = f"replay_{account_word(case.name)}"
        settings |= {"test_key": f"test_{word}", "live_key": f"live_{word}"}
    return settings


def step_text(step: Step) -> str:
    """A step as it is in a file, in one line."""
    [(name, content)] = step_json(step).items()
    if isinstance(step, values.List):
        content = {key: _unquoted_number(value) for key, value in content.items()}
    return line_of_yaml(name, content)


def _unquoted_number(value: str) -> str | int:
    """A value of a query is always text; users write numbers there without quotes."""
    return int(value) if _NUMBER.fullmatch(value) else value


def expects_webhooks(script: Sequence[Step]) -> bool:
    """Whether a script needs a receiver of webhooks."""
    return any(_has_check(step, WEBHOOK_CHECKS) for step in script)


def _has_check(step: Step | None, keys: Collection[str]) -> bool:
    return isinstance(step, Expect) and any(check.key in keys for check in step.checks)


async def play(
    case: Case, context: RunContext, report_step: Callable[[PlayedStep], None]
) -> CaseResult:
    """Play a case; `report_step` receives each step after it was played.

    Raises PaymentsEmulatorError if no connection is possible.
    """
    started_ms = context.wall.monotonic_ms()
    is_given, settings = context.key is not None, _account_settings(case, context)
    try:
        async with TemporaryAccount(context.client.send, settings, context.key) as account:
            client = replace(context.client, key=account.key)
            account.is_kept = context.is_private
            now = str((await client.send(calls.CLOCK)).member("now"))
            run = _CaseRun(case, client, context.receiver, report_step, now=now)
            if not is_given and not context.is_private:
                run.endpoints_of = context.client
            try:
                failure = await run.play()
                trace = await collect_trace(client, run.inbox, since=now)
            finally:
                if is_given:
                    await run.clean_up()
            account.is_kept = context.is_private or failure is not None
    except AccountNotCreated as refusal:
        message = _refusal("the account of the case", refusal.response)
        failure = Failure(place=BEGIN, message=message)
        return CaseResult(case=case, steps=(), failure=failure)
    return CaseResult(
        case=case,
        steps=tuple(run.played),
        names=dict(run.names.ids),
        began_at=now,
        trace=trace,
        kept_account=account.id or None if failure and not context.is_private else None,
        duration_ms=context.wall.monotonic_ms() - started_ms,
        failure=failure,
    )


def _name(step: Step) -> str:
    [name] = step_json(step)
    return name


def _refusal(subject: str, response: HttpResponse) -> str:
    if response.failure is not None:
        return f"{subject} got no response: {response.failure}"
    return f"{subject} was refused: {response.explanation}"


async def _endpoints(client: EmulatorClient) -> list[dict[str, object]]:
    """The enabled endpoints of an account, the oldest first, to create them in another one."""
    endpoints = (await client.call(calls.ENDPOINTS))[::-1]
    members = ("url", "events", "secret", "profile", "format")
    return [{name: each[name] for name in members} for each in endpoints if each["enabled"]]


class _CaseFailed(Exception):
    """The case ends before the end of its script."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class _CaseRun:
    """The state of one case while it is played."""

    def __init__(
        self,
        case: Case,
        client: EmulatorClient,
        receiver: WebhookReceiver | None,
        report_step: Callable[[PlayedStep], None],
        *,
        now: str,
    ) -> None:
        self.names = NamedPayments()
        self.played: list[PlayedStep] = []
        self.inbox: WebhookInbox | None = None
        self.endpoints_of: EmulatorClient | None = None
        self._case = case
        self._client = client
        self._receiver = receiver
        self._report_step = report_step
        self._executor = StepExecutor(client, self.names, now=now)
        if receiver is not None and expects_webhooks(case.scenario.script):
            self.inbox = WebhookInbox(client, self._executor)
        self._assertions = Assertions(client, self.names, self.inbox)

    async def play(self) -> Failure | None:
        """Play the script; return why it failed. Raises PaymentsEmulatorError."""
        try:
            await self._prepare()
            await self._play_steps(self._case.scenario.script)
            if self.endpoints_of is not None:
                await self._executor.advance(0)
        except ImpossibleStep as impossible:
            return Failure(place=BEGIN, message=str(impossible))
        except _CaseFailed as failed:
            return failed.failure
        return None

    async def _prepare(self) -> None:
        """Enable the rules of the file and register the receiver.

        Raises _CaseFailed, and PaymentsEmulatorError if no connection is possible.
        """
        name, subject = self._case.name, "the scenario"
        try:
            if self._case.has_rules:
                await self._client.call(calls.PUT_SCENARIO(name, body=self._case.text))
                if not self._case.scenario.enabled:
                    await self._client.call(calls.ENABLE_SCENARIO(name, body={"enabled": True}))
            subject = "the endpoint for webhooks"
            endpoints = await _endpoints(self.endpoints_of) if self.endpoints_of else []
            for endpoint in endpoints:
                await self._client.call(calls.CREATE_ENDPOINT(body=endpoint))
            if self.inbox is not None and self._receiver is not None:
                await self.inbox.register(self._receiver)
        except PaymentsEmulatorError as error:
            if error.response.is_refused:
                raise
            message = _refusal(subject, error.response)
            raise _CaseFailed(Failure(place=BEGIN, message=message)) from None

    async def clean_up(self) -> None:
        """Remove the rules of the file and the receiver. Raises PaymentsEmulatorError."""
        if self._case.has_rules:
            await self._client.send(calls.DELETE_SCENARIO(self._case.name))
        if self.inbox is not None:
            await self._client.send(calls.DELETE_ENDPOINT(self.inbox.endpoint_id))

    async def _play_steps(self, script: Sequence[Step]) -> None:
        """Raises _CaseFailed."""
        for step, next_step in zip_longest(script, script[1:]):
            if isinstance(step, Expect):
                self._record(step, failure=await self._assertions.failure(step))
            else:
                await self._execute(step, next_step)

    async def _execute(self, step: Step, next_step: Step | None) -> None:
        if self.inbox is not None:
            self.inbox.step = len(self.played) + 1
        try:
            outcome = await self._executor.execute(step)
            if self.inbox is not None and isinstance(step, _WEBHOOK_STEPS):
                await self._executor.advance(0)
        except ImpossibleStep as impossible:
            message = f"{_name(step)} is impossible: {impossible}"
            self._record(step, failure=Failure(place=step.place, message=message))
            return
        response = outcome.response
        if response.is_error or not isinstance(step, _UNEXAMINED_STEPS):
            self._assertions.last = response
        failure = None
        if response.is_error and not _has_check(next_step, REFUSAL_CHECKS):
            message = _refusal(_name(step), response)
            failure = Failure(place=step.place, message=message)
        self._record(step, outcome, failure)

    def _record(
        self, step: Step, outcome: StepOutcome | None = None, failure: Failure | None = None
    ) -> None:
        """Record a step that was played. Raises _CaseFailed if it has failed."""
        played = PlayedStep(
            step=step,
            number=len(self.played) + 1,
            text=step_text(step),
            outcome="" if outcome is None else outcome.text,
            at=self._executor.now,
            payment=None if outcome is None else outcome.payment,
            status=0 if outcome is None else outcome.response.status,
            is_refused=outcome is not None and outcome.response.is_error,
            is_replay=outcome is not None and outcome.response.is_replay,
            failure=failure,
        )
        self.played.append(played)
        self._report_step(played)
        if failure is not None:
            raise _CaseFailed(failure)
