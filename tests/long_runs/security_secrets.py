"""Searches for secrets in everything that the program writes while it uses them."""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from tests.cli.invocation import invoke, other_server
from tests.cli.processes import Server, serving, wait_for
from tests.server.openapi.navigation import operations
from tests.tools.explore import small_shop
from tests.world import headers, order

KEYS = {
    "test key": "test_SearchedTestKey1",
    "live key": "live_SearchedLiveKey1",
    "key of another account": "test_OtherSearchedTest1",
    "live key of another account": "live_OtherSearchedLive1",
    "unknown live key": "live_UnknownSearchedKey1",
    "key of explore": small_shop.KEY,
}
TEST_KEY = KEYS["test key"]
WEBHOOK_SECRET = "whsec_" + base64.b64encode(b"searched-for-webhook-secret-0001").decode()
USER = {"user of a URL": "SearchedUser1", "password of a URL": "SearchedPassword1"}
ADDRESS = {"path of a URL": "SearchedPath1", "query of a URL": "SearchedQuery1"}
# Where the documents allow a secret. All other places must not contain it.
CONTROL = {"control API", "dashboard"}
ALLOWED = {
    "test key": {"ready file", "dashboard /_emulator/view/test-key"},
    "key of another account": {"creation of an account"},
    "live key of another account": {"creation of an account"},
    **dict.fromkeys(USER, CONTROL),
    **dict.fromkeys(ADDRESS, CONTROL | {"trigger", "doctor"}),
    "webhook secret": {"control API"},
    "checkout token": {"contract", "checkout page", "journal", "log", "replay", *CONTROL},
    "form token": {"checkout page"},
}
_JOURNAL = ("/_emulator/requests", "/_emulator/unauthorized")
_ESCAPE = re.compile(r"\\+u00([0-9a-fA-F]{2})")
_WORD = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_ADDRESS = re.compile(r'(?:href|src|action|data-[a-z-]+)="(/_emulator/view/[^"#]*)')


def forms_of(text: str) -> str:
    """A text with its other forms: unescaped as from URLs, HTML and JSON, and from Base64."""
    forms = {text, unescape(text), _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)}
    forms |= {unquote(unquote(form)) for form in forms}
    return "\n".join((*forms, *_decoded(text)))


def _decoded(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        whole = word.rstrip("=").replace("-", "+").replace("_", "/")
        try:
            yield base64.b64decode(whole + "=" * (-len(whole) % 4)).decode("latin-1")
        except binascii.Error:
            continue


def _searched(key: str) -> str:
    """The part of a key that is never shown."""
    return key[7:-3]


class Search:
    """What one server and the commands write, by the place."""

    def __init__(self, server: Server, client: httpx.Client) -> None:
        self.server = server
        self.places: Counter[str] = Counter()
        self.problems: set[str] = set()
        self.secrets = {name: _searched(key) for name, key in KEYS.items()}
        self.secrets |= {**USER, **ADDRESS, "webhook secret": WEBHOOK_SECRET}
        self._client = client

    def add(self, place: str, text: str, given: str = "") -> None:
        """Search a text, which may repeat the secrets of a request, and no others."""
        self.places[place.partition(" /")[0]] += 1
        forms, repeated = forms_of(text), forms_of(given)
        for name, secret in self.secrets.items():
            is_allowed = place.startswith(tuple(ALLOWED.get(name, ()))) or secret in repeated
            if secret in forms and not is_allowed:
                self.problems.add(f"{place} contains the {name}")

    def send(
        self, place: str, method: str, path: str, port: int = 0, *, key: str = TEST_KEY, **more: Any
    ) -> httpx.Response:
        """Send a request, and search its response."""
        url = f"http://127.0.0.1:{port or self.server.api_port}{path}"
        misplaced = more.pop("headers", {})
        sent = {**headers(key), "Accept": "text/html", **misplaced}
        response = self._client.request(method, url, headers=sent, **more)
        self.add(place, f"{response.text}{response.headers}", f"{path} {misplaced} {more}")
        return response

    def create(self) -> None:
        """Create accounts and payments, and visit the pages of a checkout."""
        other = {"test_key": "key of another account", "live_key": "live key of another account"}
        body = {name: KEYS[key] for name, key in other.items()}
        self.send("creation of an account", "POST", "/_emulator/accounts", json=body)
        payment = self.send("contract", "POST", "/v1/payments", json=order()).json()
        path, port = urlsplit(payment["checkout_url"]).path, self.server.checkout_port
        page = self.send("checkout page", "GET", f"{path}?method=telebirr", port).text
        found = re.search(r'name="form_token" value="([^"]+)', page)
        assert found is not None, page
        self.secrets |= {"checkout token": path.rpartition("/")[2], "form token": found[1]}
        form = {"form_token": found[1], "method": "telebirr"}
        for phone in ("1", "0911111111"):
            self.send("checkout page", "POST", path, port, data={**form, "phone": phone})
        for leaf in ("", "/wait", "/status", "/bank"):
            self.send("checkout page", "GET", path + leaf, port)

    def misplace_keys(self) -> None:
        """Send keys where they do not belong."""
        for key in list(KEYS.values())[:-1]:
            escaped = key.replace("_", "%5F")
            for path in (
                *(f"/v1/payments/{key}", f"/v1/payments/{escaped}", f"/v1/payments?status={key}"),
                *(f"/v1/payments?{key}=1", f"/_emulator/payments/{key}", f"/_emulator/{key}"),
                *(f"/{key}", f"/_emulator/view/{key}", f"/_emulator/clock?account={key}"),
            ):
                self.send("contract", "GET", path)
            for name in ("Host", "Origin", "User-Agent", "Accept", "Content-Type"):
                for path in ("/v1/payments", "/_emulator/clock"):
                    self.send("contract", "GET", path, headers={name: key})
            for sent in (key, f"Basic {key}", f"Bearer {key}x", f"bearer  {key}"):
                self.send("contract", "GET", "/v1/payments", headers={"Authorization": sent})
            for member in ("amount", "currency", "success_url", "expires_in", key):
                self.send("contract", "POST", "/v1/payments", json=order(**{member: key}))
            for member in ("url", "secret", key):
                self.send("contract", "POST", "/_emulator/webhook_endpoints", json={member: key})
            for path in (f"/{key}", f"/c/{key}", f"/c/{key}/wait"):
                self.send("contract", "GET", path, self.server.checkout_port)

    def read(self) -> None:
        """Read the control API with the journal, and all pages of the dashboard."""
        document = self.send("control API", "GET", "/_emulator/openapi/control").json()
        for call in operations(document):
            if call.method == "get" and "{" not in call.path and not call.path.endswith("/stream"):
                place = "journal" if call.path.startswith(_JOURNAL) else "control API"
                self.send(place, "GET", call.path)
        waiting, visited = ["/_emulator/view/payments"], set()
        while waiting:
            path = unescape(waiting.pop())
            kind = re.sub(r"(?<=/)([a-z]{2,3})_\w+|[?].*", r"\1", path)
            if kind not in visited and not re.search("/static/|/guides/", path):
                visited.add(kind)
                waiting += _ADDRESS.findall(self.send(f"dashboard {kind}", "GET", path).text)

    def run_commands(self, directory: Path) -> None:
        """Run the commands that use a server, with all files that they write."""
        url = ("--url", f"http://127.0.0.1:{self.server.api_port}")
        files = {"checklist": ("json", "junit", "report"), "trigger": ("json",)}
        files |= {"verify": ("json", "report"), "replay": ("json", "junit", "report")}
        files |= {"explore": ("json", "junit", "report")}
        other = ("--other-key", KEYS["key of another account"])
        for key in ("test key", "live key", "unknown live key"):
            given = ("--key", KEYS[key])
            for command in (
                *(("checklist", *url, *given), ("record", *url, *given), ("doctor", *url, *given)),
                *(("doctor", "--json", *url, *given), ("trigger", "payment.failed", *url, *given)),
                ("verify", "--base-url", url[1], *given, *other),
                ("replay", "scenarios/telebirr-test-numbers.yaml", "-v", *url, *given),
            ):
                self._run(command, files.get(command[0], ()), directory)
        with small_shop.small_shop(has_race=True) as shop:
            self.secrets["webhook secret of explore"] = small_shop.SECRET
            saved = ("--save", str(directory / "saved"))
            explore = ("explore", shop.write(directory), *shop.flags, *saved, "--depth", "1")
            self._run(explore, files["explore"], directory)
        for file in (directory / "saved").iterdir():
            self.add("explore", file.read_text())

    def _run(self, command: tuple[str, ...], files: tuple[str, ...], directory: Path) -> None:
        paths = [directory / f"result.{name}" for name in files]
        flags = [word for path in paths for word in (f"--{path.suffix[1:]}", str(path))]
        result = invoke(*command, *flags)
        self.add(command[0], f"{result.output}{result.stderr}{result.exception}")
        for path in filter(Path.exists, paths):
            self.add(command[0], path.read_text())
            path.unlink()


def check_secrets(formats: Sequence[str], *, with_commands: bool) -> dict[str, str]:
    """Search one server for each format of the log. Raises AssertionError with the wrong places."""
    places: Counter[str] = Counter()
    for form in formats:
        with (
            TemporaryDirectory() as name,
            other_server((500, b"")) as hook,
            httpx.Client(verify=False, timeout=60) as client,  # noqa: S501 - loads no certificates
        ):
            directory = Path(name)
            user, password = USER.values()
            path, query = ADDRESS.values()
            url = f"{hook.replace('//', f'//{user}:{password}@')}/{path}?token={query}"
            given = ("--test-key", TEST_KEY, "--live-key", KEYS["live key"], "--log-format", form)
            webhook = ("--webhook-url", url, "--webhook-secret", WEBHOOK_SECRET)
            ready = directory / "ready"
            with serving(*given, *webhook, "--ready-file", str(ready), logs=directory) as server:
                search = Search(server, client)
                search.add("ready file", ready.read_text())
                search.create()
                search.misplace_keys()
                wait_for(server.process, lambda: "payment.created to 127" in server.stderr)
                search.read()
                if with_commands and form == formats[0]:
                    search.run_commands(directory)
                assert server.stop() == 0
                search.add("banner", server.banner + server.read_rest())
                search.add("log", server.stderr)
            assert not search.problems, sorted(search.problems)
            places += search.places
    return {
        "Texts that were searched for secrets": f"{places.total():,}",
        "Their places": ", ".join(sorted(places)),
    }
