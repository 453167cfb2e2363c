#!/usr/bin/env bash
# Workers of a fork server hash a text alike, but not like their parent; workers of loky each in their own way.
#
# Run on 2026-11-28 with loky 3.7.0, which joblib uses, on CPython 3.11; since 3.14 a fork server is usual on Linux.
# Guess: all processes of a program share the seed of `hash`, or each process has its own.
# Seen: with `fork` the parent and the workers agree. With `forkserver` three pools agree with each other, and
# not with the parent, which has started the server as a new program. With `spawn` and in
# loky all four processes differ. Integers agree everywhere.
#
# For users of filters: bits that workers set by `hash` in shared memory are right for the workers, and
# wrong for the parent. Tests with integers or among workers pass. Use a hash with a seed of your own.
. "$(dirname "$0")/lib/python.sh"
python_with loky==3.7.0 <<'PROGRAM'
import multiprocessing
import loky


def hash_here(item):
    return hash(item)


def in_pool(method, item):
    with multiprocessing.get_context(method).Pool(1) as pool:
        return pool.apply(hash, [item])


def in_loky(item):
    with loky.ProcessPoolExecutor(1) as pool:
        return pool.submit(hash, item).result()


def main():
    ways = {method: lambda item, method=method: in_pool(method, item) for method in ("fork", "forkserver", "spawn")}
    ways["loky"] = in_loky
    found = {}
    for name, way in ways.items():
        hashes = [way("ani") for _ in range(3)]
        found[name] = (len(set(hashes)), hash("ani") in hashes)
        assert way(4711) == hash(4711)
    print("different hashes of a text in 3 workers, and whether the parent's is one of them:", found)
    assert found == {"fork": (1, True), "forkserver": (1, False), "spawn": (3, False), "loky": (3, False)}


if __name__ == "__main__":
    main()
PROGRAM
