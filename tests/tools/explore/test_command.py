"""The command `explore` with a correct shop and with one that has a race."""

import asyncio
import gc
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from emulator.cli.explore import _limits
from emulator.tools.explore.verdicts import ADVICE
from tests.cli.invocation import (
    error_line,
    invoke,
    output,
    problem_lines,
    run_on_terminal,
    unfolded,
    usage_error,
)
from tests.cli.processes import COMMAND, HANGS_AFTER_S, free_port, serving
from tests.server.checkout.browsing import CHROMIUM
from tests.tools.explore.small_shop import KEY, SECRET, SmallShop, small_shop
from tests.tools.replay.report_page import MAX_HEIGHT, check_page, problems_on_screens

RACE = "fulfilled-twice: paid, at-once payment.completed"


@pytest.fixture
def correct() -> Iterator[SmallShop]:
    with small_shop() as shop:
        yield shop


@pytest.fixture
def racy() -> Iterator[SmallShop]:
    with small_shop(has_race=True) as shop:
        yield shop


@pytest.mark.deep
def test_a_correct_shop_has_no_failure(correct: SmallShop, tmp_path: Path) -> None:
    code, printed = output("explore", correct.write(tmp_path), "--depth", "1", *correct.flags)
    first, *counts = printed.splitlines()
    passed = r"small-shop: (\d+) of \1 histories with at most one anomaly: none failed"
    assert (code, bool(re.fullmatch(passed, first))) == (0, True), printed
    time, *lines = counts
    assert re.fullmatch(r"\d+ ran in .+ s, \d+ have the same steps as one of them", time)
    without_job = r"left out: settle-at-once, [-0-9a-z, ]+; the file has no `settle` "
    assert re.search(without_job, unfolded(printed))
    assert "not declared: `refunded`: `$.status` is 'refunded' after the refund" in lines
    guide, _, section = lines[-1].removeprefix("what explore does not try: ").partition("#")
    assert f"## {section.replace('-', ' ').capitalize()}\n" in Path(guide).read_text()


def explored(shop: SmallShop, directory: Path, *flags: str) -> list[str]:
    saved = ["--save", str(directory / "saved")]
    code, printed = output("explore", shop.write(directory), *shop.flags, *saved, *flags)
    assert code == 1, printed
    return printed.splitlines()


def test_a_race_is_found_saved_and_replayed(racy: SmallShop, tmp_path: Path) -> None:
    lines = explored(racy, tmp_path, "--depth", "1", "--max-failures", "1")
    assert lines[0] == RACE
    assert re.fullmatch(r"  .+  ETB \d+\.\d\d  completed  .+ UTC  …\w{8}", lines[1]), lines[1]
    delivered = lines.index("  6  payment.completed is delivered twice at once → 200 and 200")
    assert lines[delivered + 1 :][:3] == [
        "  7  the customer's browser opens success_url → 200",
        "     expected: the order is fulfilled at most once",
        "     seen: it is fulfilled 2 times",
    ]
    first, second = ADVICE["fulfilled-twice"]
    assert lines[delivered + 4 :][:2] == [f"  what to do: {first}", f"    {second}"]
    assert "did not run; allow more failures with --max-failures" in unfolded("\n".join(lines))
    [saved] = (tmp_path / "saved").iterdir()
    assert saved.name == "small-shop-fulfilled-twice-paid-at-once-payment-completed.yaml"
    code, printed = output("explore", "--replay", str(saved), *racy.flags)
    assert (code, printed.splitlines()[:2]) == (1, [f"FAILED {saved}", RACE])
    unreachable = tmp_path / "unreachable.yaml"
    unreachable.write_text(saved.read_text().replace(str(racy.port), str(free_port())))
    code, printed = output("explore", "--replay", str(unreachable), *racy.flags)
    assert (code, unfolded(printed).startswith(f"NOT JUDGED {unreachable}: cannot reach")) == (
        2,
        True,
    )
    racy.has_race = False
    code, printed = output("explore", "--replay", str(saved), str(saved), *racy.flags)
    fixed = f"FIXED {saved}: paid, at-once payment.completed"
    assert (code, unfolded(printed)) == (0, f"{fixed} {fixed}")


@pytest.mark.deep
def test_the_results_are_written_as_junit_and_html(racy: SmallShop, tmp_path: Path) -> None:
    racy.repeats = True
    junit, report = tmp_path / "cases.xml", tmp_path / "report.html"
    files = ["--junit", str(junit), "--report", str(report)]
    explored(racy, tmp_path, *files, "--depth", "1", "--max-failures", "3")
    [suite] = ElementTree.fromstring(junit.read_text())  # noqa: S314 - our own file
    failures = {case.get("name"): case[0].get("type") for case in suite if len(case)}
    assert failures["paid, at-once payment.completed"] == "fulfilled-twice"
    page = report.read_text()
    check_page(page)
    assert "it is fulfilled 2 times" in page
    assert page.count('<span class="state bad">') == len(failures) > 1
    # The handlers that ran at once are bars side by side, with letters, and end after each other.
    assert 'class="bar lane-1 place-2">B</span>' in page
    assert page.count('<b class="letter">B</b></span> <span class="mark">200</span>') == 1
    # A handler that ran alone is one line with a bar.
    assert 'class="bar lane-1 place-1 whole"></span>' in page
    assert "explore --replay" in page
    assert page.count('<li class="summary">') >= len(failures)
    assert "Two handlers, or a handler and its repetition" in page
    assert '<th scope="row">at-once payment.completed</th>' in page
    assert '<td class="bad">1</td>' in page
    if CHROMIUM is not None:
        problems = problems_on_screens(report, "explore", max_height=len(failures) * MAX_HEIGHT)
        assert asyncio.run(problems) == []


@pytest.mark.deep
def test_a_running_emulator_is_used_and_its_endpoint_is_silent(tmp_path: Path) -> None:
    with small_shop() as shop:
        flags = ("--allow-http-localhost", "--test-key", KEY, "--webhook-secret", SECRET)
        webhook = ("--webhook-url", f"{shop.url}/webhooks")
        with serving(*flags, *webhook, logs=tmp_path) as server:
            shop.api_port = server.api_port
            url = f"http://127.0.0.1:{server.api_port}"
            # The secret is that of the endpoint.
            secret = SECRET.replace("AAEC", "AAED")
            running = ["--url", url, "--key", KEY, "--depth", "0", "--webhook-secret", secret]
            code, printed = output("explore", shop.write(tmp_path), *running)
            listed = server.request("GET", "/_emulator/webhook_endpoints", key=KEY)
            deliveries = server.request("GET", "/_emulator/deliveries", key=KEY)
        assert code == 0, printed
        assert [endpoint["enabled"] for endpoint in listed.json["data"]] == [True]
        assert deliveries.json["data"] == []


def test_a_generated_secret_is_printed_for_the_shop(correct: SmallShop, tmp_path: Path) -> None:
    flags = [flag for flag in correct.flags if flag not in ("--webhook-secret", SECRET)]
    saved = ["--save", str(tmp_path / "saved")]
    _, printed = output("explore", correct.write(tmp_path), "--depth", "0", *flags, *saved)
    first, verdict, *_ = printed.splitlines()
    assert first.startswith("The shop needs this webhook secret: whsec_")
    assert verdict == "never-acknowledged: paid"
    assert (
        " seen: 400 (5 times). The handler refused the webhook: does it use the secret of this"
        " endpoint, and does it verify the unchanged body? "
    ) in unfolded(printed)


@pytest.mark.deep
def test_histories_of_a_slow_shop_run_at_the_same_time(tmp_path: Path) -> None:
    new: list[int] = []
    with small_shop(lag_s=0.1) as shop:
        shop.on_start = lambda _: new.append(
            sum(order["status"] == "new" for order in shop.orders.values())
        )
        flags = [*shop.flags, "--depth", "1", "--save", str(tmp_path / "saved")]
        code, printed = output("explore", shop.write(tmp_path), *flags)
    assert code == 0, printed
    # Later orders also have those that stay new for ever; if each ran alone, one would be new.
    assert max(new[:20]) > 1


@pytest.mark.deep
def test_six_hundred_histories_leave_the_memory_flat(correct: SmallShop, tmp_path: Path) -> None:
    objects: list[int] = []

    def count(order: int) -> None:
        if order in (250, 600):
            # httpx leaves objects of each request that only a collection removes.
            gc.collect()
            objects.append(sys.getallocatedblocks())
        assert order < 600, "the shop ends"

    correct.on_start = count
    result = invoke("explore", correct.write(tmp_path), *correct.flags, "--depth", "2")
    assert str(result.exception).startswith("the order cannot be started: ")
    assert re.search(r": (\d+) of \1 histories with at most one anomaly, ", result.stdout)
    growth = (objects[1] - objects[0]) / 350
    # The shop itself stores about 20 objects for each order, and explore each result.
    assert growth < 50, growth


@pytest.mark.deep
def test_a_failure_is_printed_when_it_is_found_and_a_summary_after_ctrl_c(
    racy: SmallShop, tmp_path: Path
) -> None:
    json_file, junit, report = (tmp_path / name for name in ("run.json", "run.xml", "run.html"))
    flags = (*racy.flags, "--save", str(tmp_path / "saved"), "--max-failures", "1000")
    flags += (f"--json={json_file}", f"--junit={junit}", f"--report={report}")
    is_signalled = threading.Event()

    def wait_after_two_failures(_: int) -> None:
        if sum(order["shipments"] > 1 for order in racy.orders.values()) > 1:
            is_signalled.wait(HANGS_AFTER_S)

    racy.on_start = wait_after_two_failures
    process = subprocess.Popen(
        ["env", "--default-signal", *COMMAND, "explore", racy.write(tmp_path), *flags],
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{RACE}\n"
        process.send_signal(signal.SIGINT)
        printed = process.stdout.read()
        is_signalled.set()
    assert process.returncode == 130
    [summary] = [line for line in printed.splitlines() if line.startswith("small-shop: ")]
    assert summary.rpartition(": ")[2] in ("1 failed", "2 failed")
    document = json.loads(json_file.read_text())
    results = [result["result"] for result in document["results"]]
    assert (document["is_complete"], document["complete_size"]) == (False, 0)
    assert 1 <= results.count("failed") <= 2
    assert len(ElementTree.parse(junit).getroot()[0]) == len(results)  # noqa: S314 - our own file
    assert report.read_text().rstrip().endswith("</html>")


@pytest.mark.deep
def test_progress_is_shown_on_a_terminal(correct: SmallShop, tmp_path: Path) -> None:
    file = correct.write(tmp_path)
    printed = run_on_terminal("explore", file, "--depth", "0", *correct.flags)
    assert "2 of 4 histories, 0 failed" in printed
    assert "small-shop: 4 of 4 histories without an anomaly: none failed" in printed


def test_a_shop_that_works_in_a_queue_is_correct(tmp_path: Path) -> None:
    with small_shop(lag_s=0.1) as shop:
        code, printed = output("explore", shop.write(tmp_path), "--depth", "0", *shop.flags)
    assert code == 0, printed


REFUND = "history: {outcome: refunded, anomalies: [lost payment.processing]}\n"
REFUNDED = "  refunded: {path: $.status, in: [refunded]}\nwebhook:"


@pytest.mark.parametrize("is_declared", [False, True])
def test_a_refund_is_judged_only_where_the_file_says_what_refunded_is(
    is_declared: bool, correct: SmallShop, tmp_path: Path
) -> None:
    correct.ignores_refunds = True
    file = Path(correct.write(tmp_path, REFUND))
    if is_declared:
        file.write_text(file.read_text().replace("webhook:", REFUNDED))
    code, printed = output("explore", "--replay", str(file), *correct.flags)
    assert (code, "paid-without-money" in printed) == (int(is_declared), is_declared), printed
    assert ("  4  payment.processing is lost\n" in printed) == is_declared
    correct.ignores_refunds = False
    assert output("explore", "--replay", str(file), *correct.flags)[0] == 0


LATE = "[late-success, swapped payment.failed]"
LATE_SUCCESS = f"""history: {{outcome: failed, anomalies: {LATE}}}
reference: {{outcome: failed, anomalies: [late-success]}}
"""


@pytest.mark.parametrize("sends_mails", [False, True])
def test_a_saved_late_success_whose_end_need_not_equal_its_reference_is_not_judged(
    sends_mails: bool, correct: SmallShop, tmp_path: Path
) -> None:
    """The shop does not write about the failure where it learns of the completion first."""
    correct.sends_mails = sends_mails
    file = correct.write(tmp_path, LATE_SUCCESS)
    code, printed = output("explore", "--replay", file, *correct.flags)
    reason = "the end need not equal that of: failed, late-success ($.mails[0] is 'completed', not"
    shown = f"NOT JUDGED {file}: {reason}" if sends_mails else f"FIXED {file}"
    assert (code, unfolded(printed)[: len(shown)]) == (2 * sends_mails, shown)


@pytest.mark.parametrize("key", ["paid", "fulfilled", "closed", "refunded"])
@pytest.mark.deep
def test_a_path_that_the_state_does_not_have_is_a_mistake_of_the_file(
    key: str, correct: SmallShop, tmp_path: Path
) -> None:
    file = Path(correct.write(tmp_path))
    text = file.read_text().replace("webhook:", REFUNDED)
    lines = [
        line.replace("$.", "$.order.") if line.startswith(f"  {key}:") else line
        for line in text.splitlines()
    ]
    file.write_text("\n".join(lines))
    wrong = "$.order.shipments" if key == "fulfilled" else "$.order.status"
    position = {"paid": "6:16", "fulfilled": "7:21", "closed": "8:18", "refunded": "9:20"}[key]
    assert mistake_in(file, correct) == (
        f"{position}: {wrong} does not exist in the state of order 1, where $ has the members: id,"
        " status, shipments, payment_id"
    )


WRONG_VALUES = [
    (
        "  fulfilled: {path: $.total}",
        "7:21: fulfilled must be 0, false or an empty list in a new order, not 15000 (order 1)",
    ),
    (
        "  fulfilled: {path: $.status}",
        "7:21: fulfilled must be 0, false or an empty list in a new order, not 'new' (order 1)",
    ),
    (
        "  fulfilled: {match: id}",
        "7:14: fulfilled must be 0, false or an empty list in a new order, not 2 (order 1)",
    ),
    (
        "  once: [$.shipments, $.status]",
        "7:23: $.status is 'new', and neither a number, a Boolean nor a list",
    ),
    ("  amount: {path: $.status}", "7:18: $.status is 'new', and no amount in cents"),
]


@pytest.mark.parametrize(("line", "message"), WRONG_VALUES)
def test_a_value_of_a_new_order_that_cannot_be_right_is_a_mistake_of_the_file(
    line: str, message: str, correct: SmallShop, tmp_path: Path
) -> None:
    file = Path(correct.write(tmp_path))
    file.write_text(file.read_text().replace("  fulfilled: {path: $.shipments}", line))
    correct.on_start = lambda order: correct.orders[str(order)].update(total=15_000)
    assert mistake_in(file, correct) == message


def mistake_in(file: Path, shop: SmallShop) -> str:
    """The position and the text of the only mistake of a file."""
    [line] = problem_lines("explore", str(file), *shop.flags)
    assert line.startswith(f"{file}:")
    return line.removeprefix(f"{file}:")


@pytest.mark.parametrize(
    ("depth", "max_time_ms", "used_ms", "draws"),
    [
        (None, None, (2 * 60_000, 10 * 60_000), True),
        (None, 5_000, (5_000, 5_000), True),
        (2, None, (None, None), False),
    ],
)
def test_without_a_depth_the_default_maximum_time_is_two_minutes(
    depth: int | None, max_time_ms: int | None, used_ms: tuple[int | None, int | None], draws: bool
) -> None:
    limits = _limits(depth, max_time_ms, None, seed=1, max_failures=1)
    assert (limits.max_time_ms, limits.max_required_time_ms) == used_ms
    assert (limits.draws, limits.depth, limits.required_depth) == (draws, 2, 1)


FAILS = "python3 -c 'print(\"no database\"); raise SystemExit(3)'"


@pytest.mark.deep
def test_a_shop_that_does_not_start_ends_the_command(correct: SmallShop, tmp_path: Path) -> None:
    text = Path(correct.write(tmp_path)).read_text().replace(str(correct.port), str(free_port()))
    file = tmp_path / "other.yaml"
    file.write_text(f"{text}run:\n  command: {FAILS}\n")
    result = invoke("explore", str(file), *correct.flags)
    assert str(result.exception) == f"the shop ended with code 3: {FAILS}\n  no database"


def test_of_a_long_line_of_a_shop_only_the_end_is_printed(
    correct: SmallShop, tmp_path: Path
) -> None:
    text = Path(correct.write(tmp_path)).read_text().replace(str(correct.port), str(free_port()))
    file = tmp_path / "other.yaml"
    prints = 'yes a | head -c 10000000 | tr -d "\\n"; echo the end; exit 3'
    file.write_text(f"{text}run:\n  command: '{prints}'\n")
    message = str(invoke("explore", str(file), *correct.flags).exception)
    _, _, shown = message.partition("\n  ")
    assert (shown[:3], shown[-8:], len(shown.encode())) == ("…aa", "athe end", 4_096 + 2)


@pytest.mark.deep
def test_the_end_of_a_shop_during_the_run_is_reported(correct: SmallShop, tmp_path: Path) -> None:
    port = str(free_port())
    serve = f"s = socket.create_server(('127.0.0.1', {port})); s.accept(); s.accept(); os._exit(9)"
    command = f'python3 -c "import os, socket; {serve}"'
    text = Path(correct.write(tmp_path)).read_text().replace(str(correct.port), port)
    file = tmp_path / "other.yaml"
    file.write_text(f"{text}run:\n  command: {command}\n")
    message = usage_error("explore", str(file), *correct.flags)
    assert message == f"the shop ended with code 9: {command}"


@pytest.mark.deep
def test_the_histories_before_an_error_are_in_the_files(correct: SmallShop, tmp_path: Path) -> None:
    def end(order: int) -> None:
        assert order < 3, "the shop ends"

    correct.on_start = end
    results = tmp_path / "run.json"
    flags = (*correct.flags, "--json", str(results))
    result = invoke("explore", correct.write(tmp_path), *flags)
    assert error_line(result).startswith("the order cannot be started: ")
    assert "small-shop: 2 of " in result.stdout
    assert "histories up to --require-depth 1 did not run\n" in result.stdout
    document = json.loads(results.read_text())
    assert (document["is_complete"], document["complete_size"]) == (False, None)
    assert [each["result"] for each in document["results"]] == ["passed", "passed"]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "code"), [("TERM", 143), ("HUP", 129), ("QUIT", 131), ("INT", 130), ("KILL", -9)]
)
def test_no_process_of_the_shop_outlives_the_command(
    name: str, code: int, correct: SmallShop, tmp_path: Path
) -> None:
    """A shell starts the shop, as `npm start` does; a job ends it with any signal."""
    pipe, file = tmp_path / "started", tmp_path / "other.yaml"
    os.mkfifo(pipe)
    text = Path(correct.write(tmp_path)).read_text().replace(str(correct.port), str(free_port()))
    file.write_text(f"{text}run: {{command: (echo started; exec sleep 60) > {pipe}; true}}\n")
    ignored = "INT" if name == "TERM" else "USR1"  # as a shell ignores Ctrl-C for a job
    explore = [*COMMAND, "explore", str(file), *correct.flags]
    shell = ["env", "--default-signal", "sh", "-c", f"trap '' {ignored}; exec \"$@\"", "sh"]
    process = subprocess.Popen([*shell, *explore], stdout=subprocess.PIPE, encoding="utf-8")
    with process, pipe.open() as started:
        assert started.readline() == "started\n"
        process.send_signal(signal.Signals[f"SIG{name}"])
        assert process.wait(HANGS_AFTER_S) == code
        has_ended, _, _ = select.select([started], [], [], HANGS_AFTER_S)
        assert has_ended, "the pipe ends with the last process of the shop"
        assert process.stdout is not None
        summary = "small-shop: interrupted before the first history\n"
        assert process.stdout.read() == ("" if name == "KILL" else summary)


@pytest.mark.deep
def test_a_shop_that_hangs_does_not_outlast_the_time_of_the_run(tmp_path: Path) -> None:
    with small_shop() as shop:
        file = shop.write(tmp_path)
    with socket.create_server(("127.0.0.1", shop.port)):
        assert usage_error("explore", file, *shop.flags, "--max-time", "100ms") == (
            "flag --max-time: no history ended in this time; does the shop answer?"
        )


def test_another_program_at_the_address_of_the_shop_is_reported(
    correct: SmallShop, tmp_path: Path
) -> None:
    file = correct.write(tmp_path, "run: {command: npm start}\n")
    assert usage_error("explore", file, *correct.flags).startswith(
        f"another program listens on 127.0.0.1:{correct.port}, the address of the shop;"
    )


@pytest.mark.deep
def test_a_shop_that_is_not_running_ends_the_command(tmp_path: Path) -> None:
    with small_shop() as shop:
        file = shop.write(tmp_path)
    assert usage_error("explore", file, *shop.flags) == (
        f"cannot reach the shop: POST {shop.url}/orders: connection refused (in the history: paid)"
    )


def test_a_port_in_use_is_reported(correct: SmallShop, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", correct.api_port)):
        message = usage_error("explore", correct.write(tmp_path), *correct.flags)
    assert message.startswith(f"cannot listen on 127.0.0.1 port {correct.api_port}: ")


MISTAKES = [
    (("--max-time", "1"), "flag --max-time: "),
    (("--webhook-secret", "x"), "flag --webhook-secret: expected whsec_ and the base64 of 24"),
    (("--url", "http://127.0.0.1:1", "--port", "1"), "flag --port: the emulator at --url has"),
    (("--url", "shop"), "flag --url: found 'shop', expected an absolute http or https URL"),
    (("--key", "x"), "flag --key: expected test_ or live_ and 4 to 128"),
    (("--key", "test_demo_key"), "flag --key: expected --url"),
    (("--junit", "/no/such/directory/x"), "flag --junit: cannot write"),
    (("--clock-file", "/no/directory/x"), "--clock-file: cannot write '/no/directory/x': "),
    (("--depth", "9"), "flag --depth: found '9', expected an integer from 0 to 5"),
    (("--depth", "0", "--require-depth", "1"), "flag --require-depth: found '1', expected 0 to 0"),
    (("--replay",), "{file}: the file has no history that fits its integration; expected a"),
    (("{file}",), "expected one file of an integration; several are accepted with --replay"),
]


@pytest.mark.parametrize(("flags", "message"), MISTAKES)
def test_a_wrong_option_is_reported(
    flags: tuple[str, ...], message: str, correct: SmallShop, tmp_path: Path
) -> None:
    file = correct.write(tmp_path)
    given = [flag.format(file=file) for flag in flags]
    assert usage_error("explore", file, *given).startswith(message.format(file=file))


def test_the_mistakes_of_a_file_are_printed_with_their_positions(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text("version: 1\nname: shop\nstate: {}\n")
    first, *others = problem_lines("explore", str(file))
    assert first == f"{file}:1:1: an integration must have 'start': how an order is started"
    assert len(others) == 2


@pytest.mark.deep
def test_background_work_is_finished_by_a_request_in_place_of_waiting(tmp_path: Path) -> None:
    with small_shop() as shop:
        shop.lag_reads = 1_000_000
        file = tmp_path / "idle.yaml"
        idle = f"  idle: POST {shop.url}/idle\nwebhook:"
        file.write_text(Path(shop.write(tmp_path)).read_text().replace("webhook:", idle, 1))
        code, printed = output("explore", str(file), "--depth", "0", *shop.flags)
        assert (code, printed.splitlines()[0].endswith(": none failed")) == (0, True), printed
        code, _ = output(
            *("explore", shop.write(tmp_path), "--depth", "0", *shop.flags),
            *("--save", str(tmp_path)),
        )
        assert code == 1


def test_the_payment_of_an_order_is_the_one_that_its_start_created(
    correct: SmallShop, tmp_path: Path
) -> None:
    text = Path(correct.write(tmp_path)).read_text().replace(", payment: $.payment_id", "")
    file = tmp_path / "new.yaml"
    file.write_text(text)
    code, printed = output("explore", str(file), "--depth", "0", *correct.flags)
    assert code == 0, printed
    file.write_text(text.replace("order: $.id", "order: {payment: $.metadata.order}"))
    code, printed = output("explore", str(file), "--depth", "0", *correct.flags)
    assert code == 0, printed


@pytest.mark.deep
def test_a_value_that_the_first_start_does_not_have_ends_the_command(
    correct: SmallShop, tmp_path: Path
) -> None:
    text = Path(correct.write(tmp_path)).read_text()
    file = tmp_path / "wrong.yaml"
    line = f"POST {correct.url}/orders: the"
    for right, wrong, message in (
        (
            "$.id",
            "$.number",
            f"{line} response has no order at $.number, where $ has the members: id, status,"
            " shipments, payment_id",
        ),
        (
            "$.payment_id",
            "$.status",
            f"{line[:-3]}'payment' in the file leads to 'new' in the response, which is the id of"
            f" no payment in the emulator at http://127.0.0.1:{correct.api_port}, with which the"
            " shop must be configured",
        ),
        (
            "order: $.id",
            "order: {payment: $.metadata}",
            f"{line[:-5]}: the order at $.metadata of the payment is {{'order': '3'}}, and no id",
        ),
    ):
        file.write_text(text.replace(right, wrong))
        printed = usage_error("explore", str(file), *correct.flags)
        assert printed == f"{message} (in the history: paid)"


SEND = """
import sys, urllib.request
method, url = sys.argv[1:]
with urllib.request.urlopen(urllib.request.Request(url, method=method)) as response:
    print(response.read().decode())
"""


@pytest.mark.deep
def test_commands_can_start_and_show_orders(correct: SmallShop, tmp_path: Path) -> None:
    program, file = tmp_path / "send.py", tmp_path / "commands.yaml"
    program.write_text(SEND)
    command = f"command: {sys.executable} {program} "
    text = Path(correct.write(tmp_path)).read_text().replace("request: ", command)
    file.write_text(text)
    code, printed = output("explore", str(file), "--depth", "0", *correct.flags)
    assert code == 0, printed
    file.write_text(text.replace("/orders,", ":99999,"))
    message = usage_error("explore", str(file), *correct.flags)
    wrong = f"{sys.executable} {program} POST {correct.url}:99999"
    assert message.startswith(f"the order cannot be started: {wrong}: exit code 1: ")
