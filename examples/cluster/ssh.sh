#!/bin/sh
# One run by hosts that are reached by ssh and all mount one folder:
#
#   sh ssh.sh shop.toml /shared/run7 host-a host-b host-c
#   offered verify /shared/run7
#
# The workload is read on each host under the path that is given; /shared is a good place for it too.
workload=$1 folder=$2
shift 2
count=$# number=0 status=0 pids=
for host; do
  number=$((number + 1))
  ssh -o BatchMode=yes "$host" offered run "$workload" --share "$number/$count" --meet "$folder" --quiet &
  pids="$pids $!"
done
for pid in $pids; do
  wait "$pid" || status=$?
done
exit "$status"
