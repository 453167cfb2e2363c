"""Bytes, files, pickles and dumps; and bytes that are something else."""

from __future__ import annotations

import copy
import os
import pickle
import random
import stat
import subprocess
import sys
import time
import weakref
import zlib
from functools import partial
from operator import iand, ior, isub
from typing import TYPE_CHECKING, Any

import guira_filter
import numpy as np
import pytest
from guira_filter import ExpiringFilter, Filter, FullError, SnapshotError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAKERS: dict[str, Callable[[], Filter | ExpiringFilter]] = {
    "fixed": lambda: Filter(1000),
    "space": lambda: Filter(1000, prefer="space"),
    "growing": lambda: Filter(100, max_capacity=10_000),
    "counters": lambda: Filter(1000, counter_bits=4),
    "growing counters": lambda: Filter(100, max_capacity=10_000, counter_bits=8),
    "bytes": lambda: Filter(1000, items="bytes"),
    "expiring": lambda: ExpiringFilter(60, 1000, items="bytes", clock="manual"),
    "expiring counters": lambda: ExpiringFilter(60, 1000, counter_bits=4, clock="manual"),
    "growing expiring counters": lambda: ExpiringFilter(
        60, 100, max_capacity=10_000, counter_bits=8, clock="manual"
    ),
    "growing expiring": lambda: ExpiringFilter(60, 100, max_capacity=10_000, clock="manual"),
}

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": lambda f: f.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda f, protocol=protocol: pickle.loads(pickle.dumps(f, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}


def filled(kind: str) -> Any:
    f: Any = MAKERS[kind]()
    f.update([f"{i}" for i in range(900)])
    return f


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("kind", MAKERS)
def test_copies_are_equal_and_apart(kind: str, how: str) -> None:
    f = filled(kind)
    other = COPIES[how](f)
    assert type(other) is type(f)
    assert other.digest() == f.digest()
    assert (other.items, other.seed, len(other)) == (f.items, f.seed, len(f))
    assert getattr(other, "clock", None) == getattr(f, "clock", None)
    other.add("more")
    assert len(other) == len(f) + 1
    assert other.digest() != f.digest()


@pytest.mark.parametrize(
    "wrap", [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, "u1")]
)
@pytest.mark.parametrize("kind", MAKERS)
def test_bytes_are_read(kind: str, wrap: Callable[[bytes], Any]) -> None:
    f = filled(kind)
    again = type(f).from_bytes(wrap(f.to_bytes()))
    assert again.digest() == f.digest()


def time_of_day(milliseconds: int) -> bytes:
    """What follows the snapshot in the file of an expiring filter."""
    number = milliseconds.to_bytes(8, "little")
    return number + zlib.crc32(number).to_bytes(4, "little")


@pytest.mark.parametrize("kind", MAKERS)
def test_files(kind: str, tmp_path: Path) -> None:
    f, path = filled(kind), tmp_path / "filter"
    f.save(path)
    assert [path.name for path in tmp_path.iterdir()] == ["filter"]
    data, snapshot = path.read_bytes(), f.to_bytes()
    after = data.removeprefix(snapshot)
    expires = isinstance(f, ExpiringFilter)
    assert after == (time_of_day(int.from_bytes(after[:8], "little")) if expires else b"")
    assert type(f).load(str(path)).digest() == f.digest()
    for call in (f.save, type(f).load):
        with pytest.raises(FileNotFoundError) as caught:
            call(tmp_path / "none" / "filter")
        assert caught.value.filename == str(tmp_path / "none" / "filter")
    with pytest.raises(IsADirectoryError):
        type(f).load(tmp_path)
    with pytest.raises(SnapshotError, match="bytes"):
        type(f).load(path, max_bytes=8)
    path.write_bytes(data + b".")
    with pytest.raises(SnapshotError, match="1 bytes follow"):
        type(f).load(path)


def test_the_time_since_a_save_counts(tmp_path: Path) -> None:
    path, ttl = tmp_path / "filter", 1_000_000
    f = ExpiringFilter(ttl)
    f.add("ani")
    snapshot, now = f.to_bytes(), time.time_ns() // 1_000_000
    for ago, is_there in ((0, True), (ttl // 2, True), (2 * ttl, False), (-ttl, True)):
        path.write_bytes(snapshot + time_of_day(now - 1000 * ago))
        assert ("ani" in ExpiringFilter.load(path)) == is_there, ago
        if sys.platform == "linux":
            assert ("ani" in guira_filter.SharedExpiringFilter.load(path)) == is_there, ago


@pytest.mark.skipif(os.name != "posix", reason="permissions of files")
@pytest.mark.parametrize("old", [None, 0o640, 0o666])
def test_only_the_owner_can_read_a_file(old: int | None, tmp_path: Path) -> None:
    f, path = filled("fixed"), tmp_path / "filter"
    if old is not None:
        path.write_bytes(b"old")
        path.chmod(old)
    f.save(path)
    assert path.read_bytes() == f.to_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "filter"
    path.mkdir()
    with pytest.raises(OSError, match="filter"):
        Filter(10).save(path)
    assert [path.name for path in tmp_path.iterdir()] == ["filter"]


def dump(f: Any, magic: bytes, piece: int) -> list[bytes]:
    """What a server returns for a filter."""
    header = magic + bytes(29)
    snapshot = f.to_bytes()
    body = len(snapshot).to_bytes(8, "little") + snapshot
    pieces = [body[at : at + piece] for at in range(0, len(body), piece)]
    return [header + zlib.crc32(header).to_bytes(4, "little"), *pieces]


@pytest.mark.parametrize("piece", [1, 7, 8, 100, 1 << 20])
def test_dumps_of_a_server(piece: int) -> None:
    f = Filter(100, items="bytes")
    f.add("hello")
    pieces = dump(f, b"guiracf\x01", piece)
    again = Filter.from_dump(pieces)
    assert b"hello" in again
    assert "hello" in Filter.from_dump(iter(pieces), max_bytes=10_000)
    assert again.items == "bytes"
    window = ExpiringFilter(60, 100, items="bytes")
    window.add("hello")
    pieces = dump(window, b"guiracw\x01", piece)
    assert b"hello" in ExpiringFilter.from_dump(pieces, age=59)
    assert b"hello" not in ExpiringFilter.from_dump(pieces, age=120)


def test_wrong_dumps_of_a_server() -> None:
    pieces = dump(Filter(100), b"guiracf\x01", 100)
    wrong: list[Any] = [[], pieces[1:], pieces[:1], pieces[:-1], [*pieces, b"."], [b""], [b"x" * 9]]
    for dumped in wrong:
        with pytest.raises(SnapshotError):
            Filter.from_dump(dumped)
    with pytest.raises(SnapshotError, match="guiracw"):
        ExpiringFilter.from_dump(pieces)
    for other in (b"".join(pieces), "abc", 5, [5]):
        with pytest.raises(TypeError):
            Filter.from_dump(other)  # type: ignore[arg-type]
    with pytest.raises(SnapshotError, match="limit of 8"):
        Filter.from_dump(pieces, max_bytes=8)


@pytest.mark.parametrize("kind", MAKERS)
def test_damaged_bytes_are_refused(kind: str) -> None:
    f = filled(kind)
    whole = f.to_bytes()
    rng = random.Random(5)
    damaged = [whole[: rng.randrange(len(whole))] for _ in range(200)]
    for _ in range(200):
        at = rng.randrange(len(whole))
        damaged.append(whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :])
    damaged += [b"", whole + b"\0", whole * 2, b"abc", bytes(1000)]
    for data in damaged:
        with pytest.raises(SnapshotError):
            type(f).from_bytes(data)
    for limit in (0, 8, f.nbytes // 2):
        with pytest.raises(SnapshotError, match=f"limit of {limit}"):
            type(f).from_bytes(whole, max_bytes=limit)
    assert type(f).from_bytes(whole, max_bytes=f.nbytes).digest() == f.digest()
    other = ExpiringFilter if isinstance(f, Filter) else Filter
    with pytest.raises(SnapshotError):
        other.from_bytes(whole)


def test_hostile_pickles_are_refused() -> None:
    restore, (data, items) = Filter(10).__reduce__()
    for arguments in [
        (),
        (data,),
        (data, 5),
        (data, "all"),
        (5, items),
        ("abc", items),
        (None, None),
    ]:
        with pytest.raises((TypeError, ValueError)):
            restore(*arguments)
    with pytest.raises(SnapshotError):
        restore(b"abc", items)
    restore, (data, items, _) = ExpiringFilter(10).__reduce__()
    with pytest.raises(ValueError, match="'sundial'"):
        restore(data, items, "sundial")
    for kind in (Filter, ExpiringFilter):
        with pytest.raises(TypeError):
            object.__new__(kind)


def test_strange_buffers_for_bytes() -> None:
    data = Filter(10).to_bytes()
    for wrong in ("abc", 5, None, [1]):
        with pytest.raises(TypeError):
            Filter.from_bytes(wrong)  # type: ignore[arg-type]
    with pytest.raises(BufferError, match="contiguous"):
        Filter.from_bytes(memoryview(data)[::2])


ARGUMENTS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"capacity": 0}, ValueError, "at least 1"),
    ({"capacity": -1}, ValueError, "-1 is not in the range"),
    ({"capacity": 2**64}, ValueError, "18446744073709551616 is not"),
    ({"capacity": 2**63}, ValueError, "9223372036854775808"),
    ({"capacity": 10**400}, ValueError, "1000000"),
    ({"capacity": 1.5}, TypeError, "float"),
    ({"capacity": None}, TypeError, "NoneType"),
    ({"capacity": "5"}, TypeError, "str"),
    ({"false_positive_rate": 0}, ValueError, "rate 0 "),
    ({"false_positive_rate": 1}, ValueError, "rate 1 "),
    ({"false_positive_rate": float("nan")}, ValueError, "NaN"),
    ({"false_positive_rate": -1e300}, ValueError, "rate -1"),
    ({"max_capacity": 3}, ValueError, "max_capacity 3"),
    ({"max_capacity": 2**64 - 1}, ValueError, "18446744073709551615"),
    ({"prefer": "memory"}, ValueError, "'memory'"),
    ({"prefer": "space", "max_capacity": 10**6}, ValueError, "1000000"),
    ({"fingerprint_bits": 3}, ValueError, "3"),
    ({"counter_bits": 5}, ValueError, "5"),
    ({"counter_bits": 2**32}, ValueError, "4294967296"),
    ({"counter_bits": 4, "prefer": "space"}, ValueError, "4"),
    ({"fingerprint_bits": 2**32}, ValueError, "4294967296"),
    ({"seed": -5}, ValueError, "-5"),
    ({"seed": 2**64}, ValueError, "18446744073709551616"),
    ({"items": "all"}, ValueError, "'all'"),
    ({"items": "\ud800"}, ValueError, "items must be"),
    ({"items": 7}, ValueError, "7"),
    ({"steps": 7}, TypeError, "steps"),
]

EXPIRING: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"ttl": 0}, ValueError, "0ns"),
    ({"ttl": -1}, ValueError, "-1 seconds"),
    ({"ttl": float("nan")}, ValueError, "nan"),
    ({"ttl": float("inf")}, ValueError, "inf"),
    ({"ttl": 1e30}, ValueError, "1e"),
    ({"ttl": "1"}, TypeError, "'1'"),
    ({"ttl": 60, "epochs": 0}, ValueError, "got 0"),
    ({"ttl": 60, "epochs": 10**6}, ValueError, "got 1000000"),
    ({"ttl": 60, "clock": "sundial"}, ValueError, "'sundial'"),
    ({"ttl": 60, "counter_bits": 5}, ValueError, r"5: use one of \[4, 8\]"),
    ({"ttl": 60, "counter_bits": 2**32}, ValueError, "4294967296 is not in the range"),
    ({"ttl": 60, "counter_bits": "4"}, TypeError, "str"),
    ({"ttl": 60, "counter_bits": 8, "epochs": 5}, ValueError, "each of 5 .* at most [1-4] epochs"),
    ({"ttl": 60, "capacity": 0}, ValueError, "at least 1"),
    ({"ttl": 60, "max_capacity": 3}, ValueError, "max_capacity 3"),
]


@pytest.mark.parametrize(
    ("kind", "arguments", "error", "text"),
    [(Filter, *case) for case in ARGUMENTS] + [(ExpiringFilter, *case) for case in EXPIRING],
)
def test_arguments(kind: Any, arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        kind(**arguments)


SHORT = """
import resource, sys
import guira_filter as g
full = g.Filter(60_000_000)
data = full.to_bytes()
used = 1024 * int(next(x for x in open("/proc/self/status") if x.startswith("VmSize")).split()[1])
resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20), -1))
calls = {
    "new": lambda: g.Filter(10**9),
    "new expiring": lambda: g.ExpiringFilter(60, 10**9),
    "copy": full.copy,
    "deepcopy": lambda: __import__("copy").deepcopy(full),
    "to_bytes": full.to_bytes,
    "reduce": full.__reduce__,
    "from_bytes": lambda: g.Filter.from_bytes(data),
    "from_bytes of a copy": lambda: g.Filter.from_bytes(memoryview(data)),
    "hashes": lambda: full.update(i for i in range(10**8)),
    "answers": lambda: full.contains_many(memoryview(data).cast("H")),
}
for name, call in calls.items():
    try:
        call()
    except MemoryError as error:
        print(name, type(error).__name__)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_short_memory_is_a_memory_error() -> None:
    run = subprocess.run([sys.executable, "-c", SHORT], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    names = [line.removesuffix(" MemoryError") for line in run.stdout.splitlines()]
    assert names == [
        "new",
        "new expiring",
        "copy",
        "deepcopy",
        "to_bytes",
        "reduce",
        "from_bytes",
        "from_bytes of a copy",
        "hashes",
        "answers",
    ]


PAIRS: dict[str, Callable[..., Any]] = {
    "plain": partial(Filter, capacity=100),
    "growing": partial(Filter, capacity=100, max_capacity=1000),
    "expiring": partial(ExpiringFilter, 60, capacity=100),
}


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS)
def test_merge_adds_all_copies(make: Callable[..., Any]) -> None:
    a, b = make(seed=7), make(seed=7)
    a.update(["ani", "koel"])
    b.update(["koel", "guira"])
    for copies in (2, 3):
        a.merge(b)
        assert (a.count("ani"), a.count("koel")) == (1, copies)
    assert "ani" not in b


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS)
def test_a_union_adds_what_is_missing(make: Callable[..., Any]) -> None:
    a, b = make(seed=7), make(seed=7)
    a.update(["ani", "koel", "koel"])
    b.update(["koel", "guira", "guira"])
    for _ in range(2):
        a.union_with(b)
        assert [a.count(name) for name in ("ani", "koel", "guira")] == [1, 2, 2]
    assert [b.count(name) for name in ("ani", "koel", "guira")] == [0, 1, 2]


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS)
def test_an_intersection_and_a_difference_remove(make: Callable[..., Any]) -> None:
    a, b = make(seed=7), make(seed=7)
    a.update(["ani", "koel", "koel", "guira", "guira"])
    b.update(["koel", "guira", "guira"])
    for _ in range(2):
        a.intersect_with(b)
        assert [a.count(name) for name in ("ani", "koel", "guira")] == [0, 1, 2]
    b.remove("koel")
    b.remove("guira")
    for _ in range(2):
        a.difference_with(b)
        assert [a.count(name) for name in ("ani", "koel", "guira")] == [0, 1, 0]
    assert [b.count(name) for name in ("ani", "koel", "guira")] == [0, 0, 1]


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS)
def test_operators_are_those_of_sets(make: Callable[..., Any]) -> None:
    ours, theirs = {"ani", "koel"}, {"koel", "guira"}
    names = ours | theirs
    for assign in (ior, iand, isub):
        a, b = make(seed=7), make(seed=7)
        a.update(ours)
        b.update(theirs)
        assert assign(a, b) is a
        assert {name for name in names if name in a} == assign(set(ours), theirs)
        assert {name for name in names if name in b} == theirs
        for wrong in (theirs, ExpiringFilter(60) if isinstance(a, Filter) else Filter(), None):
            with pytest.raises(TypeError, match="unsupported operand"):
                assign(a, wrong)
        with pytest.raises(ValueError, match="make both with one seed"):
            assign(a, make(seed=8))


@pytest.mark.parametrize("method", ["merge", "union_with", "intersect_with", "difference_with"])
@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS)
def test_filters_that_differ_are_refused(make: Callable[..., Any], method: str) -> None:
    a = make(seed=7)
    unite = getattr(a, method)
    for other, text in [
        (a, "itself"),
        (make(seed=8), "make both with one seed"),
        (make(seed=7, capacity=900), "buckets|fingerprint bits"),
        (make(seed=7, items="bytes"), "items"),
    ]:
        with pytest.raises(ValueError, match=text):
            unite(other)
    for wrong in (ExpiringFilter(60) if isinstance(a, Filter) else Filter(), None, [1]):
        with pytest.raises(TypeError):
            unite(wrong)


@pytest.mark.parametrize("method", ["merge", "union_with"])
def test_a_filter_that_is_too_small_for_another_is_full(method: str) -> None:
    # No other filter of one geometry has more copies than there is room for.
    a, b = Filter(100, seed=7), Filter(100, seed=7)
    a.update(range(90))
    b.update(range(1000, 1090))
    with pytest.raises(FullError):
        getattr(a, method)(b)
    assert all(a.contains_many(range(90)))


def test_what_python_users_expect() -> None:
    f = Filter(1000, 0.01, seed=7)
    assert not f
    f.add("ani")
    assert f
    assert weakref.ref(f)() is f
    copy = f.copy()
    assert f == copy
    copy.add("koel")
    assert f != copy
    assert f != Filter(2000, 0.01, seed=7)
    assert Filter(10, seed=7) != Filter(10, seed=8)
    assert Filter(10, seed=7) != Filter(10, seed=7, items="bytes")
    assert f != "ani"
    assert f in [1, f]
    with pytest.raises(TypeError, match="unhashable"):
        hash(f)
    assert repr(f).startswith("Filter(capacity=1000, false_positive_rate=")
    assert sys.getsizeof(f) >= f.nbytes > 1000
    assert 0 < f.load_factor < 1
    assert (f.capacity, f.max_capacity, f.seed, f.items) == (1000, 1000, 7, "any")
    assert f.false_positive_rate <= 0.01
    assert f.stats().items == 1
    assert repr(f.stats()).startswith("guira_filter.Stats")
    with pytest.raises(KeyError, match="koel"):
        f.remove("koel")
    f.clear()
    assert len(f) == 0
    with pytest.raises(AttributeError):
        f.seed = 5  # type: ignore[misc]
    with pytest.raises(TypeError):
        type("Mine", (Filter,), {})
    e = ExpiringFilter(60, 1000, 0.01, epochs=6, seed=7)
    assert repr(e) == "ExpiringFilter(ttl=60, capacity=1000, items='any', len=0)"
    assert (e.ttl, e.epochs, e.epoch_length, e.clock) == (60.0, 6, 10.0, "monotonic")
    assert sys.getsizeof(e) >= e.nbytes > 1000
    other = e.copy()
    assert e == other
    other.add("ani")
    assert e != other
    assert e != f


def test_too_many_copies() -> None:
    f = Filter(1000)
    with pytest.raises(FullError, match="copies"):
        f.update(["ani"] * 100)
    assert f.count("ani") == len(f)
