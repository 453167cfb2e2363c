#!/usr/bin/env bash
# Compiles the library to WebAssembly and puts it into the page, as docs/watch/guira.js, or where the
# argument says.
set -euo pipefail
cd "$(dirname "$0")/.."

rustup --quiet target add wasm32-unknown-unknown
# getrandom: the page never asks for a random seed. The stack pointer: the page puts it back when
# an operation has stopped in its middle. The paths: they are the same on each machine.
RUSTFLAGS="--cfg guira_faults --cfg getrandom_backend=\"unsupported\" -C link-arg=--export=__stack_pointer
    -C strip=symbols --remap-path-prefix=$PWD=guira --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" \
    cargo build --quiet --profile watch --package guira-watch --lib \
    --target wasm32-unknown-unknown --target-dir target/watch
wasm=target/watch/wasm32-unknown-unknown/watch/guira_watch.wasm
page=${1:-docs/watch/guira.js}
{
    echo '// The library, compiled to WebAssembly by watch/build.sh and compressed.'
    printf 'const GUIRA_WASM = "%s";\n' "$(gzip -9 --no-name < "$wasm" | base64 --wrap=0)"
} > "$page"
echo "$page: $(wc -c < "$page") bytes"
