#!/usr/bin/env bash
# Checks the library with the lowest versions of its dependencies that Cargo.toml allows, on the
# minimum Rust version.
set -euo pipefail
cd "$(dirname "$0")/.."

# Only nightly can select the lowest versions.
nightly=nightly-2026-05-20
rustup toolchain install "$nightly" --profile minimal --no-self-update
rustup toolchain install 1.88 --profile minimal --no-self-update

# Checks the library alone: the lowest versions for other packages are not its own.
copy=target/minimal
mkdir -p "$copy"
rm -rf "$copy"/{src,examples,docs,Cargo.toml,Cargo.lock}
cp -r src examples docs README.md "$copy"
sed -e 's/^members = .*/members = ["."]/' -e '/^default-members = /d' Cargo.toml > "$copy/Cargo.toml"
cargo "+$nightly" update --manifest-path "$copy/Cargo.toml" -Z direct-minimal-versions
cargo +1.88 check --manifest-path "$copy/Cargo.toml" --package guira --all-features
