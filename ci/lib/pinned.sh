# Sourced by scripts that install packages of Python or Node.js. Each package is pinned by version and
# by hash, and none may run an install script.
#
# To update a pin, change ci/python/NAME.in or ci/node/package.json, and regenerate the lock file:
#
#   uv pip compile --universal --python-version 3.11 --generate-hashes --upgrade --no-header \
#       --no-annotate ci/python/NAME.in -o ci/python/NAME.txt
#   npm install --prefix ci/node --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved

pins=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# pinned_python VENV NAME...: installs the packages in ci/python/NAME.txt into that virtual
# environment.
pinned_python() {
    local venv=$1 name
    shift
    for name in "$@"; do
        "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
            --requirement "$pins/python/$name.txt" || return
    done
}

# pinned_node DIRECTORY: installs the packages of ci/node there, and sets `node` to a Node.js that
# supports them, because the one in Debian 12 is too old.
pinned_node() {
    local options=(--loglevel=error --no-fund --no-audit --ignore-scripts)
    mkdir -p "$1"
    cp "$pins"/node/package*.json "$1/"
    npm ci --prefix "$1" "${options[@]}" >/dev/null || return
    node=node
    if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
        mkdir -p "$1/node-22"
        cp "$pins"/node-22/package*.json "$1/node-22/"
        npm ci --prefix "$1/node-22" "${options[@]}" >/dev/null || return
        node=$(realpath "$1"/node-22/node_modules/node-linux-*/bin/node)
    fi
}
