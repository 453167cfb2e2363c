#!/usr/bin/env bash
# Changes one thing in the library at a time. Each change is first tested with the unit tests, and
# the surviving ones with tests/tests/mutants.rs. If a change still survives,
# ci/mutants-explained.txt must explain it by name, or this fails. Arguments are passed to `cargo
# mutants`. Needs `cargo install cargo-mutants`.
set -euo pipefail
cd "$(dirname "$0")/.."
export GUIRA_MUTANTS=1
out=target/mutants.out

# survey ARGUMENT...: cargo-mutants exits with 2 if some mutants survive, and with 3 if some hang.
survey() {
    local status=0
    cargo mutants --output target --no-shuffle --jobs 2 "$@" || status=$?
    [[ $status == 0 || $status == 2 || $status == 3 ]]
}

# skip_slow NAME...: skips tests that take minutes without optimisation.
skip_slow() {
    skip=()
    for name in "$@"; do skip+=(--skip "$name"); done
}

# names FILE...: the mutants without their line numbers, which every change moves.
names() {
    sed -nE 's/^(src[^:]*):[0-9]+:[0-9]+: /\1: /; /^src/p' "$@" | sort
}

# explained FILE: the lines whose mutant is explained for that number of places.
explained() {
    awk '
        !/^src/ { next }
        NR == FNR { places[$0]++; next }
        { name = $0; sub(/:[0-9]+:[0-9]+: /, ": ", name) }
        { lines[++count] = $0; of[count] = name; missed[name]++ }
        END { for (i = 1; i <= count; i++) if (missed[of[i]] <= places[of[i]]) print lines[i] }
    ' ci/mutants-explained.txt "$1"
}

skip_slow small_layouts_agree uniform takes_a_bounded_number
survey -C --lib "$@" -- -- "${skip[@]}"
# The second survey leaves out the mutants that hang, which count as caught, and the explained ones.
cat "$out/timeout.txt" >> "$out/caught.txt"
explained "$out/missed.txt" >> "$out/caught.txt"
skip_slow the_same_keys_are_harmless a_million_items every_level_is_as_computed keys_of_one_class \
    keys_of_one_pair_make every_bit_flip two_copies tiny_capacities nothing_is_lost_while_four \
    max_capacity_fits random_bytes valid_snapshots_of_all passes_without_end \
    concurrent:: failing_writer:: fuzz:: slow_writer::
survey --iterate -C --test=mutants -C --test=alone "$@" -- -- "${skip[@]}"

unexplained=$(comm -23 <(names "$out/missed.txt") <(names ci/mutants-explained.txt))
if [[ -n $unexplained ]]; then
    echo "These changes survive, and are not explained:"
    echo "$unexplained"
    exit 1
fi
