#!/usr/bin/env bash
# The Python package without the GIL: builds CPython 3.13 from Debian's source, and the package for it,
# and runs the package's tests. Ten to fifteen minutes on two cores; a run of its own, on Debian.
#
# PyO3 0.28 is the last one that builds for 3.13 without the GIL, so a copy of the package takes that
# one. The wheels for 3.14 and later take the present one.
#
#   ci/free-threaded.sh PYTHON    with an interpreter that is there already
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/lib/pinned.sh

say() { printf '\n== %s (%s)\n' "$*" "$(date +%T)"; }
fail() { printf 'free-threaded.sh: %s\n' "$*" >&2; exit 1; }

work=$PWD/target/free-threaded
mkdir -p "$work"
python=${1:-$work/python/bin/python3}

if [ ! -x "$python" ]; then
    say "building CPython without the GIL"
    missing=()
    command -v gcc >/dev/null || missing+=(gcc libc6-dev)
    command -v make >/dev/null || missing+=(make)
    for header in openssl/ssl.h zlib.h ffi.h; do
        echo "#include <$header>" | gcc -E - >/dev/null 2>&1 || missing+=(libssl-dev zlib1g-dev libffi-dev)
    done
    ci/install.sh "${missing[@]}"
    # Debian 12 has an older Python, so the source comes from Debian 13. The lists of this machine stay
    # as they are.
    mkdir -p "$work/apt/partial"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
http://deb.debian.org/debian trixie main" >"$work/sources.list"
    apt=(-qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$work/apt" -o APT::Sandbox::User=root)
    apt-get "${apt[@]}" update
    (
        cd "$work"
        apt-get "${apt[@]}" source --download-only python3.13
        rm -rf Python-3.13*
        tar xf python3.13_*.orig.tar.xz
        cd Python-3.13*
        ./configure --quiet --disable-gil --prefix="$work/python" >"$work/configure.log"
        make --jobs="$(nproc)" >"$work/make.log" 2>&1
        make install >"$work/install.log" 2>&1
    )
fi
"$python" -c 'import sys; sys.exit(sys._is_gil_enabled())' || fail "$python has the GIL"

say "the package with PyO3 0.28"
copy=$work/copy
rm -rf "$copy"
mkdir "$copy"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents --target-directory "$copy"
sed -i -e 's/^pyo3 = .*/pyo3 = { version = "0.28", features = ["multiple-pymethods"] }/' -e 's/^pyo3-build-config = .*/pyo3-build-config = "0.28"/' \
    "$copy/python/Cargo.toml"
# The lock file is for the present one.
sed -i '/^locked = true$/d' "$copy/python/pyproject.toml"
venv=$work/venv
rm -rf "$venv"
"$python" -m venv "$venv"
pinned_python "$venv" free-threaded || fail "the pinned packages cannot be installed"
export PATH=$venv/bin:$PATH VIRTUAL_ENV=$venv CARGO_TARGET_DIR=$work/target
pip install --quiet --no-build-isolation --no-index --no-deps "$copy/python"
python -c 'import guira_filter, sys; sys.exit(sys._is_gil_enabled())' || fail "the package switches the GIL on"

say "tests"
cd "$copy/python"
# pyarrow 24, the last one for this interpreter, crashes when it exports a column of views. Two
# examples need polars and Flask, which have no wheels for it either.
GUIRA_STEPS=2000 pytest -q -p no:cacheprovider \
    -k "not string_view and not dedup_column and not idempotency_keys"
say "the package passed without the GIL"
