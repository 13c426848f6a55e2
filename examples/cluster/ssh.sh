#!/usr/bin/env bash
# One run by hosts that are reached by ssh and all mount one folder:
#
#   bash ssh.sh shop.toml /shared/run7 host-a host-b host-c
#   offered verify /shared/run7
#
# The workload is read on each host under the path that is given; /shared is a good place for it too. Each worker has a terminal on
# its host (-tt), so that Ctrl-C here ends it there, with all that it has launched; so does a connection that breaks.
[ $# -gt 2 ] || { echo "usage: bash ssh.sh WORKLOAD FOLDER HOST..." >&2; exit 2; }
# What ssh is given is read by a shell there.
printf -v workload %q "$1"
printf -v folder %q "$2"
shift 2
count=$# number=0 status=0 pids=()
trap 'kill "${pids[@]}"' INT TERM
for host; do
  number=$((number + 1))
  ssh -tt -o BatchMode=yes -o LogLevel=ERROR "$host" \
    "offered run $workload --share $number/$count --meet $folder --quiet" </dev/null > >(sed "s|^|$host: |") 2>&1 &
  pids+=($!)
done
for pid in "${pids[@]}"; do
  wait "$pid" || status=$?
done
exit "$status"
