#!/usr/bin/env bash
# Runs all loom models, two files at a time, and leaves a log of each in target/loom-logs.
# GUIRA_LOOM_BOUND: see loom-tests/README.md. GUIRA_LOOM_JOBS: the number of files at a time, 2 by
# default.
# GUIRA_LOOM_FILES: the files to run, all by default.
set -euo pipefail
self=$(realpath "$0")
cd "$(dirname "$self")/.."
. ci/lib/models.sh

logs=target/loom-logs
stacks=
if [[ $(uname -s) == Linux ]]; then stacks=$PWD/target/loom/stacks.so; fi

# run_file FILE: runs the models of one file, and ends their log with the time and the
# verdict.
run_file() {
    local log=$logs/$1.log status=0 start=$SECONDS
    RUST_BACKTRACE=0 LD_PRELOAD=$stacks "$binary" "models::$1::" --nocapture --test-threads 1 \
        > "$log" 2>&1 || status=$?
    echo "status $status, $((SECONDS - start)) seconds" >> "$log"
}

if [[ ${1-} == --run-file ]]; then
    run_file "$2"
    exit
fi

# summarize LOG: prints one line. Fails if the file failed.
summarize() {
    local line runs=0 total=0 most=0 status=1 seconds=0
    local -A scenarios=()
    local run=' \| (loads|exchanges) \| main [0-9]+ \| bound [a-z0-9]+ \| ([0-9]+) iterations \| '
    while IFS= read -r line; do
        if [[ $line =~ ^status\ ([0-9]+),\ ([0-9]+)\ seconds$ ]]; then
            status=${BASH_REMATCH[1]} seconds=${BASH_REMATCH[2]}
        elif [[ $line =~ $run ]]; then
            local iterations=${BASH_REMATCH[2]} scenario=${line%%"${BASH_REMATCH[0]}"*}
            scenarios[${scenario#test * ... }]=1
            runs=$((runs + 1)) total=$((total + iterations))
            most=$((iterations > most ? iterations : most))
        fi
    done < "$1"
    local verdict=ok
    # A file without a single run does not pass.
    if ((status != 0 || runs == 0)); then verdict=FAILED; fi
    # A single run must take at most two minutes. Deeper bounds may take hours.
    if ((most > 1000000)) && [[ -z ${GUIRA_LOOM_BOUND-} ]]; then verdict="FAILED: a run is too long"; fi
    printf '%-14s %9d %5d %11d %11d %8d  %s\n' \
        "$(basename "$1" .log)" "${#scenarios[@]}" "$runs" "$total" "$most" "$seconds" "$verdict"
    [[ $verdict == ok ]]
}

if [[ -n $stacks ]]; then
    mkdir -p target/loom
    # The linker of Rust is a C compiler.
    cc -O2 -shared -fPIC -o "$stacks" ci/lib/stacks.c
fi
build_models loom guira_loom
export binary=${binaries[0]}
read -ra files <<< "${GUIRA_LOOM_FILES:-$(basename -s .rs loom-tests/tests/*.rs | xargs)}"
run_each "${GUIRA_LOOM_JOBS:-2}" "${files[@]}"

failed=0
: > "$logs/summary"
printf '%-14s %9s %5s %11s %11s %8s\n' file scenarios runs iterations most seconds
for file in "${files[@]}"; do
    summarize "$logs/$file.log" | tee -a "$logs/summary" || failed=1
done
if ((failed)); then
    grep -H -A 3 'panicked at' "$logs"/*.log || true
fi
exit "$failed"
