"""Time: what expires, and when."""

from __future__ import annotations

import itertools
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from guira_filter import ExpiringFilter, FullError


def test_time_passes_in_tick() -> None:
    f = ExpiringFilter(60, epochs=6, clock="manual")
    f.add("ani")
    for second in range(0, 60, 5):
        f.tick(second)
        assert "ani" in f
    f.tick(60)
    assert "ani" in f
    f.tick(timedelta(seconds=70))
    assert "ani" not in f
    assert len(f) == 0
    assert f.epoch == 7


def test_missed_epochs_begin_at_once() -> None:
    for gap in range(1, 400):
        f = ExpiringFilter(60, epochs=6, clock="manual")
        f.add("ani")
        assert f.tick(10 * gap)
        assert ("ani" in f) == (gap < 7)
        f.add("koel")
        f.tick(10 * gap + 60)
        assert "koel" in f
        f.tick(10 * gap + 140)
        assert "koel" not in f


def test_refresh_resets_the_time() -> None:
    f = ExpiringFilter(60, epochs=6, clock="manual")
    assert not f.refresh("ani")
    assert f.add_or_refresh("ani")
    for second in range(10, 1000, 10):
        f.tick(second)
        assert f.refresh("ani")
        assert not f.add_or_refresh("koel") or second == 10
        assert f.refresh_many(["ani", "none"]) == [True, False]
        assert f.add_or_refresh_many(["ani"]) == [False]
    assert f.count("ani") == 1
    f.tick(2000)
    assert f.add_unique_many(["ani", "koel"]) == [True, True]


def test_an_older_reading_is_no_news() -> None:
    f = ExpiringFilter(60, epochs=6, clock="manual")
    f.add("ani")
    assert f.tick(50)
    for reading in (50, 49.5, 0, timedelta(seconds=20)):
        assert not f.tick(reading)
    assert not f.tick(59.9)
    assert f.tick(60)
    assert "ani" in f
    f.tick(70)
    assert "ani" not in f


def test_readings_of_threads_may_overtake_each_other() -> None:
    f = ExpiringFilter(0.05, epochs=5, clock="manual")
    start = threading.Barrier(4)

    def ticks() -> None:
        start.wait()
        for _ in range(20_000):
            f.tick(time.monotonic())

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(ticks) for _ in range(4)]:
            done.result()


def test_readings_and_keys_of_other_types_are_errors() -> None:
    f = ExpiringFilter(60, clock="manual")
    with pytest.raises(TypeError, match="reading"):
        f.tick()
    wrong: list[tuple[Any, type[Exception]]] = [
        (-1, ValueError),
        (float("nan"), ValueError),
        (timedelta(days=-1), ValueError),
        (timedelta.max, ValueError),
        (1e15, ValueError),
        ("1", TypeError),
    ]
    for elapsed, error in wrong:
        with pytest.raises(error):
            f.tick(elapsed)
    with pytest.raises(TypeError, match="monotonic"):
        ExpiringFilter(60).tick(5)


def test_items_expire_without_tick() -> None:
    f = ExpiringFilter(timedelta(milliseconds=60), epochs=6)
    f.add("ani")
    end = time.monotonic() + 60
    while "ani" in f:
        assert time.monotonic() < end
        time.sleep(0.001)
    f.add("koel")
    time.sleep(0.3)
    # The first call after a pause begins all epochs that were missed.
    assert "koel" not in f
    assert f.add_unique("koel")


def test_the_age_of_a_snapshot() -> None:
    f = ExpiringFilter(60, epochs=6, clock="manual")
    f.add("ani")
    data = f.to_bytes()
    for age in (0, 59, 60.0, timedelta(seconds=69)):
        assert "ani" in ExpiringFilter.from_bytes(data, age=age)
    for age in (70, 1e9, timedelta(days=400)):
        assert "ani" not in ExpiringFilter.from_bytes(data, age=age)
    with pytest.raises(ValueError, match="-1"):
        ExpiringFilter.from_bytes(data, age=-1)


def test_no_item_expires_early_while_epochs_are_caught_up() -> None:
    """Writers race with a clock that leaps over many epochs."""
    # There is room for all items, even if the clock never gets a turn.
    f = ExpiringFilter(60, 100_000, epochs=6, clock="manual")
    stop, now = threading.Event(), 0

    def leap() -> None:
        nonlocal now
        while not stop.is_set():
            f.tick(now + 35)
            now += 35
            time.sleep(0)

    clock = threading.Thread(target=leap)
    clock.start()
    try:
        for round_ in range(300):
            items = [round_ * 300 + i for i in range(300)]
            before = now
            f.update(items)
            found = f.contains_many(items)
            # Unless the clock has leapt for a TTL since; the last leap may not be noted yet.
            assert all(found) or now + 35 - before >= 60
    finally:
        stop.set()
        clock.join()


def test_a_filter_grows_and_forgets() -> None:
    f = ExpiringFilter(60, 100, 1e-4, max_capacity=5000, epochs=6, clock="manual")
    assert f.capacity < 5000 == f.max_capacity
    f.update(range(2500))
    f.tick(40)
    f.update(range(2500, 5000))
    assert all(f.contains_many(range(5000)))
    assert f.stats().doublings > 3
    f.tick(80)
    # All that is found of these is false positives.
    assert sum(f.contains_many(range(2500))) < 25
    assert all(f.contains_many(range(2500, 5000)))


@pytest.mark.parametrize("growth", [{}, {"max_capacity": 10_000}])
@pytest.mark.parametrize("bits", [4, 8])
def test_counts_expire(bits: int, growth: dict[str, int]) -> None:
    settings: dict[str, Any] = {"capacity": 500, "counter_bits": bits, "epochs": 2, **growth}
    f = ExpiringFilter(60, clock="manual", **settings)
    assert f.counter_bits == bits
    assert ExpiringFilter.estimate(60, **settings).nbytes == f.nbytes
    for minute in range(6):
        f.tick(30 * minute)
        before = 10 * min(minute, 2)
        assert [f.add_and_count("ani") for _ in range(10)] == list(range(before + 1, before + 11))
    assert (len(f), f.slots_in_use, f.count("ani"), f.count("koel")) == (30, 3, 30, 0)
    f.update(range(400))
    assert f.count("ani") == 30
    late = ExpiringFilter.from_bytes(f.to_bytes(), age=30)
    assert (late.count("ani"), late.counter_bits) == (20, bits)
    f.tick(1000)
    assert (len(f), f.add_and_count("ani")) == (0, 1)
    with pytest.raises(FullError):
        f.update(["ani"] * 4000)
    assert f.count("ani") >= 2 << bits


def test_a_limit_holds_for_racing_threads() -> None:
    f = ExpiringFilter(3600, counter_bits=8)
    with ThreadPoolExecutor(4) as pool:
        counts = sorted(pool.map(lambda _: f.add_and_count("ani"), range(400)))
    assert all(count > place for place, count in enumerate(counts))
    assert f.count("ani") == counts[-1] == 400


def test_merge_keeps_times() -> None:
    a = ExpiringFilter(60, epochs=6, seed=7, clock="manual")
    b = ExpiringFilter(60, epochs=6, seed=7, clock="manual")
    b.add("ani")
    b.tick(0)
    b.tick(30)
    a.merge(b)
    assert "ani" in a
    # It keeps its age of three epochs, of which a merge may take one off.
    a.tick(30)
    assert "ani" in a
    a.tick(50)
    assert "ani" not in a


def test_a_union_keeps_the_later_time() -> None:
    a = ExpiringFilter(60, epochs=6, seed=7, clock="manual")
    b = ExpiringFilter(60, epochs=6, seed=7, clock="manual")
    for f in (a, b):
        f.tick(0)
    a.add("ani")
    for f in (a, b):
        f.tick(50)
    b.add("ani")
    a.union_with(b)
    assert a.count("ani") == 1
    a.tick(100)
    assert "ani" in a
    # At most one epoch longer than in the filter that saw it last.
    a.tick(130)
    assert "ani" not in a


@pytest.mark.parametrize("gap", [1, 4, 10, 15, 25, 35, 99])
def test_rare_calls_do_not_slow_time_down(gap: int) -> None:
    f = ExpiringFilter(120, epochs=12, clock="manual")
    f.add("ani")
    for second in range(0, 120, gap):
        f.tick(second)
        assert "ani" in f
        assert f.epoch == second // 10
    f.tick(130)
    assert "ani" not in f


@pytest.mark.parametrize("restarts", [1, 7, 100])
def test_restarts_do_not_lengthen_the_life_of_items(restarts: int) -> None:
    """A snapshot carries the age of its epoch, so each restart continues it."""
    epoch = 10.0
    step = epoch * 6 / restarts
    filter_ = ExpiringFilter(60, epochs=6, clock="manual")
    filter_.add("ani")
    passed = 0.0
    while "ani" in filter_:
        # Half of the time passes while the filter is in use, and half while it is a file.
        filter_.tick(step / 2)
        data = filter_.to_bytes()
        filter_ = ExpiringFilter.from_bytes(data, age=step / 2, clock="manual")
        passed += step
        assert passed < 60 + 2 * epoch + step
    assert passed >= 60


@pytest.mark.parametrize("growth", [{}, {"max_capacity": 4096}])
def test_items_of_a_log_expire_on_time_whatever_its_gaps(growth: dict[str, int]) -> None:
    length, epochs = 1, 6
    ttl = epochs * length
    for seed in range(1000):
        chance = random.Random(seed)
        capacity, bits = (64, 20) if growth else (4096, 26)
        f = ExpiringFilter(
            ttl, capacity, epochs=epochs, fingerprint_bits=bits, clock="manual", **growth
        )
        seen: dict[int, float] = {}
        now, ticks = 0.0, [0.0]
        for _ in range(80):
            now += chance.uniform(0, chance.choice([0, length / 2, 2 * length, ttl, 100 * ttl]))
            ticked = chance.random() < 0.5
            if ticked:
                f.tick(now)
                ticks.append(now)
            else:
                item = chance.choice([*seen, len(seen)])
                f.add_or_refresh(item)
                # A manual clock shows the last reading, whatever the time of the log.
                seen[item] = ticks[-1]
            present = f.contains_many(list(seen))
            for (item, at), found in zip(seen.items(), present, strict=True):
                gaps = [b - a for a, b in itertools.pairwise(ticks) if b >= at and a <= at + length]
                assert found or now >= at + ttl - 1e-6, (seed, item)
                late = now > at + ttl + length + max(gaps, default=0) + 1e-6
                assert not (found and ticked and late), (seed, item)
