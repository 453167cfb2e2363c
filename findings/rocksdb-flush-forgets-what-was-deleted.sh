#!/usr/bin/env bash
# RocksDB's `key_may_exist` knows that keys were deleted, until a flush: then it says yes to all of them.
#
# Run on 2026-11-28 with rocksdict 0.3.29.
# Guess: it says no to deleted keys at any time, up to the rate of its filter; a flush changes no answer.
# Seen: of 1000 deleted keys 0 may exist. After a flush all 1000 may exist, beside 7 of 1000 absent ones. After
# a compaction 0 may exist. A deletion is an entry of the new file, so the filter of that file has the
# deleted key. Only the block behind it, if it is in the cache, says that it is a deletion.
#
# For users of filters: where each file has a filter, a deleted key is a false positive until a compaction.
# So a table of sessions or tokens, most of them deleted, asks the disk for them.
# A filter that can delete, in front of the store, says no at once.
. "$(dirname "$0")/lib/python.sh"
python_with rocksdict==0.3.29 <<'PROGRAM'
from rocksdict import BlockBasedOptions, Options, Rdict

options, blocks = Options(raw_mode=True), BlockBasedOptions()
blocks.set_bloom_filter(10, False)
options.set_block_based_table_factory(blocks)
options.create_if_missing(True)
store = Rdict("store", options)

KEYS = [b"key%06d" % i for i in range(20_000)]
DELETED, ABSENT = KEYS[:1000], [key + b"x" for key in KEYS[:1000]]


def may_exist():
    return tuple(sum(store.key_may_exist(key) for key in keys) for keys in (DELETED, ABSENT))


for key in KEYS:
    store[key] = b"value"
store.flush()
for key in DELETED:
    del store[key]
found = {"deleted": may_exist()}
store.flush()
found["flushed"] = may_exist()
store.compact_range(None, None)
found["compacted"] = may_exist()
print("deleted and absent keys that may exist, of 1000 each:", found)
assert not any(store.get(key) for key in DELETED)
assert found["deleted"][0] == 0 and found["flushed"][0] == 1000 and found["compacted"][0] < 50
assert all(absent < 50 for _, absent in found.values())
PROGRAM
