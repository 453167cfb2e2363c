#!/usr/bin/env bash
# Checks the page that shows the filter at work: the tests of watch/, its build, and the page in
# docs/watch/ in a browser, whose answers are compared with those of the library. This detects a
# page that is older than the library as soon as their answers differ. Installs Chromium with apt,
# as root or with sudo. Leaves screenshots in target/watch/screenshots. Takes at most three minutes
# on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/lib/pinned.sh

# Finds the first of these browsers that is installed.
browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
missing=()
browser > /dev/null || missing+=(chromium)
command -v node > /dev/null && command -v npm > /dev/null || missing+=(nodejs npm)
ci/install.sh "${missing[@]}"
CHROMIUM=$(browser)
export CHROMIUM

tools=target/watch/tools
pinned_node "$tools"

# Turns off link-time optimisation, which takes a minute and which the tests do not need.
export CARGO_PROFILE_RELEASE_LTO=off
faults() { RUSTFLAGS="--cfg guira_faults" cargo "$1" --package guira-watch --target-dir target/watch "${@:2}"; }
faults clippy --release --all-targets -- -D warnings
faults test --release
faults build --release

watch/build.sh target/watch/guira.js
size=$(cat docs/watch/* | wc -c)
if [ "$size" -gt 500000 ]; then
    echo "docs/watch has $size bytes; at most 500000 are allowed" >&2
    exit 1
fi
"$node" watch/tests/browser.mjs "$PWD/$tools" target/watch/release/guira-watch target/watch/screenshots
