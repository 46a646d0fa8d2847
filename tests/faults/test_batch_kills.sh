#!/usr/bin/env bash
# Kills triax batch at random times, one rank or all of them, until it has ended often enough by itself in between. Every
# line of the input then has one answer, that of an undisturbed run on one rank, and no answer is ever lost or repeated.
# usage: test_batch_kills.sh TRIAX MPIEXEC FLAG [KILLS [SEED]]      (the test suite: 5 kills; long: 60)
set -u
. "$(dirname "$0")/functions.sh"
triax=$1 mpiexec=$2 flag=$3 kills=${4:-${TRIAX_TEST_LONG:+60}} seed=${5:-1}
kills=${kills:-5}
begin_work
trap 'kill -KILL $(ranks) 2> /dev/null; rm -rf "$work"' EXIT
RANDOM=$seed

die() {
  echo "FAILED (seed $seed): $*"
  tail -n 20 out | cut -c1-300
  exit 1
}

make_text 200
make_job 2 2 32 64 2 '"data": {"train": "text"}, "run": {"steps": 1, "directory": "run"}, "checkpoint": {"at_end": true},'
"$triax" train job.json > out 2>&1 || die "training"
lines=1200
for i in $(seq $lines); do
  echo "{\"custom_id\": \"q$i\", \"prompt\": \"line $((i % 50))\", \"max_tokens\": $((10 + i % 30)), \"n\": $((1 + i % 2))}"
done > in.jsonl
echo 'no request' >> in.jsonl

batch() {  # ranks directory
  timeout 300 "$mpiexec" "$flag" "$1" "$triax" batch in.jsonl --model run/checkpoints/step-000001.h5 --out "$2" \
    --set inference.sequences=32 > out 2>&1
}
# The answers in the order of the input, without the time of the batch.
sorted() { cat "$1"/answers-*.jsonl "$1"/errors.jsonl | sed -E 's/"created":[0-9]+,//g' | awk -F'"line":' '{ split($2, n, ","); print n[1] "\t" $0 }' | sort -n; }
# Lines that the index has, which only grow.
indexed() { cut -f1 "$1/index.tsv" 2> /dev/null | sort; }

batch 1 expected || die "an undisturbed run fails"
sorted expected > expected.txt
[ "$(wc -l < expected.txt)" = $((lines + 1)) ] || die "not every line has an answer"

done_kills=0 ended=0 resumed=0
while [ "$done_kills" -lt "$kills" ] || [ "$ended" -lt 1 ]; do
  rm -rf killed
  while true; do
    indexed killed > before
    batch 2 killed &
    launcher=$!
    if [ "$done_kills" -ge "$kills" ]; then
      wait "$launcher" || die "a run that was not killed ends with status $?"
      break
    fi
    # Killed when it has some more answers, or a little later.
    wanted=$(($(wc -l < before) + RANDOM % 150))
    while [ "$(cat killed/answers-*.jsonl 2> /dev/null | wc -l)" -lt "$wanted" ] && kill -0 "$launcher" 2> /dev/null; do
      sleep 0.02
    done
    sleep "0.0$((RANDOM % 10))"
    found=($(ranks))
    [ "${#found[@]}" = 2 ] && [ $((RANDOM % 2)) = 0 ] && found=("${found[RANDOM % 2]}")
    [ "${#found[@]}" = 0 ] || kill -KILL "${found[@]}" 2> /dev/null
    if wait "$launcher"; then break; fi  # it had ended
    for _ in $(seq 100); do [ -z "$(ranks)" ] && break; sleep 0.1; done
    [ -z "$(ranks)" ] || die "kill $done_kills: processes are left"
    indexed killed > after
    [ -z "$(comm -23 before after)" ] || die "kill $done_kills: answers are lost"
    [ "$(cat killed/answers-*.jsonl 2> /dev/null | wc -l)" -gt "$(wc -l < before)" ] && resumed=$((resumed + 1))
    done_kills=$((done_kills + 1))
  done
  sorted killed > killed.txt
  cmp -s expected.txt killed.txt || die "the answers differ: $(diff expected.txt killed.txt | head -c 600)"
  [ "$(indexed killed | uniq -d)" = "" ] || die "a line has two answers"
  ended=$((ended + 1))
done
[ "$resumed" -gt 0 ] || die "no kill left an answer"
"$triax" batch --out killed --status | grep -q "$((lines + 1)) of $((lines + 1)) lines answered, 1 of them with errors: complete" ||
  die "the status: $("$triax" batch --out killed --status)"
echo "$done_kills kills, $resumed of them with answers, $ended runs to the end: the same answers"
