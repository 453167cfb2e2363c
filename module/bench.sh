#!/usr/bin/env bash
# Measures the CPU time of an engine per command, and prints a Markdown table with CF.ADD next to
# SET and CF.EXISTS next to GET, with and without pipelines.
#
#   module/bench.sh [ENGINE...]        (redis-7, valkey-8 and valkey-9 unless given; see ci/module.sh)
#
# The times are those of the engine process, in microseconds. Other load on the machine is not
# included, but makes them slightly longer. Each number is the minimum of three runs.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- redis-7 valkey-8 valkey-9
requests=400000
# The numbers of keys and of items.
range=4000000

fail() { printf 'bench.sh: %s\n' "$*" >&2; exit 1; }
GUIRA_ENGINES="redis-7 $*" ci/module.sh --get >/dev/null
engines=$PWD/target/engines
cargo build --quiet --release --package guira-module
module=$(realpath "${CARGO_TARGET_DIR:-target}")/release/libguira_module.so

# client PROGRAM ARGUMENTS...: runs a program of Redis 7.
client() {
    LD_LIBRARY_PATH=$engines/debian/usr/lib/x86_64-linux-gnu "$engines/debian/usr/bin/$1" -p "$port" "${@:2}"
}

work=$(mktemp -d)
server=
end() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap end EXIT

# start ENGINE: starts an engine, and returns when it answers.
start() {
    "$engines/bin/$1" --port "$port" --bind 127.0.0.1 --dir "$work" --save "" --loadmodule "$module" >"$work/log" 2>&1 &
    server=$!
    for _ in $(seq 100); do
        [ "$(client redis-cli PING 2>/dev/null)" = PONG ] && return
        sleep 0.1
    done
    fail "$1 does not start: $(cat "$work/log")"
}

# The CPU time of the engine so far, in nanoseconds.
worked() { cat /proc/"$server"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f\n", sum }'; }

# measure NAME PIPELINE COMMAND...: writes the microseconds per command to the file NAME.
measure() {
    local before
    before=$(worked)
    client redis-benchmark -c 50 -P "$2" -n $requests -r $range -q "${@:3}" >/dev/null 2>"$work/errors" ||
        fail "${*:3}: $(cat "$work/errors")"
    awk -v before="$before" -v after="$(worked)" -v count=$requests \
        'BEGIN { print (after - before) / count / 1000 }' >>"$work/$1"
}

least() { sort -n "$work/$1" | head -n 1; }

port=${PORT:-17300}
echo "| engine | pipeline | SET | CF.ADD | GET | CF.EXISTS |"
echo "|---|---|---|---|---|---|"
for name in "$@"; do
    start "$name"
    client redis-cli CF.RESERVE filter 20000000 EXPANSION 0 >"$work/reserve"
    grep -q OK "$work/reserve" || fail "CF.RESERVE: $(cat "$work/reserve")"
    for pipeline in 1 16 64; do
        rm -f "$work"/{set,add,get,exists}
        for _ in 1 2 3; do
            measure set $pipeline SET key:__rand_int__ x
            measure add $pipeline CF.ADD filter __rand_int__
            measure get $pipeline GET key:__rand_int__
            measure exists $pipeline CF.EXISTS filter __rand_int__
        done
        printf '| %s | %d | %.2f | %.2f | %.2f | %.2f |\n' "$name" $pipeline \
            "$(least set)" "$(least add)" "$(least get)" "$(least exists)"
    done
    kill "$server"
    wait "$server" || true
    server=
done
