#!/bin/bash
# Runs a program in a network that is made first. Usage: run-in-network.sh FILE ADDRESS/BITS LINK ADDRESS/BITS COMMAND...
set -eu
"$(dirname "$0")/make-network.sh" "$1" "$2" "$3" "$4"
file=$1
shift 4
exec nsenter --net="$file" "$@"
