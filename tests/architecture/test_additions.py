"""What `CONTRIBUTING.md` lists for an addition is enough: made in a copy of the program."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.processes import REPOSITORY, run, serving

METHOD = "cbe_birr"
# File, the text before which a part is added, and the part.
FILES = (
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


@pytest.mark.deep
def test_a_payment_method_takes_four_files_and_may_share_its_first_digit(tmp_path: Path) -> None:
    for name in ("emulator", "templates", "scenarios"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=ignored)
    for name, parts in FILES:
        text = (tmp_path / name).read_text(encoding="utf-8")
        for before, part in parts.items():
            assert text.count(before) == 1, before
            text = text.replace(before, part + before)
        (tmp_path / name).write_text(text, encoding="utf-8")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    main = (sys.executable, "-c", f"{program}from emulator.cli import main; main()")
    with serving(logs=tmp_path, command=main) as server:
        paid = []
        for offered in ([METHOD, "telebirr"], ["mpesa", "telebirr", METHOD], [METHOD]):
            path = f"/_emulator/payments/{server.create(methods=offered)['id']}/pay"
            paid.append(server.request("POST", path, {"phone": "0911223344"}).json["method"])
        assert paid == [METHOD, "telebirr", METHOD]
        form = f"{server.create(methods=['mpesa', METHOD])['checkout_url']}?method={METHOD}"
        connection = server.connection(server.checkout_port)
        connection.request("GET", form.partition(str(server.checkout_port))[2])
        assert "A number of CBE Birr" in connection.getresponse().read().decode()
        connection.close()
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
