#!/usr/bin/env bash
# In DataFusion and ClickHouse a Bloom filter changes an answer: `x = 0.0` no longer finds -0.0.
#
# Run on 2026-11-28 with datafusion 55.0.0, pyarrow 26.0.1 and chdb-core-lite 26.5.0 (ClickHouse 26.5.1.1).
# Guess: a filter without false negatives skips only data in which no row matches, so answers stay the same.
# Seen: both engines say that 0.0 = -0.0. DataFusion finds the row of -0.0 in a Parquet file, and not if it
# reads the file's Bloom filter, as it does unless told otherwise. ClickHouse finds 20 rows, and none with a
# `bloom_filter` index; `set` and `minmax` indexes keep them. Its `x in (0.0, 1e9)` finds none in any case.
#
# For users of filters: the filter compares hashes of bits, the query compares numbers. A false negative
# appears wherever the two disagree on what is equal. Add 0.0 to a column of numbers before it is hashed.
. "$(dirname "$0")/lib/python.sh"
python_with datafusion==55.0.0 pyarrow==26.0.1 chdb-core-lite==26.5.0 <<'PROGRAM'
import datafusion
import pyarrow as pa
import pyarrow.parquet as pq
from chdb import session

pq.write_table(pa.table({"x": [-0.0, -5.5, 7.5]}), "x.parquet", bloom_filter_options={"x": {"ndv": 100, "fpp": 0.01}})
found = {}
for reads_filter in ("false", "true"):
    settings = datafusion.SessionConfig().set("datafusion.execution.parquet.bloom_filter_on_read", reads_filter)
    context = datafusion.SessionContext(settings)
    context.register_parquet("t", "x.parquet")
    assert context.sql("select arrow_cast('-0.0', 'Float64') = 0.0 as same").to_pylist() == [{"same": True}]
    found[reads_filter] = context.sql("select x from t where x = 0.0").count()
print("DataFusion, rows where x = 0.0, by whether it reads the filter:", found)
assert found == {"false": 1, "true": 0}

clickhouse = session.Session()
clickhouse.query("create database d")
found = {}
for index in ("none", "minmax", "set(0)", "bloom_filter(0.01)"):
    clickhouse.query("drop table if exists d.t")
    declared = "" if index == "none" else f", index b x type {index} granularity 1"
    clickhouse.query(f"create table d.t (i UInt64, x Float64{declared}) engine = MergeTree order by i")
    clickhouse.query("insert into d.t select number, number % 50 = 0 ? -0.0 : number + 0.5 from numbers(1000)")
    asked = [clickhouse.query(f"select count() from d.t where x {condition}") for condition in ("= 0.0", "in (0.0, 1e9)")]
    found[index] = [int(str(answer)) for answer in asked]
print("ClickHouse, rows where x = 0.0 and where x in (0.0, 1e9), by index:", found)
assert found == {"none": [20, 0], "minmax": [20, 0], "set(0)": [20, 0], "bloom_filter(0.01)": [0, 0]}
PROGRAM
