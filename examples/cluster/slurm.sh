#!/bin/sh
# One run by the tasks of a Slurm array. The rendezvous is a directory that all nodes can access:
#
#   sbatch --wait --array=0-7 slurm.sh shop.toml /shared/run7
#   offered verify /shared/run7
#
# Each task takes its number and the number of tasks from Slurm. The run starts when all tasks are running, so request no more tasks
# than the partition can run at the same time.
#SBATCH --job-name=offered
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --output=%x-%A-%a.txt
exec offered run "$1" --rendezvous "$2"
