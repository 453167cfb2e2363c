"""A Flask application that handles each idempotency key once within a day.

pip install flask guira-filter
python idempotency_keys.py            # serves on port 5000
python idempotency_keys.py --check    # tries itself, without a server
"""

from __future__ import annotations

import sys
from datetime import timedelta

from flask import Flask, request
from guira_filter import ExpiringFilter

app = Flask(__name__)

# A rate of one in a million: a false positive refuses a new order.
handled = ExpiringFilter(timedelta(days=1), 100_000, 1e-6)


@app.post("/orders")
def order() -> tuple[dict[str, str], int]:
    key = request.headers.get("Idempotency-Key")
    if not key:
        return {"error": "Idempotency-Key is missing"}, 400
    # Of requests that race, in any number of threads, exactly one gets True.
    if not handled.add_unique(key):
        return {"error": "this key was already used"}, 409
    try:
        ship(request.get_data(as_text=True))
    except ValueError as error:
        # The client may try again.
        handled.discard(key)
        return {"error": str(error)}, 422
    return {"status": "shipped"}, 201


def ship(item: str) -> None:
    if not item:
        raise ValueError("there is nothing to ship")


def check() -> None:
    client = app.test_client()

    def post(key: str, item: str) -> int:
        return client.post("/orders", data=item, headers={"Idempotency-Key": key}).status_code

    assert post("a", "a bike") == 201
    assert post("a", "a bike") == 409
    assert post("b", "") == 422
    assert post("b", "a bell") == 201
    assert client.post("/orders").status_code == 400
    print("every key was handled once")


if __name__ == "__main__":
    if "--check" in sys.argv:
        check()
    else:
        app.run(threaded=True)
