#!/bin/bash
# Makes a network of its own that hosts are plugged into, as far as it is not there: a namespace that a file stands for, and a bridge
# with an address of its own, where the endpoint of a control plane is. With a LINK this machine is plugged in, too.
# Usage: make-network.sh FILE ADDRESS/BITS [LINK ADDRESS/BITS]
set -eu
file=$1 address=$2 link=${3:-} own=${4:-}
inside() { nsenter --net="$file" "$@"; }
has() { "$@" > /dev/null 2>&1; }

[ -e "$file" ] || touch "$file"
[ "$(stat -f -c %T "$file")" = nsfs ] || unshare --net="$file" true
inside ip link set lo up
has inside ip link show bridge || inside ip link add bridge type bridge
inside ip addr replace "$address" dev bridge
inside ip link set bridge up
[ -n "$link" ] || exit 0
has ip link show "$link" || ip link add "$link" type veth peer machine netns "$file"
inside ip link set machine master bridge up
ip addr replace "$own" dev "$link"
ip link set "$link" up
