#!/usr/bin/env bash
# Checks the alerting rules and the metrics of a running server with promtool, which it downloads
# from Debian. The package is unpacked under target/tools, so no service is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/lib/server.sh

tools=$PWD/target/tools/prometheus
promtool=$tools/usr/bin/promtool
if ! "$promtool" --version >/dev/null 2>&1; then
    mkdir -p "$tools"
    root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -qq
    (cd "$tools" && rm -f ./*.deb && apt-get download -qq -o APT::Sandbox::User=root prometheus && dpkg -x prometheus_*.deb .)
fi
"$promtool" --version 2>&1 | head -1

"$promtool" check rules server/monitoring/alerts.yml
"$promtool" test rules server/monitoring/alerts.test.yml

cargo build --quiet --release --package guira-server
own_server
start_server "$work/out" "${CARGO_TARGET_DIR:-target}/release/guira-server" \
    --port 0 --metrics 127.0.0.1:0 --log info --dir "$work/saves" 2>"$work/log" ||
    { cat "$work/log"; exit 1; }
# Creates a key of each kind, so that all metrics are shown.
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'CF.RESERVE grows 100\r\nCF.RESERVE fixed 100 EXPANSION 0\r\nCF.RESERVE window 100 WINDOW 60\r\nCF.ADD grows a\r\n' >&3
for _ in 1 2 3 4; do
    read -r reply <&3
    case $reply in [+:]*) ;; *) echo "$reply"; exit 1 ;; esac
done
exec 3>&-
metrics=$(sed -n 's/.*metrics are shown address=\([0-9.:]*\).*/\1/p' "$work/log")
python3 -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' \
    "http://$metrics/metrics" >"$work/metrics"
grep -q '^guira_filter_window_epochs{' "$work/metrics"
"$promtool" check metrics <"$work/metrics"
echo "promtool accepts the metrics"
