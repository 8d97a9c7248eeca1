#!/bin/bash
# Runs a command on a host, as one of its processes. Usage: enter-host.sh GROUP PID COMMAND...
set -eu
group=$1 pid=$2
shift 2
. "$(dirname "$0")/cgroups.sh"
for hierarchy in $hierarchies; do echo $$ > "$hierarchy/$group/init/cgroup.procs"; done
exec nsenter --target "$pid" --mount --net --uts --ipc --pid --cgroup --root --wd "$@"
