#!/usr/bin/env bash
# The C interface: the header, programs in C and C++ against the installed library, shared and static,
# under valgrind and the sanitizers, and the package for Go with its race detector. Ten minutes at most, once
# the libraries are built.
#
# The tools are Debian's gcc, g++, make, valgrind, pkg-config and Go, which are installed as root or with
# sudo if they are missing.
#
#   ci/capi.sh --fuzz SECONDS instead, fuzzes the calls, with the address sanitizer
#   ci/capi.sh --cost         instead, what calls cost: C against Rust in one run, and Go
set -euo pipefail
self=$(realpath "$0")
cd "$(dirname "$self")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
installed=$target/capi-installed
work=$target/capi-tests

say() { printf '\n== %s (%s)\n' "$*" "$(date +%T)"; }
fail() { printf 'capi.sh: %s\n' "$*" >&2; exit 1; }

mode=${1:-}
case $mode in
"" | --cost) ;;
--fuzz)
    [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || fail "--fuzz needs a number of seconds"
    cd capi/fuzz
    mkdir -p corpus/calls artifacts
    coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
    coverage+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
    coverage+=" -Cllvm-args=-sanitizer-coverage-trace-compares"
    export RUSTC_BOOTSTRAP=1
    export RUSTFLAGS="-Zsanitizer=address $coverage --cfg fuzzing -Ccodegen-units=1 -Cdebug-assertions"
    host=$(rustc -vV | sed -n 's/^host: //p')
    cargo build --locked --release --target "$host" --target-dir "$target/fuzz"
    exec "$target/fuzz/$host/release/calls" corpus/calls -max_total_time="$2" -max_len=2000 \
        -artifact_prefix=artifacts/
    ;;
*) fail "there is no $mode: see the first lines of ci/capi.sh" ;;
esac

export PKG_CONFIG_PATH=$installed/lib/pkgconfig
# Go's cache does not see that a library or a header has changed.
export GOCACHE=$work/go GOFLAGS=-count=1

if [ -z "${GUIRA_CAPI_BOUNDED:-}" ]; then
    # Not counted in: how long this takes depends on what is there already.
    say "getting the tools"
    missing=()
    command -v gcc >/dev/null || missing+=(gcc libc6-dev)
    command -v g++ >/dev/null || missing+=(g++)
    command -v make >/dev/null || missing+=(make)
    command -v valgrind >/dev/null || missing+=(valgrind)
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    command -v go >/dev/null || missing+=(golang-go)
    ci/install.sh "${missing[@]}"

    say "building and installing the library"
    rm -rf "$installed" "$work/go"
    mkdir -p "$work"
    make --quiet -C capi install PREFIX="$installed" BUILD="$target"

    if [ "$mode" = --cost ]; then
        cargo bench --package guira-capi --profile capi
        (cd capi/go && LD_LIBRARY_PATH=$installed/lib GOFLAGS= go test -run '^$' -bench .)
        exit
    fi

    say "building the units, and a library whose calls panic on demand"
    cargo test --quiet --package guira-capi --no-run
    cargo rustc --quiet --package guira-capi --lib --features faults --crate-type staticlib
    cp --remove-destination "$target/debug/libguira_capi.a" "$work/libguira-faults.a"

    GUIRA_CAPI_BOUNDED=1 exec timeout --kill-after=10 600 "$self"
fi

objects=$(nm -D --defined-only "$installed/lib/libguira.so" | awk '$3 !~ /^guira_/')
[ -z "$objects" ] || fail "the library exports more than guira_*: $objects"
grep -q fault_panic capi/include/guira.h && fail "the header has a fault"

say "the units, and the header"
cargo test --quiet --package guira-capi

warnings=(-pedantic -Wall -Wextra -Werror -g -O1)
cc=(gcc -std=c11 -D_DEFAULT_SOURCE "${warnings[@]}")
cxx=(g++ -std=c++17 "${warnings[@]}")
read -ra cflags <<<"$(pkg-config --cflags guira)"
read -ra shared <<<"$(pkg-config --libs guira) -Wl,-rpath,$installed/lib -lpthread"
# The words after the library are what it needs, as its pkg-config file says.
read -ra needs <<<"$(sed -n 's/^Libs.private: //p' "$installed/lib/pkgconfig/guira.pc")"
static=("$installed/lib/libguira.a" "${needs[@]}")
# -isystem instead of -I would hide warnings of the header.
headers=("${cflags[@]}")

# built NAME SOURCE LINK...: a program under the name, for C or C++ by the source's name.
built() {
    local name=$1 source=$2 compiler=("${cc[@]}")
    shift 2
    case $source in *.cpp) compiler=("${cxx[@]}") ;; esac
    "${compiler[@]}" "${headers[@]}" "$source" -o "$work/$name" "$@"
}

# run NAME COMMAND...: under that command, if any.
run() {
    local name=$1
    shift
    case $name in filter*) "$@" "$work/$name" tests/tests/data/hashes.txt ;; *) "$@" "$work/$name" ;; esac
}

tests=(c/filter.c c/time.c c/arguments.c c/estimate.c c/memory.c c/shared.c cpp/classes.cpp)
for source in "${tests[@]}"; do
    name=$(basename "${source%.*}")
    say "$source: shared, static"
    built "$name" "capi/tests/$source" "${shared[@]}"
    run "$name"
    built "$name-static" "capi/tests/$source" "${static[@]}"
    run "$name-static"
done

say "valgrind"
leaks=definite,indirect
grind=(valgrind --quiet --leak-check=full "--show-leak-kinds=$leaks" "--errors-for-leak-kinds=$leaks" --error-exitcode=99)
for name in filter time arguments shared classes; do run "$name" "${grind[@]}"; done

say "the address sanitizer, and that of undefined behaviour"
for source in c/filter.c c/time.c c/arguments.c c/estimate.c c/shared.c cpp/classes.cpp; do
    name=$(basename "${source%.*}")
    built "$name-sanitized" "capi/tests/$source" -fsanitize=address,undefined -fno-sanitize-recover=all "${static[@]}"
    run "$name-sanitized"
done

say "calls that panic"
built panics capi/tests/c/panics.c "$work/libguira-faults.a" "${needs[@]}"
run panics

say "the examples, and the programs of the manual"
awk -v to="$work/manual" '/^```c$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print > (to n ".c") }' capi/README.md
for number in 1 2; do built "manual$number" "$work/manual$number.c" "${shared[@]}"; done
[ "$(run manual1)" = $'new\npresent' ] || fail "the first program of the manual fails"
list=$(mktemp -u /dev/shm/guira-capi-XXXXXX)
for line in "this process is the first" "another was first"; do
    [ "$("$work/manual2" "$list")" = "$line" ] || fail "the second program of the manual does not say: $line"
done
rm "$list"
built dedup capi/examples/dedup.c "${shared[@]}"
cat Cargo.lock Cargo.lock | "$work/dedup" 3 | LC_ALL=C sort >"$work/lines"
LC_ALL=C sort -u Cargo.lock | cmp - "$work/lines" || fail "dedup has lost or repeated a line"
built window capi/examples/window.cpp "${shared[@]}"
[ "$(printf 'a\na\na\na\nb\n' | "$work/window" | grep -c allow)" = 4 ] || fail "the window does not count"

say "Go"
(
    cd capi/go
    export LD_LIBRARY_PATH=$installed/lib
    unformatted=$(gofmt -l .)
    [ -z "$unformatted" ] || fail "not formatted by gofmt: $unformatted"
    go vet ./...
    go test ./...
    GODEBUG=cgocheck=2 go test ./...
    go test -race ./...
    # The program of the manual, in a module of its own.
    mkdir -p "$work/go-manual"
    sed -n '/^```go$/,/^```$/p' README.md | sed '/^```/d' >"$work/go-manual/main.go"
    module=$(sed -n 's/^module //p' go.mod)
    printf 'module manual\n\ngo 1.19\n\nrequire %s v0.0.0\n\nreplace %s => %s\n' \
        "$module" "$module" "$PWD" >"$work/go-manual/go.mod"
    cd "$work/go-manual"
    [ "$(GOFLAGS= go run .)" = "[true true false]" ] || fail "the program of Go's manual fails"
)
say "the C interface passed"
