# Sourced by scripts that need a server.

# start_server OUT COMMAND...: starts a server in the background, with its output in the file OUT,
# and waits until it prints that it is ready. Fails if it ends first, or is not ready within two
# minutes. Sets `server`, its process, and `port`.
start_server() {
    # The command may create its output file later than the first look at it.
    : >"$1"
    "${@:2}" >"$1" &
    server=$!
    for _ in $(seq 1200); do
        port=$(sed -n 's/.* is ready on port \([0-9]*\)\..*/\1/p' "$1")
        if [ -n "$port" ]; then return; fi
        kill -0 "$server" 2> /dev/null || return 1
        sleep 0.1
    done
    return 1
}

# own_server: creates the folder `work`. When the script exits, the folder is deleted and `server`
# is stopped.
own_server() {
    work=$(mktemp -d)
    server=
    trap end_server EXIT
}

end_server() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}
