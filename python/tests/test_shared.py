"""Filters that several processes share."""

from __future__ import annotations

import copy
import http.client
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import guira_filter
import numpy as np
import pytest
from guira_filter import (
    BusyError,
    Filter,
    FullError,
    SharedFileError,
    SharedFilter,
    SharedReader,
)
from processes import output, start

ROOT = Path(__file__).parents[1]
PROCESSES = 4
KEYS = 20_000


# What each process does after it has read a line, so that all do it at once.
RACE = """
f = g.SharedFilter.open(a[0])
keys, many = range(int(a[1])), a[2] == "many"
input()
print(sum(f.add_unique_many(keys) if many else map(f.add_unique, keys)))
"""


@pytest.mark.parametrize("how", ["many", "single"])
def test_each_key_has_one_winner_in_all_processes(path: Path, how: str) -> None:
    # With this seed no two of the keys collide.
    f = SharedFilter.create(path, KEYS, 1e-8, seed=7)
    racers = [start(RACE, path, KEYS, how) for _ in range(PROCESSES)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    won = [int(output(racer)) for racer in racers]
    assert sum(won) == KEYS == len(f)
    assert all(f.contains_many(range(KEYS)))


# Says each item once it is in the filter. Some are taken out again, and then not named.
WORKER = """
f = g.SharedFilter.open(a[0])
for i in range(int(a[1]), int(a[2])):
    f.add(i)
    print(i, flush=True)
    f.add(-1 - i)
    assert f.discard(-1 - i)
"""


@pytest.mark.parametrize("first", [150 * 12, 100])
def test_what_killed_workers_have_acknowledged_stays(path: Path, first: int) -> None:
    each, deaths = 150, 12
    f = SharedFilter.create(path, first, 1e-6, max_capacity=each * deaths)
    f.attach()
    numbers = random.Random(1)
    acknowledged: list[int] = []
    for death in range(deaths):
        # The last workers find the filter almost full, where items move to make room.
        worker = start(WORKER, path, death * each, (death + 1) * each)
        assert worker.stdout is not None
        acknowledged += [int(worker.stdout.readline()) for _ in range(numbers.randrange(1, each))]
        worker.kill()
        rest = worker.stdout.read()
        worker.communicate()
        # A line that was not written completely is no acknowledgement.
        acknowledged += map(int, rest.split("\n")[:-1])
        f.repair()
        assert all(f.contains_many(acknowledged))
    assert f.participants().in_use == 1
    assert f.repair() == 0
    assert f.max_capacity == each * deaths
    del f
    # At most, each worker was killed between two adds and before it could name them.
    assert 0 <= SharedFilter.recount(path) - len(acknowledged) <= 2 * deaths
    f = SharedFilter.open(path)
    assert all(f.contains_many(acknowledged))
    # How many items the workers have added is a matter of luck.
    f.add_unique_many(range(each * deaths))
    assert (f.stats().doublings > 0) == (first < each * deaths)
    assert all(f.discard_many(acknowledged))


def test_a_child_uses_the_filter_of_its_parent(path: Path) -> None:
    script = """
f = g.SharedFilter.create(a[0], 1000)
f.add_unique("parent")
for number in range(5):
    child = os.fork()
    if child == 0:
        ok = "parent" in f and f.add_unique(number) and f.participants().in_use == 2
        os.kill(os.getpid(), signal.SIGKILL if number % 2 else signal.SIGCONT)
        del f
        os._exit(0 if ok else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == (-signal.SIGKILL if number % 2 else 0), (number, code)
    assert f.repair() == number % 2
    assert number in f and f.participants().in_use == 1
assert f.add_unique("more")
print(len(f), f.participants().deaths)
"""
    assert output(start(script, path)) == "7 2"


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_multiprocessing(method: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", ROOT / "examples" / "shared_workers.py", f"--{method}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "once each" in run.stdout


def test_pickles_and_copies(path: Path) -> None:
    f = SharedFilter.create(path, items="bytes")
    same = pickle.loads(pickle.dumps(f))
    same.add("ani")
    assert "ani" in f
    assert (same.items, same.path, same.seed) == ("bytes", f.path, f.seed)
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="open"):
            copied(f)
    path.rename(path.with_name("moved"))
    with pytest.raises(FileNotFoundError) as raised:
        pickle.loads(pickle.dumps(f))
    assert raised.value.filename == str(path)


def test_opening_or_creating(path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        SharedFilter.open(path)
    assert raised.value.filename == str(path)
    f = SharedFilter.open_or_create(str(path), 1000, seed=5)
    f.add("ani")
    other = SharedFilter.open_or_create(path, 7, seed=6)
    assert "ani" in other
    assert (other.capacity, other.seed) == (1000, 5)
    with pytest.raises(FileExistsError) as exists:
        SharedFilter.create(path)
    assert exists.value.filename == str(path)
    assert repr(f) == f"SharedFilter(path='{path}', capacity=1000, items='any', len=1)"
    with pytest.raises(TypeError):
        SharedFilter(path)
    with pytest.raises(FileNotFoundError):
        SharedFilter.create(path.with_name("missing") / "filter")
    with pytest.raises(IsADirectoryError):
        SharedFilter.open(path.parent)


CREATE = """
input()
f = g.SharedFilter.open_or_create(a[0], 5000, 1e-8)
print(f.add_unique("one"), f.seed)
"""


def test_processes_race_to_create_the_file(path: Path) -> None:
    racers = [start(CREATE, path) for _ in range(PROCESSES)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    answers = [output(racer).split() for racer in racers]
    assert sorted(won for won, _ in answers) == ["False"] * (PROCESSES - 1) + ["True"]
    assert len({seed for _, seed in answers}) == 1


def test_the_same_answers_as_a_filter(path: Path) -> None:
    shared = SharedFilter.create(path, 3000, 1e-5, seed=3)
    own = Filter(3000, 1e-5, seed=3)
    batches: list[Any] = [
        ["ani", b"ani", 5, -5, 2**100, ("a", 1)] * 2,
        np.arange(-500, 500),
        np.array([b"a", b"bc"]),
        [f"{i}" for i in range(600)],
    ]
    for batch in batches:
        assert [shared.hash_of(item) for item in ["ani", 5]] == [
            own.hash_of(item) for item in ["ani", 5]
        ]
        shared.update(batch)
        own.update(batch)
        for method in ("contains_many", "add_unique_many", "discard_many"):
            answers = getattr(shared, method)(batch)
            assert type(answers) is type(getattr(own, "contains_many")(batch))  # noqa: B009
            assert list(answers) == list(getattr(own, method)(batch))
        assert len(shared) == len(own)
    assert shared.count("1") == own.count("1") == 0
    assert Filter.from_bytes(shared.to_bytes()).digest() == own.digest()
    hashes = np.array([own.hash_of(i) for i in range(300)], np.uint64)
    shared.update_hashes(hashes)
    assert shared.contains_hashes(hashes).all()
    assert shared.discard_hashes(hashes).sum() == 300
    assert shared.add_unique_hashes(hashes).sum() == 300
    assert 5 in shared
    shared.remove(5)
    with pytest.raises(KeyError):
        shared.remove(5)
    with pytest.raises(TypeError, match="not float"):
        shared.add(1.5)
    shared.clear()
    assert len(shared) == 0


def test_a_full_filter_says_where_it_stopped(path: Path) -> None:
    f = SharedFilter.create(path, 100)
    with pytest.raises(FullError) as raised:
        f.update(range(1000))
    done = raised.value.index
    assert len(f) == done >= 100
    assert all(f.contains_many(range(done)))
    with pytest.raises(FullError, match=f"item {raised.value.index} of the batch|full"):
        f.update(range(done, 1000))
    with pytest.raises(FullError) as raised:
        f.add_unique_many(range(1000))
    assert raised.value.index >= done
    stats = f.stats()
    assert stats.failed_inserts >= 3
    assert f.load_factor > 0.9
    assert sys.getsizeof(f) >= f.nbytes > 100


ONE_MORE = """
f = g.SharedFilter.create(a[0], max_processes=1)
f.add("ani")
f.attach()
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
for call in (f.attach, lambda: f.add_unique("b"), lambda: f.add_unique_many(["b", "ani"]),
             f.clear, f.to_bytes, lambda: g.SharedFilter.open(a[0]).attach()):
    try:
        call()
        sys.exit("no error")
    except g.BusyError as error:
        assert "1 processes share the filter" in str(error), error
        assert error.index == 0, error.index
f.add("c")
print("ani" in f, f.discard("ani"), f.add_unique_many([]), flush=True)
os._exit(0)
"""


def test_more_processes_than_seats(path: Path) -> None:
    assert output(start(ONE_MORE, path)) == "True True []"
    f = SharedFilter.open(path)
    assert "c" in f
    f.attach()
    with pytest.raises(BusyError, match="process"):
        SharedFilter.recount(path)
    for count in (0, 256, 2**70):
        with pytest.raises(ValueError, match=str(count)):
            SharedFilter.create(path.with_name("other"), max_processes=count)


def test_settings_that_cannot_be_met(path: Path) -> None:
    for arguments, text in [
        ({"capacity": 0}, "at least 1"),
        ({"capacity": -1}, "-1"),
        ({"false_positive_rate": 2.0}, "2"),
        ({"fingerprint_bits": 99}, "99"),
        ({"items": "all"}, "all"),
    ]:
        with pytest.raises(ValueError, match=text):
            SharedFilter.create(path, **arguments)
    with pytest.raises((MemoryError, OSError, ValueError)):
        SharedFilter.create(path, 2**50)
    # Nothing is left of these.
    assert list(path.parent.iterdir()) == []


def test_files_that_are_no_filters(path: Path) -> None:
    f = SharedFilter.create(path, 1000)
    f.update(range(900))
    good = path.read_bytes()
    snapshot = Filter(1000).to_bytes()
    bad = [b"", b"x", bytes(4096), bytes(len(good)), snapshot, snapshot.ljust(8192, b"\0")]
    bad += [good[:-8], good[:4096], good + bytes(8), good + b"x"]
    # The first 14 words are the header and its checksum.
    for at in range(14 * 8):
        damaged = bytearray(good)
        damaged[at] ^= 1 << at % 8
        bad.append(bytes(damaged))
    file = path.with_name("bad")
    for data in bad:
        file.write_bytes(data)
        for call in (SharedFilter.open, SharedFilter.open_or_create, SharedFilter.recount):
            with pytest.raises(SharedFileError, match=str(file)):
                call(file)
    # The file stays as it is.
    assert file.read_bytes() == bad[-1]


CALLS: list[Any] = [
    lambda f: f.update(range(500)),
    lambda f: f.add_unique_many(range(500, 1500)),
    lambda f: f.discard_many(range(2000)),
    lambda f: f.repair(),
    lambda f: f.stats(),
    lambda f: f.to_bytes(),
    lambda f: f.contains_many(range(100)),
    lambda f: f.clear(),
]


def test_files_of_garbage_give_answers_or_errors(path: Path) -> None:
    SharedFilter.create(path, 1000, seed=1).update(range(500))
    good, numbers = path.read_bytes(), random.Random(2)
    file = path.with_name("garbage")
    size = len(good)
    for first, end in [(112, 4096), (4096, size // 2), (size // 2, size), (112, size)]:
        for fill in (numbers.randbytes, lambda size: b"\xff" * size):
            file.write_bytes(good[:first] + fill(end - first) + good[end:])
            try:
                f = SharedFilter.open(file)
            except SharedFileError:
                continue
            for call in CALLS:
                try:
                    call(f)
                except (FullError, MemoryError, OSError, OverflowError):
                    continue


def test_files_without_permission(path: Path) -> None:
    f = SharedFilter.create(path, 100)
    assert path.stat().st_mode & 0o777 == 0o600
    script = """
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for call in (g.SharedFilter.open, g.SharedFilter.open_or_create, g.SharedFilter.recount):
    try:
        call(a[0])
        sys.exit("no error")
    except PermissionError as error:
        assert error.filename == a[0], error
try:
    g.SharedFilter.create(os.path.dirname(a[0]) + "/new")
    sys.exit("no error")
except PermissionError:
    print("refused")
"""
    if os.getuid() != 0:
        path.chmod(0)
        path.parent.chmod(0o555)
    try:
        assert output(start(script, path)) == "refused"
    finally:
        path.parent.chmod(0o755)
    f.add("ani")
    assert "ani" in f


READER = """
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
f = g.SharedReader.open(a[0])
try:
    g.SharedFilter.open(a[0])
    sys.exit("no error")
except PermissionError:
    pass
print(len(f), f.contains_many(range(2000)) == [True] * 1000 + [False] * 1000)
input()
print(len(f), all(f.contains_many(range(2000))))
"""


def test_a_reader_needs_no_permission_to_write_and_no_seat(path: Path) -> None:
    f = SharedFilter.create(path, 2000, 1e-8, seed=7, max_processes=1)
    f.update(range(1000))
    path.chmod(0o444)
    reader = start(READER, path)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "1000 True\n"
    f.update(range(1000, 2000))
    out, errors = reader.communicate("\n", timeout=300)
    assert (reader.returncode, out) == (0, "2000 True\n"), errors
    assert f.participants().in_use == 1
    path.chmod(0o644)


def test_a_reader_gives_the_answers_of_its_filter(path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        SharedReader.open(path)
    assert raised.value.filename == str(path)
    f = SharedFilter.create(path, 100, max_capacity=10_000, items="bytes")
    reader = SharedReader.open(path, items="bytes")
    f.update(f"{i}" for i in range(5000))
    f.add("1")
    keys = [f"{i}" for i in range(0, 10_000, 7)]
    assert reader.contains_many(keys) == f.contains_many(keys)
    hashes = np.array([f.hash_of(key) for key in keys], np.uint64)
    assert (reader.contains_hashes(hashes) == f.contains_hashes(hashes)).all()
    assert reader.hash_of("1") == f.hash_of("1")
    assert "1" in reader
    assert reader.count("1") == f.count("1") >= 2
    for name in ("capacity", "max_capacity", "load_factor", "nbytes", "seed", "items", "path"):
        assert getattr(reader, name) == getattr(f, name)
    assert len(reader) == len(f) == reader.stats().items
    assert repr(reader) == repr(f).replace("SharedFilter", "SharedReader")
    assert reader.participants().in_use == 1
    assert f.discard_many(["1", "1"]) == [True, True]
    same = pickle.loads(pickle.dumps(reader))
    assert (same.items, same.count("1")) == ("bytes", f.count("1"))
    for name in ("add", "update", "discard", "clear", "to_bytes", "save"):
        assert not hasattr(reader, name)
    path.write_bytes(b"no filter")
    with pytest.raises(SharedFileError):
        SharedReader.open(path)


RECEIVER = """
f = g.SharedFilter.from_memfd(int(a[0]))
os.close(int(a[0]))
print(f.add_unique("ani"), f.add_unique("koel"), len(g.SharedReader.from_memfd(f.fileno())))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_filter_without_a_file_goes_by_its_descriptor() -> None:
    f = SharedFilter.create_memfd(1000, 1e-6, max_capacity=10_000, seed=7, max_processes=2)
    assert (f.path, f.max_capacity, f.participants().max) == (None, 10_000, 2)
    assert repr(f) == f"SharedFilter(path=None, capacity={f.capacity}, items='any', len=0)"
    f.add("ani")
    fd = os.dup(f.fileno())
    process = subprocess.run(
        [
            sys.executable,
            "-u",
            "-c",
            f"import sys, os, signal, guira_filter as g; a = ['{fd}']{RECEIVER}",
        ],
        pass_fds=[fd],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout == "False True 2\n", process.stderr
    assert process.returncode == -signal.SIGKILL
    assert f.contains_many(["ani", "koel"]) == [True, True]
    assert f.was_closed_cleanly
    assert f.repair() == 1
    assert not SharedFilter.from_memfd(fd).was_closed_cleanly
    os.close(fd)
    for cannot in (SharedFilter.from_memfd, SharedReader.from_memfd):
        with pytest.raises(FileNotFoundError):
            cannot(fd)
        with pytest.raises(ValueError, match=r"-1 is not in the range 0 to 2\*\*32 - 1"):
            cannot(-1)
    for unnamed in (f, SharedReader.from_memfd(f.fileno())):
        with pytest.raises(TypeError, match="fileno"):
            pickle.dumps(unnamed)


def test_memory_that_can_be_truncated_is_refused(path: Path) -> None:
    f = SharedFilter.create(path)
    with pytest.raises(OSError, match="path"):
        f.fileno()
    with path.open("rb+") as file:
        for cannot in (SharedFilter.from_memfd, SharedReader.from_memfd):
            with pytest.raises(SharedFileError):
                cannot(file.fileno())


def test_a_death_is_known_until_the_next_recount(path: Path) -> None:
    assert SharedFilter.create(path).was_closed_cleanly
    killed = start("f = g.SharedFilter.open(a[0])\nos.kill(os.getpid(), signal.SIGKILL)", path)
    killed.communicate()
    for _ in range(2):
        f = SharedFilter.open(path)
        assert not f.was_closed_cleanly
        f.repair()
        del f
    assert SharedFilter.recount(path) == 0
    assert SharedFilter.open(path).was_closed_cleanly


def test_other_systems_say_what_is_missing() -> None:
    get: Any = guira_filter.__getattr__
    with pytest.raises(AttributeError, match=r"SharedFilter.*Linux on a 64-bit"):
        get("SharedFilter")
    with pytest.raises(AttributeError, match=r"SharedExpiringReader.*Linux on a 64-bit"):
        get("SharedExpiringReader")
    with pytest.raises(AttributeError, match=r"no attribute 'Bloom'$"):
        get("Bloom")


class Connection(http.client.HTTPConnection):
    """HTTP through a Unix socket."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.host)


def request(server: Path, method: str, order: str) -> tuple[int, int]:
    """Return the status of the answer, and the process that gave it."""
    connection = Connection(str(server), timeout=60)
    try:
        connection.request(method, f"/orders/{order}")
        answer = connection.getresponse()
        return answer.status, int(answer.headers["X-Worker"])
    finally:
        connection.close()


def test_gunicorn(path: Path) -> None:
    """Each order is accepted once, and stays accepted, while workers are killed."""
    pytest.importorskip("gunicorn")
    server = path.with_name("socket")
    master = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "--config", "gunicorn_conf.py", "app:app"],
        cwd=ROOT / "examples" / "prefork",
        env={**os.environ, "ORDERS_FILE": str(path), "ORDERS_BIND": f"unix:{server}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )

    def post(order: str) -> tuple[int, int] | None:
        try:
            return request(server, "POST", order)
        except (OSError, http.client.HTTPException):
            # The worker was killed: the order may be accepted or not.
            return None

    def wait_for(condition: Any) -> Any:
        for _ in range(3000):
            assert master.poll() is None, master.communicate()
            if found := condition():
                return found
            time.sleep(0.02)
        pytest.fail("it takes more than a minute")

    try:
        wait_for(lambda: post("first"))
        f = SharedFilter.open(path)
        for death in range(3):
            orders = [f"{death} {number}".replace(" ", "-") for number in range(100)]
            with ThreadPoolExecutor(PROCESSES) as pool:
                answers = list(pool.map(post, orders * PROCESSES))
            statuses = [answer[0] for answer in answers if answer]
            assert statuses.count(201) == len(orders)
            assert statuses.count(409) == (PROCESSES - 1) * len(orders)
            victim = next(worker for _, worker in filter(None, answers))
            os.kill(victim, signal.SIGKILL)
            # Its parent repairs the filter, and starts another worker.
            wait_for(lambda death=death: f.participants().deaths == death + 1)
            assert all(request_again(server, order) == 200 for order in orders)
    finally:
        master.terminate()
        _, errors = master.communicate(timeout=60)
    assert "Traceback" not in errors, errors


def request_again(server: Path, order: str) -> int:
    """Ask until a worker answers that is not killed meanwhile."""
    while True:
        try:
            return request(server, "GET", order)[0]
        except (OSError, http.client.HTTPException):
            continue
