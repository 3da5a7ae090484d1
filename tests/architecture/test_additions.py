"""What `CONTRIBUTING.md` lists for an addition is enough: made in a copy of the program."""

import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.processes import REPOSITORY, Server, run, serving
from tests.world import OTHER_TEST_KEY, TEST_KEY, order

# File, the text before which a part is added, and the part.
Parts = Mapping[str, str]
Files = Iterable[tuple[str, Parts]]
METHOD = "cbe_birr"
METHOD_FILES = (
    (
        "emulator/domain/payment_methods.py",
        {'        PaymentMethod("bank': f'        PaymentMethod("{METHOD}", "CBE Birr", "9"),\n'},
    ),
    *(
        (
            f"templates/checkout/{language}.json",
            {
                '  "bank_transfer"': f'  "{METHOD}": "CBE Birr",\n',
                '  "phone_invalid"': f'  "phone_hint_{METHOD}": "A number of CBE Birr",\n',
                '  "phone_need_telebirr"': f'  "phone_need_{METHOD}": "CBE Birr needs 09",\n',
            },
        )
        for language in ("en", "am")
    ),
    (
        "templates/checkout/static/checkout.css",
        {".choice.mpesa": f'.choice.{METHOD}::before {{ mask-image: url("wallet.svg"); }}\n'},
    ),
)
FIELD_FILES = (
    (
        "emulator/domain/payment.py",
        {
            "DEFAULT_EXPIRES_IN_S = ": "MAX_NOTE_LENGTH = 40\n",
            '    "created_at": "': '    "note": "A text of one line, or null.",\n',
            "\n\nORDER_TERMS = ": "    note: str | None = None\n",
        },
    ),
    (
        "emulator/domain/clauses.json",
        {
            '    "2.2.1": {': (
                '    "2.1.18": {"says": "`note`: string or null", "here": "As sent"},\n'
            ),
            '    "4.2.1": {': (
                '    "4.1.24": {"says": "`note`: string of 1 to 40 characters in one line",'
                ' "here": "Else 400 `invalid_note`"},\n'
            ),
        },
    ),
    (
        "emulator/server/api/parameters.py",
        {
            "    PageLength,\n    Parameter": "    OneLine,\n",
            "    # No example: all": (
                '    parameter("note", OneLine(max_length=payment.MAX_NOTE_LENGTH), "4.1.24",'
                ' description="A text of one line.", example="Window seat"),\n'
            ),
        },
    ),
    (
        "emulator/server/api/parameter_types.py",
        {
            "def _slug(": """class OneLine(ParameterType, frozen=True, kw_only=True):
    max_length: int

    def check(self, param: str, value: Any, _: ParameterRules, __: Warnings) -> str:
        is_line = isinstance(value, str) and value.splitlines() == [value]
        if not is_line or len(value) > self.max_length:
            raise not_accepted(param, value, "one line")
        return value

    def field_type(self) -> Any:
        return Annotated[str, Meta(min_length=1, max_length=self.max_length)]


"""
        },
    ),
    (
        "emulator/tools/verify/contract.py",
        {
            "# A real service need": "MAX_NOTE_LENGTH = 40\n",
            "RULES = (": """def _is_note(value: object) -> bool:
    is_line = isinstance(value, str) and value.splitlines() == [value]
    return is_line and len(value) <= MAX_NOTE_LENGTH


""",
            '    FieldRule("created_at"': (
                '    FieldRule("note", ("2.1.18",), lambda value: value is None or _is_note(value),'
                " is_given=True),\n"
            ),
            '    "idempotency_key": (': (
                '    "note": (Rule(lambda value: not _is_note(value), ("4.1.24",)),),\n'
            ),
            '    *(("idempotency_key", value)': '    ("note", "two\\nlines"),\n',
            '    "cancel_url": "https://example.com/made-by-payments-emulator-verify?': (
                '    "note": "A note",\n'
            ),
            '    "expires_in": LONGER': '    "note": "Another note",\n',
        },
    ),
)
EVENT_FILES = (
    (
        "emulator/domain/payment.py",
        {
            "EVENTS = (": 'VIEWED = "payment.viewed"\n',
            '    EventKind("payment.processing"': (
                '    EventKind(VIEWED, "The customer opened the page for the first time."),\n'
            ),
        },
    ),
    (
        "emulator/server/engine/payments/checkouts.py",
        {
            "from emulator.domain.transitions": (
                "from emulator.domain.payment import VIEWED, NewEvent\n"
                "from emulator.server.storage.database import writes\n"
            ),
            "    async def changed(": """    @writes()
    def note_view(self, tx: Transaction, owner: Owner, payment_id: str) -> None:
        now = self._status_writer.fire_due(tx, owner.account)
        payment = payments.find(tx, owner.number, payment_id)
        if all(event.type != VIEWED for event in events.of_payment(tx, payment.position)):
            self._status_writer.write(tx, owner, [NewEvent(payment, now, VIEWED)])

""",
        },
    ),
    (
        "emulator/server/checkout/pages.py",
        {
            "        method = views.phone_method(": (
                "        await self._checkouts.note_view(checkout.owner, checkout.payment.id)\n"
            )
        },
    ),
    (
        "emulator/server/control/payment_details.py",
        {
            "        else:\n            has_expired": (
                '        elif event.type == "payment.viewed":\n'
                '            yield Cause(CauseKind.CUSTOMER), "the customer opened the page"\n'
            )
        },
    ),
)


def program_with(directory: Path, files: Files) -> str:
    """The beginning of a program that imports a copy of the package with these additions."""
    for name in ("emulator", "templates", "scenarios"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, directory / name, ignore=ignored)
    for name, parts in files:
        text = (directory / name).read_text(encoding="utf-8")
        for before, part in parts.items():
            assert text.count(before) == 1, before
            text = text.replace(before, part + before)
        (directory / name).write_text(text, encoding="utf-8")
    return f"import sys; sys.path.insert(0, {str(directory)!r})\n"


def page(server: Server, url: str) -> str:
    """The checkout page at a URL."""
    with closing(server.connection(server.checkout_port)) as connection:
        connection.request("GET", url.partition(str(server.checkout_port))[2])
        return str(connection.getresponse().read().decode())


def command(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"{program}from emulator.cli import main; main()")


@pytest.mark.deep
def test_a_payment_method_takes_four_files_and_may_share_its_first_digit(tmp_path: Path) -> None:
    program = program_with(tmp_path, METHOD_FILES)
    main = command(program)
    with serving(logs=tmp_path, command=main) as server:
        paid = []
        for offered in ([METHOD, "telebirr"], ["mpesa", "telebirr", METHOD], [METHOD]):
            path = f"/_emulator/payments/{server.create(methods=offered)['id']}/pay"
            paid.append(server.request("POST", path, {"phone": "0911223344"}).json["method"])
        assert paid == [METHOD, "telebirr", METHOD]
        form = f"{server.create(methods=['mpesa', METHOD])['checkout_url']}?method={METHOD}"
        assert "A number of CBE Birr" in page(server, form)
    script = tmp_path / "shared.yaml"
    script.write_text(
        "version: 1\nname: shared\nscript:\n"
        f"  - create: {{as: order, methods: [{METHOD}]}}\n"
        "  - pay: {payment: order, phone: '0911223344'}\n"
        f"  - expect: {{payment: order, status: processing, method: {METHOD}}}\n"
    )
    replayed = run("replay", str(script), command=main)
    assert replayed.returncode == 0, replayed.stdout
    sent = "from emulator.tools.verify.contract import METHODS; print(*METHODS)"
    verified = run(command=(sys.executable, "-c", f"{program}{sent}"))
    assert verified.stdout.split() == ["telebirr", "mpesa", "bank_transfer"]


@pytest.mark.deep
def test_a_field_with_a_check_of_its_own_takes_five_files_of_the_program(tmp_path: Path) -> None:
    main = command(program_with(tmp_path, FIELD_FILES))
    with serving(logs=tmp_path, command=main) as server:
        assert server.create(note="Window seat")["note"] == "Window seat"
        assert server.create()["note"] is None
        for wrong in ("", "two\nlines", "x" * 41, 5):
            refused = server.request("POST", "/v1/payments", {**order(), "note": wrong}).json
            assert refused["error"]["code"] == "invalid_note"
        options = ("--key", TEST_KEY, "--other-key", OTHER_TEST_KEY)
        verified = run("verify", "--base-url", server.url, *options, command=main)
        assert verified.returncode == 0, verified.stdout
        assert "holds     2.1.18" in verified.stdout
        assert "holds     4.1.24" in verified.stdout
    script = tmp_path / "note.yaml"
    script.write_text(
        "version: 1\nname: note\nscript:\n  - create: {as: order, note: Window seat}\n"
        "  - expect: {payment: order, note: Window seat}\n"
    )
    replayed = run("replay", str(script), command=main)
    assert replayed.returncode == 0, replayed.stdout


@pytest.mark.deep
def test_an_event_without_a_status_takes_four_files_of_the_program(tmp_path: Path) -> None:
    main = command(program_with(tmp_path, EVENT_FILES))
    with serving(logs=tmp_path, command=main) as server:
        payment = server.create()
        for _ in range(2):
            assert "ETB" in page(server, payment["checkout_url"])
        events = server.request("GET", "/_emulator/events").json["data"]
        assert [event["type"] for event in events] == ["payment.viewed", "payment.created"]
        detail = server.request("GET", f"/_emulator/payments/{payment['id']}").json
        assert [entry["status"] for entry in detail["timeline"]] == ["pending", "pending"]
        assert detail["timeline"][1]["text"] == "the customer opened the page"
        recorded = server.request("GET", "/_emulator/recording").body.decode()
        assert "payment.viewed" not in recorded
