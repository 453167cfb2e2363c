#!/usr/bin/env bash
# A column of 32-bit floats has a value that equals 0.1, but 0.1 is not in the column.
#
# Run on 2026-11-28 with numpy 2.4.6, pandas 3.1.1, polars 2.1.0, duckdb 2.0.1 and pyarrow 26.0.1.
# Guess: whatever `==` says of 0.1 as 32 and as 64 bits, the same library's membership test says, too.
# Seen: in numpy 2, pandas and Polars `column == 0.1` is true, and `isin`, `is_in` and a join find nothing. A set
# of Python does not find 0.1 among numpy's scalars, which equal it and hash differently. DuckDB
# finds `x = 0.1` and `x in (0.1)`, and nothing for `x = ?` with the parameter 0.1. Arrow says no to both.
#
# For users of filters: a filter takes bytes or a hash, so it agrees with `isin`, never with `==`. A value that a
# program reads back as a Python float is not found. Ask with the column's type: `numpy.float32(0.1)`.
. "$(dirname "$0")/lib/python.sh"
python_with numpy==2.4.6 pandas==3.1.1 polars==2.1.0 duckdb==2.0.1 pyarrow==26.0.1 <<'PROGRAM'
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

column = np.array([0.1], "f4")
series, frame = pl.Series(column), pd.DataFrame({"x": column})
floats = pa.table({"x": column})
equal_and_in = {
    "numpy": (bool((column == 0.1)[0]), bool(np.isin(column, [0.1])[0])),
    "Python's set": (bool(column[0] == 0.1), 0.1 in set(column)),
    "pandas": (bool((frame.x == 0.1)[0]), bool(frame.x.isin([0.1])[0])),
    "pandas, join": (bool((frame.x == 0.1)[0]), len(frame.merge(pd.DataFrame({"x": [0.1]}), on="x")) == 1),
    "polars": ((series == 0.1)[0], series.is_in([0.1])[0]),
    "duckdb": duckdb.sql("select x = 0.1, x in (0.1) from floats").fetchall()[0],
    "duckdb, parameter": duckdb.execute("select x = $a, x in ($a) from floats", {"a": 0.1}).fetchall()[0],
    "arrow": (pc.equal(floats["x"], 0.1)[0].as_py(), pc.is_in(floats["x"].cast("double"), pa.array([0.1]))[0].as_py()),
}
for name, found in equal_and_in.items():
    print(f"{name}: equal {found[0]}, in {found[1]}")
apart = {name for name, (equal, inside) in equal_and_in.items() if equal and not inside}
assert apart == {"numpy", "Python's set", "pandas", "pandas, join", "polars"}
assert equal_and_in["duckdb"] == (True, True)
assert equal_and_in["duckdb, parameter"] == equal_and_in["arrow"] == (False, False)
PROGRAM
