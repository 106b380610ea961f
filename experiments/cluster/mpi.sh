#!/bin/sh
# mpi.sh CONFIG DIR: one experiment over the ranks of a job; the results go to DIR. Needs a build with MPI
# (make MPI=1), the same on every node, and CONFIG and DIR on a file system that all nodes see.
#
#   sbatch --ntasks=64 --cpus-per-task=4 mpi.sh experiments/tightness_map.cfg out       (Slurm)
#   TIGHTLIP=build/tightlip sh mpi.sh experiments/tightness_map.cfg out                 (this machine)
#
# A job that was killed goes on where it was when it is submitted again.
set -eu
config=$1 directory=$2
exec mpirun ${SLURM_NTASKS:+-n "$SLURM_NTASKS"} "${TIGHTLIP:-tightlip}" run "$config" --resume \
    --threads "${SLURM_CPUS_PER_TASK:-1}" -o "$directory"
