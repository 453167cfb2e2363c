#!/usr/bin/env bash
# The benchmark of many threads on a machine that has no Rust: all workloads, guira beside its peers, with one
# thread to twice as many as the machine has cores. It writes data and charts to docs/bench/, in a folder that has
# the processor's name. Three to five minutes. Needs Linux on x86-64, `lscpu`, and ssh for another machine.
#
#   ci/cores.sh HOST          builds here, measures there, and copies the folder from there
#   ci/cores.sh               measures here
#   ci/cores.sh HOST --quick  half a minute: shows that all of it works, not how fast it is
set -euo pipefail
cd "$(dirname "$0")/.."

host=
case ${1:-} in "" | --*) ;; *) host=$1 && shift ;; esac

# Linked with glibc, as a static program. That of musl has an allocator with one lock, which would slow down the
# peers that allocate.
target=x86_64-unknown-linux-gnu
RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --package guira-benches --bin bench-report \
    --target "$target" --target-dir target/static
program=target/static/$target/release/bench-report
options=(--only threads --note "a static program, built with $(rustc --version)" "$@")

if [ -z "$host" ]; then
    exec timeout 300 "$program" "${options[@]}"
fi
folder=$(ssh "$host" mktemp -d)
scp -q "$program" "$host:$folder/"
ssh "$host" "cd $folder && timeout 300 ./bench-report$(printf ' %q' "${options[@]}")"
scp -q -r "$host:$folder/docs/bench/." docs/bench/
ssh "$host" "rm -r $folder"
