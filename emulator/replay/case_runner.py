"""How one case is played: in an account of its own, step after step, until one fails."""

from collections.abc import Callable, Sequence

from emulator.replay.assertions import REFUSAL_CHECKS, WEBHOOK_CHECKS, Assertions
from emulator.replay.client import Answer, Connection
from emulator.replay.names import Names, refusal_text
from emulator.replay.receiver import Receiver
from emulator.replay.results import Case, Failure, PlayedStep, Result
from emulator.replay.run_context import NoAccount, RunContext, fresh_account
from emulator.replay.step_executor import CONTROL, Done, Impossible, Performer
from emulator.replay.step_text import name_of, step_text
from emulator.replay.trace import collect_trace
from emulator.replay.webhook_inbox import WebhookInbox
from emulator.scenarios import steps
from emulator.scenarios.steps import Expect, Place, Repeat, Step

_YAML = "application/yaml"
_BEGIN = Place(line=1, column=1)
# What makes the emulator send webhooks; an advance waits for them by itself.
_TELLING_STEPS = (steps.Create, steps.Pay, steps.CustomerAnswer, steps.Transition)

# What they are answered says nothing of a payment, and is remembered only when it is a refusal.
_SILENT_STEPS = (steps.Advance, steps.AddFault)

Tell = Callable[[PlayedStep], None]


class _Ended(Exception):
    """The case has ended before its script."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def expects_webhooks(script: Sequence[Step]) -> bool:
    """Whether somebody has to be there to receive them."""
    return any(
        expects_webhooks(step.steps)
        if isinstance(step, Repeat)
        else isinstance(step, Expect) and any(one.key in WEBHOOK_CHECKS for one in step.checks)
        for step in script
    )


async def play(case: Case, stage: RunContext, tell_step: Tell) -> Result:
    """Play a case; `tell_step` is told of each step as soon as it is played.

    Raises Unreachable.
    """
    started_ms = stage.wall.monotonic_ms()
    try:
        async with (
            stage.client.connection() as connection,
            fresh_account(case, stage, connection) as account,
        ):
            play = _Play(case, connection, stage.receiver, tell_step, now=account.now)
            failure = await play.run()
            trace = await collect_trace(connection, play.mailbox)
            account.is_kept = account.is_kept or failure is not None
    except NoAccount as refused:
        failure = _failure_of("the account of the case", refused.answer)
        return Result(case=case, steps=(), failure=failure)
    return Result(
        case=case,
        steps=tuple(play.played),
        names=dict(play.names.ids),
        began_at=account.now,
        trace=trace,
        kept_account=account.id if failure and not stage.is_private else None,
        duration_ms=stage.wall.monotonic_ms() - started_ms,
        failure=failure,
    )


def _failure_of(what: str, answer: Answer) -> Failure:
    return Failure(place=_BEGIN, message=f"{what} was refused: {_told_in_full(answer)}")


class _Play:
    """One case while it is played."""

    def __init__(
        self,
        case: Case,
        connection: Connection,
        receiver: Receiver | None,
        tell_step: Tell,
        *,
        now: str,
    ) -> None:
        self.names = Names()
        self.played: list[PlayedStep] = []
        self.mailbox: WebhookInbox | None = None
        self._case = case
        self._connection = connection
        self._receiver = receiver
        self._tell_step = tell_step
        self._performer = Performer(connection, self.names, now=now)
        self._witness = Assertions(connection, self.names, None)
        self._turns: tuple[int, ...] = ()

    async def run(self) -> Failure | None:
        """Play it; returns why it has failed. Raises Unreachable."""
        try:
            await self._prepare()
            await self._play_all(self._case.scenario.script, following=None)
        except _Ended as ended:
            return ended.failure
        return None

    async def _prepare(self) -> None:
        """Put the rules of the file in force, and be there for webhooks if any are expected."""
        case = self._case
        if case.has_rules:
            path = f"{CONTROL}/scenarios/{case.name}"
            content = case.text.encode()
            put = await self._connection.ask("PUT", path, content, media_type=_YAML)
            if not put.is_refusal and not case.scenario.enabled:
                on = {"enabled": True}
                put = await self._connection.ask_json("PUT", f"{path}/enabled", on)
            if put.is_refusal:
                raise _Ended(_failure_of("the scenario", put))
        if self._receiver is not None and expects_webhooks(case.scenario.script):
            inbox = self._receiver.open_inbox()
            mailbox = await WebhookInbox.register(self._connection, self._performer, inbox)
            if isinstance(mailbox, str):
                message = f"the endpoint for webhooks was refused: {mailbox}"
                raise _Ended(Failure(place=_BEGIN, message=message))
            self.mailbox = mailbox
            self._witness = Assertions(self._connection, self.names, mailbox)

    async def _play_all(self, script: Sequence[Step], *, following: Step | None) -> None:
        """Play steps; `following` is the one after the last of them. Raises _Ended."""
        for step, after in zip(script, (*script[1:], following), strict=True):
            if isinstance(step, Repeat):
                await self._repeat(step, after)
            elif isinstance(step, Expect):
                self._note(step, failure=await self._witness.failure(step))
            else:
                await self._perform(step, after)

    async def _repeat(self, step: Repeat, after: Step | None) -> None:
        self._note(step)
        outer = self._turns
        for turn in range(1, step.times + 1):
            self._turns = (*outer, turn)
            following = after if turn == step.times else step.steps[0]
            await self._play_all(step.steps, following=following)
        self._turns = outer

    async def _perform(self, step: Step, after: Step | None) -> None:
        if self.mailbox is not None:
            self.mailbox.at_step(len(self.played) + 1)
        try:
            done = await self._performer.perform(step)
            if self.mailbox is not None and isinstance(step, _TELLING_STEPS):
                await self.mailbox.settle()
        except Impossible as impossible:
            message = f"{name_of(step)} is impossible: {impossible}"
            self._note(step, failure=Failure(place=step.place, message=message))
            return
        answer = done.answer
        if answer.is_refusal or not isinstance(step, _SILENT_STEPS):
            self._witness.last = answer
        failure = None
        if answer.is_refusal and not _speaks_of_refusal(after):
            failure = Failure(place=step.place, message=_refused(step, answer))
        self._note(step, done, failure)

    def _note(self, step: Step, done: Done | None = None, failure: Failure | None = None) -> None:
        """Note a step that was played. Raises _Ended where it has failed."""
        played = PlayedStep(
            step=step,
            number=len(self.played) + 1,
            text=step_text(step),
            outcome="" if done is None else done.outcome,
            at=self._performer.now,
            turns=self._turns,
            payment=None if done is None else done.payment,
            status=0 if done is None else done.answer.status,
            is_refused=done is not None and done.answer.is_refusal,
            is_replay=done is not None and done.answer.is_replay,
            failure=failure,
        )
        self.played.append(played)
        self._tell_step(played)
        if failure is not None:
            raise _Ended(failure)


def _speaks_of_refusal(step: Step | None) -> bool:
    while isinstance(step, Repeat):
        step = step.steps[0]
    return isinstance(step, Expect) and any(one.key in REFUSAL_CHECKS for one in step.checks)


def _refused(step: Step, answer: Answer) -> str:
    if answer.lost is not None:
        return f"{name_of(step)} got no answer: {answer.lost}"
    return f"{name_of(step)} was refused: {_told_in_full(answer)}"


def _told_in_full(answer: Answer) -> str:
    if answer.lost is not None:
        return f"no answer: {answer.lost}"
    param, message = answer.error.get("param"), answer.error.get("message")
    told = refusal_text(answer) + (f" ({param})" if param else "")
    return f"{told}: {message}" if message else told
