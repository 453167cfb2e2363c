# Sourced by findings that run crates, in a folder that is deleted at the end.

set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# rust_with 'NAME = "=VERSION"'...: runs the program on standard input with these crates.
rust_with() {
    mkdir "$work/src"
    {
        printf '[package]\nname = "finding"\nversion = "0.0.0"\nedition = "2024"\n\n[dependencies]\n'
        printf '%s\n' "$@"
    } >"$work/Cargo.toml"
    cat >"$work/src/main.rs"
    CARGO_TARGET_DIR="$work/target" cargo run --quiet --manifest-path "$work/Cargo.toml"
}
