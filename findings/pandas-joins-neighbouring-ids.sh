#!/usr/bin/env bash
# pandas joins 64-bit ids that differ, if one column is unsigned, the other signed, and they are not sorted.
#
# Run on 2026-11-28 with pandas 3.1.1, numpy 2.4.6 and polars 2.1.0.
# Guess: a join on integers is exact; between uint64 and int64 it is exact too, or an error.
# Seen: 1000 random ids around 2^61, and the same ids plus 1, have no id in common. Unsorted, `merge` joins
# the 996 that are equal as floats; sorted, it joins none, and with a second key 996 again. `numpy.isin`
# has them in any order too, except that it is exact for a few ids, and so has `numpy.intersect1d`.
# `isin`, `map` and a join of indexes of pandas, and a join of Polars, find none.
#
# For users of filters: hashes and ids of filters are unsigned, the columns of databases signed. The exact
# test behind a filter then invents hits, and a test with few or sorted ids passes. Cast to one type first.
. "$(dirname "$0")/lib/python.sh"
python_with pandas==3.1.1 numpy==2.4.6 polars==2.1.0 <<'PROGRAM'
import numpy as np
import pandas as pd
import polars as pl

random = np.random.default_rng(1).integers(2**60, 2**62, 1000)


def joined(ids):
    """The number of rows by each way to ask which of the ids plus 1 are among the ids."""
    left = pd.DataFrame({"id": (ids + 1).astype("u8"), "key": 1})
    right = pd.DataFrame({"id": ids, "key": 1, "found": 1})
    return {
        "merge": len(left.merge(right, on="id")),
        "merge by two keys": len(left.merge(right, on=["id", "key"])),
        "index": len(left.set_index("id").join(right.set_index("id")[["found"]], how="inner")),
        "isin": int(left.id.isin(right.id).sum()),
        "map": int(left.id.map(right.set_index("id").found).notna().sum()),
        "few by numpy.isin": int(np.isin(left.id[:2], right.id[:2]).sum()),
        "intersect1d": len(np.intersect1d(left.id, right.id)),
        "numpy.isin": int(np.isin(left.id, right.id).sum()),
        "polars": pl.DataFrame({"id": (ids + 1).astype("u8")}).join(pl.DataFrame({"id": ids}), on="id").height,
    }


assert not set((random + 1).tolist()) & set(random.tolist())
unsorted, ordered = joined(random), joined(np.sort(random))
print("unsorted:", unsorted, "sorted:", ordered, sep="\n")
for found in (unsorted, ordered):
    assert {found[name] for name in ("index", "isin", "map", "few by numpy.isin", "polars")} == {0}
    assert {found[name] for name in ("merge by two keys", "intersect1d", "numpy.isin")} == {996}
assert unsorted["merge"] == 996 and ordered["merge"] == 0
PROGRAM
