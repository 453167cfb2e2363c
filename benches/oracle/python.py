"""Asks packages of Python what the oracle asks those of Rust, and prints a section of its page.

`benches/oracle/python.sh` installs the packages, and runs this program.
"""

import hashlib
import importlib
import pickle
import random
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

ITEMS = 58_000
# Slots of four, as many as the filters of Rust get for the same items; and a number that is no power of two.
BUCKETS, ODD_BUCKETS = 1 << 14, 17_000
MOST = ITEMS * 23 // 10
RATE = 0.001
NONE = "–"

COLUMNS = [
    "package",
    "load at the first refusal",
    "lost without a refusal",
    "lost at refusals",
    "copies",
    "deletes at 88 %",
    "lost, 17 000 buckets",
    "saved: found",
]


HEAD = f"""
## Packages of Python

Measured with CPython {sys.version.split()[0]}; items are texts.
pyprobables, cuckoopy, cuckoofilter and scalable-cuckoo-filter take a number of buckets or slots: 2¹⁴ buckets of four slots.
The others get 58 000 items and a rate of 0.1 %; cuckoopy and cuckoofilter get fingerprints of two bytes.

- **lost, 17 000 buckets**: of 58 000 accepted items, if the number of buckets is not a power of two
- **saved: found**: by the method of the package, or else by pickle
- *raises*: an exception that is not that of a full filter
"""


def key(number):
    return f"item {number}"


def digest(item):
    """The hash function that rbloom's documentation shows for filters that are saved."""
    return int.from_bytes(hashlib.sha256(pickle.dumps(item)).digest()[:16], "big", signed=True)


class Peer:
    """A filter of one package. `full` is the error that says that it is."""

    package = module = method = None
    full = "no error"
    slots = None

    def __init__(self, buckets=BUCKETS):
        module = importlib.import_module(self.module)
        names = self.full.split(".")
        self.error = getattr(importlib.import_module(".".join(names[:-1])), names[-1]) if names[1:] else ()
        self.filter = self.make(module, buckets)

    def insert(self, item):
        try:
            return getattr(self.filter, self.method)(item) is not False
        except self.error:
            return False

    def contains(self, item):
        return item in self.filter

    remove = None

    def save(self, path):
        path.write_bytes(pickle.dumps(self.filter))

    def load(self, path):
        self.filter = pickle.loads(path.read_bytes())


class Pyprobables(Peer):
    package, module, method = "pyprobables", "probables", "add"
    full = "probables.exceptions.CuckooFilterFullError"
    slots = 4

    def make(self, module, buckets):
        return module.CuckooFilter(capacity=buckets)

    def remove(self, item):
        return self.filter.remove(item)

    def save(self, path):
        self.filter.export(path)

    def load(self, path):
        self.filter = importlib.import_module(self.module).CuckooFilter(filepath=path)


class Cuckoopy(Peer):
    package, module, method = "cuckoopy", "cuckoopy", "insert"
    full = "cuckoopy.exceptions.CuckooFilterFullException"
    slots = 4

    def make(self, module, buckets):
        # Two bytes, so that false positives hide little.
        return module.CuckooFilter(capacity=buckets, fingerprint_size=2)

    def remove(self, item):
        return self.filter.delete(item)


class Cuckoofilter(Cuckoopy):
    package, module, full = "cuckoofilter", "cuckoofilter", "no error"
    slots = None

    def make(self, module, buckets):
        return module.CuckooFilter(capacity=4 * buckets, fingerprint_size=2)

    def load_factor(self, items):
        return items / (4 * BUCKETS)


class ScalableCuckooFilter(Cuckoopy):
    package, module, full = "scalable-cuckoo-filter", "cuckoo.filter", "cuckoo.exception.CapacityException"

    def make(self, module, buckets):
        return module.CuckooFilter(capacity=buckets, error_rate=RATE)


class Scf(Peer):
    package, module, method = "cjrh-scalable-cuckoo-filter", "scf", "insert"

    def make(self, module, _):
        return module.PyScalableCuckooFilter(ITEMS, RATE)

    def contains(self, item):
        return self.filter.might_contain(item)

    def remove(self, item):
        return self.filter.remove(item)

    def save(self, path):
        self.filter.write_to_file(str(path))

    def load(self, path):
        self.filter = importlib.import_module(self.module).PyScalableCuckooFilter.read_from_file(str(path))


class Rbloom(Peer):
    package, module, method = "rbloom", "rbloom", "add"

    def make(self, module, _):
        return module.Bloom(ITEMS, RATE, digest)

    def save(self, path):
        self.filter.save(path)

    def load(self, path):
        self.filter = importlib.import_module(self.module).Bloom.load(path, digest)


class Abloom(Peer):
    package, module, method = "abloom", "abloom", "add"

    def make(self, module, _):
        return module.BloomFilter(ITEMS, RATE, serializable=True)

    def insert(self, item):
        self.filter.add(item)
        return True

    def save(self, path):
        path.write_bytes(self.filter.to_bytes())

    def load(self, path):
        self.filter = importlib.import_module(self.module).BloomFilter.from_bytes(path.read_bytes())


PEERS = [Pyprobables, Cuckoopy, Cuckoofilter, ScalableCuckooFilter, Scf, Rbloom, Abloom]


def missing(peer, numbers):
    return sum(not peer.contains(key(number)) for number in numbers)


def fill(peer, numbers):
    """How many are accepted until one is refused."""
    accepted = 0
    for number in numbers:
        if not peer.insert(key(number)):
            break
        accepted += 1
    return accepted


def full(make):
    peer = make()
    accepted = fill(peer, range(ITEMS))
    lost = str(missing(peer, range(ITEMS))) if accepted == ITEMS else "refuses"
    accepted += fill(peer, range(accepted, MOST))
    if accepted == MOST:
        return ["never", lost, NONE]
    slots = BUCKETS * (peer.slots or 0)
    load = accepted / slots if slots else peer.load_factor(accepted)
    kept, refused = list(range(accepted)), 1
    for number in range(accepted + 1, MOST):
        if peer.insert(key(number)):
            kept.append(number)
        else:
            refused += 1
        if refused == 100:
            break
    return [f"{load:.1%}".replace("%", " %"), lost, f"{missing(peer, kept)} of {refused}"]


def copies(make):
    peer = make()
    if peer.remove is None:
        return NONE
    fill(peer, [0] * 100)
    found = next((count for count in range(100) if not peer.remove(key(0))), 100)
    return "100 or more" if found == 100 else str(found)


def deletes(make):
    peer = make()
    if peer.remove is None:
        return NONE
    accepted = [number for number in range(ITEMS) if peer.insert(key(number))]
    deleted = [number for number in accepted if number % 2 == 0]
    failed = sum(not peer.remove(key(number)) for number in deleted)
    lost = missing(peer, (number for number in accepted if number % 2))
    return f"{lost} lost, {failed} fail, of {len(deleted)}" if lost + failed else "exact"


def odd(make):
    if make.slots is None:
        return NONE
    peer = make(ODD_BUCKETS)
    accepted = fill(peer, range(ITEMS))
    return f"{missing(peer, range(accepted))} of {accepted}"


def saved(make):
    peer = make()
    accepted = fill(peer, range(ITEMS // 2))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved"
        peer.save(path)
        program = [sys.executable, __file__, peer.package, str(path)]
        found = int(subprocess.run(program, capture_output=True, check=True).stdout)
    return "all" if found == accepted else f"{found} of {accepted}"


def answer(question, make):
    try:
        return question(make)
    except Exception as error:
        return f"raises `{type(error).__name__}`"


def row(make):
    answers = answer(full, make)
    answers = answers if isinstance(answers, list) else [answers] * 3
    answers += [answer(question, make) for question in (copies, deletes, odd, saved)]
    return [f"{make.package} {version(make.package)}", *answers]


def main():
    random.seed(1)
    if len(sys.argv) == 3:
        make = next(make for make in PEERS if make.package == sys.argv[1])
        peer = make()
        peer.load(Path(sys.argv[2]))
        print(ITEMS // 2 - missing(peer, range(ITEMS // 2)))
        return
    print(HEAD)
    print("|", " | ".join(COLUMNS), "|")
    print("|" + "---|" * len(COLUMNS))
    for make in PEERS:
        print("|", " | ".join(row(make)), "|", flush=True)


main()
