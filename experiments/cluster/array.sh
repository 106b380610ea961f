#!/bin/sh
# array.sh CONFIG DIR: one share of an experiment per task of a job array; the results of share I go to
# DIR/shard-I. Afterwards: tightlip merge -o DIR/whole CONFIG DIR/shard-*
#
#   sbatch --array=1-64 --cpus-per-task=4 array.sh experiments/sqrt_n.cfg out        (Slurm)
#   seq 64 | parallel -j 8 SLURM_ARRAY_TASK_ID={} SLURM_ARRAY_TASK_COUNT=64 \
#       sh array.sh experiments/sqrt_n.cfg out                                       (GNU parallel)
#
# A task that was killed goes on where it was when it is started again.
set -eu
config=$1 directory=$2
shard=${SLURM_ARRAY_TASK_ID:?is not set: run this as a task of an array}
shards=${SLURM_ARRAY_TASK_COUNT:?is not set}
mkdir -p "$directory"
exec "${TIGHTLIP:-tightlip}" run "$config" --shard "$shard/$shards" --resume \
    --threads "${SLURM_CPUS_PER_TASK:-1}" -o "$directory/shard-$shard"
