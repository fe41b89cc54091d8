#!/bin/sh
# A sweep as a job array of Slurm: each task runs one part. The plan, its scenarios, the folder of results and the program
# are where all nodes see them.
#
#   sbatch --wait --array=1-64 slurm.sh plan.toml /shared/out 64 && ndnweir sweep plan.toml --out /shared/out --merge
#
# If a task failed, give the same commands again: what is stored is not run again.
#SBATCH --job-name=ndnweir
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
set -eu
exec ndnweir sweep "$1" --out "$2" --shard "$SLURM_ARRAY_TASK_ID/$3" --threads "${SLURM_CPUS_PER_TASK:-1}" --quiet
