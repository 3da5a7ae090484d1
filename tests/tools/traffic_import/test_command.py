"""The command `import`, and the replay of its result in the account of a merchant."""

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.cli.invocation import invoke, output, usage_error, webhook_receiver
from tests.cli.processes import Server
from tests.tools.traffic_import.recorded import (
    at,
    created,
    har_file,
    lines_file,
    payment,
    webhook,
)

NO_EMULATOR = "http://127.0.0.1:1"


def paid_files(directory: Path) -> list[str]:
    """A payment whose completion arrives before its beginning, and twice."""
    shown = payment()
    processing = {**shown, "method": "telebirr", "status": "processing"}
    paid = {**processing, "status": "completed", "completed_at": at(9)}
    lines = (
        webhook(shown, 0),
        webhook(processing, 4, late_s=26),
        *(webhook(paid, 9, late_s=n) for n in (2, 2)),
    )
    return [str(har_file(directory, created(shown))), str(lines_file(directory, *lines))]


def test_a_file_is_written_and_has_its_name(tmp_path: Path) -> None:
    written = tmp_path / "Late Webhook.yaml"
    assert output("import", *paid_files(tmp_path), "-o", str(written)) == (0, "")
    text = written.read_text()
    assert "\nname: late-webhook\n" in text
    assert output("check", str(written))[0] == 0
    code, printed = output("import", *paid_files(tmp_path), "-o", "-", "--name", "late-webhook")
    assert (code, printed) == (0, text)
    assert "\nname: imported\n" in output("import", *paid_files(tmp_path), "-o", "-")[1]
    code, printed = output("replay", str(written))
    assert code == 0, printed


def test_an_existing_file_is_overwritten_with_force_only(tmp_path: Path) -> None:
    files, written = paid_files(tmp_path), tmp_path / "case.yaml"
    written.write_text("mine")
    message = usage_error("import", *files, "-o", str(written))
    assert message == (
        f"flag --output: '{written}' exists; add --force to overwrite it, or name another file"
    )
    assert written.read_text() == "mine"
    assert output("import", *files, "-o", str(written), "--force") == (0, "")
    assert "name: case" in written.read_text()


def test_more_than_a_thousand_steps_become_several_files(tmp_path: Path) -> None:
    orders = [
        payment(n, created_at=at(n), expires_at=at(n + 1_800), metadata={"order": f"{n}"})
        for n in range(300)
    ]
    har = str(har_file(tmp_path, *map(created, orders)))
    written = tmp_path / "large.yaml"
    assert output("import", har, "-o", str(written)) == (0, "")
    files = sorted(tmp_path.glob("large*.yaml"))
    assert [file.name for file in files] == ["large-1.yaml", "large-2.yaml"]
    texts = [file.read_text() for file in files]
    for number, text in enumerate(texts, start=1):
        assert f"\nname: large-{number}\n" in text
    assert sum(text.count("- create: ") for text in texts) == 300
    # A value has one pseudonym in all files.
    values = [f"value_{n}}}" for n in range(1, 301)]
    assert all(sum(text.count(value) for text in texts) == 1 for value in values)
    assert output("check", *map(str, files))[0] == 0
    message = usage_error("import", har, "-o", str(written))
    assert message.startswith(f"flag --output: '{files[0]}' exists")
    assert usage_error("import", har, "-o", "-").startswith(
        "flag --output: the 2 files need a name"
    )
    assert not written.exists()


def test_strict_fails_if_a_fact_is_missing(tmp_path: Path) -> None:
    har, lines = paid_files(tmp_path)
    written = str(tmp_path / "case.yaml")
    assert output("import", har, lines, "-o", written, "--strict") == (0, "")
    for files in ((har,), (lines,)):
        assert output("import", *files, "-o", written, "--force") == (0, "")
        assert output("import", *files, "-o", written, "--strict", "--force") == (1, "")
        assert "# Missing:\n" in Path(written).read_text()


def test_the_endpoints_of_an_account_receive_the_webhooks_in_the_recorded_order(
    tmp_path: Path, server: Server
) -> None:
    account = server.request("POST", "/_emulator/accounts", {"clock": f"frozen@{at(0)}"}).json
    key = str(account["test_key"])
    endpoints = [
        server.request("POST", "/_emulator/webhook_endpoints", {"url": f"{NO_EMULATOR}/{n}"}, key)
        for n in range(2)
    ]
    written = str(tmp_path / "case.yaml")
    output("import", *paid_files(tmp_path), "-o", written)
    url = f"http://127.0.0.1:{server.api_port}"
    code, printed = output("replay", written, "--url", url, "--key", key)
    assert code == 0, printed
    for endpoint in endpoints:
        path = f"/_emulator/deliveries?endpoint={endpoint.json['id']}"
        deliveries = server.request("GET", path, key=key).json["data"]
        first = [(each["attempts"][0]["at"], each["type"]) for each in deliveries]
        assert sorted(first) == [
            (at(0), "payment.created"),
            (at(11), "payment.completed"),
            (at(11), "payment.completed"),
            (at(30), "payment.processing"),
        ]
    # Only the endpoints and the scenarios of before are left.
    left = server.request("GET", "/_emulator/webhook_endpoints", key=key).json["data"]
    assert {each["id"] for each in left} == {each.json["id"] for each in endpoints}
    scenarios = server.request("GET", "/_emulator/scenarios", key=key).json["data"]
    assert "case" not in [each["name"] for each in scenarios]
    [shown] = server.request("GET", "/v1/payments", key=key).json["data"]
    assert shown["status"] == "completed"


def test_without_a_key_the_endpoints_of_the_first_account_receive_the_webhooks(
    tmp_path: Path, server: Server
) -> None:
    received: list[tuple[str, str]] = []

    def receive(_: BaseHTTPRequestHandler, body: bytes) -> int:
        event = json.loads(body)
        received.append((event["timestamp"], event["type"]))
        return 204

    written = str(tmp_path / "case.yaml")
    output("import", *paid_files(tmp_path), "-o", written)
    emulator = f"http://127.0.0.1:{server.api_port}"
    with webhook_receiver(receive) as url:
        endpoint = server.request("POST", "/_emulator/webhook_endpoints", {"url": url}).json
        code, printed = output("replay", written, "--url", emulator)
        server.request("DELETE", f"/_emulator/webhook_endpoints/{endpoint['id']}")
    assert code == 0, printed
    assert received == [
        ("2026-01-01T00:00:00.000Z", "payment.created"),
        *(("2026-01-01T00:00:09.000Z", "payment.completed") for _ in range(2)),
        ("2026-01-01T00:00:04.000Z", "payment.processing"),
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "Missing option '-o' / '--output'"),
        (("-o", "/nowhere/x.yaml"), "flag -o: cannot write '/nowhere/x.yaml': its directory does"),
        (("-o", "-", "--name", "A b"), "flag --name: found 'A b', expected 1 to 64 lower-case"),
        (("-o", "-", "--keep", "order"), "flag --keep: found 'order', expected metadata.NAME"),
        (("-o", "-", "--keep", "metadata."), "flag --keep: found 'metadata.', expected"),
        (("-o", "-", "--base-url", "x"), "flag --base-url: found 'x', expected an absolute http"),
        (("-o", "-", "--base-url", "http://x"), "the recording has no exchange of http://x/v1/pay"),
        (("-o", "-", "--webhook-format", "/nowhere.yaml"), "/nowhere.yaml:1:1: cannot be read"),
    ],
)
def test_a_wrong_option_is_one_line(
    arguments: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    assert usage_error("import", *paid_files(tmp_path), *arguments).startswith(expected)


def test_a_wrong_file_is_one_line(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.har"
    for text, expected in (
        ("", f"{wrong}:1:1: the JSON breaks off"),
        ('{"log": {"entries": []}}', "the files have no payment that was created, retrieved"),
        ("[" * 100_000, f"{wrong}:1: cannot read the JSON: its values are nested too deeply"),
    ):
        wrong.write_text(text)
        assert usage_error("import", str(wrong), "-o", "-").startswith(expected)
    wrong.write_text(json.dumps({"at": at(0), "body": '{"data":' * 900 + "1" + "}" * 900}))
    message = usage_error("import", str(wrong), "-o", "-")
    assert message.startswith(("the files have no payment", "a body in the files is nested"))


@pytest.mark.parametrize("depth", [400, 900, 990, 2_000])
def test_a_deep_body_is_compared_or_refused_with_one_line(depth: int, tmp_path: Path) -> None:
    deep = "[" * depth + "]" * depth
    shown = json.dumps(payment(metadata={})).replace('"metadata": {}', f'"metadata": {deep}')
    made = created(payment())
    made["response"] |= {"headers": [{"name": "content-type", "value": "application/json"}]}
    made["response"]["content"]["text"] = shown
    made["request"]["postData"]["text"] = f'{{"amount": {deep}}}'
    har = str(har_file(tmp_path, made))
    for command in (("verify", "--har", har), ("import", har, "-o", "-")):
        ended = invoke(*command)
        assert not isinstance(ended.exception, RecursionError)
        assert ended.return_value in (0, 1) if ended.exception is None else ended.exception.lines


def test_a_key_of_a_replay_needs_a_url(tmp_path: Path) -> None:
    written = str(tmp_path / "case.yaml")
    output("import", *paid_files(tmp_path), "-o", written)
    expected = "flag --key: expected --url"
    assert usage_error("replay", written, "--key", "test_demo_key") == expected
    wrong = ("--url", NO_EMULATOR, "--key", "x")
    assert usage_error("replay", written, *wrong).startswith("flag --key: expected test_ or live_")
