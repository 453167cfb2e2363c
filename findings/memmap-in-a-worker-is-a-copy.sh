#!/usr/bin/env bash
# A `numpy.memmap` that is passed to a worker process is still a `memmap`, but no longer mapped.
#
# Run on 2026-11-28 with numpy 2.4.6 and Python 3.
# Guess: its pickle is the path and the offset, as that of a `SharedMemory` is its name; or it cannot be pickled.
# Seen: `type` says `memmap` in the worker, its `filename` is None, and its memory is a copy. The worker
# sets an item, and reads it back. `flush` succeeds, and neither the file nor the parent has the item,
# by a pool that forks as by one that spawns. The worker can write even if the parent mapped it read-only.
#
# For users of filters: bits that workers set in a mapped filter are lost without an error, and
# each worker holds a copy of the filter. Pass the path, and map it in the worker.
. "$(dirname "$0")/lib/python.sh"
python_with numpy==2.4.6 <<'PROGRAM'
import multiprocessing
import numpy as np


def set_first(bits):
    bits[0] = 1
    bits.flush()
    return type(bits).__name__, bits.filename, int(bits[0])


def main():
    for method in ("fork", "spawn"):
        for mode in ("r+", "r"):
            np.zeros(64, "u1").tofile("bits")
            bits = np.memmap("bits", "u1", mode=mode)
            with multiprocessing.get_context(method).Pool(1) as pool:
                in_worker = pool.apply(set_first, [bits])
            in_file = int(np.fromfile("bits", "u1")[0])
            print(f"{method}, {mode}: in the worker {in_worker}, in the file {in_file}, in the parent {bits[0]}")
            assert in_worker == ("memmap", None, 1) and in_file == bits[0] == 0


if __name__ == "__main__":
    main()
PROGRAM
