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
    # The seed of the default hasher comes from the system, which isolation would hide.
    MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-many-seeds=0..$seeds" cargo "+$nightly" miri test --package guira --lib \
        --target "$target" --target-dir target/miri -- "$@" > "target/miri-$target.log" 2>&1
}

# An interpreted test has one core, so the targets run side by side.
mkdir -p target
targets=()
begin() {
    targets+=("$!=$1")
}
run x86_64-unknown-linux-gnu "${GUIRA_MIRI_SEEDS:-2}" concurrent_tests raw::token raw::version & begin x86_64-unknown-linux-gnu
run aarch64-unknown-linux-gnu 1 concurrent_tests & begin aarch64-unknown-linux-gnu
run i586-unknown-linux-gnu 1 concurrent_tests & begin i586-unknown-linux-gnu

failed=0
for pair in "${targets[@]}"; do
    wait "${pair%%=*}" || failed=1
    printf '\n== %s\n' "${pair#*=}"
    grep -v Compiling "target/miri-${pair#*=}.log"
done
exit "$failed"
