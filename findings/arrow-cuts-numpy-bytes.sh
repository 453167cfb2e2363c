#!/usr/bin/env bash
# Arrow ends a numpy item of fixed width at its first zero byte, so different digests become equal.
#
# Run on 2026-11-27 with pyarrow 26.0.1, polars 2.1.0 and numpy 2.4.6.
# Guess: like numpy, Arrow strips zeros from the end of an `S` item, and keeps those inside.
# Seen: `pa.array` makes b"a" of both b"a\0b" and b"a\0c". Of 100 000 MD5 digests, 6096 are shortened, and
# 99 434 different items are left. Polars keeps what numpy shows. There is no error: the type of the
# column is `binary`, whose items can have any length.
#
# For users of filters: a filter that is filled with such a column, and asked for the digests
# themselves, misses 6 % of them: a filter without false negatives appears to have some.
# Let Arrow take the digests as `pa.binary(16)` from a list, or as fixed-size buffers.
. "$(dirname "$0")/lib/python.sh"
python_with pyarrow==26.0.1 polars==2.1.0 numpy==2.4.6 <<'PROGRAM'
import hashlib
import numpy as np
import polars as pl
import pyarrow as pa

short = np.array([b"a\0b", b"a\0c"], dtype="S3")
print("numpy ", short.tolist())
print("arrow ", pa.array(short).to_pylist())
print("polars", pl.Series(short).to_list())
assert short.tolist() == pl.Series(short).to_list() == [b"a\0b", b"a\0c"]
assert pa.array(short).to_pylist() == [b"a", b"a"]

digests = [hashlib.md5(str(i).encode()).digest() for i in range(100_000)]
column = pa.array(np.array(digests, dtype="S16"))
kept = set(column.to_pylist())
lost = sum(digest not in kept for digest in digests)
print(f"{lost} of {len(digests)} digests are not in the column, which has {len(kept)} different items")
assert 5_000 < lost < 7_000 and len(kept) < len(digests)
assert pa.array(digests, pa.binary(16)).to_pylist() == digests
PROGRAM
