#!/usr/bin/env bash
# Polars hashes an item of an Enum by its position, so different texts of different Enums are equal.
#
# Run on 2026-11-28 with polars 2.1.0.
# Guess: equal texts have equal hashes, whether a column is a String, a Categorical or an Enum.
# Seen: `hash` of "b" as an Enum of (a, b) is that of the integer 1, and that of "z" as an Enum of (y, z). As an
# Enum of (b, a) it is another. A Categorical has hashes of its own, which are not those of its texts.
# `is_in` and joins compare the texts: "b" of the first Enum is in a column of texts.
#
# For users of filters: a filter of such hashes finds items of other columns that were never inserted. After
# the Enum has a new first category, it misses all the others. Cast to String before `hash`.
. "$(dirname "$0")/lib/python.sh"
python_with polars==2.1.0 <<'PROGRAM'
import polars as pl


def hash_of(item, dtype):
    return pl.Series([item], dtype=dtype).hash()[0]


ab, ba, yz = (pl.Enum(list(categories)) for categories in ("ab", "ba", "yz"))
hashes = {
    "b of Enum(a, b)": hash_of("b", ab), "z of Enum(y, z)": hash_of("z", yz), "1": hash_of(1, pl.UInt32),
    "b of Enum(b, a)": hash_of("b", ba), "b as a Categorical": hash_of("b", pl.Categorical),
    "b as a String": hash_of("b", pl.String), "b as Binary": hash_of(b"b", pl.Binary),
}
for name, number in hashes.items():
    print(f"{number:20} {name}")
in_first, in_second, integer, moved, category, text, binary = hashes.values()
assert in_first == in_second == integer and text == binary
assert len({in_first, moved, category, text}) == 4
assert pl.Series(["b"], dtype=ab).cast(pl.String).hash()[0] == text
assert pl.Series(["b"], dtype=ab).is_in(pl.Series(["b"]).implode()).all()
PROGRAM
