#!/bin/bash
# A network of its own that hosts are plugged into, and on its address the endpoint of a control plane. Says
# "ready PID"; lasts until its standard input, which is the endpoint's, ends, and removes the folder of the test then.
# Usage: run-network.sh FOLDER ADDRESS ENDPOINT-COMMAND...
set -eu
folder=$1 address=$2
shift 2
trap 'rm -rf "$folder"' EXIT
ip link set lo up
ip link add bridge type bridge
ip addr add "$address/24" dev bridge
ip link set bridge up
echo "ready $$"
"$@"
