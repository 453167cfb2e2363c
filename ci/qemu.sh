#!/usr/bin/env bash
# Tests of the library, and the programs in C with the static library, on emulated processors. They read the
# bytes that x86-64 wrote, and write the same. Miri (ci/miri.sh) checks orderings on such machines; this runs what
# compilers make for them. It is not part of .ci/run. Needs Debian's cross compilers and QEMU, which are installed
# as root or with sudo, and takes ten minutes for each processor.
#
#   ci/qemu.sh                    s390x, which is big-endian, aarch64 and riscv64
#   ci/qemu.sh s390x              one of them
#   GUIRA_TESTS= ci/qemu.sh       all tests of the library
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=target/qemu

say() { printf '\n== %s (%s)\n' "$*" "$(date +%T)"; }

read -ra tests <<<"${GUIRA_TESTS-golden_tests concurrent_tests hash:: snapshot:: digest}"
processors=("$@")
[ $# -gt 0 ] || processors=(s390x aarch64 riscv64)

missing=()
command -v make >/dev/null || missing+=(make)
for processor in "${processors[@]}"; do
    command -v "qemu-$processor" >/dev/null || missing+=(qemu-user)
    # Debian's names of the architectures differ from those of the compilers.
    case $processor in aarch64) debian=arm64 ;; *) debian=$processor ;; esac
    command -v "$processor-linux-gnu-gcc" >/dev/null || missing+=("gcc-$processor-linux-gnu" "libc6-dev-$debian-cross")
done
ci/install.sh "${missing[@]}"

for processor in "${processors[@]}"; do
    case $processor in riscv64) target=riscv64gc-unknown-linux-gnu ;; *) target=$processor-unknown-linux-gnu ;; esac
    rustup target add "$target"
    compiler=$processor-linux-gnu-gcc
    emulator=("qemu-$processor" -L "/usr/$processor-linux-gnu")
    variable=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$target")
    export "${variable}_LINKER=$compiler" "${variable}_RUNNER=${emulator[*]}"

    say "$processor: the library"
    cargo test --target "$target" --package guira --lib -- "${tests[@]}"

    say "$processor: old snapshots, hashes"
    cargo test --target "$target" --package guira-tests --test all -- snapshot::golden hashes::

    say "$processor: programs in C"
    cargo rustc --quiet --target "$target" --package guira-capi --lib --crate-type staticlib
    work=target/qemu/c/$processor
    mkdir -p "$work"
    for name in filter time arguments estimate; do
        "$compiler" -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -O1 -Icapi/include "capi/tests/c/$name.c" \
            -o "$work/$name" "target/qemu/$target/debug/libguira_capi.a" -lpthread -lm -ldl
        case $name in filter) data=(tests/tests/data/hashes.txt) ;; *) data=() ;; esac
        "${emulator[@]}" "$work/$name" "${data[@]}"
        echo "$name: good"
    done
done
