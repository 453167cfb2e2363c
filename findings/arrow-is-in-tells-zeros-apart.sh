#!/usr/bin/env bash
# In Arrow 0.0 equals -0.0, but is not in a set of -0.0; in numpy, pandas, Polars and DuckDB it is.
#
# Run on 2026-11-27 with pyarrow 26.0.1, numpy 2.4.6, pandas 3.1.1, polars 2.1.0 and duckdb 2.0.1.
# Guess: `pc.is_in` agrees with `pc.equal`, as the exact membership tests of the others do.
# Seen: `pc.equal(0.0, -0.0)` is true, `pc.is_in([0.0], [-0.0])` is false, and `pc.unique` keeps both.
# It compares bits, for NaN too: three NaNs of different bits stay three, where the others have one.
#
# For users of filters: the exact test behind a filter differs by engine, so a "false positive" that
# one engine counts is a hit in another, and rows disappear when a join moves from pandas to Arrow.
# A filter hashes bits: add 0.0 to each value, which turns -0.0 into 0.0, before it is hashed.
. "$(dirname "$0")/lib/python.sh"
python_with pyarrow==26.0.1 numpy==2.4.6 pandas==3.1.1 polars==2.1.0 duckdb==2.0.1 <<'PROGRAM'
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

query = "select x in (-0.0::double) from (values (0.0::double)) t(x)"
is_in = {
    "arrow": pc.is_in(pa.array([0.0]), value_set=pa.array([-0.0]))[0].as_py(),
    "numpy": bool(np.isin([0.0], [-0.0])[0]),
    "pandas": bool(pd.Series([0.0]).isin([-0.0])[0]),
    "polars": pl.Series([0.0]).is_in([-0.0])[0],
    "duckdb": duckdb.sql(query).fetchall()[0][0],
}
print("is 0.0 in a set of -0.0?", is_in)
assert is_in == {"arrow": False, "numpy": True, "pandas": True, "polars": True, "duckdb": True}
assert pc.equal(pa.scalar(0.0), pa.scalar(-0.0)).as_py()

nans = np.array([0x7FF8 << 48, 0x7FF8 << 48 | 1, 0xFFF8 << 48], dtype="u8").view("f8")
different = {"arrow": len(pc.unique(pa.array(nans))), "numpy": len(np.unique(nans)),
             "pandas": len(pd.unique(nans)), "polars": pl.Series(nans).n_unique()}
print("different NaNs:", different)
assert different == {"arrow": 3, "numpy": 1, "pandas": 1, "polars": 1}

normal = pc.add(pa.array([-0.0]), 0.0)
assert pc.is_in(pa.array([0.0]), value_set=normal)[0].as_py()
PROGRAM
