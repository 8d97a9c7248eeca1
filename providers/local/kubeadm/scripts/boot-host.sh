#!/bin/bash
# The first process of a host: gives it a file system, a name and cgroups, says "ready PID" (as seen from outside)
# and waits for the end of its standard input; with it all processes of the host end.
# Usage: boot-host.sh FOLDER NAME
set -eu
folder=$1 name=$2
scripts=$(dirname "$0")
image=$scripts/../image
. "$scripts/cgroups.sh"
read -r pid _ < /proc/self/stat

mount --make-rprivate /
mkdir "$folder"/{upper,work,root,var}
echo "$pid" > "$folder/pid"
# The machine's own files, with those of the image over them; what the host writes goes to its folder.
cp -r --preserve=mode "$image/." "$folder/upper"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
cd "$folder/root"
# Containers and volumes need a file system that is no overlay.
mkdir "$folder"/var/{cache,lib,log,tmp}
ln -s /run "$folder/var/run"
mount --bind "$folder/var" var
mount --rbind /dev dev
touch "$folder/console"
mount --bind "$folder/console" dev/console
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount -t proc proc proc
mount -t sysfs sysfs sys
if [ "$hierarchies" = /sys/fs/cgroup ]; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  echo $$ > sys/fs/cgroup/init/cgroup.procs
else
  mount -t tmpfs tmpfs sys/fs/cgroup
  for hierarchy in $hierarchies; do
    controllers=${hierarchy##*/}
    case $controllers in systemd) options=none,name=systemd ;; *) options=$controllers ;; esac
    mkdir "sys/fs/cgroup/$controllers"
    mount -t cgroup -o "$options" cgroup "sys/fs/cgroup/$controllers"
    echo $$ > "sys/fs/cgroup/$controllers/init/cgroup.procs"
  done
fi

# The kernel is the machine's: what a kubelet sets for all of it stays in the host.
mkdir run/kernel
for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  file=run/kernel/${setting##*/}
  cat "proc/sys/$setting" > "$file"
  mount --bind "$file" "proc/sys/$setting"
done
find etc/sysctl.d usr/lib/sysctl.d -mindepth 1 -delete
: > etc/sysctl.conf

pivot_root . .
umount -l .
mount --make-rshared /
hostname "$name"
echo "$name" > /etc/hostname
tr -d - < /proc/sys/kernel/random/uuid > /etc/machine-id
ip link set lo up

echo "ready $pid"
while read -r _; do :; done
