#!/bin/sh
# slurm.sh PROGRAM [MPI_PROGRAM]: the job scripts of experiments/cluster under a Slurm of one node that lives
# in a temporary directory (munged, slurmctld and slurmd, without systemd); where Slurm is not installed the
# array runs under GNU parallel. Last line: `N passed, N failed`.
#
# To install: apt install slurmctld slurmd slurm-client munge, or apt install parallel.
set -u
program=$(realpath "${1:?usage: slurm.sh PROGRAM [MPI_PROGRAM]}")
mpi=${2:+$(realpath "$2")}
scripts=$(realpath "$(dirname "$0")/../../experiments/cluster")
tmp=$(mktemp -d)
passed=0 failed=0 daemons=
cleanup() {
    for pid in $daemons; do kill "$pid" 2> /dev/null; done
    for pid in $daemons; do wait "$pid" 2> /dev/null; done
    rm -rf "$tmp"
}
trap cleanup EXIT
expect() { # text, then a command that should succeed
    text=$1; shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $text"; fi
}
same() { for f in manifest.json cells.ndjson data.csv; do cmp "$1/$f" "$tmp/whole/$f" || return 1; done; }

cat > "$tmp/array.cfg" << 'CFG'
name = "array"; attention = { kind = "dot"; d = 2; A = "worst"; V = "identity"; };
domain = { kind = "ball"; radius = 1.5; };
sweep = { variable = "n"; values = (2, 3, 5, 9, 100, "inf"); };
search = { atoms = 3; restarts = 6; evaluations = 300; };
CFG
"$program" run "$tmp/array.cfg" -o "$tmp/whole" --no-plot > /dev/null 2>&1 || exit 1
TIGHTLIP=$program
export TIGHTLIP

merged() { # directory with shards
    "$program" merge -o "$1/whole" --no-plot "$tmp/array.cfg" "$1"/shard-* > "$tmp/log" 2>&1 && same "$1/whole"
}

if ! command -v slurmctld > /dev/null || ! command -v slurmd > /dev/null || ! command -v munged > /dev/null ||
    ! command -v sbatch > /dev/null || [ "$(id -u)" != 0 ]; then
    if ! command -v parallel > /dev/null; then
        echo 'neither Slurm (as root) nor GNU parallel here: job arrays are not tested'
        echo '0 passed, 0 failed'; exit 0
    fi
    echo 'no Slurm here (or not root): the array runs under GNU parallel'
    seq 4 | parallel -j 2 SLURM_ARRAY_TASK_ID={} SLURM_ARRAY_TASK_COUNT=4 \
        sh "$scripts/array.sh" "$tmp/array.cfg" "$tmp/out" > "$tmp/parallel.log" 2>&1
    expect 'array under GNU parallel' merged "$tmp/out"
    echo "$passed passed, $failed failed"; [ $failed -eq 0 ]; exit
fi

host=$(hostname -s)
SLURM_CONF=$tmp/slurm.conf
export SLURM_CONF
mkdir "$tmp/state" "$tmp/spool"
chmod 755 "$tmp"
cat > "$SLURM_CONF" << CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=27817
SlurmdPort=27818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$tmp/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd.pid
SlurmctldLogFile=$tmp/slurmctld.log
SlurmdLogFile=$tmp/slurmd.log
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
dd if=/dev/urandom of="$tmp/munge.key" bs=1024 count=1 2> /dev/null
chmod 400 "$tmp/munge.key"
munged --foreground --force --key-file="$tmp/munge.key" --socket="$tmp/munge.socket" --seed-file="$tmp/munge.seed" \
    --pid-file="$tmp/munge.pid" --log-file="$tmp/munge.log" > /dev/null 2>&1 & daemons="$daemons $!"
sleep 1
slurmctld -D -c -f "$SLURM_CONF" > /dev/null 2>&1 & daemons="$daemons $!"
slurmd -D -f "$SLURM_CONF" -N "$host" > /dev/null 2>&1 & daemons="$daemons $!"
for i in $(seq 60); do
    sinfo -h -o %T 2> /dev/null | grep -q idle && break
    sleep 0.5
done
if ! sinfo -h -o %T 2> /dev/null | grep -q idle; then
    echo 'FAILED the node does not come up'; tail -n 5 "$tmp"/slurm*.log; echo '0 passed, 1 failed'; exit 1
fi
cd "$tmp" || exit 1

sbatch --wait --array=1-4 --cpus-per-task=1 "$scripts/array.sh" "$tmp/array.cfg" "$tmp/out" > /dev/null
expect 'an array of four tasks' merged "$tmp/out"

# One task cancelled in the middle; the same line again completes it.
sed 's/evaluations = 300/evaluations = 3000/' "$tmp/array.cfg" > "$tmp/longer.cfg"
mv "$tmp/longer.cfg" "$tmp/array.cfg"
"$program" run "$tmp/array.cfg" -o "$tmp/whole" --no-plot > /dev/null 2>&1
job=$(sbatch --parsable --array=1-2 --cpus-per-task=1 "$scripts/array.sh" "$tmp/array.cfg" "$tmp/cut")
for i in $(seq 400); do [ -s "$tmp/cut/shard-1/cells.ndjson.partial" ] && break; sleep 0.05; done
scancel "$job"
while squeue -h -j "$job" 2> /dev/null | grep -q .; do sleep 0.2; done
expect 'a cancelled array is not whole' test ! -e "$tmp/cut/shard-2/cells.ndjson"
sbatch --wait --array=1-2 --cpus-per-task=1 "$scripts/array.sh" "$tmp/array.cfg" "$tmp/cut" > /dev/null
expect 'a cancelled array that is submitted again' merged "$tmp/cut"

if [ -n "$mpi" ]; then
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TIGHTLIP=$mpi \
        sbatch --wait --ntasks=2 "$scripts/mpi.sh" "$tmp/array.cfg" "$tmp/ranks" > /dev/null
    expect 'a job of two ranks' same "$tmp/ranks"
    [ $failed -eq 0 ] || tail -n 5 slurm-*.out
else
    echo 'no program with MPI given: jobs of ranks are not tested'
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
