#!/usr/bin/env bash
# DuckDB writes Bloom filters into Parquet files, but not for the columns that one looks up: unique ids.
#
# Run on 2026-11-27 with duckdb 2.0.1.
# Guess: each column of integers or texts gets a filter, above all those of many different values.
# Seen: only columns that are written as a dictionary have one. A column of unique values does not fit
# the dictionary, is written plainly, and has none: an absent id reads all 10 row groups. With a larger
# `dictionary_size_limit` the same column has a filter, and an absent id reads none.
#
# For users of filters: a column of 500 values, which statistics and any dictionary answer, has the
# filter that a lookup of ids needed. Ask the file, by `parquet_metadata`, whether it has one.
. "$(dirname "$0")/lib/python.sh"
python_with duckdb==2.0.1 <<'PROGRAM'
import duckdb

rows = "select (hash(i) >> 2)::bigint id, i % 500 AS few from range(200000) t(i)"
groups = "row_group_size 20480"
duckdb.sql(f"copy ({rows}) to 'usual.parquet' ({groups})")
duckdb.sql(f"copy ({rows}) to 'larger.parquet' ({groups}, dictionary_size_limit 40000)")


def filters(file):
    columns = f"select path_in_schema, count(bloom_filter_offset) from parquet_metadata('{file}') group by 1"
    return dict(duckdb.sql(columns).fetchall())


def excluded(file):
    probe = f"select count(*) filter (bloom_filter_excludes), count(*) from parquet_bloom_probe('{file}', 'id', 4)"
    return duckdb.sql(probe).fetchall()[0]


for file in ("usual.parquet", "larger.parquet"):
    print(file, filters(file), "row groups that the filter of `id` excludes:", excluded(file))
assert filters("usual.parquet") == {"id": 0, "few": 10} and excluded("usual.parquet") == (0, 10)
assert filters("larger.parquet") == {"id": 10, "few": 10} and excluded("larger.parquet")[0] >= 9
PROGRAM
