#!/usr/bin/env bash
# The Bloom filter that SQLite builds for a join takes only the whole part of a real number.
#
# Run on 2026-11-27 with apsw 3.54.1.0, which contains SQLite 3.54.1.
# Guess: of 100 000 rows, of which 100 have a partner, the filter rejects about all others for any type.
# Seen: it rejects 99 800 integers and 98 350 texts, but no real number between 0 and 1: all of them set
# and test one bit. Integers are not mixed either: of multiples of 10 000, 25 % pass instead of 0.2 %.
# The plan shows `BLOOM FILTER ON` in each case.
#
# For users of filters: that a plan has a filter does not say that the filter filters. The counters of
# the statement do: SQLITE_STMTSTATUS_FILTER_HIT is the number of rows that it has spared.
. "$(dirname "$0")/lib/python.sh"
python_with apsw==3.54.1.0 <<'PROGRAM'
import apsw

ROWS = 100_000
QUERY = "SELECT count(*) FROM big JOIN dim ON big.k = dim.k WHERE dim.c = 7"


def passed(key):
    """The rows that pass the filter, of which 100 have a partner."""
    database, counters = apsw.Connection(":memory:"), {}
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})"
    database.execute("CREATE TABLE big(k, i); CREATE TABLE dim(k PRIMARY KEY, c)")
    database.execute(f"{numbers} INSERT INTO big SELECT {key}, i FROM n")
    database.execute("INSERT INTO dim SELECT k, i % 100 FROM big WHERE i <= 10000; ANALYZE")
    plan = str(database.execute("EXPLAIN QUERY PLAN " + QUERY).fetchall())
    assert "BLOOM FILTER ON dim" in plan, plan
    database.trace_v2(apsw.SQLITE_TRACE_PROFILE, lambda event: counters.update(event["stmt_status"]))
    assert database.execute(QUERY).fetchall() == [(100,)]
    database.trace_v2(0)
    assert counters["SQLITE_STMTSTATUS_FILTER_HIT"] + counters["SQLITE_STMTSTATUS_FILTER_MISS"] == ROWS
    return counters["SQLITE_STMTSTATUS_FILTER_MISS"]


keys = {"integers": "i", "texts": "'key' || i", "reals above 1": "i + 0.5",
        "multiples of 10000": "i * 10000", "reals below 1": "i / 1000000.0"}
found = {name: passed(key) for name, key in keys.items()}
for name, number in found.items():
    print(f"{name}: {number} of {ROWS} rows pass the filter")
assert found["integers"] < 1_000 and found["texts"] < 5_000 and found["reals above 1"] < 1_000
assert found["multiples of 10000"] > 20_000 and found["reals below 1"] == ROWS
PROGRAM
