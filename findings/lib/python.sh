# Sourced by findings that run packages of Python, in a folder that is deleted at the end.

set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# python_with PACKAGE==VERSION...: runs the program on standard input with these packages only.
python_with() {
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$@"
    cat >"$work/program.py" # a file, because workers that are spawned import it
    (cd "$work" && "$work/venv/bin/python" program.py)
}
