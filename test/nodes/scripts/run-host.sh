#!/bin/bash
# Runs a host with namespaces and cgroups of its own, until its standard input ends, and removes what it leaves.
# Usage: run-host.sh GROUP FOLDER NAME: its cgroup (capstan-PID-...), a new folder for its disk, its host name.
set -eu
group=$1 folder=$2 name=$3
scripts=$(dirname "$0")
. "$scripts/cgroups.sh"
if [ "$hierarchies" = /sys/fs/cgroup ]; then
  echo "+cpu +cpuset +io +memory +pids" > /sys/fs/cgroup/cgroup.subtree_control
fi

remove() { find "$1" -depth -type d -exec rmdir {} + 2> /dev/null || true; }

clean_up() {
  for hierarchy in $hierarchies; do
    for _ in $(seq 50); do
      remove "$hierarchy/$group"
      [ -e "$hierarchy/$group" ] || break
      sleep 0.1 # Processes of the host are still on their way out.
    done
  done
  rm -rf "$folder"
}
trap clean_up EXIT
mkdir "$folder"

# What is left where this script itself was killed, by the process id in the names of tests' groups.
for hierarchy in $hierarchies; do
  for left in "$hierarchy"/capstan-*; do
    test=${left##*/capstan-}
    [ ! -e "$left" ] || [ -e "/proc/${test%%-*}" ] || remove "$left"
  done
done

for hierarchy in $hierarchies; do
  mkdir "$hierarchy/$group"
  if [ -e "$hierarchy/cpuset.mems" ] && [ -e "$hierarchy/cgroup.clone_children" ]; then
    for file in cpuset.cpus cpuset.mems; do cat "$hierarchy/$file" > "$hierarchy/$group/$file"; done
    echo 1 > "$hierarchy/$group/cgroup.clone_children"
  fi
  mkdir "$hierarchy/$group/init"
done

(
  for hierarchy in $hierarchies; do echo "$BASHPID" > "$hierarchy/$group/cgroup.procs"; done
  exec unshare --mount --net --uts --ipc --pid --cgroup --fork --kill-child \
    "$scripts/boot-host.sh" "$folder" "$name"
) <&0 &
wait $!
