"""Shared filters that are made of snapshots, and merged with others."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from guira_filter import ExpiringFilter, Filter, SnapshotError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

if sys.platform != "linux":
    pytest.skip("shared filters are for Linux", allow_module_level=True)

from guira_filter import SharedExpiringFilter, SharedFilter

KINDS: dict[str, tuple[Callable[..., Any], Any]] = {
    "fixed": (lambda **more: Filter(3000, 0.001, **more), SharedFilter),
    "space": (lambda **more: Filter(3000, 0.01, prefer="space", **more), SharedFilter),
    "growing": (lambda **more: Filter(100, max_capacity=10_000, **more), SharedFilter),
    "expiring": (lambda **more: ExpiringFilter(3600, 3000, **more), SharedExpiringFilter),
}
ITEMS = range(3000)


@pytest.mark.parametrize("how", ["load", "from_bytes", "memfd"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_becomes_a_shared_filter(kind: str, how: str, path: Path) -> None:
    make, shared = KINDS[kind]
    saved = make(seed=7, items="bytes")
    names = [str(item) for item in ITEMS]
    saved.update(names)
    if how == "load":
        saved.save(path.with_name("saved"))
        f = shared.load(path.with_name("saved"), path, items="bytes", max_processes=9)
    else:
        place = None if how == "memfd" else path
        f = shared.from_bytes(saved.to_bytes(), place, items="bytes", max_processes=9)
    assert all(f.contains_many(names))
    assert (len(f), f.seed, f.capacity, f.items) == (3000, 7, saved.capacity, "bytes")
    assert (f.participants().max, f.participants().in_use, f.was_closed_cleanly) == (9, 1, True)
    assert f.discard("5")
    assert "6" in f
    back = type(saved).from_bytes(f.to_bytes(), items="bytes")
    assert back != saved
    f.add("5")
    if kind != "expiring":  # A copy keeps times up to the step of an epoch.
        assert type(saved).from_bytes(f.to_bytes(), items="bytes") == saved
    if how != "memfd":
        assert all(shared.open(path, items="bytes").contains_many(names))
        with pytest.raises(FileExistsError):
            shared.from_bytes(saved.to_bytes(), path)
        assert sorted(entry.name for entry in path.parent.iterdir()) == ["filter"] + (
            ["saved"] if how == "load" else []
        )


def test_times_stay_in_a_restored_filter(path: Path) -> None:
    saved = ExpiringFilter(60, 100, epochs=6, clock="manual")
    saved.add("ani")
    saved.tick(45)
    f = SharedExpiringFilter.from_bytes(saved.to_bytes(), path)
    assert "ani" in f
    assert (f.ttl, f.epochs) == (60.0, 6)
    late = SharedExpiringFilter.from_bytes(saved.to_bytes(), age=100)
    assert "ani" not in late


def test_what_cannot_be_restored_leaves_no_file(path: Path) -> None:
    saved = Filter(100)
    for data, error, text in [
        (b"guira", SnapshotError, "."),
        (ExpiringFilter(60).to_bytes(), SnapshotError, "."),
        (Filter(100, counter_bits=4).to_bytes(), ValueError, "counters"),
    ]:
        with pytest.raises(error, match=text):
            SharedFilter.from_bytes(data, path)
    with pytest.raises(SnapshotError, match="bytes"):
        SharedFilter.from_bytes(Filter(100_000).to_bytes(), path, max_bytes=1000)
    with pytest.raises(ValueError, match="256"):
        SharedFilter.from_bytes(saved.to_bytes(), path, max_processes=256)
    with pytest.raises(ValueError, match="counters"):
        SharedExpiringFilter.from_bytes(ExpiringFilter(60, counter_bits=4).to_bytes(), path)
    with pytest.raises(ValueError, match="grow"):
        SharedExpiringFilter.from_bytes(ExpiringFilter(60, max_capacity=9999).to_bytes(), path)
    with pytest.raises(FileNotFoundError):
        SharedFilter.load(path.with_name("none"), path)
    with pytest.raises(FileNotFoundError):
        SharedFilter.from_bytes(saved.to_bytes(), path / "none")
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_shared_filters_are_merged_with_all_others(kind: str, path: Path) -> None:
    make, shared = KINDS[kind]
    own = make(seed=7)
    own.update(["ani", "koel"])
    f = shared.from_bytes(make(seed=7).to_bytes(), path)
    other = shared.from_bytes(own.to_bytes())
    f.merge(own)
    f.merge(other)
    assert (f.count("ani"), len(f)) == (2, 4)
    f.union_with(own)
    f.union_with(other)
    assert (f.count("ani"), len(f)) == (2, 4)
    f.add("guira")
    own.union_with(f)
    assert "guira" in own
    assert own.count("ani") == 2
    own.merge(other)
    assert own.count("ani") == 3
    f.intersect_with(own)
    own.difference_with(other)
    assert ("ani" in own, "guira" in own, f.count("ani"), len(f)) == (False, True, 2, 5)
    for one in (f, shared.open(path)):
        with pytest.raises(ValueError, match="itself"):
            f.merge(one)
        with pytest.raises(ValueError, match="itself"):
            f.union_with(one)
    with pytest.raises(ValueError, match="make both with one seed"):
        f.merge(make(seed=8))
    with pytest.raises(ValueError, match="items"):
        f.merge(make(seed=7, items="bytes"))
    with pytest.raises(TypeError):
        f.merge(ExpiringFilter(60) if shared is SharedFilter else Filter())
    assert f == shared.open(path)
    assert f != other
    assert f != own
    with pytest.raises(TypeError, match="unhashable"):
        hash(f)


def test_equal_shared_filters(path: Path) -> None:
    saved = Filter(100, seed=7)
    saved.add("ani")
    f, other = (SharedFilter.from_bytes(saved.to_bytes(), place) for place in (path, None))
    assert f == other
    other.add("koel")
    assert f != other


@pytest.mark.parametrize("kind", ["Filter(16_000_000)", "ExpiringFilter(60, 8_000_000)"])
@pytest.mark.parametrize(
    "take", ["f.to_bytes()", "pickle.dump(f, open('/dev/null', 'wb'), protocol=5)"]
)
def test_a_snapshot_takes_its_own_memory_only(kind: str, take: str) -> None:
    # In a process of its own, whose peak was not higher before.
    program = f"""
import pickle
from guira_filter import ExpiringFilter, Filter
f = {kind}
f.update(range(1000))
# Not ru_maxrss, which a process takes over from its parent.
status = lambda: open("/proc/self/status")
peak = lambda: next(1024 * int(line.split()[1]) for line in status() if "VmHWM" in line)
before = peak()
{take}
print(peak() - before, f.nbytes)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    more, size = map(int, done.stdout.split())
    assert size > 20_000_000
    assert 0.9 * size < more < 1.25 * size
