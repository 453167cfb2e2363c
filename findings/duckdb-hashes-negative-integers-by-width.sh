#!/usr/bin/env bash
# In DuckDB equal integers of different width have equal hashes, unless they are negative.
#
# Run on 2026-11-28 with duckdb 2.0.1.
# Guess: `hash` depends on the type, or on the value alone; joins compare integers of different width.
# Seen: of 1000 positive numbers, the hashes as SMALLINT, INTEGER, BIGINT and HUGEINT are equal, so a test
# passes. Of 1000 negative ones, SMALLINT and INTEGER agree, BIGINT and HUGEINT do not agree with them.
# The hash of a FLOAT differs from that of an equal DOUBLE, and a text has the hash of its bytes.
#
# For users of filters: `hash(id)` fills filters, sketches and partitions. When a column becomes BIGINT, the
# positive ids are still found, and the negative ones (sentinels, refunds, shards) are not. Cast to BIGINT first.
. "$(dirname "$0")/lib/python.sh"
python_with duckdb==2.0.1 <<'PROGRAM'
import duckdb

WIDTHS = ("smallint", "bigint", "hugeint")


def equal(numbers):
    """For each type, how many hashes are those of the same number as INTEGER."""
    counts = (f"count(*) filter (hash(i::{width}) = hash(i::integer))" for width in WIDTHS)
    counted = duckdb.sql(f"select {', '.join(counts)} from range({numbers}) t(i)").fetchall()[0]
    return dict(zip(WIDTHS, counted))


positive, negative = equal("0, 1000"), equal("-1000, 0")
print("hashes equal to those of INTEGER, of 1000:", "positive", positive, "negative", negative)
assert positive == dict.fromkeys(WIDTHS, 1000)
assert negative["smallint"] == 1000 and negative["bigint"] == negative["hugeint"] == 0
others = "select hash(1.5::float) = hash(1.5::double), hash('a') = hash('a'::blob), -5::integer = -5::bigint"
assert duckdb.sql(others).fetchall() == [(False, True, True)]
PROGRAM
