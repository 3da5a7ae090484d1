import threading
import time

LOCK = threading.Lock()
STATUSES = {
    "completed": "paid",
    "failed": "cancelled",
    "expired": "cancelled",
    "refunded": "refunded",
}


def settle(order, status):
    with LOCK:  # one handler at a time checks and marks the order
        before = order["status"]
        order["status"] = STATUSES.get(status, before)
    if order["status"] == "paid" and before != "paid":
        ship(order)


def ship(order):
    time.sleep(0.15)  # the warehouse takes its time
    order["shipments"] += 1
