#!/bin/bash
# Runs a host with namespaces and cgroups of its own, until its standard input ends, and removes what it leaves.
# Usage: run-host.sh GROUP FOLDER NAME: its cgroup, a new folder for its disk, its host name.
set -eu
group=$1 folder=$2 name=$3
scripts=$(dirname "$0")
. "$scripts/cgroups.sh"
if [ "$hierarchies" = /sys/fs/cgroup ]; then
  echo "+cpu +cpuset +io +memory +pids" > /sys/fs/cgroup/cgroup.subtree_control
fi

trap '"$scripts/remove-host.sh" "$group" "$folder"' EXIT
mkdir "$folder"
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
