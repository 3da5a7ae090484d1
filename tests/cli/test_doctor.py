"""`doctor`: what it finds, fine and broken; that it leaves no trace, and never a traceback."""

import asyncio
import json
import signal
import socket
import struct
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from emulator.cli.examination.asking import Patience, Server
from emulator.cli.examination.containers import examine_containers
from emulator.cli.examination.examining import DoctorOptions, NoEmulator, examine
from emulator.cli.examination.findings import Finding, Mark, Section, View, good, problem
from emulator.cli.examination.guest import Guest, NoGuest
from emulator.cli.examination.locating import Found, Search, There, look_for
from emulator.cli.examination.own_handler import Ways, examine_own_handler, ways
from emulator.cli.examination.pinging import Pinger
from emulator.cli.examination.reporting import printable, section_lines
from emulator.cli.examination.surroundings import (
    Interface,
    Surroundings,
    default_gateway,
    look_around,
)
from standardwebhooks import Webhook

from emulator import __version__
from emulator.cli.commands import CliError
from emulator.cli.doctor import doctor, examine_and_print
from emulator.clock import RealClock
from emulator.replay.client import Address, Answer
from emulator.reporting import Paint
from tests.cli.examined import (
    ALONE,
    BRIDGED,
    PATIENCE,
    answering,
    call,
    checkout_at,
    checkout_url,
    examined,
    fixes,
    forwarding,
    fresh_key,
    neighbouring_ports,
    running,
    server_at,
    texts,
)
from tests.cli.processes import (
    COMMAND,
    HANGS_AFTER_S,
    HEARS_CTRL_C,
    REPOSITORY,
    environment,
    free_port,
    run,
    serving,
)
from tests.webhooks.receiver import NEVER, Reply, receiving, replies
from tests.world import TEST_KEY

OK, PROBLEM, NOTE = Mark.OK, Mark.PROBLEM, Mark.NOTE
MACHINE, CONTAINER, BROWSER, WEBHOOK = View
WALL = RealClock()
HEALTHY = (200, b'{"status":"ok","version":"0"}')
ENDPOINTS = "/_emulator/webhook_endpoints"
# A way to write 127.0.0.1 that is neither an IP address nor a local name to the emulator.
FOREIGN_NAME = "127.1"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An emulator that all tests share; each takes an account of its own to change something."""
    with serving(logs=tmp_path_factory.mktemp("logs")) as server:
        yield f"http://127.0.0.1:{server.api_port}"


@pytest.fixture(scope="module")
def strange_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One at another address, that takes any key and knows no method that we know."""
    options = ("--host", "127.0.0.2", "--auto-provision", "--methods", "cash_on_delivery")
    with serving(*options, logs=tmp_path_factory.mktemp("logs")) as server:
        yield f"http://127.0.0.2:{server.api_port}"


# ---- from this machine


async def test_where_all_is_well_each_view_says_what_was_tried(url: str) -> None:
    report = await examined(url, surroundings=BRIDGED)
    assert (report.version, report.problem_count) == (__version__, 0)
    answers, control, key = texts(report, MACHINE, OK)
    assert answers.startswith(f"{url} answers in ")
    assert answers.endswith(f" ms: payments emulator {__version__}")
    assert control == "The control API takes calls for the host 127.0.0.1"
    assert key == "The key test_de…key works: GET /v1/payments?limit=1 answers 200"
    assert texts(report, BROWSER, OK) == [
        f"{await checkout_url(url)}/c/… opens, and is the page of a payment made for this"
    ]
    assert texts(report, WEBHOOK, NOTE) == [
        "No endpoint is registered for the first account, in test mode"
    ]
    [reached] = texts(report, WEBHOOK, OK)
    assert reached.startswith("A handler on this machine is reached at http://127.0.0.1 and its")


async def nobody(url: str, surroundings: Surroundings = ALONE) -> NoEmulator:
    with pytest.raises(NoEmulator) as raised:
        await examined(url, surroundings=surroundings)
    return raised.value


async def test_where_nothing_listens_it_says_what_may_be_missing() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    found = await nobody(url)
    assert found.lines[0] == f"no emulator at {url}: connection refused"
    assert "payments-emulator serve" in found.lines[-1]
    assert f"docker run -p {url.removeprefix('http://')}:8080" in found.lines[-1]


async def test_something_else_on_the_port_is_told_apart() -> None:
    async with answering({"*": (404, b"<h1>Shop</h1>")}, media_type="text/html") as url:
        found = await nobody(url)
    assert found.lines[0] == (
        f"no emulator at {url}: something else than the emulator"
        " (GET /_emulator/health: 404, Server: stranger, text/html)"
    )


async def test_the_port_of_the_pages_and_a_path_are_known_as_such(url: str) -> None:
    for wrong in (await checkout_url(url), f"{url}/v1"):
        found = await nobody(wrong)
        assert "an emulator, but this is not its base URL" in found.lines[0]
        assert "does not end in /v1" in found.lines[-1]


async def test_one_that_is_starting_is_waited_for_by_the_user() -> None:
    async with answering({"*": (503, b'{"status":"unavailable","version":"0"}')}) as url:
        found = await nobody(url)
    assert found.lines == [
        f"no emulator at {url}: an emulator that is starting or stopping",
        "Try again in a second.",
    ]


async def test_one_that_listens_elsewhere_on_this_machine_is_found(strange_url: str) -> None:
    wrong = strange_url.replace("127.0.0.2", "127.0.0.1")
    report = await examined(wrong, surroundings=BRIDGED)
    assert texts(report, MACHINE, PROBLEM) == [f"{wrong}: connection refused"]
    assert fixes(report, MACHINE).startswith(f"Use {strange_url}.")
    assert texts(report, CONTAINER, OK) == [
        f"{strange_url} answers: payments emulator {__version__}"
    ]
    assert texts(report, BROWSER, PROBLEM) == []


async def test_a_name_that_the_emulator_does_not_know_is_told_and_gone_around(url: str) -> None:
    foreign = url.replace("127.0.0.1", FOREIGN_NAME)
    report = await examined(foreign)
    assert texts(report, MACHINE, PROBLEM) == [
        f"The control API takes no calls for the host {FOREIGN_NAME}: 403 forbidden_origin"
    ]
    assert f"--allowed-hosts {FOREIGN_NAME}" in fixes(report, MACHINE)
    assert texts(report, BROWSER, OK)
    assert texts(report, WEBHOOK, OK)


async def test_without_a_control_api_it_says_what_was_not_tried() -> None:
    async with answering({"/_emulator/health": HEALTHY, "*": (404, b"{}")}) as url:
        report = await examined(url)
    control, key = texts(report, MACHINE, PROBLEM)
    assert control.startswith("The control API gives no accounts: 404")
    assert key.startswith("The key test_de…key could not be tried by GET /v1/payments?limit=1: 404")
    for view in (BROWSER, WEBHOOK):
        assert texts(report, view, NOTE) == ["Not tried: the control API is closed"]


async def test_a_key_that_is_nobodys_is_told(url: str) -> None:
    report = await examined(url, key="test_of_nobody_at_all")
    assert texts(report, MACHINE, PROBLEM) == [
        "The key test_of…all is nobody's: 401 invalid_api_key"
    ]
    assert "--auto-provision" in fixes(report, MACHINE)
    assert texts(report, WEBHOOK, NOTE) == ["The key has no account yet, and so no endpoints"]


async def test_where_the_first_account_has_another_key_none_is_tried() -> None:
    paths = {"/_emulator/health": HEALTHY, "*": (401, b'{"error":{"code":"invalid_api_key"}}')}
    async with answering(paths) as url:
        report = await examined(url)
    assert texts(report, MACHINE, NOTE) == [
        "The demo key test_de…key is not known here, so that no key was tried"
    ]


async def test_a_key_that_would_become_an_account_does_not(strange_url: str) -> None:
    before = await call(strange_url, "GET", "/_emulator/accounts")
    report = await examined(strange_url, key="test_of_a_new_job_17")
    assert await call(strange_url, "GET", "/_emulator/accounts") == before
    assert "is new, and becomes an account when it is used" in texts(report, MACHINE, OK)[-1]


async def test_a_fault_in_the_way_of_the_key_is_told(url: str) -> None:
    key = await fresh_key(url)
    fault = {"when": {"request": "list_payments"}, "then": {"status": 500}}
    await call(url, "POST", "/_emulator/faults", fault, key)
    [told] = texts(await examined(url, key=key), MACHINE, PROBLEM)
    assert told.endswith("could not be tried by GET /v1/payments?limit=1: 500 internal_error")


async def test_who_keeps_silent_is_given_up() -> None:
    async with receiving(replies(NEVER)) as silent:
        answer = await server_at(silent.url, within_s=0.05).ask("GET", "")
    assert answer.lost == "no answer within 0.05 s"


def test_no_try_is_long() -> None:
    assert Patience(wall=WALL).try_s <= 2
    assert Patience(wall=WALL).answer_s <= 5


# ---- from a container


async def test_one_that_listens_on_loopback_alone_is_closed_to_containers(url: str) -> None:
    report = await examined(url, surroundings=BRIDGED)
    port = Address.of(url).port
    closed, names = texts(report, CONTAINER, NOTE)
    assert closed == (
        f"It answers at 127.0.0.1 only (port {port} of 127.0.0.2 (docker0): connection refused)"
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
async def test_an_address_that_answers_is_one_for_containers(url: str, name: str, use: str) -> None:
    around = Surroundings(
        is_in_container=False, interfaces=(Interface(name=name, address="127.0.0.2"),)
    )
    port = Address.of(url).port
    async with forwarding("127.0.0.2", port):
        found = await look_for(Address.of(url), around, PATIENCE)
        section, reached = await examine_containers(found, found.given, around, PATIENCE)
    assert section.findings[0] == good(f"http://127.0.0.2:{port} answers: {use}")
    assert reached == around.interfaces


def inside(*outside: str) -> Surroundings:
    return Surroundings(is_in_container=True, outside=outside)


async def test_inside_a_container_the_way_out_is_looked_for(strange_url: str) -> None:
    port = Address.of(strange_url).port
    wrong = f"http://127.0.0.1:{port}"
    report = await examined(wrong, surroundings=inside("127.0.0.3", "127.0.0.2"))
    assert fixes(report, MACHINE).startswith(f"Use {strange_url}.")
    assert texts(report, CONTAINER, NOTE) == [f"http://127.0.0.3:{port}: connection refused"]
    assert texts(report, CONTAINER, OK) == [
        f"{strange_url} answers: payments emulator {__version__}"
    ]
    assert texts(report, BROWSER, OK)


async def test_inside_a_container_all_that_was_tried_in_vain_is_told() -> None:
    port = free_port()
    found = await nobody(f"http://127.0.0.1:{port}", inside("127.0.0.2", "127.0.0.3"))
    assert found.lines[1] == (
        "nor elsewhere around this machine:"
        f" http://127.0.0.2:{port}: connection refused;"
        f" http://127.0.0.3:{port}: connection refused"
    )
    assert "127.0.0.1 is this container itself" in found.lines[-1]
    assert [section.view for section in found.report.sections] == [MACHINE, CONTAINER]


async def looked_at(address: str, surroundings: Surroundings) -> list[Finding]:
    """What is found for containers of an emulator that is said to be at an address."""
    found = Found(address=Address.of(address), there=There.EMULATOR, told="0", duration_ms=1)
    section, reached = await examine_containers(Search(given=found), found, surroundings, PATIENCE)
    assert reached == ()
    return list(section.findings)


async def test_inside_the_emulators_own_container_others_are_thought_of() -> None:
    own = Surroundings(is_in_container=True, interfaces=BRIDGED.interfaces, outside=("127.0.0.3",))
    [closed] = await looked_at(f"http://127.0.0.1:{free_port()}", own)
    assert closed.text.startswith("It answers at 127.0.0.1 only")
    assert closed.fix == "For other containers start it with --host 0.0.0.0 (EMULATOR_HOST)."


async def test_nothing_is_tried_at_the_addresses_of_others() -> None:
    """The address is one for documentation: whoever asked it would wait for long."""
    first, _ = await looked_at("http://192.0.2.77:8080", BRIDGED)
    assert first.text == (
        "http://192.0.2.77:8080 is not an address of this machine, so that nothing was tried"
    )
    [only] = await looked_at("http://192.0.2.77:8080", inside("127.0.0.2"))
    assert only.text == "http://192.0.2.77:8080 answers in this container"


def test_the_gateway_of_a_container_is_in_its_routing_table() -> None:
    number = struct.unpack("=I", socket.inet_aton("172.17.0.1"))[0]
    head = "Iface\tDestination\tGateway \tFlags\n"
    local = "eth0\t000011AC\t00000000\t0001\n"
    assert default_gateway(f"{head}{local}eth0\t00000000\t{number:08X}\t0003\n") == "172.17.0.1"
    assert default_gateway(f"{head}{local}eth0\t00000000\t00000000\t0001\n") is None
    assert default_gateway("") is None


def test_this_machines_own_addresses_are_found() -> None:
    for interface in look_around().interfaces:
        assert not interface.address.startswith("127.")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.bind((interface.address, 0))  # which only an address of this machine lets


# ---- from a browser


async def test_a_checkout_url_where_nothing_listens_is_told_with_the_one_that_opens() -> None:
    port, next_port = neighbouring_ports()
    wrong = f"http://127.0.0.1:{free_port()}"
    async with running(port=port, checkout_port=next_port, checkout_url=wrong) as url:
        report = await examined(url)
    assert texts(report, BROWSER, PROBLEM) == [
        f"checkout_url begins with {wrong}, which does not open: connection refused"
    ]
    right = f"http://127.0.0.1:{next_port}"
    assert fixes(report, BROWSER) == (
        f"{right} opens. Start the emulator with --checkout-url {right} (EMULATOR_CHECKOUT_URL),"
        f' or tell it now: PUT {url}/_emulator/checkout_url {{"url": "{right}"}}'
    )


async def test_the_api_is_told_from_the_pages(url: str) -> None:
    async with checkout_at(url, url):
        report = await examined(url)
    [told] = texts(report, BROWSER, PROBLEM)
    assert told == (
        f"checkout_url begins with {url}, which does not open:"
        " that is the API of an emulator, not its checkout pages"
    )
    assert fixes(report, BROWSER).startswith("Start the emulator with --checkout-url URL ")


async def test_the_pages_of_another_emulator_are_known_as_such(url: str, strange_url: str) -> None:
    async with checkout_at(url, await checkout_url(strange_url)):
        report = await examined(url)
    [told] = texts(report, BROWSER, PROBLEM)
    assert told.endswith("which does not open: it shows the pages of another emulator")


async def test_something_else_at_the_checkout_url_is_told(url: str) -> None:
    paths = {"*": (200, b"<h1>Shop</h1>")}
    async with answering(paths, media_type="text/html") as shop, checkout_at(url, shop):
        report = await examined(url)
    [told] = texts(report, BROWSER, PROBLEM)
    assert told.endswith("something else answers (200, Server: stranger, text/html)")


async def test_pages_that_are_refused_for_their_host_are_told(url: str) -> None:
    refusal = b'{"error":{"code":"forbidden_origin","message":"..."}}'
    async with answering({"*": (403, refusal)}) as proxy, checkout_at(url, proxy):
        report = await examined(url)
    [told] = texts(report, BROWSER, PROBLEM)
    assert told.endswith("403 forbidden_origin")
    assert fixes(report, BROWSER) == "Start the emulator with --allowed-hosts 127.0.0.1."


async def test_where_no_payment_can_be_made_the_pages_are_still_found(strange_url: str) -> None:
    report = await examined(strange_url)
    [told] = texts(report, BROWSER, OK)
    assert told.endswith("/c/x opens, and is ours")


async def test_a_checkout_url_of_the_host_is_no_problem_of_a_container(url: str) -> None:
    async with checkout_at(url, f"http://localhost:{free_port()}"):
        report = await examined(url, surroundings=inside())
    [told] = texts(report, BROWSER, NOTE)
    assert told.endswith("(in this container)")
    assert fixes(report, BROWSER).startswith("A browser on the host may open it. For one in a ")


async def test_the_address_for_browsers_elsewhere_is_told_where_it_is_open(url: str) -> None:
    checkout = Address.of(await checkout_url(url))
    async with forwarding("127.0.0.2", Address.of(url).port):
        assert texts(await examined(url, surroundings=BRIDGED), BROWSER, NOTE) == []
        async with forwarding("127.0.0.2", checkout.port):
            report = await examined(url, surroundings=BRIDGED)
    other = f"http://127.0.0.2:{checkout.port}"
    [told] = texts(report, BROWSER, NOTE)
    assert told.startswith(f"{other} opens, too, where 127.0.0.1 is another machine")
    assert fixes(report, BROWSER) == f"For a browser there: --checkout-url {other}"


# ---- to a webhook


async def registered(url: str, handler: str) -> tuple[dict[str, Any], str]:
    """An endpoint of a fresh account, and that account's key."""
    key = await fresh_key(url)
    return dict(await call(url, "POST", ENDPOINTS, {"url": handler}, key)), key


async def test_each_endpoint_of_the_key_gets_one_ping_that_its_own_secret_signs(url: str) -> None:
    async with receiving() as handler:
        endpoint, key = await registered(url, handler.url)
        report = await examined(url, key=key, webhook_url=handler.url)
        [received] = handler.received
    Webhook(endpoint["secret"]).verify(received.body, received.headers)
    assert received.json["type"] == "ping"
    told, _ = texts(report, WEBHOOK, OK)
    assert told.startswith(f"{handler.url} takes a ping that its secret has signed: 200 in ")


@pytest.mark.parametrize(("status", "advice"), [(500, "own log"), (401, "secret"), (404, "path")])
async def test_an_endpoint_that_refuses_is_told_with_the_likely_cause(
    url: str, status: int, advice: str
) -> None:
    async with receiving(replies(Reply(status=status))) as handler:
        _, key = await registered(url, handler.url)
        report = await examined(url, key=key)
    [told] = texts(report, WEBHOOK, PROBLEM)
    assert told.startswith(f"{handler.url} takes no ping: {status} in ")
    assert advice in fixes(report, WEBHOOK)


async def test_an_endpoint_where_nothing_listens_and_one_that_is_disabled_are_told(
    url: str,
) -> None:
    gone = f"http://127.0.0.1:{free_port()}/hook"
    async with receiving() as handler:
        endpoint, key = await registered(url, handler.url)
        path = f"{ENDPOINTS}/{endpoint['id']}"
        await call(url, "PATCH", path, {"enabled": False}, key)
        report = await examined(url, key=key, webhook_url=gone)
        assert handler.received == []
    disabled, refused = texts(report, WEBHOOK, PROBLEM)
    assert disabled == f"{handler.url} is disabled, and told of nothing"
    assert f'PATCH {path} {{"enabled": true}}' in fixes(report, WEBHOOK)
    assert refused.startswith(f"{gone} takes no ping: connection refused in ")


async def test_a_handler_that_is_named_is_called_though_it_is_no_endpoint(url: str) -> None:
    async with receiving() as handler:
        report = await examined(url, webhook_url=handler.url.replace("//", "//me:hush@"))
        assert len(handler.received) == 1
    told, _ = texts(report, WEBHOOK, OK)
    assert told.startswith(f"{handler.url} takes a ping, but is not registered: 200 in ")
    assert "hush" not in str(report)


async def test_a_handler_that_verifies_is_reached_though_it_refuses_a_strange_secret(
    url: str,
) -> None:
    async with receiving(replies(Reply(status=401))) as handler:
        report = await examined(url, webhook_url=handler.url)
    assert report.problem_count == 0
    assert "is reached, and takes no ping that another secret has" in texts(report, WEBHOOK, OK)[0]


async def test_a_handler_that_keeps_silent_is_given_up_and_its_endpoint_removed(url: str) -> None:
    async with receiving(replies(NEVER)) as handler, Guest(server_at(url)) as guest:
        hasty = HastyPing(guest.server)
        ping = await Pinger(hasty).ping(handler.url, None)  # type: ignore[arg-type]
        assert await call(url, "GET", ENDPOINTS, key=guest.server.key) == {"data": []}
    assert (ping.is_delivered, ping.told) == (False, "no answer within 0.2 s")


class HastyPing:
    """The guest's server, with little patience for pings alone."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def ask(self, method: str, path: str, value: object = None) -> Answer:
        within_s = 0.2 if path.endswith("/ping") else self._server.within_s
        return await replace(self._server, within_s=within_s).ask(method, path, value)


async def own_handler(url: str, ways: Ways) -> Finding:
    async with Guest(server_at(url)) as guest:
        return await examine_own_handler(Pinger(guest.server), ways)


async def test_the_host_is_told_by_which_a_program_here_is_reached(url: str) -> None:
    there = Ways(listening=("127.0.0.1", "127.0.0.2"), hosts=("127.0.0.3", "127.0.0.2"))
    found = await own_handler(url, there)
    assert found.mark is OK
    assert found.text.startswith(
        "A handler on this machine is reached at http://127.0.0.2 and its port,"
        " if it listens on 127.0.0.2 or 0.0.0.0: 200 in "
    )
    found = await own_handler(url, Ways(listening=("127.0.0.1",), hosts=("127.0.0.3", "localhost")))
    assert found.text.startswith(
        "A handler on this machine is reached at http://localhost and its port: 200 in "
    )


async def test_that_no_program_here_is_reached_is_told(url: str) -> None:
    hosts = ("127.0.0.2", "127.0.0.3")
    found = await own_handler(
        url, Ways(listening=("127.0.0.1",), hosts=hosts, place="in this container")
    )
    assert found.mark is PROBLEM
    assert found.text.startswith(
        "A handler in this container is not reached by the emulator (127.0.0.2: connection refused"
    )


def test_only_addresses_before_containers_are_listened_on_beside_loopback() -> None:
    interfaces = (
        Interface(name="docker0", address="172.17.0.1"),
        Interface(name="eth0", address="10.0.0.7"),
    )
    host = ways(Surroundings(is_in_container=False, interfaces=interfaces))
    assert host.listening == ("127.0.0.1", "172.17.0.1")
    assert host.hosts[:2] == ("127.0.0.1", "host.docker.internal")
    container = ways(Surroundings(is_in_container=True, interfaces=interfaces[1:]))
    assert container.listening == container.hosts == ("127.0.0.1", "10.0.0.7")


# ---- no trace


async def state(url: str, key: str) -> list[Any]:
    """What anybody could notice of a visit, but for the request that tried the key."""
    places = ("webhook_endpoints", "deliveries", "events", "faults", "scenarios", "clock")
    found = [await call(url, "GET", f"/_emulator/{place}", key=key) for place in places]
    found += [await call(url, "GET", f"/_emulator/{all_}") for all_ in ("accounts", "checkout_url")]
    return [*found, await call(url, "GET", "/v1/payments", key=key)]


@asynccontextmanager
async def unchanged(url: str, handler: str) -> AsyncIterator[str]:
    """A key with a handler, and all as it was when the block ends."""
    frozen = await call(url, "POST", "/_emulator/accounts", {"clock": "frozen"})
    key = str(frozen["test_key"])
    await call(url, "POST", ENDPOINTS, {"url": handler}, key)
    before = await state(url, key)
    yield key
    assert await state(url, key) == before


async def test_nothing_is_changed(url: str) -> None:
    """By a 410 an endpoint would be disabled, were it the account's own."""
    async with receiving(replies(Reply(status=410))) as handler:
        async with unchanged(url, handler.url) as key:
            await examined(url, key=key, webhook_url=f"{handler.url}/other")
        assert len(handler.received) == 2


async def test_nothing_is_left_behind_where_it_is_broken_off(url: str) -> None:
    async with receiving() as handler, unchanged(url, handler.url) as key:

        def interrupt(section: Section) -> None:
            if section.view is BROWSER:
                examination.cancel()

        examination = asyncio.create_task(examine(wanted_of(url, key=key), PATIENCE, interrupt))
        with suppress(asyncio.CancelledError):
            await examination
        assert examination.cancelled()


async def test_an_account_that_cannot_be_made_is_told() -> None:
    paths = {
        "/_emulator/health": HEALTHY,
        "GET /_emulator/accounts": (200, b'{"data":[]}'),
        "*": (409, b'{"error":{"code":"too_many_accounts"}}'),
    }
    async with answering(paths) as url:
        report = await examined(url)
    for view in (BROWSER, WEBHOOK):
        assert texts(report, view, NOTE) == [
            "Not tried: it needs an account of its own, and got none: 409 too_many_accounts"
        ]


async def test_an_account_that_cannot_be_removed_is_known_by_its_name() -> None:
    made = b'{"id":"acct_1","test_key":"test_made_for_this"}'
    paths = {
        "/_emulator/health": HEALTHY,
        "POST /_emulator/accounts": (201, made),
        "*": (500, b"{}"),
    }
    async with answering(paths) as url, Guest(server_at(url)) as guest:
        pass
    assert guest.left_behind is not None
    assert guest.left_behind.startswith("doctor ")


async def test_an_account_whose_answer_was_lost_is_removed(url: str) -> None:
    before = await call(url, "GET", "/_emulator/accounts")
    guest = Guest(Deaf(server_at(url)))  # type: ignore[arg-type]
    with pytest.raises(NoGuest, match="no answer within 2 s"):
        await guest.__aenter__()
    assert await call(url, "GET", "/_emulator/accounts") == before


class Deaf:
    """A server that does what it is asked to by a POST, but whose answer never comes."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def ask(self, method: str, path: str, value: object = None) -> Answer:
        answer = await self._server.ask(method, path, value)
        assert not answer.is_refusal
        return Answer(lost="no answer within 2 s") if method == "POST" else answer


# ---- the command


def wanted_of(url: str, **changes: Any) -> DoctorOptions:
    given: dict[str, Any] = {"key": None, "webhook_url": None, "surroundings": ALONE, **changes}
    return DoctorOptions(address=Address.of(url), **given)


def test_a_healthy_emulator_is_exit_code_0(url: str) -> None:
    ended = run("doctor", "--url", url, "--key", TEST_KEY)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert TEST_KEY not in ended.stdout
    titles = [line for line in ended.stdout.splitlines() if line and not line.startswith(" ")]
    assert titles == [
        "From this machine",
        "From a container",
        "From a browser",
        "To a webhook, tried by the emulator itself",
        "No problem was found. What is marked -- is as its line says.",
    ]
    assert all(len(line) < 200 for line in ended.stdout.splitlines())


def test_a_problem_is_exit_code_1_and_followed_by_what_to_do(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = f"http://127.0.0.1:{free_port()}/hook"
    assert examine_and_print(wanted_of(url, webhook_url=gone), is_json=False) == 1
    lines = capsys.readouterr().out.splitlines()
    [number] = [n for n, line in enumerate(lines) if line.startswith(f"  !!  {gone} takes no ping")]
    assert lines[number + 1].startswith("      ")
    assert lines[-1] == "1 thing will not work: the one marked !!"


def test_machines_get_the_same_as_json(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    gone = f"http://127.0.0.1:{free_port()}/hook"
    assert examine_and_print(wanted_of(url, webhook_url=gone), is_json=True) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["url"], told["version"], told["ok"]) == (url, __version__, False)
    assert list(told["views"]) == ["machine", "container", "browser", "webhook"]
    [found] = [one for one in told["views"]["webhook"] if one["mark"] == "problem"]
    assert found["text"].startswith(gone)
    assert found["fix"]


@pytest.mark.parametrize("is_json", [False, True])
def test_no_emulator_is_exit_code_2_and_a_sentence(
    is_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(CliError) as raised:
        examine_and_print(wanted_of(url), is_json=is_json)
    assert raised.value.exit_code == 2
    assert raised.value.message.startswith(f"no emulator at {url}: connection refused")
    printed = capsys.readouterr().out
    assert (json.loads(printed)["ok"] is False) if is_json else (printed == "")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--url", "emulator:8080"], "flag --url: found 'emulator:8080', expected an absolute"),
        (["--url", "http://me:hush@127.0.0.1"], "flag --url: a user and a password cannot be sent"),
        (["--key", "sk_1"], "flag --key: expected test_ or live_ and 4 to 128 letters"),
        (["--webhook-url", "localhost"], "flag --webhook-url: expected an absolute http or https"),
    ],
)
def test_a_wrong_option_is_told_before_anybody_is_asked(options: list[str], expected: str) -> None:
    with pytest.raises(CliError) as raised:
        doctor.main(options, standalone_mode=False)
    assert (raised.value.exit_code, len(raised.value.lines)) == (2, 1)
    assert raised.value.message.startswith(expected)


def test_what_others_send_does_not_reach_the_terminal_as_commands() -> None:
    section = Section(view=BROWSER, findings=(problem("\x1b[2J wiped", "\x07 rung"),))
    lines = "\n".join(section_lines(section, Paint(is_on=False)))
    assert lines == "From a browser\n  !!  ?[2J wiped\n      ? rung\n"
    assert printable("\x1b]0;title\x07") == "?]0;title?"


def test_on_a_terminal_there_are_colours() -> None:
    section = Section(view=BROWSER, findings=(problem("text", "fix"),))
    assert "\x1b[31m!!\x1b[0m  text" in "\n".join(section_lines(section, Paint(is_on=True)))


@pytest.mark.parametrize("module", ["doctor", "documents", "replaying", "verifying", "telling"])
def test_a_command_costs_the_others_no_start(module: str) -> None:
    ended = run("--version", command=(COMMAND[0], "-X", "importtime", *COMMAND[1:]))
    assert "emulator.cli.commands" in ended.stderr
    assert f"emulator.cli.{module}" not in ended.stderr


def test_ctrl_c_ends_it_quietly() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(HANGS_AFTER_S)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with subprocess.Popen(
            [*HEARS_CTRL_C, "doctor", "--url", url],
            cwd=REPOSITORY,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as process:
            connection, _ = silent.accept()
            with connection:
                connection.recv(4096)
                process.send_signal(signal.SIGINT)
                stdout, stderr = process.communicate()
    assert (process.returncode, stdout.strip(), stderr.strip()) == (130, "", "")
