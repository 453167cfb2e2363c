#!/usr/bin/env bash
# Reading a hole of a mapped file in tmpfs allocates its pages; `read`, or a file on a disk, does not.
#
# Run on 2026-11-27 with numpy 2.4.6, on Linux 6.
# Guess: a read-only mapping of a hole shows the kernel's shared page of zeros, as a private one does.
# Seen: in /dev/shm, a sparse file of 64 MiB has no block after `numpy.fromfile` has read it all, and
# 64 MiB after `numpy.memmap(mode="r")` has read one byte of each page. Mode "c", copy on write, is the
# same. A file on a disk keeps its hole.
#
# For users of filters: a large empty filter in shared memory costs nothing until it is asked. Lookups
# are at random places, so readers who write nothing fill tmpfs, up to the size of the filter, and it
# counts as shared memory of the container. Plan for the whole file, whatever `du` shows at first.
. "$(dirname "$0")/lib/python.sh"
python_with numpy==2.4.6 <<'PROGRAM'
import os
import tempfile
import numpy as np

SIZE = 64 << 20
PAGE = os.sysconf("SC_PAGE_SIZE")


def allocated(folder, read):
    """The bytes that a sparse file takes after it was read."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.truncate(SIZE)
        assert not read(file.name).any()
        return os.stat(file.name).st_blocks * 512


def whole(path):
    return np.fromfile(path, "u1")


def mapped(path):
    return np.memmap(path, "u1", mode="r")[::PAGE]


def copied(path):
    return np.memmap(path, "u1", mode="c")[::PAGE]


found = {read.__name__: allocated("/dev/shm", read) for read in (whole, mapped, copied)}
on_disk = allocated("/var/tmp", mapped)
print("bytes taken in tmpfs:", found, "on a disk:", on_disk)
assert found == {"whole": 0, "mapped": SIZE, "copied": SIZE} and on_disk == 0
PROGRAM
