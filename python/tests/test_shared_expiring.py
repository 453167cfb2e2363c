"""Expiring filters that several processes share, and readers of them."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from guira_filter import (
    BusyError,
    ExpiringFilter,
    FullError,
    SharedExpiringFilter,
    SharedExpiringReader,
    SharedFileError,
    SharedFilter,
    SharedReader,
)
from processes import output, start

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3600
PROCESSES = 4
KEYS = 5000


def tick(f: SharedExpiringFilter, epochs: int = 1) -> None:
    """Begin epochs when they are due."""
    for _ in range(epochs):
        while not f.tick():
            time.sleep(f.epoch_length / 20)


RACE = """
f = g.SharedExpiringFilter.open(a[0])
keys, many = range(int(a[1])), a[2] == "many"
input()
print(sum(f.add_unique_many(keys) if many else map(f.add_unique, keys)))
"""


@pytest.mark.parametrize("how", ["many", "single"])
def test_each_key_has_one_winner_in_all_processes(path: Path, how: str) -> None:
    f = SharedExpiringFilter.create(path, HOUR, KEYS, 1e-7, seed=7)
    racers = [start(RACE, path, KEYS, how) for _ in range(PROCESSES)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    won = sum(int(output(racer)) for racer in racers)
    # Some look like others, at the false-positive rate.
    assert KEYS - 5 <= won == len(f) <= KEYS
    assert all(f.contains_many(range(KEYS)))


def test_an_item_is_there_for_its_ttl_in_all_processes_and_then_gone(path: Path) -> None:
    f = SharedExpiringFilter.create(path, 0.2, 1000, 1e-6, epochs=2)
    other, reader = SharedExpiringFilter.open(path), SharedExpiringReader.open(path)
    f.update(range(100))
    since = time.monotonic()
    while all(reader.contains_many(range(100))):
        other.tick()
        time.sleep(0.005)
    assert time.monotonic() - since >= 0.2
    # A late tick expires items at once, and a later epoch sweeps them.
    while len(f) > 0:
        other.tick()
        time.sleep(0.005)
    for gone in (f, other, reader):
        assert not any(gone.contains_many(range(100)))
        assert len(gone) == 0
        assert gone.epoch >= 2
    assert f.stats().items == 0


def test_nothing_expires_unless_a_process_ticks(path: Path) -> None:
    f = SharedExpiringFilter.create(path, timedelta(milliseconds=40), epochs=2)
    f.add("ani")
    reader = SharedExpiringReader.open(path)
    del f
    # No writer lives.
    time.sleep(0.2)
    assert "ani" in reader
    assert reader.epoch == 0
    assert reader.epoch_age is not None
    assert reader.epoch_age >= 0.2 > reader.ttl > reader.epoch_length
    # The item may have come just now: its TTL begins when the late epoch ends.
    f = SharedExpiringFilter.open(path)
    tick(f)
    assert "ani" in reader
    assert reader.epoch == f.epoch == 1
    while "ani" in reader:
        f.tick()
    assert 1 < f.epoch <= 3
    assert "ani" not in f


def test_a_thread_lets_time_pass(path: Path) -> None:
    f = SharedExpiringFilter.create(path, 0.05, epochs=2)
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(f.epoch_length / 4):
            f.tick()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        for number in range(20):
            f.add(number)
            assert number in f
            time.sleep(0.01)
        deadline = time.monotonic() + 60
        while len(f) > 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        stop.set()
        thread.join()


def test_the_same_answers_as_an_expiring_filter(path: Path) -> None:
    shared = SharedExpiringFilter.create(path, HOUR, 3000, 1e-6, seed=3)
    own = ExpiringFilter(HOUR, 3000, 1e-6, seed=3)
    batches: list[Any] = [
        ["ani", b"ani", 5, -5, 2**100, ("a", 1)] * 2,
        np.arange(-500, 500),
        np.array([b"a", b"bc"]),
        [f"{i}" for i in range(600)],
    ]
    methods = ("contains_many", "add_unique_many", "refresh_many", "add_or_refresh_many")
    for batch in batches:
        shared.update(batch)
        own.update(batch)
        for method in (*methods, "discard_many"):
            answers = getattr(shared, method)(batch)
            assert type(answers) is type(own.contains_many(batch))
            assert list(answers) == list(getattr(own, method)(batch))
        assert len(shared) == len(own)
    assert ExpiringFilter.from_bytes(shared.to_bytes()).digest() == own.digest()
    for name in ("ttl", "epochs", "epoch_length", "capacity", "max_capacity", "seed", "items"):
        assert getattr(shared, name) == getattr(own, name)
    hashes = np.array([own.hash_of(i) for i in range(1000, 1300)], np.uint64)
    shared.update_hashes(hashes)
    assert shared.contains_hashes(hashes).all()
    assert shared.discard_hashes(hashes).sum() == 300
    assert shared.add_unique_hashes(hashes).sum() == 300
    assert (shared.add_or_refresh("b"), shared.add_or_refresh("b")) == (True, False)
    assert (shared.refresh("b"), shared.refresh("c")) == (True, False)
    shared.remove("b")
    with pytest.raises(KeyError):
        shared.remove("b")
    with pytest.raises(TypeError, match="not float"):
        shared.add_or_refresh(1.5)  # type: ignore[arg-type]
    shared.save(path.with_name("snapshot"))
    assert len(ExpiringFilter.load(path.with_name("snapshot"))) == len(shared)
    shared.clear()
    assert len(shared) == 0


# Adds, refreshes and lets time pass until it is killed. Says which items are in.
WORKER = """
f = g.SharedExpiringFilter.open(a[0])
for i in range(int(a[1]), int(a[1]) + 10**9):
    f.add(i)
    print(i, flush=True)
    f.refresh_many(range(i - 20, i))
    f.tick()
"""


def test_what_killed_workers_have_added_is_there_for_its_ttl(path: Path) -> None:
    f = SharedExpiringFilter.create(path, HOUR, 10_000, 1e-6, seed=7)
    reader = SharedExpiringReader.open(path)
    numbers = random.Random(1)
    acknowledged: list[int] = []
    deaths = 6
    for death in range(deaths):
        worker = start(WORKER, path, death * 10**9)
        assert worker.stdout is not None
        acknowledged += [int(worker.stdout.readline()) for _ in range(numbers.randrange(1, 150))]
        worker.kill()
        rest = worker.stdout.read()
        worker.communicate()
        # A line that was not written completely is no acknowledgement.
        acknowledged += map(int, rest.split("\n")[:-1])
        f.repair()
        assert all(f.contains_many(acknowledged))
        assert all(reader.contains_many(acknowledged))
    assert f.participants().in_use == 1
    assert f.repair() == 0
    late = SharedExpiringFilter.open(path)
    assert late.was_closed_cleanly == (f.participants().deaths == 0)
    del f, late
    # At most, each worker was killed between two adds and before it could name them.
    assert SharedExpiringFilter.recount(path) - len(acknowledged) <= 2 * deaths
    assert SharedExpiringFilter.open(path).was_closed_cleanly


def add_and_tick(f: SharedExpiringFilter, reader: SharedExpiringReader, first: int) -> int:
    """Run in another process."""
    f.attach()
    won = sum(f.add_unique_many(range(first, first + 1000)))
    assert all(reader.contains_many(range(first, first + 1000)))
    f.tick()
    return won


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_multiprocessing_gets_filters_and_readers_by_their_pickles(path: Path, method: str) -> None:
    f = SharedExpiringFilter.create(path, HOUR, KEYS, 1e-7, seed=7)
    reader = SharedExpiringReader.open(path)
    with multiprocessing.get_context(method).Pool(2) as pool:
        firsts = [0, 500, 1000, 1500]
        won = pool.starmap(add_and_tick, [(f, reader, first) for first in firsts])
    assert sum(won) == len(f) == 2500


def test_a_child_uses_the_filter_of_its_parent(path: Path) -> None:
    script = """
f = g.SharedExpiringFilter.create(a[0], 3600, 1000)
f.add_unique("parent")
for number in range(4):
    child = os.fork()
    if child == 0:
        ok = "parent" in f and f.add_or_refresh(number) and not f.tick()
        ok = ok and f.participants().in_use == 2
        os.kill(os.getpid(), signal.SIGKILL if number % 2 else signal.SIGCONT)
        del f
        os._exit(0 if ok else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == (-signal.SIGKILL if number % 2 else 0), (number, code)
    assert f.repair() == number % 2
    assert number in f and f.participants().in_use == 1
print(len(f), f.participants().deaths)
"""
    assert output(start(script, path)) == "5 2"


def test_pickles_and_copies(path: Path) -> None:
    f = SharedExpiringFilter.create(path, 60, items="bytes")
    reader = SharedExpiringReader.open(path, items="bytes")
    for same in (pickle.loads(pickle.dumps(f)), pickle.loads(pickle.dumps(reader))):
        assert (same.items, same.path, same.seed, same.ttl) == ("bytes", f.path, f.seed, 60)
    pickle.loads(pickle.dumps(f)).add("ani")
    assert "ani" in f
    assert b"ani" in reader
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"ExpiringFilter\.from_bytes"):
            copied(f)
    path.rename(path.with_name("moved"))
    with pytest.raises(FileNotFoundError) as raised:
        pickle.loads(pickle.dumps(f))
    assert raised.value.filename == str(path)
    unnamed = SharedExpiringFilter.create_memfd(60)
    for other in (unnamed, SharedExpiringReader.from_memfd(unnamed.fileno())):
        with pytest.raises(TypeError, match="fileno"):
            pickle.dumps(other)


CREATE = """
input()
f = g.SharedExpiringFilter.open_or_create(a[0], 60, 5000, 1e-6)
print(f.add_unique("one"), f.seed)
"""


def test_opening_or_creating(path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        SharedExpiringFilter.open(path)
    assert raised.value.filename == str(path)
    racers = [start(CREATE, path) for _ in range(PROCESSES)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    answers = [output(racer).split() for racer in racers]
    assert sorted(won for won, _ in answers) == ["False"] * (PROCESSES - 1) + ["True"]
    assert len({seed for _, seed in answers}) == 1
    f = SharedExpiringFilter.open_or_create(str(path), 3600, 7, seed=6)
    assert (f.ttl, f.capacity) == (60, 5000)
    with pytest.raises(FileExistsError):
        SharedExpiringFilter.create(path, 60)
    shown = f"(path='{path}', ttl=60, capacity=5000, items='any', len=1)"
    assert repr(f) == "SharedExpiringFilter" + shown
    assert repr(SharedExpiringReader.open(path)) == "SharedExpiringReader" + shown
    with pytest.raises(TypeError):
        SharedExpiringFilter(path)  # type: ignore[call-arg]


def test_the_other_kind_is_refused(path: Path) -> None:
    SharedExpiringFilter.create(path, 60)
    for cannot in (SharedFilter.open, SharedFilter.recount, SharedReader.open):
        with pytest.raises(SharedFileError, match="the filter in the file expires"):
            cannot(path)
    path.unlink()
    SharedFilter.create(path)
    for refused in (
        SharedExpiringFilter.open,
        SharedExpiringFilter.recount,
        SharedExpiringReader.open,
        lambda path: SharedExpiringFilter.open_or_create(path, 60),
    ):
        with pytest.raises(SharedFileError, match="does not expire"):
            refused(path)


def test_settings_that_cannot_be_met(path: Path) -> None:
    for arguments, text in [
        ({"ttl": 0}, "TTL"),
        ({"ttl": -1}, "-1"),
        ({"capacity": 0}, "at least 1"),
        ({"epochs": 99}, "99"),
        ({"fingerprint_bits": 99}, "99"),
        ({"max_processes": 256}, "256"),
    ]:
        with pytest.raises(ValueError, match=text):
            SharedExpiringFilter.create(path, **{"ttl": 60, **arguments})
        with pytest.raises(ValueError, match=text):
            SharedExpiringFilter.create_memfd(**{"ttl": 60, **arguments})
    with pytest.raises(TypeError, match="max_capacity"):
        SharedExpiringFilter.create(path, 60, max_capacity=10**6)  # type: ignore[call-arg]
    # Nothing is left of these.
    assert list(path.parent.iterdir()) == []


def test_a_full_filter_says_where_it_stopped(path: Path) -> None:
    f = SharedExpiringFilter.create(path, 60, 100)
    with pytest.raises(FullError) as raised:
        f.add_or_refresh_many(range(10_000))
    done = raised.value.index
    assert len(f) == done >= 100
    assert all(f.contains_many(range(done)))
    with pytest.raises(FullError):
        f.update(range(10_000, 20_000))
    assert f.stats().failed_inserts >= 2


ONE_MORE = """
f = g.SharedExpiringFilter.create(a[0], 60, max_processes=1)
f.add("ani")
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
for call in (f.attach, f.tick, lambda: f.add_unique("b"), lambda: f.add_or_refresh("b"), f.clear,
             lambda: f.add_or_refresh_many(["b", "ani"]), f.to_bytes):
    try:
        call()
        sys.exit("no error")
    except g.BusyError as error:
        assert "1 processes share the filter" in str(error), error
print("ani" in f, "ani" in g.SharedExpiringReader.open(a[0]), flush=True)
os._exit(0)
"""


def test_more_processes_than_seats(path: Path) -> None:
    assert output(start(ONE_MORE, path)) == "True True"
    f = SharedExpiringFilter.open(path)
    assert "ani" in f
    with pytest.raises(BusyError, match="process"):
        SharedExpiringFilter.recount(path)


READER = """
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
f = g.SharedExpiringReader.open(a[0])
try:
    g.SharedExpiringFilter.open(a[0])
    sys.exit("no error")
except PermissionError:
    pass
print(len(f), f.contains_many(range(2000)) == [True] * 1000 + [False] * 1000)
input()
print(len(f), f.epoch, any(f.contains_many(range(2000))))
"""


def test_a_reader_needs_no_permission_to_write_and_no_seat(path: Path) -> None:
    f = SharedExpiringFilter.create(path, 0.04, 2000, 1e-7, epochs=2, seed=7, max_processes=1)
    f.update(range(1000))
    path.chmod(0o444)
    reader = start(READER, path)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "1000 True\n"
    tick(f, 3)
    out, errors = reader.communicate("\n", timeout=300)
    assert (reader.returncode, out) == (0, "0 3 False\n"), errors
    assert f.participants().in_use == 1


def test_a_reader_gives_the_answers_of_its_filter(path: Path) -> None:
    f = SharedExpiringFilter.create(path, HOUR, 6000, items="bytes")
    reader = SharedExpiringReader.open(path, items="bytes")
    f.update(f"{i}" for i in range(5000))
    f.add("1")
    keys = [f"{i}" for i in range(0, 10_000, 7)]
    assert reader.contains_many(keys) == f.contains_many(keys)
    hashes = np.array([f.hash_of(key) for key in keys], np.uint64)
    assert (reader.contains_hashes(hashes) == f.contains_hashes(hashes)).all()
    assert "1" in reader
    assert reader.count("1") == f.count("1") >= 2
    names = ("capacity", "max_capacity", "load_factor", "nbytes", "seed", "items", "path")
    for name in (*names, "ttl", "epochs", "epoch_length", "epoch"):
        assert getattr(reader, name) == getattr(f, name)
    assert len(reader) == len(f) == reader.stats().items
    assert sys.getsizeof(reader) >= reader.nbytes
    for name in ("add", "update", "refresh", "tick", "clear", "to_bytes", "save"):
        assert not hasattr(reader, name)


RECEIVER = """
f = g.SharedExpiringFilter.from_memfd(int(a[0]))
os.close(int(a[0]))
print(f.add_unique("ani"), f.add_unique("koel"), len(g.SharedExpiringReader.from_memfd(f.fileno())))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_filter_without_a_file_goes_by_its_descriptor() -> None:
    f = SharedExpiringFilter.create_memfd(HOUR, 1000, 1e-6, seed=7, max_processes=2)
    assert (f.path, f.participants().max) == (None, 2)
    f.add("ani")
    fd = os.dup(f.fileno())
    script = f"import sys, os, signal, guira_filter as g; a = ['{fd}']{RECEIVER}"
    process = subprocess.run(
        [sys.executable, "-u", "-c", script],
        pass_fds=[fd],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout == "False True 2\n", process.stderr
    assert process.returncode == -signal.SIGKILL
    assert f.contains_many(["ani", "koel"]) == [True, True]
    assert f.repair() == 1
    assert not SharedExpiringFilter.from_memfd(fd).was_closed_cleanly
    os.close(fd)
    for cannot in (SharedExpiringFilter.from_memfd, SharedExpiringReader.from_memfd):
        with pytest.raises(FileNotFoundError):
            cannot(fd)


def test_files_of_garbage_give_answers_or_errors(path: Path) -> None:
    SharedExpiringFilter.create(path, HOUR, 1000, seed=1).update(range(500))
    good, numbers = path.read_bytes(), random.Random(2)
    file = path.with_name("garbage")
    size = len(good)
    calls: list[Any] = [
        lambda f: f.update(range(500)),
        lambda f: f.add_or_refresh_many(range(500, 1500)),
        lambda f: f.refresh_many(range(2000)),
        lambda f: f.discard_many(range(2000)),
        lambda f: (f.tick(), f.repair(), f.stats(), f.epoch_age),
        lambda f: f.to_bytes(),
        lambda f: f.clear(),
    ]
    for first, end in [(112, 4096), (4096, size // 2), (size // 2, size), (112, size)]:
        for fill in (numbers.randbytes, lambda size: b"\xff" * size):
            file.write_bytes(good[:first] + fill(end - first) + good[end:])
            try:
                reader = SharedExpiringReader.open(file)
                reader.contains_many(range(2000))
                assert reader.epoch_age is None or reader.epoch_age >= 0
                f = SharedExpiringFilter.open(file)
            except SharedFileError:
                continue
            for call in calls:
                try:
                    call(f)
                except (FullError, MemoryError, OSError, OverflowError):
                    continue
