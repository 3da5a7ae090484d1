import json
import urllib.request

import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HealthcheckWaitStrategy

ORDER = {
    "amount": 15000,
    "currency": "ETB",
    "methods": ["telebirr"],
    "success_url": "https://shop.example/thanks",
    "cancel_url": "https://shop.example/cart",
}


def call(method, url, body=None, key=None):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    data = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


@pytest.fixture(scope="session")
def emulator():
    container = DockerContainer("etb-payments-emulator").with_exposed_ports(8080, 8081)
    with container.waiting_for(HealthcheckWaitStrategy()):
        host = container.get_container_host_ip()
        api = f"http://{host}:{container.get_exposed_port(8080)}"
        checkout = f"http://{host}:{container.get_exposed_port(8081)}"
        call("PUT", f"{api}/_emulator/checkout_url", {"url": checkout})
        yield api


@pytest.fixture
def key(emulator):
    return call("POST", f"{emulator}/_emulator/accounts", {"clock": "frozen"})["test_key"]


def test_a_customer_pays(emulator, key):
    payment = call("POST", f"{emulator}/v1/payments", ORDER, key)
    with urllib.request.urlopen(payment["checkout_url"]) as page:
        assert "150.00" in page.read().decode()
    customer = {"method": "telebirr", "phone": "0900000001"}
    call("POST", f"{emulator}/_emulator/payments/{payment['id']}/pay", customer, key)
    paid = call("GET", f"{emulator}/v1/payments/{payment['id']}", key=key)
    assert paid["status"] == "completed"
