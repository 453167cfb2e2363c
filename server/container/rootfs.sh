#!/bin/sh
# Creates the file system of a container: a program, the shared libraries that it loads, a user, and
# /data. usage: rootfs.sh PROGRAM DIRECTORY
set -eu
program=$1 root=$2

mkdir -p "$root/etc" "$root/data" "$root/tmp"
cp "$program" "$root/guira-server"
# Copies each library to the path at which the loader looks for it.
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
echo 'guira:x:65532:65532::/data:/guira-server' > "$root/etc/passwd"
echo 'guira:x:65532:' > "$root/etc/group"
# The order in which names are resolved: /etc/hosts and DNS.
echo 'hosts: files dns' > "$root/etc/nsswitch.conf"
chmod 1777 "$root/tmp"
if [ "$(id -u)" = 0 ]; then
    chown 65532:65532 "$root/data"
fi
