#!/usr/bin/env bash
# Measures the CPU time of an engine per command, and prints a Markdown table with CF.ADD next to
# SET and CF.EXISTS next to GET, with and without pipelines.
#
#   module/bench.sh [ENGINE...]        (redis-7, valkey-8 and valkey-9 unless given; see ci/module.sh)
#   PEER=PATH module/bench.sh          also measures another module with these commands, such as
#                                      RedisBloom, in a second process of the same engine
#
# The times are those of the engine process, in microseconds. Other load on the machine is not
# included, but makes them slightly longer. Each number is the minimum of five runs, and the runs of
# both modules alternate.
#
# CAPACITY is that of the filter, 1000000 unless given, and OPTIONS are further ones of CF.RESERVE for
# this module, such as "EXPANSION 0". Each run adds a fifth of the capacity to a new filter, which holds
# a fifteenth of it already. Of the items that CF.EXISTS looks up, two thirds are those.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- redis-7 valkey-8 valkey-9
capacity=${CAPACITY:-1000000}
requests=$((capacity / 5))
# The numbers of items that are added, and of keys and of items that are looked up.
many=1000000000
few=$((capacity / 10))

fail() { printf 'bench.sh: %s\n' "$*" >&2; exit 1; }
GUIRA_ENGINES="redis-7 $*" ci/module.sh --get >/dev/null
engines=$PWD/target/engines
cargo build --quiet --profile module --package guira-module
module=$(realpath "${CARGO_TARGET_DIR:-target}")/module/libguira_module.so

# client PORT PROGRAM ARGUMENTS...: runs a program of Redis 7.
client() {
    LD_LIBRARY_PATH=$engines/debian/usr/lib/x86_64-linux-gnu "$engines/debian/usr/bin/$2" -p "$1" "${@:3}"
}

work=$(mktemp -d)
declare -A servers=()
end() {
    [ ${#servers[@]} -eq 0 ] || kill "${servers[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap end EXIT

# start PORT ENGINE MODULE: starts an engine, and returns when it answers.
start() {
    "$engines/bin/$2" --port "$1" --bind 127.0.0.1 --dir "$work" --save "" --loadmodule "$3" >"$work/log" 2>&1 &
    servers[$1]=$!
    for _ in $(seq 100); do
        [ "$(client "$1" redis-cli PING 2>/dev/null)" = PONG ] && return
        sleep 0.1
    done
    fail "$2 does not start: $(cat "$work/log")"
}

# renew PORT OPTION...: makes a new filter, and deletes all else.
renew() {
    client "$1" redis-cli FLUSHALL >/dev/null
    client "$1" redis-cli CF.RESERVE filter "$capacity" "${@:2}" >"$work/reserve" &&
        grep -q OK "$work/reserve" || fail "CF.RESERVE: $(cat "$work/reserve")"
    client "$1" redis-benchmark -P 64 -n "$few" -r "$few" -q CF.ADDNX filter present:__rand_int__ >/dev/null
}

# The CPU time of an engine so far, in nanoseconds.
worked() { cat /proc/"${servers[$1]}"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f\n", sum }'; }

# measure NAME PORT PIPELINE RANGE COMMAND...: writes the microseconds per command to the file NAME.
measure() {
    local before
    before=$(worked "$2")
    client "$2" redis-benchmark -c 50 -P "$3" -n "$requests" -r "$4" -q "${@:5}" >/dev/null 2>"$work/errors" ||
        fail "${*:5}: $(cat "$work/errors")"
    awk -v before="$before" -v after="$(worked "$2")" -v count="$requests" \
        'BEGIN { print (after - before) / count / 1000 }' >>"$work/$1"
}

least() { printf ' %.2f |' "$(sort -n "$work/$1" | head -n 1)"; }

port=${PORT:-17300}
peer=$((port + 1))
columns=(set add get exists)
head="| engine | pipeline | SET | CF.ADD | GET | CF.EXISTS |" line="|---|---|---|---|---|---|"
if [ -n "${PEER:-}" ]; then
    columns+=(peer-add peer-exists)
    head="$head the other's CF.ADD | the other's CF.EXISTS |" line="$line---|---|"
fi
printf '%s\n%s\n' "$head" "$line"
for name in "$@"; do
    start "$port" "$name" "$module"
    [ -z "${PEER:-}" ] || start "$peer" "$name" "$PEER"
    for pipeline in 1 16 64; do
        for column in "${columns[@]}"; do rm -f "$work/$column"; done
        for _ in 1 2 3 4 5; do
            measure set "$port" $pipeline "$few" SET key:__rand_int__ x
            measure get "$port" $pipeline "$few" GET key:__rand_int__
            # shellcheck disable=SC2086 # They are several words.
            renew "$port" ${OPTIONS:-}
            [ -z "${PEER:-}" ] || renew "$peer"
            measure add "$port" $pipeline $many CF.ADD filter __rand_int__
            [ -z "${PEER:-}" ] || measure peer-add "$peer" $pipeline $many CF.ADD filter __rand_int__
            measure exists "$port" $pipeline "$few" CF.EXISTS filter present:__rand_int__
            [ -z "${PEER:-}" ] || measure peer-exists "$peer" $pipeline "$few" CF.EXISTS filter present:__rand_int__
        done
        printf '| %s | %d |' "$name" $pipeline
        for column in "${columns[@]}"; do least "$column"; done
        echo
    done
    kill "${servers[@]}"
    wait "${servers[@]}" || true
    servers=()
done
