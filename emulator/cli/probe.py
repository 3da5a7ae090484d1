"""The command `probe`, which sends a webhook handler what it may meet."""

from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import click

from emulator.cli.emulator_options import (
    METADATA_OPTION,
    generated_secret,
    private_emulator_options,
    private_emulator_settings,
)
from emulator.cli.event_loop import run_loop
from emulator.cli.output import (
    JSON_OPTION,
    cli_error,
    console_paint,
    webhook_format_option,
    write_coloured,
    write_json,
    write_lines,
)
from emulator.clock import RealClock
from emulator.domain.hosts import ACCEPTED_URL
from emulator.domain.webhooks import STANDARD, WebhookForm
from emulator.http.addresses import BaseUrl, is_web_url
from emulator.http.client import EmulatorClient, silent_endpoint
from emulator.http.emulator_calls import Json
from emulator.reporting import Paint, verdict_lines
from emulator.scenarios.webhook_form_file import load_webhook_form, webhook_form_of
from emulator.server.app.server import private_emulator
from emulator.tools.json_results import ProbedCase, ProbeResults, ProbeVerdict
from emulator.tools.probe import CASES, Probe

_COLOURS: dict[ProbeVerdict, str] = {
    "right": "green",
    "wrong": "red",
    "not_judged": "yellow",
    "not_applicable": "dim",
}
_WIDTH = max(map(len, _COLOURS)) + 2
_NAME_WIDTH = max(len(case.name) for case in CASES) + 2
# The same in each run, so that the handler can be started with it.
_SECRET_SEED = 1
_LIMITS = (
    "probe sees answers, and not whether an order was paid, or paid twice:",
    "`payments-emulator explore` looks at your orders.",
)


@click.command()
@click.argument("handler_url", metavar="URL")
@click.option(
    "--secret",
    metavar="SECRET",
    help="Secret that signs webhooks; otherwise the secret of the endpoint of --url with this URL,"
    " or a generated one, the same in each run, which is printed.",
)
@webhook_format_option(
    "Form of webhooks: the name of a shipped form, or a file; otherwise the form of the"
    " endpoint of --url with this URL, if there is one, or standard.",
    None,
)
@METADATA_OPTION
@private_emulator_options
@JSON_OPTION
def probe(
    handler_url: str,
    *,
    secret: str | None,
    webhook_format: str | None,
    metadata: dict[str, str],
    url: str | None,
    key: str | None,
    json: Path | None,
    **private: str | None,
) -> int:
    """Send a webhook handler what it may meet, and judge its answers.

    URL is the handler's. The emulator creates the payments that the webhooks are about, so the
    handler can retrieve them.
    """
    url, key, settings = private_emulator_settings(url, key, private)
    if not is_web_url(handler_url):
        cli_error(f"URL: found {handler_url!r}, expected {ACCEPTED_URL}")
    form = None if webhook_format is None else load_webhook_form(webhook_format)
    answers: list[ProbedCase] = []
    paint = console_paint()

    def show(answer: ProbedCase) -> None:
        answers.append(answer)
        write_coloured(_lines(answer, paint))

    async def run() -> None:
        async with (
            private_emulator(settings) if url is None else nullcontext(url) as address,
            EmulatorClient(BaseUrl.parse(address), key) as client,
            silent_endpoint(client, handler_url) as endpoint,
        ):
            own_form, own_secret = _signing(form, secret, endpoint)
            await Probe(
                url=handler_url,
                form=own_form,
                secret=own_secret,
                metadata=metadata,
                client=client,
                wall=RealClock(),
            ).run(show)

    try:
        run_loop(run)
    finally:
        if answers:  # after an interruption too
            is_complete = len(answers) == len(CASES)
            found = ProbeResults(is_complete=is_complete, url=handler_url, results=answers)
            write_json(json, found.encode)
    write_lines(["", _summary(answers), *_LIMITS])
    return int(any(answer.result in {"wrong", "not_judged"} for answer in answers))


def _signing(
    form: WebhookForm | None, secret: str | None, endpoint: Json | None
) -> tuple[WebhookForm, str]:
    """The form and the secret of the options, or else of the endpoint, or the usual form."""
    if endpoint is not None:
        secret = secret or str(endpoint["secret"])
        form = form or webhook_form_of(endpoint["format"])
    form = form or STANDARD
    if secret is not None and (problem := form.signature.secret_problem(secret)):
        cli_error(f"flag --secret: expected {problem}")
    if form.is_signed and secret is None:
        secret = generated_secret(form, _SECRET_SEED, "probe")
        write_lines([f"The handler needs this webhook secret: {secret}", ""])
    return form, secret or ""


def _lines(answer: ProbedCase, paint: Paint) -> list[str]:
    """The lines of an answer: what was answered and what is right, and below it the fix."""
    right = f"right is {answer.expected}" if answer.result == "wrong" else None
    text = "; ".join(filter(None, (answer.answered, right, answer.reason)))
    rows = filter(None, (f"{answer.case:<{_NAME_WIDTH}}{text}", answer.what_to_do))
    verdict = (_COLOURS[answer.result], answer.result.replace("_", " "))
    return verdict_lines(paint, verdict, [*rows], width=_WIDTH)


def _summary(answers: list[ProbedCase]) -> str:
    """How many of the answers that apply are right."""
    count = Counter(answer.result for answer in answers)
    parts = [f"{count['right']} of {len(answers) - count['not_applicable']} right"]
    parts += [f"{count['not_judged']} not judged"] * (count["not_judged"] > 0)
    parts += [f"{count['not_applicable']} not applicable"] * (count["not_applicable"] > 0)
    return ", ".join(parts)
