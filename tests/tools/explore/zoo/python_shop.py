"""The shop of `shop.py`, with more bugs: of reads, bytes, pages, jobs, crashes and time."""

import json
import re
import threading
import time  # noqa: TID251 - a shop has its own time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.client import HTTPException

from tests.tools.explore.zoo import shop
from tests.tools.explore.zoo.shop import BASE, Json, Query, apply, call, lock, retrieve, save, seen

Handle = Callable[[Json, Json], None]
SHORT_MEMORY_S, LONG_MEMORY_S = 600, 86_400
ADDIS_ABABA = timedelta(hours=3)
MOVED_S = 60
handled_at: dict[str, float] = {}
arrived: set[tuple[str, str]] = set()
changed = threading.Condition()
started, started_monotonic = time.time(), time.monotonic()
ROW = ("status", "known", "shipments")


def ship(order: Json) -> None:
    order["shipments"] += 1
    order["status"], order["known"] = "paid", "completed"
    save()


def takes_for_failure(is_failure: Callable[[Exception], bool]) -> Handle:
    """A read that fails in some way is taken for a failed payment."""

    def handle(order: Json, _: Json) -> None:
        try:
            apply(order, retrieve(order["payment"]))
        except (OSError, HTTPException) as error:
            if not is_failure(error):
                raise
            apply(order, "failed")

    return handle


def ignores_unknown(order: Json, _: Json) -> None:
    """A completed payment may also be reversed."""
    try:
        status = retrieve(order["payment"])
    except OSError as error:
        if "404" not in str(error):
            raise
        return
    with lock:
        if (order["known"], status) == ("completed", "failed"):
            order["status"], order["known"] = "cancelled", status
        else:
            apply(order, status)


def saves_old_row(order: Json, event: Json) -> None:
    """`processing` is handled slowly, and saves the whole row that it has read before."""
    status = event["data"]["status"]
    row = {name: order[name] for name in ROW}
    with changed:
        arrived.add((order["id"], status))
    shop.server.arrivals.wait()
    with changed:
        if status == "processing" and (order["id"], "completed") in arrived:
            changed.wait_for(lambda: order["known"] in ("completed", "refunded"))
            order.update(row)
        else:
            apply(order, status)
            changed.notify_all()


def saves_row_after_read(order: Json, event: Json) -> None:
    """After a long read the row that was read before is saved; after a short one it is read again.

    So the events of an outage, which arrive at the same moment, are no race.
    """
    status = event["data"]["status"]
    if status != "processing":
        return apply(order, status)
    row, started_s = {name: order[name] for name in ROW}, time.monotonic()
    retrieve(order["payment"])
    return order.update(row) if time.monotonic() - started_s > 1 else apply(order, status)


def leaves_row_busy(order: Json, event: Json) -> None:
    """The mark that the order is being handled survives the process."""
    if event["data"]["status"] != "completed":
        return apply(order, event["data"]["status"])
    with lock:
        if order.get("is_busy"):
            raise OSError("another process handles the order")
        order["is_busy"] = True
        save()
    try:
        status = retrieve(order["payment"])
    finally:
        order["is_busy"] = False
    return apply(order, status)


def remembers_in_memory(order: Json, event: Json) -> None:
    with lock:
        if event["data"]["status"] != "completed":
            apply(order, event["data"]["status"])
        elif event["id"] not in seen and order["known"] != "refunded":
            seen.add(event["id"])
            ship(order)


def forgets_after(memory_s: float, archived_s: float) -> Handle:
    """Events are remembered for some time, and orders for longer."""

    def handle(order: Json, event: Json) -> None:
        with lock:
            now = time.time()
            age_s = now - order.setdefault("at", now)
            if event["data"]["status"] != "completed" or order["known"] == "refunded":
                apply(order, event["data"]["status"])
            elif now - handled_at.get(event["id"], 0) > memory_s and age_s < archived_s:
                handled_at[event["id"]] = now
                ship(order)

    return handle


def reads_text(text: str) -> Callable[[bytes], Json]:
    """A completed payment without a text in the body of its event is ignored."""

    def parse(body: bytes) -> Json:
        event: Json = json.loads(body)
        is_known = event["data"]["status"] != "completed" or text in body.decode()
        return event | ({} if is_known else {"type": "payment.none"})

    return parse


def takes_first_id(body: bytes) -> Json:
    """The first id in the text is taken for that of the event."""
    event: Json = json.loads(body)
    found = re.search(r'"id":\s*"([^"]+)"', body.decode())
    assert found is not None
    is_known = event["data"]["status"] == "completed" and found[1] in seen
    seen.add(found[1])
    return event | ({"type": "payment.none"} if is_known else {})


def reads_ascii(body: bytes) -> Json:
    event: Json = json.loads(body.decode("ascii"))
    return event


def pays_when_processing(order: Json, _: Query) -> None:
    status = retrieve(order["payment"])
    apply(order, "completed" if status == "processing" else status)


def trusts_query(order: Json, query: Query) -> None:
    apply(order, retrieve(query.get("payment_id", [order["payment"]])[0]))


def cancels(status: str) -> Callable[[Json, Query], None]:
    def open_page(order: Json, _: Query) -> None:
        if order["status"] == status:
            order["status"], order["known"] = "cancelled", "refunded"

    return open_page


def settles_again(order: Json, path: str, *, races_itself: bool) -> None:
    """What another run of the same path, or of another path, does meanwhile is not seen."""
    if order["status"] == "paid":
        return
    shop.server.arrivals.wait()
    status = retrieve(order["payment"])
    with lock:
        by = order.get("paid_by")
        does_race = by is not None and (by == path) is races_itself
        if status == "completed" and (order["known"] != "completed" or does_race):
            order["paid_by"] = path
            ship(order)
        else:
            apply(order, status)


def looks_at_today(order: Json) -> None:
    """The day of Addis Ababa is taken for one of UTC; it is noon until the clock is moved."""
    now = datetime.fromtimestamp(time.time(), UTC)
    moved_s = time.time() - started - (time.monotonic() - started_monotonic)
    day = (now + ADDIS_ABABA).date() if moved_s > MOVED_S else now.date()
    _, page, _ = call("GET", f"/v1/payments?limit=100&created_gte={day}T00:00:00Z")
    for payment in page["data"]:
        if payment["id"] == order["payment"]:
            apply(order, payment["status"])


shop.HANDLERS |= {
    "error-is-failure": takes_for_failure(lambda error: isinstance(error, OSError)),
    "timeout-is-failure": takes_for_failure(lambda error: isinstance(error, TimeoutError)),
    "limit-is-failure": takes_for_failure(lambda error: "429" in str(error)),
    "cut-is-failure": takes_for_failure(
        lambda error: isinstance(error, HTTPException | ConnectionError)
    ),
    "unknown-is-foreign": ignores_unknown,
    "saves-old-row": saves_old_row,
    "saves-row-after-read": saves_row_after_read,
    "leaves-row-busy": leaves_row_busy,
    "remembers-in-memory": remembers_in_memory,
    "forgets-in-minutes": forgets_after(SHORT_MEMORY_S, LONG_MEMORY_S),
    "forgets-in-days": forgets_after(LONG_MEMORY_S, 30 * LONG_MEMORY_S),
}
shop.PARSERS |= {
    "searches-status": reads_text('"status":"completed"'),
    "searches-url": reads_text(f"{BASE}/return"),
    "takes-first-id": takes_first_id,
    "reads-ascii": reads_ascii,
}
shop.PAGES |= {
    ("pays-when-processing", "/return"): pays_when_processing,
    ("trusts-query", "/return"): trusts_query,
    ("cancel-page-cancels", "/cancel"): cancels("pending"),
    ("cancel-page-cancels-paid", "/cancel"): cancels("paid"),
    ("job-races-return", "/return"): lambda order, _: settles_again(
        order, "return", races_itself=False
    ),
}
shop.JOBS |= {
    "job-races-itself": lambda order: settles_again(order, "job", races_itself=True),
    "job-races-return": lambda order: settles_again(order, "job", races_itself=False),
    "looks-at-today": looks_at_today,
}
if shop.BUG.startswith("job-races"):
    shop.Handler.awaited_paths = ("/webhooks", "/jobs", "/return")

if __name__ == "__main__":
    shop.serve()
