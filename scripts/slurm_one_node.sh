#!/usr/bin/env bash
# A Slurm of one node, on localhost, for trying job scripts without a cluster.
#
#   scripts/slurm_one_node.sh start FOLDER [CPUS]    # configuration, logs and state in FOLDER, which must be new
#   export SLURM_CONF=FOLDER/slurm.conf              # then sbatch, squeue, scontrol, scancel as on a cluster
#   scripts/slurm_one_node.sh stop FOLDER
#
# Needs root and the Debian packages slurmctld, slurmd, slurm-client and munge; their services need not run. The node has
# CPUS CPUs (8 by default), however many the machine has, and two GPUs that are not there: jobs with --gres=gpu:1 get
# CUDA_VISIBLE_DEVICES. Partition `batch` is the default; jobs of partition `urgent` cancel those of `batch` after a
# grace time of 20 s (PreemptMode=CANCEL). Jobs are not confined to their CPUs and memory.
set -euo pipefail

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

start() {
    local folder=$1 cpus=${2:-8} host
    host=$(hostname -s)
    mkdir -m 755 "$folder"
    folder=$(cd "$folder" && pwd)
    mkdir "$folder/state" "$folder/spool" "$folder/log"

    # munge, with a key and a socket of its own
    mkdir -m 755 "$folder/munge"
    (umask 077 && head -c 1024 /dev/urandom >"$folder/munge/key")
    munged --force --num-threads=2 --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
        --pid-file="$folder/munge/pid" --log-file="$folder/log/munged" --seed-file="$folder/munge/seed"

    cat >"$folder/gres.conf" <<END
Name=gpu File=/dev/null
Name=gpu File=/dev/zero
END
    cat >"$folder/slurm.conf" <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny,NoAddrCache
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
CryptoType=crypto/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
KillWait=30
MinJobAge=300
MaxArraySize=1001
ReturnToService=2
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=$((cpus * 4096)) Gres=gpu:2 State=UNKNOWN
PartitionName=batch Nodes=$host Default=YES MaxTime=1-0 State=UP PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=$host MaxTime=1-0 State=UP PriorityTier=10 PreemptMode=OFF
END
    export SLURM_CONF=$folder/slurm.conf
    slurmctld -f "$SLURM_CONF"
    slurmd -f "$SLURM_CONF" -N "$host"
    for _ in {1..60}; do
        if [[ $(sinfo --noheader --format=%T --partition=batch 2>/dev/null) == idle* ]]; then
            echo "export SLURM_CONF=$SLURM_CONF"
            return
        fi
        sleep 0.5
    done
    echo "no idle node after 30 s; see $folder/log" >&2
    stop "$folder"
    exit 1
}

stop() {
    local folder=$1 file pid
    for file in "$folder/slurmd.pid" "$folder/slurmctld.pid" "$folder/munge/pid"; do
        [[ -s $file ]] || continue
        pid=$(<"$file")
        kill "$pid" 2>/dev/null || continue
        for _ in {1..40}; do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.25
        done
    done
}

(($# >= 2)) || usage
case $1 in
start) start "$2" "${3:-}" ;;
stop) stop "$2" ;;
*) usage ;;
esac
