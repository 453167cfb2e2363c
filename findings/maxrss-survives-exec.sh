#!/usr/bin/env bash
# On Linux, `ru_maxrss` of a program that a process starts is at least the peak of that process.
#
# Run on 2026-11-27 with numpy 2.4.6 and Python 3, on Linux 6.
# Guess: a program that is executed begins with an empty address space, so its peak begins at zero.
# Seen: a parent fills an array of 256 MiB, and starts an empty program. The program's `ru_maxrss` is
# above 256 MiB, and its `VmHWM` in /proc/self/status is that of an empty program. Started before the
# array was there, both are small.
#
# For users of filters: a benchmark that measures each filter in a process of its own finds the same memory
# for all of them, that of the program which starts them, once that is larger. The difference of two
# readings is zero. Read VmHWM instead.
. "$(dirname "$0")/lib/python.sh"
python_with numpy==2.4.6 <<'PROGRAM'
import subprocess
import sys
import numpy as np

PROGRAM = """
import resource
status = open("/proc/self/status").read()
high_water = status.split("VmHWM:")[1].split()[0]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, high_water)
"""


def peaks():
    """The peak of an empty program in MiB, by both measures."""
    out = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True)
    return [int(number) // 1024 for number in out.stdout.split()]


before = peaks()
array = np.ones(256 << 20, "u1")
after = peaks()
print("ru_maxrss and VmHWM in MiB, before:", before, "beside an array of 256 MiB:", after)
assert before[0] < 128 and after[0] >= 256
assert after[1] < 64 and abs(after[1] - before[1]) < 8
PROGRAM
