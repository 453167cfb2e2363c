"""Opens one filter in all workers of gunicorn, and repairs it when one of them was killed."""

from __future__ import annotations

import os

from app import app
from guira_filter import SharedFilter

bind = os.environ.get("ORDERS_BIND", "127.0.0.1:8000")
workers = 4

# tmpfs. A file on disk outlives a restart of the machine.
PATH = os.environ.get("ORDERS_FILE", "/dev/shm/orders.guira")  # noqa: S108


def on_starting(_server: object) -> None:
    # A rate of one in a million: a false positive refuses a new order.
    SharedFilter.open_or_create(PATH, 1_000_000, 1e-6)


def post_fork(_server: object, _worker: object) -> None:
    app.accepted = SharedFilter.open(PATH)


def child_exit(_server: object, _worker: object) -> None:
    # In the parent. Without this, the next insert that finds no room repairs the filter.
    SharedFilter.open(PATH).repair()
