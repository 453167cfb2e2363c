#!/usr/bin/env bash
# The example for nginx: builds the module, starts nginx with four workers, and checks that all of them
# share one deny list, and that it survives killed workers and a restart.
#
# The tools are Debian's nginx, nginx-dev, curl, gcc, make and pkg-config, which are installed as root or
# with sudo if they are missing.
#
#   ci/nginx.sh PREFIX    uses the library that is installed there, as ci/capi.sh does
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/nginx

fail() { printf 'nginx.sh: %s\n' "$*" >&2; tail -n 20 "$work/error.log" >&2 || true; exit 1; }

missing=()
[ -x /usr/sbin/nginx ] || missing+=(nginx)
[ -e /usr/share/nginx/src/configure ] || missing+=(nginx-dev)
for tool in curl gcc make pkg-config; do command -v "$tool" >/dev/null || missing+=("$tool"); done
ci/install.sh "${missing[@]}"

installed=${1:-}
if [ -z "$installed" ]; then
    installed=$target/capi-installed
    make --quiet -C capi install PREFIX="$installed" BUILD="$target"
fi
export PKG_CONFIG_PATH=$installed/lib/pkgconfig

rm -rf "$work"
mkdir -p "$work/source" "$work/html"
cp -r /usr/share/nginx/src/. "$work/source"
(
    cd "$work/source"
    # The options of the nginx that is installed.
    . ./conf_flags
    ./configure "${NGX_CONF_FLAGS[@]}" --with-cc-opt="-O1 -Wall -Wextra -Wno-unused-parameter -Werror" \
        --add-dynamic-module="$OLDPWD/capi/examples/nginx" >configure.log
    make --quiet -f objs/Makefile modules >make.log
)
[ "$(wc -l <capi/examples/nginx/ngx_http_guira_deny_module.c)" -lt 300 ] || fail "the module is too long"

# A socket instead of a port: no other program can have it.
list=$(mktemp -u /dev/shm/guira-nginx-XXXXXX)
socket=$work/socket
user=$(id -un)
[ "$user" != root ] || user=www-data
# Workers under another user must reach the socket, which the master makes.
cat >"$work/nginx.conf" <<CONF
load_module $work/source/objs/ngx_http_guira_deny_module.so;
$([ "$(id -u)" != 0 ] || echo "user $user;")
worker_processes 4;
daemon off;
pid $work/pid;
error_log $work/error.log notice;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $work/body;
    proxy_temp_path $work/proxy;
    fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi;
    scgi_temp_path $work/scgi;
    guira_deny_file $list capacity=2000;
    server {
        listen unix:$socket;
        guira_deny \$http_x_user;
        location / { empty_gif; }
        location /deny { guira_deny ""; guira_deny_admin; }
    }
}
CONF

start() {
    nginx -c "$work/nginx.conf" -e "$work/error.log" &
    master=$!
    for _ in {1..600}; do
        [ ! -S "$socket" ] || ! curl -s -o "$work/out" --unix-socket "$socket" http://n/ || return 0
        kill -0 "$master" || fail "nginx does not start"
        sleep 0.1
    done
    fail "nginx does not answer"
}
stop() {
    [ -n "${master:-}" ] || return 0
    workers | xargs -r kill -CONT || true
    kill "$master" && wait "$master" || true
    master=
}
trap 'stop; rm -f "$list"' EXIT

# status METHOD PATH [USER]: the status of one request; 000 if its worker was killed.
status() {
    curl -s --max-time 60 -o "$work/out" -w '%{http_code}' -X "$1" -H "X-User: ${3:-}" --unix-socket "$socket" "http://n$2" || true
}
# expect STATUS METHOD PATH [USER]: repeats a request whose worker was killed.
expect() {
    local wanted=$1 found=000
    shift
    for _ in {1..100}; do
        found=$(status "$@")
        [ "$found" = 000 ] || break
    done
    [ "$found" = "$wanted" ] || fail "$*: $found instead of $wanted"
}
workers() { pgrep -P "$master"; }
# everywhere STATUS USER: each worker gives this answer, while the others are stopped.
everywhere() {
    local worker other
    for worker in $(workers); do
        for other in $(workers); do
            [ "$other" != "$worker" ] || continue
            kill -STOP "$other"
            # Only then it no longer waits for connections.
            while ! grep -q '^State:.T' "/proc/$other/status"; do sleep 0.01; done
        done
        expect "$1" GET / "$2"
        for other in $(workers); do [ "$other" = "$worker" ] || kill -CONT "$other"; done
    done
}

start
expect 404 GET "/deny?key=ani"
everywhere 200 ani
expect 201 POST "/deny?key=ani"
everywhere 403 ani
everywhere 200 koel
expect 200 POST "/deny?key=ani"
expect 200 GET "/deny?key=ani"
expect 400 POST /deny
expect 405 PUT "/deny?key=ani"
expect 201 POST "/deny?key=a%20b"
expect 403 GET / "a b"
expect 200 DELETE "/deny?key=a%20b"
expect 200 GET / "a b"

# Entries are added while workers are killed. An entry is acknowledged by 200 or 201.
acknowledged=()
killed=()
for round in {1..60}; do
    if ((round % 3 == 0)); then
        worker=$(workers | shuf -n 1)
        { curl -s -o "$work/out" -X POST --unix-socket "$socket" "http://n/deny?key=[1-40]-$round" || true; } &
        kill -9 "$worker"
        killed+=("$worker")
        wait $! || true
    fi
    for _ in {1..100}; do
        found=$(status POST "/deny?key=user$round")
        case $found in 200 | 201) break ;; 000) ;; *) fail "user$round is not added: $found" ;; esac
    done
    acknowledged+=("user$round")
done
for _ in {1..600}; do [ "$(workers | wc -l)" = 4 ] && break || sleep 0.1; done
for worker in "${killed[@]}"; do ! workers | grep -qx "$worker" || fail "worker $worker is alive"; done
for user in "${acknowledged[@]}"; do expect 403 GET / "$user"; done
everywhere 403 user60
everywhere 200 koel
expect 200 DELETE "/deny?key=user60"
everywhere 200 user60

# A reload and a restart keep the list.
old=$(workers)
kill -HUP "$master"
for _ in {1..600}; do
    [ "$(workers | wc -l)" != 4 ] || workers | grep -qxF "$old" || break
    sleep 0.1
done
everywhere 403 user59
stop
start
for user in "${acknowledged[@]:0:59}"; do expect 403 GET / "$user"; done
expect 200 GET / user60
stop
! grep -E 'emerg|alert' "$work/error.log" | grep -v 'exited on signal 9' || fail "nginx reports errors"
rm -f "$list"
echo "nginx passed: ${#killed[@]} workers killed, ${#acknowledged[@]} entries kept"
