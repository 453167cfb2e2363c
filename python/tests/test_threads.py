"""Real threads on one filter."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from guira_filter import ExpiringFilter, Filter

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS = 4
KEYS = 50_000


def in_threads(work: Callable[[int], object], count: int = THREADS) -> None:
    """Runs `work` in threads that start together, and passes on what they raise."""
    barrier, errors = threading.Barrier(count), []

    def run(thread: int) -> None:
        try:
            barrier.wait()
            work(thread)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=run, args=(thread,)) for thread in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("batched", [False, True])
def test_each_key_has_one_winner(batched: bool) -> None:  # noqa: FBT001
    """While the filter grows, and another thread takes snapshots and copies."""
    # With this seed no two of the keys collide at any size.
    f = Filter(5000, 1e-5, max_capacity=KEYS, seed=0)
    size = f.nbytes
    won, copies = [0] * THREADS, []

    def work(thread: int) -> None:
        if thread == THREADS:
            for _ in range(5):
                copies.append(Filter.from_bytes(f.to_bytes()))
                copies.append(f.copy())
            return
        keys = [f"key {i}" for i in range(KEYS)]
        if batched:
            for start in range(0, KEYS, 1000):
                won[thread] += sum(f.add_unique_many(keys[start : start + 1000]))
        else:
            won[thread] = sum(map(f.add_unique, keys))

    in_threads(work, THREADS + 1)
    assert sum(won) == KEYS == len(f)
    assert f.nbytes > 3 * size
    assert all(f.contains_many([f"key {i}" for i in range(KEYS)]))
    assert all(len(copy) <= KEYS for copy in copies)


def test_no_item_is_lost() -> None:
    f = Filter(40_000, 1e-8)

    def work(thread: int) -> None:
        for round_ in range(20):
            mine = np.arange(1000) + 1_000_000 * thread + 10_000 * round_
            f.update(mine)
            assert f.contains_many(mine).all()
            for item in mine[:300].tolist():
                assert item in f
                f.remove(item)
            assert f.discard_many(mine[300:]).all()

    in_threads(work)
    assert len(f) == 0


def test_an_array_that_is_written_during_its_batch() -> None:
    """No crash, and right answers for what nobody writes."""
    f = Filter(200_000)
    stop = threading.Event()
    arrays: list[Any] = [
        np.zeros(100_000, "i8"),
        np.zeros((100_000, 5), "u1"),
        np.zeros(100_000, "S5"),
        np.zeros(50_000, "U3"),
    ]
    f.update([0, bytes(5), b"", ""])

    def work(thread: int) -> None:
        if thread > 0:
            while not stop.is_set():
                for array in arrays:
                    array[1::2] = np.ones(1, array.dtype)
                    array[1::2] = np.zeros(1, array.dtype)
            return
        try:
            for _ in range(20):
                for array in arrays:
                    assert f.contains_many(array)[::2].all()
        finally:
            stop.set()

    in_threads(work, 2)


SHARED_COLUMNS = """
import threading
import guira_filter as g, numpy as np, pyarrow as pa
ITEMS = 300_000
def column(width, kind):
    offsets = np.zeros(ITEMS + 1, width)
    offsets[1:] = 8
    # The last offset, from which the reader knows the size of the data, stays.
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(bytes(8))]
    return pa.Array.from_buffers(kind, ITEMS, buffers), offsets
def views():
    view = np.zeros((ITEMS, 4), "i4")
    view[:, 0] = 20
    buffers = [None, pa.py_buffer(view), pa.py_buffer(bytes(20))]
    return pa.Array.from_buffers(pa.binary_view(), ITEMS, buffers), view[:, 3]
columns = [
    column("i4", pa.binary()),
    column("i4", pa.string()),
    column("i8", pa.large_binary()),
    views(),
]
stop = threading.Event()
def write():
    while not stop.is_set():
        for _, offsets in columns:
            kept = offsets[1:-1].copy()
            offsets[1:-1] = 2**30 + 8 * np.arange(len(offsets) - 2)
            offsets[1:-1] = kept
writer = threading.Thread(target=write)
writer.start()
f = g.Filter(100)
f.add(b"")
answers = errors = 0
for _ in range(20):
    for array, _ in columns:
        try:
            answers += len(f.contains_many(array)) == ITEMS
        except ValueError:
            errors += 1
stop.set()
writer.join()
print(answers + errors)
"""


def test_a_column_that_is_written_during_its_batch() -> None:
    """Values or an error, and no read outside of the column."""
    run = subprocess.run(
        [sys.executable, "-c", SHARED_COLUMNS], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, "80"), run.stderr


def test_a_resized_bytearray_is_an_error_or_an_answer() -> None:
    f, data = Filter(100), bytearray(b"x" * 100_000)

    def work(thread: int) -> None:
        for i in range(300):
            if thread:
                f.add_unique(data)
            else:
                data.extend(b"y" * (i % 7))

    in_threads(work, 2)


def test_batches_release_the_gil() -> None:
    """A thread runs during a batch: without that, it could not see the filter half full."""
    f = Filter(3_000_000)
    items, seen, done = np.arange(2_000_000), set(), threading.Event()

    def work(thread: int) -> None:
        if thread:
            f.update(items)
            done.set()
        else:
            while not done.is_set():
                seen.add(f.stats().items)

    sys.setswitchinterval(1e-4)
    try:
        for _ in range(20):
            f.clear()
            seen.clear()
            done.clear()
            in_threads(work, 2)
            if seen - {0, 2_000_000}:
                return
    finally:
        sys.setswitchinterval(0.005)
    # A fixed filter counts at the end of each chunk.
    pytest.fail("no thread ran during a batch")


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="an interpreter without the GIL"
)
@pytest.mark.parametrize("items", [["ani"], list(range(1000))])
def test_sweeps_release_the_gil(items: list[Any]) -> None:
    """A thread runs while a batch begins several epochs: it sees the epochs between."""
    f = ExpiringFilter(0.006, 1_000_000, epochs=6)
    seen, done = set(), threading.Event()

    def work(thread: int) -> None:
        if thread:
            time.sleep(0.02)
            f.contains_many(items)
            done.set()
        else:
            while not done.is_set():
                seen.add(f.epoch)

    for _ in range(50):
        before = f.epoch
        seen.clear()
        done.clear()
        in_threads(work, 2)
        if seen - {before, f.epoch}:
            return
    pytest.fail("no thread ran during the sweeps")


def test_expiring_in_threads() -> None:
    f = ExpiringFilter(3600, KEYS, 1e-6)
    won = [0] * THREADS

    def work(thread: int) -> None:
        won[thread] = sum(map(f.add_unique, range(KEYS)))

    in_threads(work)
    assert sum(won) == KEYS


FORK = """
import os, threading, warnings
warnings.simplefilter("ignore")
import guira_filter as g
f = g.Filter(200_000)
stop = threading.Event()
def hammer(n):
    i = 0
    while not stop.is_set():
        f.add_unique((n, i % 20_000)); i += 1
threads = [threading.Thread(target=hammer, args=(n,)) for n in range(3)]
[t.start() for t in threads]
codes = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        own = g.Filter(2000, 1e-8)
        ok = own.add_unique_many(range(1000)) == [True] * 1000
        ok = ok and f.add_unique("child") and "child" in f
        os._exit(0 if ok else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
[t.join() for t in threads]
print(codes == [0] * 20)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_uses_its_copy() -> None:
    run = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, "True"), run.stderr


FORK_DURING_BEGINNINGS = """
import os, signal, threading, time, warnings
warnings.simplefilter("ignore")
import guira_filter as g
f = g.ExpiringFilter(0.006, 2_000_000, epochs=6)
stop = threading.Event()
def begin():
    while not stop.is_set():
        f.tick()
thread = threading.Thread(target=begin)
thread.start()
codes = []
for _ in range(30):
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        f.add("child")
        f.contains_many(["child"])
        f.copy()
        os._exit(0)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if codes[-1]:
        break
stop.set()
thread.join()
print(codes == [0] * 30)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_that_is_forked_while_epochs_begin() -> None:
    """The thread that begins them does not exist in the child, which must not wait for it."""
    run = subprocess.run(
        [sys.executable, "-c", FORK_DURING_BEGINNINGS], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, "True"), run.stderr


def test_the_gil_stays_off() -> None:
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("an interpreter with the GIL")
    assert not sys._is_gil_enabled()  # noqa: SLF001
