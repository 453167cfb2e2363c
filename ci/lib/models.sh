# Shared by ci/loom.sh and ci/shuttle.sh. They set `self` to their own path, source this file in the
# root of the repository, define run_file BINARY [ARGUMENT...], and begin with
#   run_models NAME CFG JOBS [ARGUMENT...]

# The name of a test binary is name-hash.
name_of() {
    local file=${1##*/}
    echo "${file%-*}"
}

# run_models NAME CFG JOBS [ARGUMENT...]: builds the tests of guira-NAME-tests under --cfg CFG, and
# runs all files, JOBS at a time; sets `binaries`. Called again for one file, it runs that and exits.
run_models() {
    local name=$1 cfg=$2 jobs=$3 built line
    shift 3
    logs=target/$name-logs
    if [[ ${1-} == --run-file ]]; then
        run_file "${@:2}"
        exit
    fi
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
    if [[ -n ${GUIRA_LOOM_FILES-} ]]; then
        local chosen=()
        for line in "${binaries[@]}"; do
            if [[ " $GUIRA_LOOM_FILES " == *" $(name_of "$line") "* ]]; then chosen+=("$line"); fi
        done
        binaries=("${chosen[@]}")
    fi
    rm -rf "$logs"
    mkdir -p "$logs"
    # The log shows whether a file has failed. The other files run in any case.
    printf '%s\0' "${binaries[@]}" | xargs -0 -P "$jobs" -I{} "$self" --run-file {} "$@"
}
