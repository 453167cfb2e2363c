"""Checked by `mypy --strict`: a comment `type: ignore` that is not needed is an error."""

from __future__ import annotations

import array
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from guira_filter import (
    Estimate,
    ExpiringFilter,
    Filter,
    FullError,
    SharedExpiringFilter,
    SharedExpiringReader,
    SharedFilter,
    SharedReader,
    Stats,
)
from numpy.typing import NDArray  # noqa: TC002

f = Filter(1000, 0.01, max_capacity=5000, prefer="speed", counter_bits=4, seed=7)
f.add("a")
f.add(b"a")
f.add(5)
f.add(np.int64(5))
f.add(("a", 1, b"c"))
present: bool = "a" in f
unique: bool = f.add_unique(bytearray(b"a"))
listed: list[bool] = f.contains_many(["a", b"b", 3, ("a", 1)])
generated: list[bool] = f.add_unique_many(str(i) for i in range(3))
masked: NDArray[np.bool_] = f.contains_many(np.arange(3))
discarded: NDArray[np.bool_] = f.discard_many(pl.Series([1]))
column: NDArray[np.bool_] = f.contains_many(pa.array([1]))
f.update(array.array("q", [1]))
f.update(np.zeros((2, 2), np.uint8))
f.update_hashes(np.array([f.hash_of("a")], np.uint64))
by_hash: list[bool] = f.contains_hashes([f.hash_of("a")])
copied: Filter = f.copy()
loaded: Filter = Filter.load(Path("filter"), max_bytes=1 << 20, items="bytes")
stats: Stats = f.stats()
plan: Estimate = Filter.estimate(1000, 0.01, max_capacity=5000)
planned: int = plan.nbytes + plan.nbytes_at(5)
planned += ExpiringFilter.estimate(60, counter_bits=4).doublings
length: int = len(f) + stats.items + f.digest()

e = ExpiringFilter(timedelta(hours=1), 1000, epochs=6, clock="manual")
e = ExpiringFilter(3600.0)
limited = ExpiringFilter(60, 1000, max_capacity=5000, epochs=2, counter_bits=8)
counted: int = limited.add_and_count("a") + limited.counter_bits + f.add_and_count(5)
ticked: bool = e.tick(5)
refreshed: list[bool] = e.refresh_many(["a"])
added: NDArray[np.bool_] = e.add_or_refresh_many(np.arange(3))
restored: ExpiringFilter = ExpiringFilter.from_bytes(e.to_bytes(), age=60)


s = SharedFilter.open_or_create("filter", 1000, 0.01, prefer="space", seed=7, max_processes=8)
s = SharedFilter.open(Path("filter"), items="bytes")
won: bool = s.add_unique("a")
each: NDArray[np.bool_] = s.add_unique_many(np.arange(3))
path: Path | None = s.path
exact: int = SharedFilter.recount(Path("filter")) + s.repair() + s.participants().deaths

unnamed = SharedFilter.create_memfd(1000, seed=7)
reader: SharedReader = SharedReader.from_memfd(unnamed.fileno())
found: NDArray[np.bool_] = reader.contains_many(np.arange(3))
clean: bool = "a" in SharedReader.open("filter") and unnamed.was_closed_cleanly

x = SharedExpiringFilter.open_or_create("filter", timedelta(hours=1), 1000, epochs=6, seed=7)
x = SharedExpiringFilter.create_memfd(3600.0, max_processes=8)
begun: bool = x.tick() or x.refresh("a") or x.add_or_refresh(5)
fresh: list[bool] = x.refresh_many(["a"])
young: NDArray[np.bool_] = x.add_or_refresh_many(np.arange(3))
window: SharedExpiringReader = SharedExpiringReader.from_memfd(x.fileno())
seconds: float = window.ttl + (window.epoch_age or 0.0) + window.epoch_length + window.epoch


def index(error: FullError) -> int:
    return error.index


f.add(1.5)  # type: ignore[arg-type]
f.add(None)  # type: ignore[arg-type]
f.add(("a",))  # type: ignore[arg-type]
f.add((("a", 1), 2))  # type: ignore[arg-type]
f.update(5)  # type: ignore[arg-type]
f.update([None])  # type: ignore[list-item]
f.merge(e)  # type: ignore[arg-type]
f.union_with(copied)
e.union_with(f)  # type: ignore[arg-type]
f.intersect_with(copied)
f |= copied
f -= e  # type: ignore[arg-type]
e.difference_with(f)  # type: ignore[arg-type]
f.seed = 5  # type: ignore[misc]
SharedFilter("filter")  # type: ignore[call-arg]
reader.add("a")  # type: ignore[attr-defined]
window.tick()  # type: ignore[attr-defined]
x.tick(5)  # type: ignore[call-arg]
SharedExpiringFilter.create("filter")  # type: ignore[call-arg]
s.merge(x)  # type: ignore[arg-type]
Filter(items="all")  # type: ignore[arg-type]
ExpiringFilter()  # type: ignore[call-arg]
wrong: list[Any] = f.contains_many(np.arange(3))  # type: ignore[assignment]


class Mine(Filter):  # type: ignore[misc]
    pass
