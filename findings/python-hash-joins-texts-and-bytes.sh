#!/usr/bin/env bash
# rbloom and abloom find b"x" after "x" was added, which a set of Python does not.
#
# Run on 2026-11-27 with rbloom 1.5.4 and abloom 1.1.0, on CPython 3.11.
# Guess: like a set, such a filter tells a text from its bytes, up to the rate.
# Seen: of 500 texts, all 500 are found as bytes, at a rate of 0.1 %, and a set finds none. CPython
# hashes an ASCII text and its bytes to the same number; a set then compares, and a filter cannot.
#
# For users of filters: a "false positive" that comes back for each item, whatever the rate. It matters
# where texts and bytes are different things, such as names and digests of them in one filter.
. "$(dirname "$0")/lib/python.sh"
python_with rbloom==1.5.4 abloom==1.1.0 <<'PROGRAM'
import abloom
import rbloom

texts = [f"user-{i}" for i in range(500)]
others = [f"other-{i}".encode() for i in range(500)]
filters = {"set": set(), "rbloom": rbloom.Bloom(1000, 0.001), "abloom": abloom.BloomFilter(1000, 0.001)}
found = {}
for name, filter in filters.items():
    filter.update(texts)
    found[name] = sum(text.encode() in filter for text in texts)
    assert sum(other in filter for other in others) < 10
print("texts that are found as bytes:", found)
assert found == {"set": 0, "rbloom": 500, "abloom": 500}
PROGRAM
