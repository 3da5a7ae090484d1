"""Writes the `integration.yaml` of a shop, with the command that runs it."""

import shlex
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.cli.processes import REPOSITORY
from tests.docs.document import sections_of
from tests.docs.live import HANDLER_PORT
from tests.tools.explore.zoo.table import NODE, PHP, PYTHON, Shop

DIRECTORY = Path(__file__).parent
PHP_WORKERS = 4
_MONEY = [sys.executable, str(DIRECTORY / "money_shop.py")]
_STORED = [sys.executable, str(DIRECTORY / "stored_shop.py")]
_PAGES = [sys.executable, str(DIRECTORY.parent / "shops/django_shop.py")]
PAGE = "docs/guides/explore-any-shop.md"
_COMMANDS = {
    PYTHON: [sys.executable, str(DIRECTORY / "python_shop.py")],
    NODE: ["node", str(DIRECTORY / "shop.mjs")],
}


def write_integration(
    shop: Shop, directory: Path, *, port: int, is_first: bool = False, **members: Any
) -> Path:
    """Write the file with these members; the database of the shop is in the same directory.

    One that `is_first` has the keys of a first file and those that the shop's failure needs.
    """
    path = directory / "integration.yaml"
    document = integration(shop, directory, port)
    for key in {*_LATER} - {*shop.keys} if is_first else ():
        *section, name = key.split(".")
        (document[section[0]] if section else document).pop(name, None)
    document |= members
    text = yaml.safe_dump(document, sort_keys=False)
    path.write_text(text, encoding="utf-8")
    return path


# The keys that a first file does not have.
_LATER = ("state.closed", "state.refunded", "state.amount", "state.once", "start.tamper")
_LATER += ("settle", "account", "again", "between", "unusual", "run.durable", "run.clock")


def integration(shop: Shop, directory: Path, port: int) -> dict[str, Any]:
    if shop.ways == "pages":
        text = sections_of(PAGE)[0].files["django.yaml"].text.replace(str(HANDLER_PORT), str(port))
        return dict(yaml.safe_load(text.replace("python shop.py", shlex.join(_PAGES))))
    url = f"http://127.0.0.1:{port}"
    state: dict[str, Any] = {
        "request": f"GET {url}/orders/{{order}}",
        "paid": {"path": "$.status", "in": ["paid"]},
        "fulfilled": {"path": "$.shipments"},
        "closed": {"path": "$.status", "in": ["cancelled"]},
        "refunded": {"path": "$.status", "in": ["refunded"]},
    }
    document: dict[str, Any] = {
        "version": 1,
        "name": shop.name,
        "start": {
            "request": f"POST {url}/orders",
            "json": {"item": "coffee", "amount": 15_000},
            "order": "$.id",
            "payment": "$.payment_id",
        },
        "state": state,
        "run": {"command": _command(shop, directory, port), "ready": f"GET {url}/health"},
    }
    if "webhook" in shop.ways or "queue" in shop.ways:
        document["webhook"] = f"{url}/webhooks"
    if "return" in shop.ways:
        document["return"] = "success_url"
    if "job" in shop.ways:
        document["settle"] = {"request": f"POST {url}/jobs/{{order}}"}
    if "durable" in shop.ways:
        document["run"]["durable"] = True
    if "clock" in shop.ways:
        document["run"]["clock"] = True
    if "unusual" in shop.ways:
        document["unusual"] = True
    if "stored" in shop.ways:
        document["settle"] = {"request": f"POST {url}/jobs"}
        state["once"] = ["$.mails"]
    return document | (_money(document, url, shop) if shop.is_money else {})


def _money(document: dict[str, Any], url: str, shop: Shop) -> dict[str, Any]:
    """The keys for a shop of `money_shop.py`; it has no account where `ways` has `undeclared`."""
    start = {**document["start"], "json": {"price": 15_000}, "tamper": {"price": 100}}
    accounts: dict[str, Any] = {
        "wallet": {"request": f"GET {url}/wallets/{{customer}}", "path": "$.balance"},
        "stock": {"request": f"GET {url}/stock", "path": "$.left", "by": -1},
    }
    accounts["wallet"]["unit"] = "birr"
    found = {name: account for name, account in accounts.items() if name in shop.ways}
    declared = {"amount": {"path": "$.price"}, "once": ["$.mails", "$.gifts"]}
    return {
        "start": start | {"values": {"customer": "$.customer"}},
        "state": document["state"] | (declared if found else {}),
        "again": {"request": f"POST {url}/orders/{{order}}/pay", "payment": "$.payment_id"},
        "settle": {"request": f"POST {url}/jobs"},
        "unusual": True,
    } | (
        {
            "account": next(iter(found.values())),
            "between": {"request": f"POST {url}/cart/{{order}}"},
        }
        if found
        else {}
    )


def _command(shop: Shop, directory: Path, port: int) -> str:
    variables = {
        "PYTHONPATH": REPOSITORY,
        "PORT": port,
        "BUG": shop.bug,
        "WAYS": shop.ways,
        "LAG": shop.lag_ms,
        "WORKERS": shop.workers,
        "FORM": shop.form,
        "DATABASE": directory / "orders.sqlite",
        "PHP_CLI_SERVER_WORKERS": PHP_WORKERS,
    }
    assignments = [f"{name}={shlex.quote(str(value))}" for name, value in variables.items()]
    program = _MONEY if shop.is_money else _COMMANDS.get(shop.language)
    program = _STORED if "stored" in shop.ways else program
    if program is None:
        assert shop.language == PHP
        program = ["php", "-S", f"127.0.0.1:{port}", str(DIRECTORY / "shop.php")]
    return " ".join(["exec", "env", *assignments, shlex.join(program)])
