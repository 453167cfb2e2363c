#!/usr/bin/env bash
# Checks that need tools which cargo builds from source: the public interface of the library, the licences
# and sources of the dependencies, and whether the fuzz targets and the oracle of other filters compile. Takes three minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

printf '\n== the public interface\n'
cargo xtask api

printf '\n== licences and sources of the dependencies\n'
# An unoptimised cargo-deny builds in a minute, and its check takes a few seconds. It stays installed.
# deny.toml explains why advisories are not checked here.
CARGO_PROFILE_DEV_DEBUG=false cargo install --quiet --debug --locked --root target/tools cargo-deny --version 0.20.2
# Checks each lock file, because each fuzz folder is a workspace of its own.
for lock in $(git ls-files '*Cargo.lock'); do
    target/tools/bin/cargo-deny --manifest-path "${lock%.lock}.toml" --workspace --locked --config deny.toml \
        check --hide-inclusion-graph licenses bans sources
done

printf '\n== the fuzz targets\n'
# A check does not link libFuzzer, so this file need not exist. Without it, its C++ code is compiled.
export CUSTOM_LIBFUZZER_PATH=/nowhere/libfuzzer.a
for fuzz in fuzz capi/fuzz module/fuzz server/fuzz; do
    cargo check --locked --manifest-path "$fuzz/Cargo.toml" --target-dir target/fuzz
done

printf '\n== the oracle of other filters\n'
cargo check --locked --manifest-path benches/oracle/Cargo.toml --target-dir target/oracle
