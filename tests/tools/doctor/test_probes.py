"""Probes of the doctor: what each finds at emulators that work and at servers that do not."""

import socket
from dataclasses import replace

import pytest

from emulator import __version__
from emulator.http.addresses import BaseUrl
from emulator.http.emulator_calls import HEALTH
from emulator.tools.doctor.report import Level, good
from emulator.tools.doctor.runner import NoEmulator
from emulator.tools.doctor.search import (
    LocalNetwork,
    NetworkInterface,
    probe_containers,
    read_network,
)
from tests.cli.processes import free_port
from tests.server.webhooks.receiver import NEVER, receiving, replies
from tests.tools.doctor.examinations import (
    BRIDGE,
    BROWSER,
    CONTAINER,
    MACHINE,
    NO_NETWORK,
    NOTE,
    OK,
    PROBLEM,
    TIMEOUTS,
    WEBHOOK,
    Response,
    call,
    checkout_at,
    checkout_url,
    examine,
    fixes,
    forwarding,
    new_key,
    responding,
    server_at,
    texts,
)

HEALTHY = (200, b'{"status":"ok","version":"0"}')
# A form of 127.0.0.1 that is neither an IP address nor a local name to the emulator.
FOREIGN_NAME = "127.1"


def in_container(*outside: str) -> LocalNetwork:
    return LocalNetwork(is_in_container=True, outside=outside)


# ---- From this machine


async def test_a_report_without_problems_names_what_was_tried(url: str) -> None:
    report = await examine(url, network=BRIDGE)
    assert (report.version, report.problem_count) == (__version__, 0)
    response, control, key = texts(report, MACHINE, OK)
    assert response.startswith(f"{url} responds in ")
    assert response.endswith(f" ms: payments emulator {__version__}")
    assert control == "The control API accepts requests for the host 127.0.0.1"
    assert key == "The key test_de…key works: GET /v1/payments?limit=1 returns 200"
    assert texts(report, BROWSER, OK) == [
        f"{await checkout_url(url)}/c/… opens: the page of a payment created for this test"
    ]
    assert texts(report, WEBHOOK, NOTE) == [
        "No endpoint is registered for the first account, in test mode"
    ]
    [reached] = texts(report, WEBHOOK, OK)
    assert reached.startswith("A handler on this machine is reachable at http://127.0.0.1 and its")


async def failed(url: str, network: LocalNetwork = NO_NETWORK) -> NoEmulator:
    with pytest.raises(NoEmulator) as raised:
        await examine(url, network=network)
    return raised.value


async def test_a_closed_port_is_explained_with_the_command_to_start() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    lines = (await failed(url)).lines
    assert lines[0] == f"no emulator at {url}: connection refused"
    assert "payments-emulator serve" in lines[-1]
    assert f"docker run -p {url.removeprefix('http://')}:8080" in lines[-1]


@pytest.mark.parametrize(
    ("status", "body", "found", "advice"),
    [
        (
            *(404, b"<h1>Shop</h1>"),
            "not an emulator (GET /_emulator/health: 404, Server: other, text/x)",
            "Another program uses this port: pass the emulator's port in --url.",
        ),
        (
            *(503, b'{"status":"unavailable","version":"0"}'),
            *(
                "an emulator that is starting or stopping, or has lost its database",
                "Try again in a second; else see its log.",
            ),
        ),
    ],
)
async def test_another_response_than_health_is_explained(
    status: int, body: bytes, found: str, advice: str
) -> None:
    async with responding({"*": (status, body)}, media_type="text/x") as url:
        assert (await failed(url)).lines == (f"no emulator at {url}: {found}", advice)


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("https://127.0.0.1:1", "Only an emulator that was started with --tls-cert uses https."),
        (
            "http://no-such-host.invalid:1",
            "Are the host and the port correct? Does the emulator listen on ",
        ),
    ],
)
async def test_advice_depends_on_the_address(url: str, advice: str) -> None:
    assert (await failed(url)).lines[-1].startswith(advice)


async def test_the_checkout_port_and_a_path_are_recognised(url: str) -> None:
    for wrong in (await checkout_url(url), f"{url}/v1"):
        lines = (await failed(wrong)).lines
        assert "an emulator, but this is not its base URL" in lines[0]
        assert "does not end in /v1" in lines[-1]


@pytest.mark.parametrize(
    ("network", "tried"),
    [(BRIDGE, []), (in_container("127.0.0.3", "127.0.0.2"), ["http://127.0.0.3"])],
    ids=["of this machine", "outside the container"],
)
async def test_an_emulator_at_another_address_is_found(
    other_url: str, network: LocalNetwork, tried: list[str]
) -> None:
    port = BaseUrl.parse(other_url).port
    wrong = f"http://127.0.0.1:{port}"
    report = await examine(wrong, network=network)
    assert texts(report, MACHINE, PROBLEM) == [f"{wrong}: connection refused"]
    assert fixes(report, MACHINE).startswith(f"Use {other_url}.")
    found = f"{other_url} responds: payments emulator {__version__}"
    assert texts(report, CONTAINER, OK) == [found]
    refused = [text for text in texts(report, CONTAINER, NOTE) if "for containers" not in text]
    assert refused == [f"{url}:{port}: connection refused" for url in tried]
    assert texts(report, BROWSER, PROBLEM) == []
    assert texts(report, BROWSER, OK)


async def test_a_foreign_host_name_is_a_problem(url: str) -> None:
    report = await examine(url.replace("127.0.0.1", FOREIGN_NAME))
    assert texts(report, MACHINE, PROBLEM) == [
        f"The control API refuses requests for the host {FOREIGN_NAME}: 403 forbidden_origin"
    ]
    assert f"--allowed-hosts {FOREIGN_NAME}" in fixes(report, MACHINE)
    assert texts(report, BROWSER, NOTE) == ["Not tried: the control API is closed"]


@pytest.mark.parametrize(
    ("paths", "level", "machine", "skipped"),
    [
        (
            {"*": (404, b"{}")},
            PROBLEM,
            [
                "The control API does not list the accounts: 404, Server: other, application/json",
                "The key test_de…key could not be tested with GET /v1/payments?limit=1:"
                " 404, Server: other, application/json",
            ],
            "the control API is closed",
        ),
        (
            {"*": (401, b'{"error":{"code":"invalid_api_key"}}')},
            NOTE,
            ["The demo key test_de…key is unknown to the emulator, so no key was tested"],
            "the control API is closed",
        ),
        (
            {
                "GET /_emulator/accounts": (200, b'{"data":[]}'),
                "*": (409, b'{"error":{"code":"too_many_accounts"}}'),
            },
            OK,
            ["The control API accepts requests for the host 127.0.0.1"],
            "no temporary account could be created: 409 too_many_accounts",
        ),
    ],
    ids=["no control API", "unknown demo key", "no temporary account"],
)
async def test_without_a_control_api_or_an_account_probes_are_skipped(
    paths: dict[str, Response], level: Level, machine: list[str], skipped: str
) -> None:
    async with responding({"/_emulator/health": HEALTHY, **paths}) as url:
        report = await examine(url)
    assert texts(report, MACHINE, level)[-len(machine) :] == machine
    for perspective in (BROWSER, WEBHOOK):
        assert texts(report, perspective, NOTE) == [f"Not tried: {skipped}"]


async def test_an_unknown_key_is_a_problem(url: str) -> None:
    report = await examine(url, key="test_of_nobody_at_all")
    unknown = "The key test_of…all is unknown: 401 invalid_api_key"
    assert texts(report, MACHINE, PROBLEM) == [unknown]
    assert "--auto-provision" in fixes(report, MACHINE)
    assert texts(report, WEBHOOK, NOTE) == ["The endpoints cannot be listed: 401 invalid_api_key"]


async def test_a_fault_is_reported_with_the_key(url: str) -> None:
    key = await new_key(url)
    fault = {"when": {"request": "list_payments"}, "then": {"status": 500}}
    await call(url, "POST", "/_emulator/faults", fault, key)
    [text] = texts(await examine(url, key=key), MACHINE, PROBLEM)
    assert text.endswith("could not be tested with GET /v1/payments?limit=1: 500 internal_error")


async def test_a_server_without_a_response_is_a_failure_after_the_timeout() -> None:
    async with receiving(replies(NEVER)) as silent:
        response = await replace(server_at(silent.url), timeout_s=0.05).try_to_send(HEALTH)
    assert response.failure == "timed out after 0.05 s"


# ---- From a container


async def test_containers_cannot_reach_an_emulator_on_loopback(url: str) -> None:
    report = await examine(url, network=BRIDGE)
    port = BaseUrl.parse(url).port
    closed, names = texts(report, CONTAINER, NOTE)
    assert closed == (
        "The emulator responds at 127.0.0.1 only"
        f" (port {port} of 127.0.0.2 (docker0): connection refused)"
    )
    assert names.startswith(f"http://host.docker.internal:{port} and, in Compose, http://emulator:")
    assert "--host 127.0.0.2 (for this machine alone) or --host 0.0.0.0" in fixes(report, CONTAINER)
    assert "--add-host=host.docker.internal:host-gateway" in fixes(report, CONTAINER)
    assert report.problem_count == 0


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("docker0", "the address for containers behind docker0"),
        ("eth0", "an address for containers and other machines (eth0)"),
    ],
)
async def test_an_address_with_a_response_is_for_containers(url: str, name: str, use: str) -> None:
    interface = NetworkInterface(name=name, address="127.0.0.2")
    network = LocalNetwork(is_in_container=False, interfaces=(interface,))
    base_url = BaseUrl.parse(url)
    async with forwarding("127.0.0.2", base_url.port):
        first, *_ = await probe_containers(base_url, [], network, TIMEOUTS)
    assert first == good(f"http://127.0.0.2:{base_url.port} responds: {use}")


async def test_in_a_container_all_tried_addresses_are_listed() -> None:
    port = free_port()
    found = await failed(f"http://127.0.0.1:{port}", in_container("127.0.0.2", "127.0.0.3"))
    assert found.lines[1] == (
        "no emulator at the other addresses:"
        f" http://127.0.0.2:{port}: connection refused;"
        f" http://127.0.0.3:{port}: connection refused"
    )
    assert "127.0.0.1 is this container itself" in found.lines[-1]
    assert list(found.report.sections) == [MACHINE, CONTAINER]


@pytest.mark.parametrize(
    ("url", "network", "text", "fix"),
    [
        (
            "http://127.0.0.1:1",
            LocalNetwork(is_in_container=True, interfaces=BRIDGE.interfaces),
            "The emulator responds at 127.0.0.1 only (port 1 of ",
            "For other containers, start the emulator with --host 0.0.0.0 (EMULATOR_HOST).",
        ),
        (
            "http://127.0.0.1:1",
            NO_NETWORK,
            "This machine has only loopback addresses, so nothing was tested",
            None,
        ),
        # Reserved for documentation: a connection to it would time out.
        (
            "http://192.0.2.77:8080",
            BRIDGE,
            "http://192.0.2.77:8080 is not an address of this machine, so nothing was tested",
            "In the container: curl http://192.0.2.77:8080/_emulator/health",
        ),
        (
            "http://192.0.2.77:8080",
            in_container("127.0.0.2"),
            "http://192.0.2.77:8080 responds in this container",
            None,
        ),
    ],
    ids=["in a container", "no interfaces", "another machine", "another container"],
)
async def test_addresses_for_containers_depend_on_the_network(
    url: str, network: LocalNetwork, text: str, fix: str | None
) -> None:
    findings = await probe_containers(BaseUrl.parse(url), [], network, TIMEOUTS)
    assert findings[0].text.startswith(text)
    assert findings[0].fix == fix
    assert len(findings) == (1 if network.is_in_container else 2)


def test_the_interfaces_of_this_machine_are_read() -> None:
    for interface in read_network().interfaces:
        assert not interface.address.startswith("127.")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.bind((interface.address, 0))  # Fails for an address of another machine.


# ---- From a browser


async def test_a_closed_checkout_url_is_a_problem_with_what_to_do(url: str) -> None:
    wrong = f"http://127.0.0.1:{free_port()}"
    async with checkout_at(url, wrong):
        report = await examine(url)
    assert texts(report, BROWSER, PROBLEM) == [
        f"checkout_url begins with {wrong}, which does not open: connection refused"
    ]
    assert fixes(report, BROWSER) == (
        "Start the emulator with --checkout-url URL (EMULATOR_CHECKOUT_URL), the address of its"
        f" pages for a browser, or set it now: PUT {url}/_emulator/checkout_url"
        ' {"url": "URL"}'
    )


async def assert_wrong_checkout_url(url: str, wrong: str, reason: str, fix: str = "url") -> None:
    """The reason why a wrong checkout address does not open, and the start of the advice."""
    async with checkout_at(url, wrong):
        report = await examine(url)
    assert texts(report, BROWSER, PROBLEM) == [
        f"checkout_url begins with {wrong}, which does not open: {reason}"
    ]
    starts = {
        "url": "Start the emulator with --checkout-url URL ",
        "hosts": "Start the emulator with --allowed-hosts 127.0.0.1.",
    }
    assert fixes(report, BROWSER).startswith(starts[fix])


async def test_other_addresses_of_emulators_are_not_mistaken_for_the_pages(
    url: str, other_url: str
) -> None:
    api = "this is the API of an emulator, not its checkout pages"
    await assert_wrong_checkout_url(url, url, api)
    other = await checkout_url(other_url)
    await assert_wrong_checkout_url(url, other, "these are the pages of another emulator")


FORBIDDEN = b'{"error":{"code":"forbidden_origin","message":"..."}}'
ANOTHER = "another program responds (200, Server: other, application/json)"


@pytest.mark.parametrize(
    ("response", "reason", "fix"),
    [
        ((200, b"<h1>Shop</h1>"), ANOTHER, "url"),
        ((403, FORBIDDEN), "403 forbidden_origin", "hosts"),
    ],
    ids=["another program", "forbidden host"],
)
async def test_another_response_at_the_checkout_url_is_explained(
    url: str, response: Response, reason: str, fix: str
) -> None:
    async with responding({"*": response}) as wrong:
        await assert_wrong_checkout_url(url, wrong, reason, fix)


async def test_in_a_container_a_checkout_url_of_the_host_is_only_a_note(url: str) -> None:
    async with checkout_at(url, f"http://localhost:{free_port()}"):
        report = await examine(url, network=in_container())
    [text] = texts(report, BROWSER, NOTE)
    assert text.endswith("(in this container)")
    assert fixes(report, BROWSER).startswith("A browser on the host may open it. For a ")
