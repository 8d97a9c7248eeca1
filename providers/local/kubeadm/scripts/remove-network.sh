#!/bin/bash
# Removes what make-network.sh has made, as far as it is there. The link goes first: sockets may keep a namespace for minutes.
# Usage: remove-network.sh FILE
set -eu
file=$1
if [ -e "$file" ] && [ "$(stat -f -c %T "$file")" = nsfs ]; then
  nsenter --net="$file" ip link delete machine 2> /dev/null || true
  umount "$file"
fi
rm -f "$file"
