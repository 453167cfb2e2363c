# Sourced by ci/clients.sh. Prints what each client makes of the replies of a full key, as the table
# ci/replies/table.txt. Needs `cli`, `port`, `work`, and the clients that ci/clients.sh installs.

debian_clients=(
    gcc libc6-dev libhiredis-dev golang-go golang-github-gomodule-redigo-dev php-cli php-redis php-predis
    ruby ruby-redis perl libredis-perl lua5.1 lua-redis
)

# full_keys: makes two full keys, `insert` and `insertnx`, with room for one more copy of "kept". The
# rate is so low that no item that is refused is reported as present.
full_keys() {
    local key
    for key in insert insertnx; do
        cli DEL "$key"
        cli CF.RESERVE "$key" 16 ERROR 0.0000001 EXPANSION 0
        # shellcheck disable=SC2046
        cli CF.INSERT "$key" ITEMS kept $(seq 1000)
        cli CF.DEL "$key" kept
    done >/dev/null
}

# row PROTOCOLS COMMAND...: prints one row. The command gets the port, and a protocol, and prints the
# client's name and its two results: an added and a refused item of CF.INSERT, and an added, a present
# and a refused one of CF.INSERTNX.
row() {
    local protocols=$1 protocol name=
    local -A insert=([2]=– [3]=–) insertnx=([2]=– [3]=–)
    shift
    for protocol in $protocols; do
        full_keys
        "$@" "$port" "$protocol" >"$work/reply" || return
        { read -r name && read -r 'insert[$protocol]' && read -r 'insertnx[$protocol]'; } <"$work/reply" || return
    done
    echo "| $name | ${insert[2]} | ${insert[3]} | ${insertnx[2]} | ${insertnx[3]} |"
}

# replies: prints the table.
replies() {
    local version source=$PWD/ci/replies rust=${CARGO_TARGET_DIR:-target}/clients/debug/replies
    cp "$source"/*.mjs "$work/node/" || return
    cc -o "$work/hiredis" "$source/hiredis.c" -lhiredis || return
    version=$(dpkg-query --show --showformat='${source:Upstream-Version}' golang-github-gomodule-redigo-dev) || return
    GO111MODULE=off GOPATH=/usr/share/gocode go build -ldflags "-X main.version=$version" \
        -o "$work/redigo" "$source/redigo.go" || return
    echo '| client | `CF.INSERT`, RESP2 | RESP3 | `CF.INSERTNX`, RESP2 | RESP3 |'
    echo '|---|---|---|---|---|'
    row "2 3" "$newest/bin/python" "$source/redis_py.py" &&
        row "2 3" "$work/others/bin/python" "$source/valkey_py.py" &&
        row 3 "$work/others/bin/python" "$source/coredis_cf.py" &&
        row "2 3" "$newest/bin/python" "$source/valkey_glide.py" &&
        row "2 3" "$node" "$work/node/node_redis.mjs" &&
        row "2 3" "$node" "$work/node/ioredis.mjs" &&
        row "2 3" "$rust" "redis, as bool" &&
        row "2 3" "$rust" "redis, as i64" &&
        row "2 3" "$rust" "fred, as bool" &&
        row "2 3" "$rust" "fred, as i64" &&
        row 3 "$rust" rustis &&
        row 2 "$work/redigo" &&
        row 2 "$work/hiredis" &&
        row 2 php "$source/phpredis.php" &&
        row 2 php "$source/predis.php" &&
        row 2 ruby "$source/redis_rb.rb" &&
        row 2 perl "$source/redis_pm.pl" &&
        row 2 lua5.1 "$source/redis_lua.lua"
}

# compare_replies TABLE: compares it with $work/replies, except for the versions, which differ between
# releases of Debian. With GUIRA_BLESS set, it writes the table instead.
compare_replies() {
    if [ -n "${GUIRA_BLESS:-}" ]; then
        cp "$work/replies" "$1"
        return
    fi
    without_versions() { sed -E 's/^(\| [^|]* )[0-9][0-9.a-z-]*/\1/' "$1"; }
    diff <(without_versions "$1") <(without_versions "$work/replies")
}
