#!/usr/bin/env bash
# One run by hosts that are reachable by ssh and mount the same directory:
#
#   bash ssh.sh shop.toml /shared/run7 host-a host-b host-c
#   offered verify /shared/run7
#
# Each host reads the workload under the given path, so put it into the shared directory as well. Each worker has a terminal on its
# host (-tt), so that Ctrl-C here, or a lost connection, stops it there.
[ $# -gt 2 ] || { echo "usage: bash ssh.sh WORKLOAD DIRECTORY HOST..." >&2; exit 2; }
# The remote shell parses the command line, so the paths must be quoted for it.
printf -v workload %q "$1"
printf -v directory %q "$2"
shift 2
count=$# number=0 status=0 pids=()
trap 'kill "${pids[@]}"' INT TERM
for host; do
  number=$((number + 1))
  ssh -tt -o BatchMode=yes -o LogLevel=ERROR "$host" \
    "offered run $workload --share $number/$count --rendezvous $directory --quiet" </dev/null > >(sed "s|^|$host: |") 2>&1 &
  pids+=($!)
done
for pid in "${pids[@]}"; do
  wait "$pid" || status=$?
done
exit "$status"
