"""All operations against a `Counter`, in random order.

    GUIRA_STEPS=100000 pytest tests/test_model.py

The rate is so low that a false positive would be a miracle; with the fixed seed there is none.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guira_filter import ExpiringFilter, Filter, FullError, SharedFilter
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

STEPS = int(os.environ.get("GUIRA_STEPS", "5000"))
LENGTH = 50
RUNS = settings(max_examples=max(STEPS // LENGTH, 1), stateful_step_count=LENGTH, deadline=None)

PARTS = st.sampled_from(["", "a", "b", "é", b"", b"a", b"\xff", 0, 1, 5, -1, -5, 2**64 - 2, 2**64])
ITEMS = PARTS | st.tuples(PARTS, PARTS)
BATCHES = st.lists(ITEMS, max_size=12)
NUMBERS = st.lists(st.integers(-5, 5), max_size=300).map(lambda items: np.array(items, "i8"))


class Plain(RuleBasedStateMachine):
    """A fixed or growing filter."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[Any] = Counter()

    @initialize(kind=st.sampled_from(["fixed", "growing", "space", "counters", "growing counters"]))
    def start(self, kind: str) -> None:
        self.f: Any = {
            "fixed": lambda: Filter(2000, 1e-8, seed=7),
            "growing": lambda: Filter(20, 1e-6, max_capacity=2000, seed=7),
            "space": lambda: Filter(2000, fingerprint_bits=30, prefer="space", seed=7),
            "counters": lambda: Filter(2000, 1e-6, counter_bits=8, seed=7),
            "growing counters": lambda: Filter(20, 1e-6, max_capacity=2000, counter_bits=4, seed=7),
        }[kind]()

    def key(self, item: Any) -> int:
        """Items with one hash are one item: -1 and 2**64 - 1."""
        return int(self.f.hash_of(item))

    def added(self, item: Any) -> None:
        self.counts[self.key(item)] += 1

    def removed(self, item: Any) -> bool:
        key = self.key(item)
        if not self.counts[key]:
            return False
        self.counts[key] -= 1
        return True

    def check_full(self) -> None:
        """Copies of few items fill their buckets long before the others."""
        assert self.counts.total() >= 4

    @rule(item=ITEMS)
    def add(self, item: Any) -> None:
        try:
            self.f.add(item)
        except FullError:
            self.check_full()
        else:
            self.added(item)

    @rule(item=ITEMS)
    def add_and_count(self, item: Any) -> None:
        try:
            count = self.f.add_and_count(item)
        except FullError:
            self.check_full()
        else:
            self.added(item)
            assert count == self.counts[self.key(item)]

    @rule(item=ITEMS)
    def add_unique(self, item: Any) -> None:
        absent = not self.counts[self.key(item)]
        try:
            assert self.f.add_unique(item) == absent
        except FullError:
            assert absent
            self.check_full()
        else:
            if absent:
                self.added(item)

    @rule(item=ITEMS)
    def discard(self, item: Any) -> None:
        assert self.f.discard(item) == self.removed(item)

    @rule(item=ITEMS)
    def remove(self, item: Any) -> None:
        if self.removed(item):
            self.f.remove(item)
        else:
            with pytest.raises(KeyError):
                self.f.remove(item)

    @rule(items=BATCHES | NUMBERS)
    def update(self, items: Any) -> None:
        try:
            self.f.update(items)
        except FullError as error:
            done = error.index
            for item in items[:done]:
                self.added(item)
            self.check_full()
        else:
            for item in items:
                self.added(item)

    @rule(items=BATCHES | NUMBERS)
    def add_unique_many(self, items: Any) -> None:
        expected = []
        try:
            found = list(self.f.add_unique_many(items))
        except FullError as error:
            self.check_full()
            found, items = [], items[: error.index]
        for item in items:
            absent = not self.counts[self.key(item)]
            expected.append(absent)
            if absent:
                self.added(item)
        assert found in ([], expected)

    @rule(items=BATCHES | NUMBERS)
    def discard_many(self, items: Any) -> None:
        assert list(self.f.discard_many(items)) == [self.removed(item) for item in items]

    @rule(items=BATCHES | NUMBERS)
    def contains_many(self, items: Any) -> None:
        expected = [self.counts[self.key(item)] > 0 for item in items]
        assert list(self.f.contains_many(items)) == expected

    @rule(items=BATCHES)
    def hashes(self, items: Any) -> None:
        hashes = np.array([self.key(item) for item in items], np.uint64)
        expected = [self.counts[self.key(item)] > 0 for item in items]
        assert self.f.contains_hashes(hashes).tolist() == expected

    @rule(item=ITEMS)
    def look_up(self, item: Any) -> None:
        count = self.counts[self.key(item)]
        assert (item in self.f) == (count > 0)
        assert self.f.count(item) == count

    @rule(how=st.sampled_from(["copy", "pickle", "bytes"]))
    def copied(self, how: str) -> None:
        digest = self.f.digest()
        if how == "copy":
            self.f = self.f.copy()
        elif how == "pickle":
            self.f = pickle.loads(pickle.dumps(self.f))
        else:
            self.f = type(self.f).from_bytes(self.f.to_bytes())
        assert self.f.digest() == digest

    @rule(items=BATCHES, is_union=st.booleans())
    def united(self, items: Any, is_union: bool) -> None:  # noqa: FBT001
        """Adds another filter of the same settings."""
        other = self.f.copy()
        other.clear()
        try:
            other.update(items)
        except FullError as error:
            items = items[: error.index]
        theirs = Counter(map(self.key, items))
        expected = self.counts | theirs if is_union else self.counts + theirs
        try:
            (self.f.union_with if is_union else self.f.merge)(other)
        except FullError:
            # Some of the copies were added.
            for item in items:
                key, count = self.key(item), self.f.count(item)
                assert self.counts[key] <= count <= expected[key]
                self.counts[key] = count
        else:
            self.counts = expected

    @rule()
    def clear(self) -> None:
        self.f.clear()
        self.counts.clear()

    @invariant()
    def the_length_is_the_number_of_copies(self) -> None:
        if hasattr(self, "f"):
            assert len(self.f) == self.counts.total()


class Shared(Plain):
    """A filter in a file. It has no copies, digests and unions."""

    copied = united = None

    @initialize(prefer=st.sampled_from(["speed", "space"]))
    def start(self, prefer: Any) -> None:
        self.directory = tempfile.TemporaryDirectory()
        path = Path(self.directory.name, "filter")
        self.f = SharedFilter.create(path, 2000, fingerprint_bits=30, prefer=prefer, seed=7)

    @rule(how=st.sampled_from(["open", "pickle", "another"]))
    def opened(self, how: str) -> None:
        if how == "pickle":
            self.f = pickle.loads(pickle.dumps(self.f))
            return
        path, self.f = self.f.path, None
        if how == "another":
            assert SharedFilter.recount(path) == self.counts.total()
        self.f = SharedFilter.open(path)

    @rule()
    def saved(self) -> None:
        copy = Filter.from_bytes(self.f.to_bytes())
        assert (len(copy), copy.seed) == (len(self.f), self.f.seed)
        for key, count in self.counts.items():
            assert copy.contains_hashes([key]) == [count > 0]

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            self.directory.cleanup()


class Expiring(RuleBasedStateMachine):
    """One copy of each item, and the epoch in which it was last seen."""

    EPOCHS = 4

    def __init__(self) -> None:
        super().__init__()
        self.f = ExpiringFilter(
            40, 2000, epochs=self.EPOCHS, fingerprint_bits=26, seed=7, clock="manual"
        )
        self.seen: dict[int, int] = {}
        self.now = 0

    def is_live(self, key: int) -> bool:
        return key in self.seen and self.f.epoch - self.seen[key] <= self.EPOCHS

    @rule(item=ITEMS)
    def add_unique(self, item: Any) -> None:
        key = self.f.hash_of(item)
        absent = not self.is_live(key)
        assert self.f.add_unique(item) == absent
        if absent:
            self.seen[key] = self.f.epoch

    @rule(items=BATCHES)
    def add_or_refresh_many(self, items: Any) -> None:
        expected = []
        for item in items:
            key = self.f.hash_of(item)
            expected.append(not self.is_live(key))
            self.seen[key] = self.f.epoch
        assert self.f.add_or_refresh_many(items) == expected

    @rule(item=ITEMS)
    def refresh(self, item: Any) -> None:
        key = self.f.hash_of(item)
        live = self.is_live(key)
        assert self.f.refresh(item) == live
        if live:
            self.seen[key] = self.f.epoch

    @rule(items=BATCHES)
    def discard_many(self, items: Any) -> None:
        expected = []
        for item in items:
            key = self.f.hash_of(item)
            expected.append(self.is_live(key))
            self.seen.pop(key, None)
        assert self.f.discard_many(items) == expected

    @rule(items=BATCHES)
    def contains_many(self, items: Any) -> None:
        expected = [self.is_live(self.f.hash_of(item)) for item in items]
        assert self.f.contains_many(items) == expected

    @rule(items=BATCHES)
    def united(self, items: Any) -> None:
        """A union with a filter that has just seen these items."""
        other = self.f.copy()
        other.clear()
        if self.now:
            other.tick(self.now)
        other.add_or_refresh_many(items)
        self.f.union_with(other)
        for item in items:
            self.seen[self.f.hash_of(item)] = self.f.epoch

    @rule(seconds=st.integers(0, 100))
    def tick(self, seconds: int) -> None:
        before, due = self.f.epoch, (self.now + seconds) // 10 - self.now // 10
        self.now += seconds
        assert self.f.tick(self.now) == (due > 0)
        # After one more than these, nothing is left.
        assert self.f.epoch - before == min(due, self.EPOCHS + 1)

    @rule()
    def pickled(self) -> None:
        if not self.now:
            # A copy's clock starts at 0 again.
            self.f = pickle.loads(pickle.dumps(self.f))

    @invariant()
    def the_length_is_the_number_of_live_items(self) -> None:
        assert len(self.f) == sum(map(self.is_live, self.seen))


class Counting(RuleBasedStateMachine):
    """How often each item came in each epoch."""

    EPOCHS = 2

    @initialize(grows=st.booleans())
    def start(self, *, grows: bool) -> None:
        capacity, growth = (20, {"max_capacity": 2000}) if grows else (2000, {})
        self.f = ExpiringFilter(
            20, capacity, 1e-5, counter_bits=4, epochs=self.EPOCHS, seed=7, clock="manual", **growth
        )
        self.now = 0
        # The epochs of the copies of each item, the oldest first.
        self.copies: dict[int, list[int]] = {}

    def live(self, item: Any) -> list[int]:
        key, oldest = self.f.hash_of(item), self.f.epoch - self.EPOCHS
        self.copies[key] = [epoch for epoch in self.copies.get(key, []) if epoch >= oldest]
        return self.copies[key]

    @rule(item=ITEMS, times=st.integers(1, 9))
    def add_and_count(self, item: Any, times: int) -> None:
        for _ in range(times):
            copies = self.live(item)
            try:
                count = self.f.add_and_count(item)
            except FullError:
                # A slot has 16 copies of an item and epoch, and items share their buckets.
                assert sum(map(len, self.copies.values())) > 16
                return
            copies.append(self.f.epoch)
            assert count == len(copies)

    @rule(item=ITEMS)
    def discard(self, item: Any) -> None:
        copies = self.live(item)
        assert self.f.discard(item) == bool(copies)
        del copies[:1]

    @rule(item=ITEMS)
    def count(self, item: Any) -> None:
        assert self.f.count(item) == len(self.live(item))

    @rule(seconds=st.integers(0, 25))
    def tick(self, seconds: int) -> None:
        self.now += seconds
        self.f.tick(self.now)

    @rule()
    def copied(self) -> None:
        self.f = self.f.copy()


TestPlain = Plain.TestCase
TestPlain.settings = RUNS
TestShared = Shared.TestCase
TestShared.settings = RUNS
TestExpiring = Expiring.TestCase
TestExpiring.settings = RUNS
TestCounting = Counting.TestCase
TestCounting.settings = RUNS
