"""The programs that a user could run instead: a row each, with its requests and its files.

Its own package manager installs each into a directory outside the project. Each is configured for
speed, without a log of requests, and listens on the loopback address only.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tests.benchmarks.bare import PAYMENT
from tests.benchmarks.traffic import COLLECTION, Posts, Reads, create_body

FORM = "application/x-www-form-urlencoded"
STRIPE_KEY = "sk_test_benchmark"
LIST_SIZE = 10
RETRIEVES_DRAWN = 10_000
LIST = {"object": "list", "data": [PAYMENT] * LIST_SIZE, "has_more": False, "next_cursor": None}
ORDER = json.loads(create_body("")) | {"idempotency_key": None}
ORDER_BODY = json.dumps({key: value for key, value in ORDER.items() if value is not None})


class Installer(StrEnum):
    """The package manager that installs a program; the emulator needs none."""

    NPM = "npm"
    PIP = "pip"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program: its package, its command, and how it creates, retrieves and lists objects.

    In `command`, `{port}` is the port, `{package}` the directory of the installed package and
    `{version}` its version. It starts in an empty directory with `files`, whose values are JSON.
    `answers` says of what its answers are made, and `stores` whether it stores what is created.
    `warm_up_s` is how long each request is sent before it is measured. `page` is the query of a
    list of ten objects.
    """

    name: str
    answers: str
    installer: Installer
    package: str
    command: tuple[str, ...]
    files: Mapping[str, object] = field(default_factory=dict)
    stores: bool = True
    warm_up_s: float = 1.0
    collection: str = COLLECTION
    key: str = "test_demo_key"
    content_type: str = "application/json"
    body: str = ORDER_BODY
    page: str = f"limit={LIST_SIZE}"

    @property
    def needs(self) -> tuple[str, ...]:
        """The programs without which this one cannot run."""
        runtime = self.command[0]
        return ("npm", runtime) if self.installer is Installer.NPM else ()

    def create(self) -> Posts:
        """Creates of one object."""
        body = self.body.encode()
        return Posts(path=self.collection, body=body, content_type=self.content_type, key=self.key)

    def reads(self, ids: Sequence[str]) -> dict[str, Reads]:
        """Retrieves drawn from the ids, and lists of ten."""
        drawn = random.Random(1).choices(ids, k=RETRIEVES_DRAWN)
        retrieves = tuple(f"{self.collection}/{object_id}" for object_id in drawn)
        return {
            "retrieve": Reads(paths=retrieves, key=self.key),
            "list": Reads(paths=(f"{self.collection}?{self.page}",), key=self.key),
        }


def _stub(method: str, path: str, status: int, content: object) -> dict[str, object]:
    """A mapping of WireMock."""
    headers = {"Content-Type": "application/json"}
    return {
        "request": {"method": method, "urlPathPattern": path},
        "response": {"status": status, "body": json.dumps(content), "headers": headers},
    }


def _operation(status: int, content: object, *, has_body: bool = False) -> dict[str, object]:
    """An operation of OpenAPI that answers an example."""
    media = {"application/json": {"schema": {"type": "object"}, "example": content}}
    responses = {str(status): {"description": "The example.", "content": media}}
    body = {"content": {"application/json": {"schema": {"type": "object"}}}}
    return {"responses": responses, **({"requestBody": body} if has_body else {})}


# An environment with a route over a data bucket: it creates, retrieves and lists.
MOCKOON = json.loads(Path(__file__).with_name("mockoon.json").read_text(encoding="utf-8"))
# It has no option for an address, and one file for all who use the machine.
LOCALSTRIPE = """
import sys
from aiohttp import web
from localstripe import resources, server
resources.open = lambda _, mode: open("localstripe.pickle", mode)
web.run_app(server.app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
"""
STATEFUL_MOCK = """
const { createExpressApp } = require(process.argv[1]);
createExpressApp().listen(Number(process.argv[2]), "127.0.0.1");
"""

OURS = Program(
    name="this project",
    answers="payments, in a file",
    installer=Installer.NONE,
    package="emulator",
    command=(),
)
PEERS = (
    Program(
        name="WireMock",
        answers="static stubs; both cores; no journal",
        installer=Installer.NPM,
        package="wiremock",
        command=(
            *("java", "-jar", "{package}/build/wiremock-standalone-{version}.jar"),
            *("--port", "{port}", "--bind-address", "127.0.0.1", "--root-dir", "."),
            *("--no-request-journal", "--disable-request-logging", "--disable-banner"),
            *("--use-chunked-encoding", "never"),
        ),
        files={
            "mappings/create.json": _stub("POST", COLLECTION, 201, PAYMENT),
            "mappings/list.json": _stub("GET", COLLECTION, 200, LIST),
            "mappings/retrieve.json": _stub("GET", f"{COLLECTION}/[^/]+", 200, PAYMENT),
        },
        stores=False,
        warm_up_s=8.0,
    ),
    Program(
        name="stripe-stateful-mock",
        answers="charges, in memory",
        installer=Installer.NPM,
        package="stripe-stateful-mock",
        command=("node", "-e", STATEFUL_MOCK, "{package}", "{port}"),
        collection="/v1/charges",
        key=STRIPE_KEY,
        content_type=FORM,
        body="amount=125000&currency=usd&source=tok_visa",
    ),
    Program(
        name="localstripe",
        answers="payment intents, in memory; writes all to a file at each create",
        installer=Installer.PIP,
        package="localstripe",
        command=("{package}/bin/python", "-c", LOCALSTRIPE, "{port}"),
        warm_up_s=0.5,
        collection="/v1/payment_intents",
        key=STRIPE_KEY,
        content_type=FORM,
        body="amount=125000&currency=usd",
    ),
    Program(
        name="Prism",
        answers="examples of an OpenAPI document",
        installer=Installer.NPM,
        package="@stoplight/prism-cli",
        command=(
            *("node", "{package}/dist/index.js", "mock", "openapi.json"),
            *("--port", "{port}", "--host", "127.0.0.1"),
            *("--multiprocess=false", "--verboseLevel=error"),
        ),
        files={
            "openapi.json": {
                "openapi": "3.0.3",
                "info": {"title": "payments", "version": "1"},
                "paths": {
                    COLLECTION: {
                        "post": _operation(201, PAYMENT, has_body=True),
                        "get": _operation(200, LIST),
                    },
                    f"{COLLECTION}/{{id}}": {"get": _operation(200, PAYMENT)},
                },
            }
        },
        stores=False,
        warm_up_s=2.0,
    ),
    Program(
        name="Mockoon",
        answers="a CRUD route, in memory",
        installer=Installer.NPM,
        package="@mockoon/cli",
        command=(
            *("node", "{package}/bin/run.js", "start", "--data", "environment.json"),
            *("--port", "{port}", "--hostname", "127.0.0.1"),
            *("--disable-log-to-file", "--disable-admin-api", "--repair"),
        ),
        files={"environment.json": MOCKOON},
    ),
    Program(
        name="json-server",
        answers="one JSON file, written at each create",
        installer=Installer.NPM,
        package="json-server",
        command=(
            *("node", "{package}/lib/cli/bin.js", "db.json", "--quiet"),
            *("--port", "{port}", "--host", "127.0.0.1"),
        ),
        files={"db.json": {"payments": []}},
        warm_up_s=0.5,
        collection="/payments",
        page=f"_limit={LIST_SIZE}",
    ),
)
