#!/bin/bash
# Runs a command on a host, as one of its processes, with an environment of the host's own: whoever runs this has folders and
# secrets that are none of the host's affair. Usage: enter-host.sh GROUP PID COMMAND...
set -eu
group=$1 pid=$2
shift 2
. "$(dirname "$0")/cgroups.sh"
for hierarchy in $hierarchies; do echo $$ > "$hierarchy/$group/init/cgroup.procs"; done
exec env -i HOME=/root "PATH=/usr/local/sbin:/usr/local/bin:$PATH" \
  nsenter --target "$pid" --mount --net --uts --ipc --pid --cgroup --root --wd "$@"
