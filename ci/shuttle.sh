#!/usr/bin/env bash
# Runs all shuttle tests, two files at a time, and leaves a log of each in target/shuttle-logs.
# shuttle-tests/README.md describes GUIRA_SHUTTLE_ITERATIONS and GUIRA_SHUTTLE_SEED, and how to replay a
# schedule.
set -euo pipefail
self=$(realpath "$0")
cd "$(dirname "$self")/.."
. ci/lib/models.sh

if [[ -n ${GUIRA_SHUTTLE_REPLAY-} ]]; then
    echo "ci/shuttle.sh runs all laws: to replay a schedule, see shuttle-tests/README.md" >&2
    exit 2
fi

logs=target/shuttle-logs

# The name of a test binary is name-hash.
log_of() {
    local file=${1##*/}
    echo "$logs/${file%-*}.log"
}

# run_file BINARY: runs one file of laws.
run_file() {
    local log status=0
    log=$(log_of "$1")
    RUST_BACKTRACE=0 "$1" --test-threads 1 > "$log" 2>&1 || status=$?
    echo "status $status" >> "$log"
}

if [[ ${1-} == --run-file ]]; then
    run_file "$2"
    exit
fi

build_models shuttle guira_shuttle
run_each 2 "${binaries[@]}"

failed=0
for binary in "${binaries[@]}"; do
    log=$(log_of "$binary")
    # A file without a single schedule does not pass.
    if ! grep -q '^status 0$' "$log" || ! grep -q '[0-9] schedules |' "$log"; then
        failed=1
        cat "$log"
    fi
    grep -h '[0-9] schedules |' "$log" | sed 's/^test .* \.\.\. //'
done
exit "$failed"
