#!/usr/bin/env bash
# Runs the small concurrent tests and the unit tests of tokens and versions under Miri.
# Miri checks each access for undefined behaviour and data races, and emulates weak memory.
# i586 has no SSE2, so it runs the portable comparison of lookups. It is also a 32-bit target.
# GUIRA_MIRI_SEEDS: the number of schedules of each concurrent test on x86-64.
set -euo pipefail
cd "$(dirname "$0")/.."

# A fixed version, because the newest nightly may lack Miri.
nightly=nightly-2026-05-20
rustup toolchain install "$nightly" --profile minimal --component miri,rust-src --no-self-update

# run TARGET SEEDS TEST...
run() {
    local target=$1 seeds=$2
    shift 2
    printf '\n== %s\n' "$target"
    # The seed of the default hasher comes from the system, which isolation would hide.
    MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-many-seeds=0..$seeds" cargo "+$nightly" miri test --package guira --lib \
        --target "$target" --target-dir target/miri -- "$@"
}

run x86_64-unknown-linux-gnu "${GUIRA_MIRI_SEEDS:-2}" concurrent_tests raw::token raw::version
run aarch64-unknown-linux-gnu 1 concurrent_tests
run i586-unknown-linux-gnu 1 concurrent_tests
