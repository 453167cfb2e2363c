# Shared by ci/loom.sh and ci/shuttle.sh. They set `self` to their own path, source this file in the
# root of the repository, and define run_file WHAT.

# build_models NAME CFG: builds the tests of guira-NAME-tests under --cfg CFG; sets `binaries`.
build_models() {
    local name=$1 cfg=$2 built line
    # cargo prints the binaries that it has built: "Executable tests/x.rs (path)".
    built=$(RUSTFLAGS="--cfg $cfg" CARGO_TERM_COLOR=never cargo test --package "guira-$name-tests" \
        --profile loom --target-dir "target/$name" --test '*' --no-run 2>&1) || {
        echo "$built"
        exit 1
    }
    binaries=()
    while IFS= read -r line; do
        if [[ $line =~ Executable\ .*\((.*)\)$ ]]; then binaries+=("${BASH_REMATCH[1]}"); fi
    done <<< "$built"
}

# run_each JOBS WHAT...: calls run_file for each WHAT, JOBS at a time. A log in $logs shows whether one
# has failed. The others run in any case.
run_each() {
    local jobs=$1
    shift
    rm -rf "$logs"
    mkdir -p "$logs"
    printf '%s\0' "$@" | xargs -0 -P "$jobs" -I{} "$self" --run-file {}
}
