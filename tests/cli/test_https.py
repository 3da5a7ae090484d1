"""Commands that call a server with HTTPS, whose certificate is self-signed."""

from collections.abc import Iterator

import pytest

from tests.cli.processes import Server, run, serving
from tests.server.webhooks.receiver import SELF_SIGNED

CERTIFICATE = str(SELF_SIGNED)
# The certificate is for this name.
TLS = ("--host", "localhost", "--tls-cert", CERTIFICATE, "--tls-key", CERTIFICATE)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(*TLS, logs=tmp_path_factory.mktemp("logs")) as server:
        yield server


def test_the_health_check_follows(server: Server) -> None:
    port = str(server.api_port)
    assert run("health", *TLS, "--port", port).returncode == 0
    variables = {"EMULATOR_TLS_CERT": CERTIFICATE, "EMULATOR_TLS_KEY": CERTIFICATE}
    variables |= {"EMULATOR_HOST": "localhost", "EMULATOR_PORT": port}
    assert run("health", variables=variables).returncode == 0
    ended = run("health", "--host", "localhost", "--port", port)
    assert ended.returncode == 1
    assert ended.stderr.endswith("connection closed without a response\n")


COMMANDS = [
    "trigger payment.completed --url",
    "checklist --url",
    "replay scenarios/refund.yaml --url",
    "record --url",
    pytest.param("verify --key test_demo_key --base-url", marks=pytest.mark.deep),
    pytest.param("doctor --url", marks=pytest.mark.deep),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_trust_the_authority_of_ssl_cert_file(server: Server, command: str) -> None:
    name, *arguments = command.split()
    url = f"https://localhost:{server.api_port}"
    trusting = run(name, *arguments, url, variables={"SSL_CERT_FILE": CERTIFICATE})
    assert trusting.returncode == 0, trusting.stderr + trusting.stdout
    others = run(name, *arguments, url)
    assert others.returncode == 2
    assert "certificate not trusted: self-signed certificate; " in others.stderr
    assert "set SSL_CERT_FILE" in others.stderr
