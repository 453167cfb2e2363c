"""CPU time per call: guira_filter against `set` and the Bloom filters that are installed.

    python bench/cpu.py [--items N] [--rounds N]

Each figure is the least of some rounds, in nanoseconds of the thread's CPU time per item. Single
calls include the loop around them, some 3 ns. rbloom, abloom and pybloomfiltermmap3 take part if
they are installed.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import guira_filter
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RATE = 0.001
BATCHES = (1, 8, 32, 256, 1000)


def least(rounds: int, items: int, make: Callable[[], Any], run: Callable[[Any], object]) -> float:
    """Nanoseconds per item of the fastest round; `make` is not timed."""
    best = float("inf")
    for _ in range(rounds):
        made = make()
        before = time.thread_time_ns()
        run(made)
        best = min(best, (time.thread_time_ns() - before) / items)
    return best


def adds(items: list[Any], container: Any) -> None:
    add = container.add
    for item in items:
        add(item)


def lookups(items: list[Any], container: Any) -> None:
    for item in items:
        item in container  # noqa: B015


def update(items: Any, container: Any) -> None:
    container.update(items)


def contains_many(items: Any, container: Any) -> None:
    container.contains_many(items)


def repeat(items: Any, calls: int, container: Any) -> None:
    look_up = container.contains_many
    for _ in range(calls):
        look_up(items)


def same(container: Any) -> Any:
    return container


def peers(items: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The names of the containers, and how each is made."""
    yield "guira", lambda: guira_filter.Filter(items, RATE)
    yield (
        "guira, grown 64 times",
        lambda: guira_filter.Filter(items // 64, RATE, max_capacity=items),
    )
    yield "guira, expiring", lambda: guira_filter.ExpiringFilter(3600, items, RATE)
    yield "set", set
    if rbloom := installed("rbloom"):
        yield "rbloom", lambda: rbloom.Bloom(items, RATE)
    if abloom := installed("abloom"):
        yield "abloom", lambda: abloom.BloomFilter(items, RATE)
    if mapped := installed("pybloomfilter"):
        directory = tempfile.mkdtemp()
        yield (
            "pybloomfiltermmap3",
            lambda: mapped.BloomFilter(items, RATE, str(Path(directory, "filter"))),
        )


def installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def single_calls(count: int, rounds: int) -> None:
    random.seed(1)
    numbers = random.sample(range(1 << 62), 2 * count)
    kinds: dict[str, list[Any]] = {
        "int": numbers,
        "str": [f"user-{number:016x}" for number in numbers],
    }
    names = ("add", "in, hit", "in, miss", "update(list)", "contains_many(list)")
    print(f"{count} items, CPU ns per item, int / str\n")
    print("| | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for name, make in peers(count):
        rows = [measured(make, items[:count], items[count:], rounds) for items in kinds.values()]
        cells = [" / ".join(times) for times in zip(*rows, strict=True)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def measured(make: Callable[[], Any], hits: list[Any], misses: list[Any], rounds: int) -> list[str]:
    full, count = make(), len(hits)
    full.update(hits)
    times = [
        least(rounds, count, make, partial(adds, hits)),
        least(rounds, count, lambda: full, partial(lookups, hits)),
        least(rounds, count, lambda: full, partial(lookups, misses)),
        least(rounds, count, make, partial(update, hits)),
    ]
    if hasattr(full, "contains_many"):
        times.append(least(rounds, count, lambda: full, partial(contains_many, hits)))
    return [f"{time:.0f}" for time in times] + ["-"] * (5 - len(times))


def arrays(count: int, rounds: int) -> None:
    rng = np.random.default_rng(1)
    texts = [f"{number:016x}" for number in range(count)]
    columns: dict[str, Any] = {
        "uint64": rng.integers(0, 1 << 63, count, dtype=np.uint64),
        "rows of 16 bytes": rng.integers(0, 256, (count, 16), dtype=np.uint8),
        "S16": rng.integers(1, 256, (count, 16), dtype=np.uint8).view("S16").ravel(),
        "U16": np.array(texts),
    }
    if pyarrow := installed("pyarrow"):
        columns["Arrow string"] = pyarrow.array(texts)
    print(f"\n{count} items of {count}, CPU ns per item (millions per second)\n")
    print("| array | update, to half full | update | contains_many |")
    print("|---|---|---|---|")
    for name, items in columns.items():
        full = guira_filter.Filter(count, RATE)
        full.update(items)
        times = [
            least(
                rounds, count, partial(guira_filter.Filter, 2 * count, RATE), partial(update, items)
            ),
            least(rounds, count, partial(guira_filter.Filter, count, RATE), partial(update, items)),
            least(rounds, count, partial(same, full), partial(contains_many, items)),
        ]
        cells = [f"{time:.1f} ({1000 / time:.0f})" for time in times]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def small_batches(rounds: int) -> None:
    full = guira_filter.Filter(100_000, RATE)
    full.update(np.arange(100_000))
    print("\nCPU ns per call of `contains_many`\n")
    print("| items | ndarray | list |")
    print("|---|---|---|")
    for size in BATCHES:
        array, calls = np.arange(size), 200_000 // size
        times = [
            least(rounds, calls, partial(same, full), partial(repeat, batch, calls))
            for batch in (array, array.tolist())
        ]
        print(f"| {size} | {times[0]:.0f} | {times[1]:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    print(f"guira_filter {guira_filter.__version__}, Python {sys.version.split()[0]}")
    single_calls(arguments.items, arguments.rounds)
    arrays(2 * arguments.items, arguments.rounds)
    small_batches(arguments.rounds)


if __name__ == "__main__":
    main()
