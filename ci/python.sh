#!/usr/bin/env bash
# The Python package: builds it, installs it into a fresh virtual environment as its users do, and
# runs its tests and checks. Under six minutes on two cores; a run of its own, as ci/module.sh.
#
# Needs Rust, and Python 3.11 or later; python3 and python3-venv are installed if they are missing.
#
#   ci/python.sh --long    a hundred thousand steps of each model instead of five thousand
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/lib/pinned.sh

say() { printf '\n== %s (%s)\n' "$*" "$(date +%T)"; }
fail() { printf 'python.sh: %s\n' "$*" >&2; exit 1; }

case ${1:-} in
"") steps=5000 ;;
--long) steps=100000 ;;
*) fail "there is no $1: see the first lines of ci/python.sh" ;;
esac

python=${GUIRA_PYTHON_FOR_PACKAGE:-python3}
if ! command -v "$python" >/dev/null || ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    ci/install.sh python3 python3-venv
fi
venv=$PWD/target/python/venv
rm -rf "$venv"
"$python" -m venv "$venv"
pinned_python "$venv" guira || fail "the pinned packages cannot be installed"
export PATH=$venv/bin:$PATH VIRTUAL_ENV=$venv

say "formatting and lints"
ruff format --check python
ruff check python
cargo clippy --package guira-python --all-features -- -D warnings

say "pip install ./python, and the README's example"
# Without isolation, pip uses the pinned maturin. It reaches no registry.
pip install --quiet --no-build-isolation --no-index --no-deps ./python
(
    cd target
    sed -n '/^```python$/,/^```$/p' ../python/README.md | grep -v '^```' | python -
)

say "tests"
# `from_dump` reads the keys of a server that runs.
cargo build --quiet --package guira-server --no-default-features
GUIRA_SERVER=${CARGO_TARGET_DIR:-$PWD/target}/debug/guira-server
export GUIRA_SERVER
(cd python && GUIRA_STEPS=$steps pytest -q -p no:cacheprovider)

say "types"
(cd python && mypy tests/typed.py examples bench && python -m mypy.stubtest guira_filter)

say "the stable ABI"
rm -rf target/python/wheels
maturin build --quiet --manifest-path python/Cargo.toml --out target/python/wheels
abi3audit --strict --assume-minimum-abi3 3.11 target/python/wheels/*.whl
say "the package passed"
