#!/usr/bin/env bash
# Runs all shuttle tests, two files at a time; a log of each is left in target/shuttle-logs.
# Arguments go to the test binaries. GUIRA_SHUTTLE_ITERATIONS, GUIRA_SHUTTLE_SEED and
# GUIRA_SHUTTLE_REPLAY: see shuttle-tests/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."

logs=target/shuttle-logs

# run_file BINARY [ARGUMENT...]: one file of laws.
run_file() {
    local log=${1##*/} status=0
    log=$logs/${log%-*}.log
    RUST_BACKTRACE=0 "$@" --test-threads 1 > "$log" 2>&1 || status=$?
    echo "status $status" >> "$log"
}

if [[ ${1-} == --run-file ]]; then
    run_file "${@:2}"
    exit
fi

# cargo names the binaries that it has built: "Executable tests/x.rs (path)".
built=$(RUSTFLAGS="--cfg guira_shuttle" CARGO_TERM_COLOR=never cargo test --package guira-shuttle-tests \
    --profile loom --target-dir target/shuttle --test '*' --no-run 2>&1) || {
    echo "$built"
    exit 1
}
binaries=()
while IFS= read -r line; do
    if [[ $line =~ Executable\ .*\((.*)\)$ ]]; then binaries+=("${BASH_REMATCH[1]}"); fi
done <<< "$built"

rm -rf "$logs"
mkdir -p "$logs"
# A file that fails is seen in its log; the others are run all the same.
printf '%s\0' "${binaries[@]}" | xargs -0 -P 2 -I{} "$0" --run-file {} "$@"

failed=0
for binary in "${binaries[@]}"; do
    log=${binary##*/}
    log=$logs/${log%-*}.log
    # No schedule at all is no pass.
    if ! grep -q '^status 0$' "$log" || ! grep -q '[0-9] schedules |' "$log"; then
        failed=1
        cat "$log"
    fi
    grep -h '[0-9] schedules |' "$log" | sed 's/^test .* \.\.\. //'
done
exit "$failed"
