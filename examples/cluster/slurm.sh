#!/bin/sh
# One run by the tasks of a Slurm array, which meet in a folder that all nodes reach:
#
#   sbatch --wait --array=0-7 slurm.sh shop.toml /shared/run7
#   offered verify /shared/run7
#
# Each task takes its number and their count from Slurm. All of them have to run at once, or none begins: ask for no more than the
# partition has.
#SBATCH --job-name=offered
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --output=%x-%A-%a.txt
exec offered run "$1" --meet "$2"
