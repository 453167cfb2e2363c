#!/usr/bin/env bash
# Runs the small concurrent tests and the unit tests of tokens and versions under Miri.
# Miri checks each access for undefined behaviour and data races, and emulates weak memory.
# i586 has no SSE2, so it runs the portable comparison of lookups. It is also a 32-bit target, and s390x is
# big-endian: both read and write the bytes and hashes that x86-64 made.
# GUIRA_MIRI_SEEDS: the number of schedules of each concurrent test on x86-64.
set -euo pipefail
cd "$(dirname "$0")/.."

# A fixed version, because the newest nightly may lack Miri.
nightly=nightly-2026-05-20
rustup toolchain install "$nightly" --profile minimal --component miri,rust-src --no-self-update

# run TARGET SEEDS TEST...
run() {
    local target=$1 seeds=$2 status=0
    shift 2
    # The seed of the default hasher comes from the system, which isolation would hide.
    MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-many-seeds=0..$seeds" cargo "+$nightly" miri test --package guira --lib \
        --target "$target-unknown-linux-gnu" --target-dir target/miri -- concurrent_tests "$@" || status=$?
    echo "$target: $((SECONDS - began)) s"
    return "$status"
}

# An interpreted test has one core, so the targets run side by side.
mkdir -p target
began=$SECONDS targets=()
begin() {
    run "$@" > "target/miri-$1.log" 2>&1 &
    targets+=("$!=$1")
}
begin x86_64 "${GUIRA_MIRI_SEEDS:-2}" raw::token raw::version
begin aarch64 1
begin i586 1 golden_tests hashes_are_stable
begin s390x 1 golden_tests hashes_are_stable

failed=0
for pair in "${targets[@]}"; do
    wait "${pair%%=*}" || failed=1
    printf '\n== %s\n' "${pair#*=}"
    grep -v Compiling "target/miri-${pair#*=}.log"
done
exit "$failed"
