#!/usr/bin/env bash
# fakeredis accepts items into a cuckoo filter, and then no longer finds more than half of them.
#
# Run on 2026-11-27 with fakeredis 2.41.0, pyprobables 0.7.0 and redis 8.1.0.
# Guess: a mock of an engine refuses at its capacity or grows, and finds what it has replied 1 to.
# Seen: of 3000 items that are added to a key without options, 2985 are accepted, and about 1300 of
# those are found. When it should grow, it makes a filter of the same size, because it passes the
# engine's default `EXPANSION 1` to a library whose factor 1 means "as large as before".
# `EXPANSION 2` changes nothing, because the command reads that option and drops it. Up to about half
# of the capacity nothing is lost, and `CF.COUNT` and `CF.DEL` behave.
#
# For users of filters: a test against this mock fails, or worse passes, for reasons that no server
# has. Run tests of filters against the server or the module that will be used.
. "$(dirname "$0")/lib/python.sh"
python_with fakeredis==2.41.0 pyprobables==0.7.0 redis==8.1.0 <<'PROGRAM'
import fakeredis

filters = fakeredis.FakeRedis().cf()


def accepted_and_found(key, count):
    accepted = [item for item in range(count) if filters.add(key, item)]
    return len(accepted), sum(filters.exists(key, item) for item in accepted)


filters.create("wider", 1024, expansion=2)
few, usual, wider = (accepted_and_found(key, count) for key, count in
                     (("few", 1000), ("usual", 3000), ("wider", 3000)))
for name, (accepted, found) in {"few": few, "usual": usual, "wider": wider}.items():
    print(f"{name}: accepted {accepted}, found {found}")
assert few == (1000, 1000)
for accepted, found in (usual, wider):
    assert accepted > 2_500 and found < 0.75 * accepted
PROGRAM
