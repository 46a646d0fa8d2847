#!/bin/bash
# Submits a run as a chain of jobs: each segment stops by itself before its time limit, and the next one continues.
#
#   jobs/chain.sh [OPTION]... [SBATCH_OPTION]... JOB.json [--set KEY=VALUE]...
#   jobs/chain.sh --segments 6 --time=02:00:00 --nodes=4 job.json --set run.steps=100000
#
#   --segments N            jobs of the chain (default 4); a segment that finds the run done ends at once
#   --stop-before-end TIME  how long before its time limit a segment stops (run.stop_before_end; default 180s)
#   --after any|ok          what follows a failed segment: the next one (any, the default) or the end of the chain (ok)
#   --join JOBID            the first segment waits for that job
#
# Write options of sbatch with = (--time=..., --partition=...). Prints one job number per line, for `scancel`.
# Where requeueing is allowed, jobs/train.sbatch alone does the same with one job.
# Obeys variables of jobs/train.sbatch: TRIAX, TRIAX_ENV, LAUNCHER, SLURM_MPI_TYPE. triax takes the chain for one job
# (TRIAX_JOB_ID, the number of its first segment); checkpoint.resume says where the chain begins.

set -euo pipefail
jobs=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=jobs/messages.sh
. "$jobs/messages.sh"
name=chain.sh
segments=4 stop=180s after=any previous=
options=()
while [[ $# -gt 0 ]]; do
  case $1 in
    -h | --help) print_help "$jobs/chain.sh"; exit 0 ;;
    --segments | --stop-before-end | --after | --join)
      [[ $# -ge 2 ]] || fail "$1 needs a value (see --help)"
      case $1 in
        --segments) segments=$2 ;;
        --stop-before-end) stop=$2 ;;
        --after) after=$2 ;;
        --join) previous=$2 ;;
      esac
      shift 2
      ;;
    --export*) fail "$1: the segments get variables from this script. Set them in a file, and TRIAX_ENV to that file" ;;
    -*) options+=("$1"); shift ;;
    *) break ;;
  esac
done
[[ $# -ge 1 ]] || fail "no job file is given (see --help)"
[[ -r $1 ]] || fail "cannot read $1. Options of sbatch are written with =: --time=02:00:00"
[[ $segments =~ ^[1-9][0-9]*$ ]] || fail "--segments $segments is not a number of jobs"
[[ $stop =~ ^([0-9]+([.][0-9]*)?|([0-9]+([.][0-9]*)?[smhd])+)$ ]] || fail "--stop-before-end $stop is no duration: 180, 180s, 1h30m"
[[ $after == any || $after == ok ]] || fail "--after $after is neither any nor ok"

# Seconds of sbatch's --time: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S.
limit_seconds() {
  LC_ALL=C awk -F- '{ n = split($NF, t, ":"); days = NF > 1 ? $1 : 0; if (n < 3 && NF == 1) { t[3] = t[2]; t[2] = t[1]; t[1] = 0 }
             print days * 86400 + t[1] * 3600 + t[2] * 60 + t[3] }' <<<"$1"
}
# Seconds of a duration of triax: 180, 180s, 1h30m.
duration_seconds() {
  LC_ALL=C awk '{ unit["s"] = 1; unit["m"] = 60; unit["h"] = 3600; unit["d"] = 86400
         for (; match($0, /^[0-9.]+[smhd]/); $0 = substr($0, RLENGTH + 1)) sum += substr($0, 1, RLENGTH - 1) * unit[substr($0, RLENGTH, 1)]
         print int(sum + $0) }' <<<"$1"
}
# The time limit as sbatch finds it: an option, the variable, the script.
limit=${SBATCH_TIMELIMIT:-$(sed -n 's/^#SBATCH --time=//p' "$jobs/train.sbatch")}
for option in ${options[@]+"${options[@]}"}; do
  case $option in
    --time=*) limit=${option#*=} ;;
    -t*) limit=${option#-t} ;;
  esac
done
if [[ $limit =~ ^[0-9:-]*[1-9][0-9:-]*$ && $(duration_seconds "$stop") -ge $(limit_seconds "$limit") ]]; then
  fail "--stop-before-end $stop is all of --time=$limit: no segment would come to a step. Ask for more time, or stop later"
fi

# A segment that was stopped ends with status 0 (REQUEUE=no), so that afterok takes it as done.
first=
for ((segment = 0; segment < segments; ++segment)); do
  dependency=()
  [[ -z $previous ]] || dependency=(--dependency="after$after:$previous" --kill-on-invalid-dep=yes)
  # The last line of what sbatch prints, as a site may add others. With several clusters it is NUMBER;CLUSTER.
  previous=$(REQUEUE=no TRIAX_JOB_ID=$first TRIAX_JOBS=$jobs sbatch --parsable --no-requeue --export=ALL \
    "${dependency[@]}" "${options[@]}" "$jobs/train.sbatch" "$@" --set run.stop_before_end="$stop" | tail -n 1)
  previous=${previous%%;*}
  [[ $previous =~ ^[0-9]+$ ]] || fail "sbatch says '$previous' where the number of a job should be. The chain ends before it"
  first=${first:-$previous}
  echo "$previous"
done
