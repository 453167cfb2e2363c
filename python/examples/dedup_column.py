"""Removes rows whose key was seen before, in this or an earlier part of a table.

    pip install polars guira-filter
    python dedup_column.py

The filter keeps what it has seen in 2 bytes a key, and can be saved between two runs.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
from guira_filter import Filter

SEEN = Path("seen.guira")


def new_rows(part: pl.DataFrame, seen: Filter) -> pl.DataFrame:
    """The rows of `part` whose `url` is new. The column is read in place, without the GIL."""
    return part.filter(pl.Series(seen.add_unique_many(part["url"])))


def main() -> None:
    seen = Filter.load(SEEN) if SEEN.exists() else Filter(1_000_000, 1e-6)
    parts = [
        pl.DataFrame({"url": [f"https://example.org/{i % 700}" for i in range(1000)]}),
        pl.DataFrame({"url": [f"https://example.org/{i}" for i in range(500, 1000)]}),
    ]
    for part in parts:
        print(f"{len(part)} rows, {len(new_rows(part, seen))} of them new")
    seen.save(SEEN)
    assert "https://example.org/999" in Filter.load(SEEN)
    print(f"{len(seen)} keys in {SEEN.stat().st_size} bytes")


if __name__ == "__main__":
    main()
