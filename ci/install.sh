#!/usr/bin/env bash
# Installs the named packages of Debian, as root or with sudo. Does nothing without names.
set -euo pipefail

[ $# -gt 0 ] || exit 0
root=()
[ "$(id -u)" = 0 ] || root=(sudo)
echo "installing $*"
"${root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null
