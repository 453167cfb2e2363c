#!/usr/bin/env bash
# A new installation of pyfusefilter can build no filter at all, because xxhash 4 refuses texts.
#
# Run on 2026-11-27 with pyfusefilter 1.3.0, xxhash 4.1.0 and xxhash 3.5.0.
# Guess: xxhash takes a text as its UTF-8 bytes, as it has for years, and integers do not pass by a text.
# Seen: pyfusefilter turns each item into a text and hashes that. xxhash 4 raises a TypeError for a
# text, so even a filter of integers cannot be built. pyfusefilter names xxhash without a version, so
# pip takes the newest. With xxhash 3.5 it works, and 1 and "1" are the same item.
#
# For users of filters: the hash function is a part of the filter, and here it is another package's.
# Pin both. A filter that is saved needs the same hash function for as long as the file is kept.
. "$(dirname "$0")/lib/python.sh"
python_with pyfusefilter==1.3.0 xxhash==4.1.0 <<'PROGRAM'
import pyfusefilter

for items in ([1, 2, 3], ["a", "b"], [b"a", b"b"]):
    for kind in (pyfusefilter.Xor8, pyfusefilter.Fuse8):
        try:
            kind(10).populate(items)
        except TypeError as error:
            print(f"xxhash 4: {kind.__name__} of {items}: {error}")
        else:
            raise AssertionError(f"{kind.__name__} of {items} was built")
PROGRAM
python_with xxhash==3.5.0 <<'PROGRAM'
import pyfusefilter

filter = pyfusefilter.Xor8(10)
filter.populate([1, 2, 3])
assert all(filter.contains(item) for item in (1, 2, 3, "1", "2", "3"))
print("xxhash 3.5: the filter of 1, 2 and 3 has them, and the texts of them")
PROGRAM
