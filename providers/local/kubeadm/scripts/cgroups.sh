# Sets `hierarchies`: one with cgroups of version 2, one for each controller with version 1.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  hierarchies=/sys/fs/cgroup
else
  hierarchies=$(find /sys/fs/cgroup -mindepth 1 -maxdepth 1 -type d ! -name unified)
fi
