#!/usr/bin/env bash
# Runs all shuttle tests, two files at a time, and leaves a log of each in target/shuttle-logs.
# Arguments are passed to the test binaries. shuttle-tests/README.md describes GUIRA_SHUTTLE_ITERATIONS
# and GUIRA_SHUTTLE_SEED, and how to replay a schedule.
set -euo pipefail
self=$(realpath "$0")
cd "$(dirname "$self")/.."
. ci/lib/models.sh

if [[ -n ${GUIRA_SHUTTLE_REPLAY-} ]]; then
    echo "ci/shuttle.sh runs all laws: to replay a schedule, see shuttle-tests/README.md" >&2
    exit 2
fi

# run_file BINARY [ARGUMENT...]: runs one file of laws.
run_file() {
    local log status=0
    log=$logs/$(name_of "$1").log
    RUST_BACKTRACE=0 "$@" --test-threads 1 > "$log" 2>&1 || status=$?
    echo "status $status" >> "$log"
}

run_models shuttle guira_shuttle 2 "$@"

failed=0
for binary in "${binaries[@]}"; do
    log=$logs/$(name_of "$binary").log
    # A file without a single schedule does not pass.
    if ! grep -q '^status 0$' "$log" || ! grep -q '[0-9] schedules |' "$log"; then
        failed=1
        cat "$log"
    fi
    grep -h '[0-9] schedules |' "$log" | sed 's/^test .* \.\.\. //'
done
exit "$failed"
