"""Reads a filter that a program in Rust has saved.

    python from_rust.py FILE ITEM...

In Rust:

    let filter = CuckooFilter::with_capacity(1_000_000);
    filter.insert("ani")?;
    filter.write_to(File::create("filter.guira")?)?;

Items that were a `str` there are a `str` here, integers are an `int`, and byte slices are `bytes`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from guira_filter import Filter

# A filter that the tests of the Rust library have written.
GOLDEN = Path(__file__).parents[2] / "tests" / "tests" / "data" / "v2-fixed-15.guira"


def main(arguments: list[str]) -> None:
    if arguments == ["--check"]:
        arguments = [str(GOLDEN), "ani"]
    if not arguments:
        sys.exit(__doc__)
    path, *items = arguments
    # A file of strangers may claim any size.
    filter_ = Filter.load(path, max_bytes=1 << 30)
    print(f"{len(filter_)} items in {filter_.nbytes} bytes")
    for item, found in zip(items, filter_.contains_many(items), strict=True):
        print(f"{item}: {'probably present' if found else 'absent'}")


if __name__ == "__main__":
    main(sys.argv[1:])
