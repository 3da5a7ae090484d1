"""Another ASGI server runs the application, as the guide shows."""

import http.client
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from tests.cli.processes import (
    HANGS_AFTER_S,
    REPOSITORY,
    answers,
    ask,
    ended,
    free_port,
    launch,
    wait_for,
)
from tests.docs.document import command_after, shown_file
from tests.world import order

PAGE = "docs/guides/asgi.md"
APPLICATION = "emulator_app.py"


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """The ports of the API and of the pages under Hypercorn."""
    directory = tmp_path_factory.mktemp("hypercorn")
    (directory / APPLICATION).write_text(shown_file(APPLICATION).text, encoding="utf-8")
    ports = free_port(), free_port()
    command = command_after("hypercorn", PAGE)
    for shown, port in zip((8080, 8081), ports, strict=True):
        command = command.replace(str(shown), str(port))
    program, *arguments = shlex.split(command)
    names = ("EMULATOR_PORT", "EMULATOR_CHECKOUT_PORT")
    with (directory / "log").open("w") as log:
        process = launch(
            # Without a worker, whose end would not follow the end of its parent.
            *(*arguments, "--workers", "0"),
            command=(sys.executable, "-m", program),
            stdout=subprocess.DEVNULL,
            stderr=log,
            directory=directory,
            variables={
                "PYTHONPATH": str(REPOSITORY),
                **dict(zip(names, map(str, ports), strict=True)),
            },
        )
    with ended(process):
        wait_for(process, lambda: answers(ports[0]))
        yield ports


@pytest.fixture
def api(ports: tuple[int, int]) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", ports[0], timeout=HANGS_AFTER_S)
    with closing(connection):
        yield connection


def test_both_ports_are_served(ports: tuple[int, int], api: http.client.HTTPConnection) -> None:
    created = ask(api, "POST", "/v1/payments", order())
    assert created.status == 201
    url = urlsplit(created.json["checkout_url"])
    assert url.port == ports[1]
    with closing(http.client.HTTPConnection("127.0.0.1", ports[1])) as pages:
        assert ask(pages, "GET", url.path).headers["content-type"] == "text/html; charset=utf-8"
        assert ask(pages, "GET", "/v1/payments").status == 404
    assert ask(api, "GET", url.path).json["error"]["code"] == "route_not_found"
