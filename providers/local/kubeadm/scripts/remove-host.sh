#!/bin/bash
# Ends all processes of a host and removes its cgroups and its disk, however it was made and has ended. Its mounts and namespaces
# go with its processes. May be repeated, and run by several at once. Usage: remove-host.sh GROUP FOLDER
set -eu
group=$1 folder=$2
. "$(dirname "$0")/cgroups.sh"

processes_in() { find "$1" -name cgroup.procs -exec cat {} + 2> /dev/null | grep -vx 0; }
remove() { find "$1" -depth -type d -exec rmdir {} + 2> /dev/null; }

for hierarchy in $hierarchies; do
  for _ in $(seq 100); do
    [ -e "$hierarchy/$group" ] || continue 2
    processes_in "$hierarchy/$group" | xargs -r kill -KILL 2> /dev/null || true
    remove "$hierarchy/$group" || sleep 0.1 # They are still on their way out.
  done
  echo "processes of $group do not end" >&2
  exit 1
done
rm -rf "$folder" 2> /dev/null || rm -rf "$folder" # Somebody else may remove it as well.
