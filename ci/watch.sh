#!/usr/bin/env bash
# Checks the page that shows the filter at work: the tests of watch/, its build, and the page in
# docs/watch/ in a browser, beside the library outside of one. So a page that is older than the
# library is found as soon as the two differ. Installs Chromium with apt, as root or with sudo.
# Screenshots are left in target/watch/screenshots. Three minutes at most, on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/lib/pinned.sh

# The first of these that is there.
browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
missing=()
browser > /dev/null || missing+=(chromium)
command -v node > /dev/null && command -v npm > /dev/null || missing+=(nodejs npm)
ci/install.sh "${missing[@]}"
CHROMIUM=$(browser)
export CHROMIUM

tools=target/watch/tools
pinned_node "$tools"

# Without optimisation across crates, which the tests do not need: it takes a minute.
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
