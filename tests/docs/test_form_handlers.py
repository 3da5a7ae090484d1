"""The documented handlers of each form of webhooks refuse forgeries."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from emulator.clock import RealClock
from emulator.domain.webhooks import Tamper, tamper_problem
from emulator.http.webhook_messages import Message, foreign_secret, webhook_request
from emulator.scenarios.webhook_form_file import shipped_form
from tests.cli.processes import HANGS_AFTER_S, SHARED_HANGS_AFTER_S, Server, serving
from tests.docs.document import Kind, Section, sections_of
from tests.docs.live import handling, missing
from tests.docs.shops import variables

PAGE = "docs/guides/webhook-forms.md"
SECTIONS = [
    section
    for section in sections_of(PAGE)
    if any(block.kind is Kind.HANDLER for block in section.blocks)
]
# Without the id of a payment, a handler retrieves none.
BODY = (
    b'{"id":"evt_1","object":"event","type":"payment.completed","timestamp":"","mode":"test",'
    b'"data":{"id":"","amount":15000}}'
)
pytestmark = pytest.mark.skipif(
    bool(missing()), reason=f"not on this machine: {', '.join(missing())}"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    logs = tmp_path_factory.mktemp("serve")
    with serving(logs=logs, hangs_after_s=SHARED_HANGS_AFTER_S) as server:
        yield server


def test_each_form_without_a_library_has_a_handler() -> None:
    assert [section.title for section in SECTIONS] == [
        *("timestamped-hex", "hex-header", "form-fields", "unsigned"),
    ]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
def test_a_handler_refuses_what_is_not_genuine(
    section: Section, server: Server, tmp_path: Path
) -> None:
    form = shipped_form(section.title)
    [command] = [block.text for block in section.blocks if block.kind is Kind.HANDLER]
    secret = variables(command).get("WEBHOOK_SECRET", "none")
    now_s = RealClock().system_ms() // 1000
    message = Message(event_id="evt_1", timestamp_s=now_s, body=BODY)
    other_body = BODY.replace(b"15000", b"15001")

    def status(*secrets: str, tamper: Tamper | None = None) -> int:
        sent = webhook_request(
            message,
            form=form,
            url=listening.url,
            secrets=secrets,
            tamper=tamper,
            other_body=other_body,
        )
        headers = dict(sent.headers)
        return httpx.post(
            sent.url, content=sent.body, headers=headers, timeout=HANGS_AFTER_S
        ).status_code

    with handling(command, server, tmp_path, section.files) as listening:
        assert status(secret) == 204
        tampers = [each for each in Tamper if tamper_problem(form, each) is None]
        refused = {tamper: status(secret, tamper=tamper) for tamper in tampers}
        assert set(refused.values()) == {400 if form.is_signed else 204}
        if form.is_signed:
            new_secret = foreign_secret(secret, form)
            assert status(new_secret) == 400
            is_signed_twice = bool(form.signature.separator)
            assert status(new_secret, secret) == (204 if is_signed_twice else 400)
