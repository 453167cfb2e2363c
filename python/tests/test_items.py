"""Which values are items, and what they hash to."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from guira_filter import BusyError, ExpiringFilter, Filter, FullError, Stats

GOLDEN = Path(__file__).parents[2] / "tests" / "tests" / "data" / "hashes.txt"


def golden() -> list[tuple[int, Any, int]]:
    """The lines of the file that all languages share: seed, item, hash."""
    found = []
    for line in GOLDEN.read_text().splitlines():
        if line.startswith("#"):
            continue
        kind, seed, text, value = line.split(" ")
        octets = bytes.fromhex("" if text == "-" else text) if kind in ("str", "bytes") else b""
        item: Any = {"str": octets.decode, "bytes": lambda octets=octets: octets}.get(
            kind, lambda text=text: int(text)
        )()
        # Python has one kind of int: those of 64 bits are hashed as such.
        if kind in ("u128", "i128") and -(2**63) <= item < 2**64:
            continue
        found.append((int(seed), item, int(value, 16)))
    return found


def test_items_hash_as_in_every_language() -> None:
    lines = golden()
    assert len(lines) > 50
    assert {type(item) for _, item, _ in lines} == {str, bytes, int}
    for seed, item, value in lines:
        assert Filter(1, seed=seed).hash_of(item) == value, (seed, item)
        assert ExpiringFilter(1, seed=seed).hash_of(item) == value, (seed, item)


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_hashes_do_not_depend_on_the_process(seed: str) -> None:
    program = (
        "import guira_filter as g; f = g.Filter(10, seed=7);"
        "print([f.hash_of(x) for x in ('ani', b'ani', 5, -1, 2**100, ('a', 1))])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    here = Filter(10, seed=7)
    items = ("ani", b"ani", 5, -1, 2**100, ("a", 1))
    assert run.stdout.strip() == str([here.hash_of(item) for item in items])
    assert here.hash_of("ani") == 0x649D_F998_11C9_9C3F


class Number:
    """An item by `__index__`."""

    def __index__(self) -> int:
        return 5


class Text(str):
    __slots__ = ()


EQUAL: list[tuple[Any, Any]] = [
    (5, True + 4),
    (1, True),
    (5, np.int8(5)),
    (5, np.uint64(5)),
    (5, np.array(5)),
    (5, Number()),
    (-1, 2**64 - 1),
    ("ani", Text("ani")),
    ("ani", np.str_("ani")),
    (b"ani", bytearray(b"ani")),
    (b"ani", memoryview(b"ani")),
    (b"ai", memoryview(b"a.i")[::2]),
    (b"ani", np.bytes_(b"ani")),
    (("a", 1), (np.str_("a"), True)),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_items(one: Any, other: Any) -> None:
    f = Filter(10)
    assert f.hash_of(one) == f.hash_of(other)


def test_kinds_are_apart() -> None:
    f = Filter(10)
    items: list[Any] = ["5", b"5", 5, ("5", 5), (5, "5"), ("5", b"5"), "", b"", 0, -5, 2**64 + 5]
    assert len({f.hash_of(item) for item in items}) == len(items)


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (None, TypeError, "null in an array"),
    (1.5, TypeError, r"float \(1.5\)"),
    (np.float64(2), TypeError, "numpy.float64"),
    (UUID(int=5), TypeError, "x.bytes"),
    (datetime(2026, 1, 1, tzinfo=UTC), TypeError, "datetime"),
    ([1], TypeError, "list"),
    (object, TypeError, "type"),
    ((), TypeError, "two parts"),
    (("a",), TypeError, r"\('a',\)"),
    ((1, (2, 3)), TypeError, "flatten"),
    ((1, None), TypeError, "NoneType"),
    (2**128, OverflowError, "340282366920938463463374607431768211456"),
    (-(2**127) - 1, OverflowError, "-1701411834604692"),
    (1 << 10_000, OverflowError, "range"),
    ("\ud800", UnicodeEncodeError, "surrogates"),
    (("a", "\udfff"), UnicodeEncodeError, "surrogates"),
    (memoryview(np.arange(3)), TypeError, "memoryview"),
    (memoryview(b"abcd").cast("B", (2, 2)), TypeError, "dimension"),
    (np.arange(3), TypeError, "ndarray"),
]


@pytest.mark.parametrize(("item", "error", "text"), REFUSED)
def test_other_values_are_refused(item: Any, error: type[Exception], text: str) -> None:
    for f in (Filter(10), ExpiringFilter(60)):
        calls: list[Any] = [f.add, f.add_unique, f.__contains__, f.discard, f.remove, f.count]
        for call in calls:
            with pytest.raises(error, match=text):
                call(item)
        assert len(f) == 0


def test_errors_of_an_item_are_passed_on() -> None:
    class Odd:
        def __index__(self) -> int:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Filter(10).add(Odd())


def test_items_of_the_server() -> None:
    f = Filter(100, items="bytes")
    f.add("hello")
    assert b"hello" in f
    assert f.hash_of("hello") == Filter(1, seed=f.seed).hash_of(b"hello")
    f.update(np.array(["añi", "koel"]))
    assert f.contains_many(["añi".encode(), b"koel"]) == [True, True]
    for item in (5, ("a", 1), None):
        with pytest.raises(TypeError, match="items='bytes'"):
            f.add(item)  # type: ignore[arg-type]
    for batch in (np.arange(3), [1]):
        with pytest.raises(TypeError, match="items='bytes'"):
            f.update(batch)
    assert f.items == f.copy().items == "bytes"


def test_a_list_says_which_item_is_refused() -> None:
    f = Filter(10)
    with pytest.raises(TypeError) as caught:
        f.update(["a", 1, None])  # type: ignore[list-item]
    assert caught.value.__notes__ == ["item 2 of the batch"]
    assert len(f) == 0


ANSWERS = {
    "add": [None, None],
    "add_unique": [True, False],
    "add_or_refresh": [True, False],
    "discard": [False, False],
}

METHODS = [
    (kind, name)
    for kind, names in (
        (Filter, ["add", "add_unique", "discard"]),
        (ExpiringFilter, ["add", "add_unique", "discard", "add_or_refresh"]),
    )
    for name in names
]


@pytest.mark.parametrize(("kind", "name"), METHODS)
def test_methods_of_one_item_are_methods(kind: Any, name: str) -> None:
    method = getattr(kind, name)
    f = kind(60, seed=7)
    assert str(inspect.signature(method)) == "(self, item, /)"
    assert str(inspect.signature(getattr(f, name))) == "(item, /)"
    assert inspect.getdoc(method)
    assert method.__name__ == name
    for item in ("a", b"a", 5, -5, 2**64, True, ("a", 1), bytearray(b"b")):
        assert [method(f, item), method(f, item)] == ANSWERS[name]
    for wrong in ((), (f,), (f, 1, 2), (5, 1), (Stats, 1)):
        with pytest.raises(TypeError):
            method(*wrong)
    other = ExpiringFilter(60) if kind is Filter else Filter(60)
    with pytest.raises(TypeError, match=kind.__name__):
        method(other, 1)
    with pytest.raises(TypeError, match="keyword"):
        method(f, item=1)
    with pytest.raises(UnicodeEncodeError):
        method(f, "\ud800")
    with pytest.raises(OverflowError):
        method(f, 2**128)


def test_a_failed_add_is_one_failure() -> None:
    f = Filter(10)
    with pytest.raises(FullError):
        f.update(["ani"] * 100)
    failed = f.stats().failed_inserts
    with pytest.raises(FullError) as caught:
        f.add("ani")
    assert caught.value.index == 0
    assert not isinstance(caught.value, BusyError)
    assert f.stats().failed_inserts == failed + 1


def test_what_may_succeed_soon_is_a_kind_of_full() -> None:
    assert issubclass(BusyError, FullError)
    assert BusyError("").index == 0
