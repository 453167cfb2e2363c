"""Filters that a program in Rust has saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from guira_filter import Filter

DATA = Path(__file__).parents[2] / "tests" / "tests" / "data"
NAMES = ["ani", "guira", "koel", "roadrunner", "смешливая кукушка"]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.guira")), ids=lambda path: path.stem)
def test_filters_of_rust(path: Path) -> None:
    f = Filter.load(path)
    assert all(f.contains_many(NAMES))
    assert all(f.contains_many([name.encode() for name in NAMES]))
    assert all(f.contains_many(range(100)))
    assert f.to_bytes() == path.read_bytes()
    if "counters" in path.stem:
        # Ten numbers have seven copies more.
        assert all(f.count(number) >= 8 for number in range(10))
        assert all(f.discard(number) for number in range(10) for _ in range(7))
    numbers = len(f) - 2 * len(NAMES)
    assert all(f.discard_many(range(numbers)))
    assert all(f.discard_many([*NAMES, *(name.encode() for name in NAMES)]))
    assert len(f) == 0


def test_there_are_files() -> None:
    assert len(list(DATA.glob("*.guira"))) >= 16
