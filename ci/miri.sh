#!/usr/bin/env bash
# Runs the small concurrent tests and the unit tests of the atomics under Miri, for x86-64 and AArch64.
# Miri checks each access for undefined behaviour and data races, and emulates weak memory.
# GUIRA_MIRI_SEEDS: the number of schedules of each concurrent test.
set -euo pipefail
cd "$(dirname "$0")/.."

# A fixed version: the newest one may lack Miri.
nightly=nightly-2026-05-20
rustup toolchain install "$nightly" --profile minimal --component miri,rust-src --no-self-update

miri() { cargo "+$nightly" miri test --package guira --lib --target-dir target/miri "$@"; }

# The seed of the default hasher comes from the system, which isolation hides.
export MIRIFLAGS="-Zmiri-disable-isolation"
for target in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu; do
    printf '\n== %s\n' "$target"
    MIRIFLAGS="$MIRIFLAGS -Zmiri-many-seeds=0..${GUIRA_MIRI_SEEDS:-4}" miri --target "$target" -- concurrent_tests
    miri --target "$target" -- raw::token raw::version raw::frontier
done
