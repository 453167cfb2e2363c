#!/usr/bin/env bash
# Starts $GUIRA_ENGINE with the module $GUIRA_MODULE on a free port, and prints the same line as
# guira-server when it is ready, so that the tests of the server can run against the module. Of the
# options that the tests pass to guira-server, the memory limit becomes the limit of one filter, and
# the others are ignored.
set -euo pipefail
: "${GUIRA_ENGINE:?the engine}" "${GUIRA_MODULE:?the module}"

is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
port=$((20000 + (RANDOM << 15 | RANDOM) % 12000))
while is_taken "$port"; do port=$((20000 + (port + 1) % 12000)); done

arguments=()
while [ $# -gt 0 ]; do
    case $1 in --maxmemory) arguments=(max-filter-bytes "$2") ;; esac
    shift
done
work=$(mktemp -d)
(
    for _ in $(seq 200); do
        if is_taken "$port"; then
            # The files of the engine are deleted when it has ended.
            echo "the module is ready on port $port."
            exec >/dev/null
            while kill -0 $$ 2>/dev/null; do sleep 1; done
            break
        fi
        sleep 0.05
    done
    rm -rf "$work"
) &
exec "$GUIRA_ENGINE" --port "$port" --bind 127.0.0.1 --dir "$work" --save "" --appendonly no \
    --enable-debug-command yes --loadmodule "$GUIRA_MODULE" "${arguments[@]}" >"$work/log"
