"""Clients in each language verify a certificate that the lines of the guide have created."""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from emulator.settings import OPTIONS
from tests.cli.processes import SHARED_HANGS_AFTER_S, Server, run_program, serving
from tests.docs.document import command_after, part, rows
from tests.server.checkout.browsing import CHROMIUM

PAGE = "docs/guides/https.md"
PROGRAMS = Path(__file__).with_name("https")
URLLIB = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).status)"
HTTPX = "import sys, httpx; print(httpx.get(sys.argv[1]).status_code)"
REQUESTS = "import sys, requests; print(requests.get(sys.argv[1]).status_code)"
# Each prints the status of a request to the URL that is its last argument.
CLIENTS = {
    "curl": ("curl", "-s", "-o", os.devnull, "-w", "%{http_code}"),
    "Python: `ssl`, `urllib`, httpx": (sys.executable, "-c", f"{URLLIB}; {HTTPX}"),
    "Python: requests": (sys.executable, "-c", REQUESTS),
    "Node.js": ("node", str(PROGRAMS / "get.js")),
    "PHP: streams": ("php", str(PROGRAMS / "streams.php")),
    "PHP: curl, Guzzle": ("php", str(PROGRAMS / "curl.php")),
    "Ruby": ("ruby", str(PROGRAMS / "get.rb")),
    "Java": ("java", "-cp", ".", "Get"),
}
NOT_RUN = {"Go, on Linux"}
SETTINGS = {
    client: re.findall(r"`([^`]*)`", setting)[0]
    for client, setting in rows(part(PAGE, "Trust the authority"))
}


@dataclass(frozen=True, kw_only=True)
class Authority:
    """A directory with the files of mkcert, and the home of a user whose browser trusts it."""

    directory: Path

    @property
    def root(self) -> str:
        return str(self.directory / "authority" / "rootCA.pem")

    @property
    def variables(self) -> dict[str, str]:
        """Those with which mkcert leaves the authorities of this machine unchanged."""
        names = {"HOME": self.directory, "CAROOT": self.directory / "authority"}
        return {**{name: str(path) for name, path in names.items()}, "TRUST_STORES": "nss"}

    def run(self, *commands: str) -> None:
        ran = run_program(
            "bash", "-euc", "\n".join(commands), directory=self.directory, variables=self.variables
        )
        assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    authority = Authority(directory=tmp_path_factory.mktemp("authority"))
    browser = authority.directory / ".pki" / "nssdb"
    browser.mkdir(parents=True)
    *lines, serve = command_after("mkcert", PAGE).splitlines()
    assert serve == "payments-emulator serve --tls-cert cert.pem --tls-key key.pem"
    authority.run(f"certutil -d sql:{browser} -N --empty-password", *lines)
    authority.run(command_after("truststore", PAGE), f"javac -d . {PROGRAMS / 'Get.java'}")
    return authority


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[Server]:
    files = {name: str(authority.directory / f"{name}.pem") for name in ("cert", "key")}
    options = ("--tls-cert", files["cert"], "--tls-key", files["key"])
    logs = authority.directory
    with serving(*options, logs=logs, hangs_after_s=SHARED_HANGS_AFTER_S) as server:
        yield server


def with_setting(client: str, authority: Authority) -> tuple[dict[str, str], list[str]]:
    """The variables and the command of a client that trusts the authority as the guide says."""
    words = shlex.split(SETTINGS[client].replace("$ROOT", authority.root))
    program, *arguments = CLIENTS[client]
    if words[0] == "-d":
        return {}, [program, *words, *arguments]
    return dict([words[0].split("=", 1)]), [program, *arguments]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_trusts_the_authority_only_with_its_setting(
    client: str, server: Server, authority: Authority
) -> None:
    variables, command = with_setting(client, authority)
    url = f"https://localhost:{server.api_port}/_emulator/health"
    ended = run_program(*command, url, variables=variables, directory=authority.directory)
    assert ended.returncode == 0, ended.stderr
    assert set(ended.stdout.split()) == {"200"}
    refused = run_program(*CLIENTS[client], url, directory=authority.directory)
    assert refused.returncode != 0
    assert "200" not in refused.stdout


def test_every_client_of_the_guide_is_run_but_go() -> None:
    assert set(SETTINGS) == {*CLIENTS, *NOT_RUN}


def dom(url: str, home: Path) -> str:
    """The page at a URL in Chromium, whose authorities are those of a user."""
    assert CHROMIUM is not None
    arguments = ("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom")
    return run_program(CHROMIUM, *arguments, url, variables={"HOME": str(home)}).stdout


def test_a_browser_trusts_the_authority_once_it_is_installed(
    server: Server, authority: Authority, tmp_path: Path
) -> None:
    url = f"https://localhost:{server.checkout_port}/"
    assert "the checkout pages" in dom(url, authority.directory)
    assert "the checkout pages" not in dom(url, tmp_path)


def test_the_variables_for_containers_are_options() -> None:
    text = part(PAGE, "Containers").partition("```yaml\n")[2].partition("```")[0]
    variables = yaml.safe_load(text)["services"]["emulator"]["environment"]
    assert set(variables) <= {option.variable for option in OPTIONS}
