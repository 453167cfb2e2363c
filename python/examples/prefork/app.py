"""A service of several processes that accepts each order once.

pip install gunicorn guira-filter
gunicorn --config gunicorn_conf.py app:app
curl --request POST localhost:8000/orders/4711

The configuration opens the filter in each worker. The test sends requests while it kills workers.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from guira_filter import SharedFilter


class App:
    """The application. `post_fork` gives it the filter."""

    accepted: SharedFilter

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        order = environ["PATH_INFO"].removeprefix("/orders/")
        if environ["REQUEST_METHOD"] == "POST":
            # Of all requests in all workers, exactly one gets True.
            status = "201 Created" if self.accepted.add_unique(order) else "409 Conflict"
        else:
            status = "200 OK" if order in self.accepted else "404 Not Found"
        worker = str(os.getpid())
        start_response(status, [("Content-Length", "0"), ("X-Worker", worker)])
        return []


app = App()
