#!/usr/bin/env bash
# Starts a Slurm cluster of two nodes with eight processors each on this machine, separate from any other: munged,
# slurmctld and two slurmd, with all files in one directory, on free ports. Needs root. Commands find it by
# SLURM_CONF=DIR/slurm.conf.
# Usage: cluster.sh start DIR | cluster.sh stop DIR
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
action=$1 dir=$2

# The first of three consecutive free ports outside the range that the system assigns itself.
free_ports() {
  local port used
  used=$(awk 'NR > 1 { split($2, address, ":"); print address[2] }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
  for _ in $(seq 100); do
    port=$((10000 + RANDOM % 20000))
    if ! grep -qxF -f <(printf '%04X\n' "$port" $((port + 1)) $((port + 2))) <<<"$used"; then
      echo "$port"
      return
    fi
  done
  echo "cluster.sh: no free ports" >&2
  return 1
}

write_configuration() {  # port
  local host
  host=$(hostname -s)
  cat <<CONF
ClusterName=triax
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge.sock,cred_expire=20
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0
MpiDefault=none
ReturnToService=2
KillWait=3
MinJobAge=300
InactiveLimit=0
JobRequeue=1
RequeueExit=75
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
PlugStackConfig=/dev/null
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$(($1 + 1)) CPUs=8 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$(($1 + 2)) CPUs=8 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONF
}

start() {
  mkdir -p "$dir"/{state,n1,n2}
  chmod 755 "$dir" "$dir"/{state,n1,n2}
  mkdir -m 700 "$dir/munge"
  mungekey --create --keyfile="$dir/munge/key" --bits=1024
  munged --key-file="$dir/munge/key" --socket="$dir/munge.sock" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" --num-threads=2
  write_configuration "$(free_ports)" >"$dir/slurm.conf"
  export SLURM_CONF=$dir/slurm.conf
  slurmctld
  slurmd -N n1
  slurmd -N n2
  for _ in $(seq 100); do
    [[ $(timeout 30 sinfo --noheader --format=%D --states=idle 2>/dev/null) != 2 ]] || return 0
    sleep 0.1
  done
  echo "cluster.sh: the nodes do not come up" >&2
  tail -n 20 "$dir"/*.log >&2
  return 1
}

# Stops the nodes, the controller and munged, in this order; with force, kills those that remain after five seconds.
stop() {
  local file pid
  local -a pids=()
  for file in "$dir"/slurmd.*.pid "$dir"/slurmctld.pid "$dir"/munged.pid; do
    if [[ -s $file ]] && pid=$(<"$file") && kill "$pid" 2>/dev/null; then pids+=("$pid"); fi
  done
  [[ ${#pids[@]} -gt 0 ]] || return 0
  for _ in $(seq 50); do
    ps -o stat= -p "${pids[*]}" | grep -qv '^Z' || return 0
    sleep 0.1
  done
  kill -KILL "${pids[@]}" 2>/dev/null || true
}

case $action in
  start) start ;;
  stop) stop ;;
  *) echo "usage: cluster.sh start|stop DIR" >&2; exit 2 ;;
esac
