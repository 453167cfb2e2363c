#!/usr/bin/env bash
# Compares this server with redis-server on this machine, and prints a Markdown table with CF.ADD
# next to SET and CF.EXISTS next to GET, by number of threads. redis-server uses the same number of
# --io-threads. The ratio is to the best result of redis-server with any number.
#
#   server/bench.sh [ROUNDS]        (7 unless given; about half a minute each)
#
# Both servers and redis-benchmark share all cores. In each round each of them runs for a short
# time, one after the other. The table has the medians.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${1:-7}
threads=(1 2 4)
requests=400000
clients=(-c 50 -P 16)
# The numbers of keys in redis-server, and of items in the filter.
range=1000000

fail() { printf 'bench.sh: %s\n' "$*" >&2; exit 1; }
for program in redis-server redis-cli redis-benchmark; do
    command -v $program >/dev/null || fail "there is no $program: apt-get install redis-server redis-tools"
done
cargo build --quiet --release --package guira-server

work=$(mktemp -d)
servers=()
end() {
    [ ${#servers[@]} -eq 0 ] || kill "${servers[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap end EXIT

# start PORT COMMAND...: starts a server, and returns when it answers.
start() {
    "${@:2}" >"$work/log-$1" 2>&1 &
    servers+=($!)
    for _ in $(seq 100); do
        [ "$(redis-cli -p "$1" PING 2>/dev/null)" = PONG ] && return
        sleep 0.1
    done
    fail "no server on port $1: $(cat "$work/log-$1")"
}

# measure NAME PORT COMMAND...: adds a rate to the file NAME.
measure() {
    local rate
    redis-benchmark -p "$2" "${clients[@]}" -n $requests -r "$keys" --csv "${@:3}" >"$work/csv" 2>"$work/errors" ||
        fail "${*:3}: $(cat "$work/errors")"
    rate=$(tail -n 1 "$work/csv" | cut -d, -f2 | tr -d '"')
    [[ $rate =~ ^[0-9.]+$ ]] || fail "$*: $(cat "$work/errors")"
    echo "$rate" >>"$work/$1"
}

median() { sort -n "$work/$1" | awk '{ rate[NR] = $1 } END { print rate[int((NR + 1) / 2)] }'; }

first=${PORT:-17000}
for n in "${threads[@]}"; do
    start $((first + n)) "${CARGO_TARGET_DIR:-target}/release/guira-server" --port $((first + n)) --threads "$n" --log warn
    start $((first + 100 + n)) redis-server --port $((first + 100 + n)) --io-threads "$n" --save '' --appendonly no --dir "$work"
    # Most of the requested keys and items are present.
    keys=$range
    redis-cli -p $((first + n)) CF.RESERVE asked $range EXPANSION 0 >/dev/null
    for command in "$((first + n)) CF.ADDNX asked" "$((first + 100 + n)) SET"; do
        read -r port words <<<"$command"
        value=(); [ "$words" != SET ] || value=(xxx)
        # shellcheck disable=SC2086
        redis-benchmark -p "$port" "${clients[@]}" -n $range -r $range -q $words __rand_int__ "${value[@]}" >/dev/null
    done
done

for _ in $(seq "$rounds"); do
    for n in "${threads[@]}"; do
        guira=$((first + n)) redis=$((first + 100 + n))
        keys=$range
        measure "exists-$n" $guira CF.EXISTS asked __rand_int__
        measure "get-$n" $redis GET __rand_int__
        # The keys already exist, because SET is slower for new ones.
        measure "set-$n" $redis SET __rand_int__ xxx
        # The items are new, because the number of copies of an item is limited.
        keys=2000000000
        redis-cli -p $guira DEL added >/dev/null
        redis-cli -p $guira CF.RESERVE added $requests >/dev/null
        measure "add-$n" $guira CF.ADD added __rand_int__
    done
done

# best NAME: the highest median of all numbers of threads.
best() { for n in "${threads[@]}"; do median "$1-$n"; done | sort -n | tail -n 1; }
set=$(best set) get=$(best get)
model=$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)
echo "- machine: ${model:-$(uname -m)}, $(nproc) cores; load average $(cut -d' ' -f1-3 /proc/loadavg)"
echo "- redis-server: $(redis-server --version | cut -d' ' -f3)"
echo "- load: redis-benchmark ${clients[*]}"
echo
echo "Medians of $rounds runs of $requests requests each, in thousands of requests per second."
echo
echo "| threads | CF.ADD | SET | CF.ADD / best SET | CF.EXISTS | GET | CF.EXISTS / best GET |"
echo "|---|---|---|---|---|---|---|"
for n in "${threads[@]}"; do
    awk -v n="$n" -v add="$(median "add-$n")" -v exists="$(median "exists-$n")" \
        -v set="$(median "set-$n")" -v get="$(median "get-$n")" -v best_set="$set" -v best_get="$get" 'BEGIN {
        printf "| %d | %.0f | %.0f | %.2f | %.0f | %.0f | %.2f |\n",
            n, add / 1000, set / 1000, add / best_set, exists / 1000, get / 1000, exists / best_get }'
done
