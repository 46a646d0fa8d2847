#!/usr/bin/env bash
# Kills triax data tokenize at random times, one rank or all of them, until it has ended often enough by itself in
# between. The files equal those of an undisturbed run on another number of ranks, bit for bit, and no name of the
# output ever has other content.
# usage: test_tokenize_kills.sh TRIAX MPIEXEC FLAG [KILLS [SEED]]      (the test suite: 6 kills; long: 50)
set -u
. "$(dirname "$0")/functions.sh"
triax=$1 mpiexec=$2 flag=$3 kills=${4:-${TRIAX_TEST_LONG:+50}} seed=${5:-1}
kills=${kills:-6}
begin_work
trap 'kill -KILL $(ranks) 2> /dev/null; rm -rf "$work"' EXIT
RANDOM=$seed

die() {
  echo "FAILED (seed $seed): $*"
  tail -n 20 out | cut -c1-300
  exit 1
}

# Several units of 16 MiB: lines, a text in pieces, and a compressed file.
awk 'BEGIN { for (i = 0; i < 200000; ++i) printf "{\"id\": %d, \"text\": \"document %d of %d, %s\\n\"}\n", i, i * 7919 % 150000, i % 7, "and more text to read, and more text to read, and more" }' > a.jsonl
awk 'BEGIN { for (i = 0; i < 400000; ++i) print "line " i * 7919 % 1000003 " of a long text" }' > b.txt
gzip -c1 a.jsonl > c.jsonl.gz

tokenize() {  # ranks prefix format
  timeout 600 "$mpiexec" "$flag" "$1" "$triax" data tokenize a.jsonl b.txt c.jsonl.gz --tokenizer bytes --end-token X \
    --deduplicate --shuffle-documents 3 --validation-fraction 0.1 --format "$3" --workers 2 --out "$2" > out 2>&1
}
whole() { for f in killed/o*; do [ ! -f "$f" ] || cmp -s "$f" "expected-$format/${f#killed/}" || die "$f differs"; done; }

done_kills=0 ended=0 resumed=0
# More kills than asked for while none has left a part, as on a slow machine.
unlucky() { [ "$resumed" = 0 ] && [ "$done_kills" -lt $((kills + 20)) ]; }
while [ "$done_kills" -lt "$kills" ] || [ "$ended" -lt 2 ] || unlucky; do
  for format in hdf5 megatron; do
    if [ ! -d expected-$format ]; then
      mkdir expected-$format
      begin=$(date +%s%N)
      tokenize 1 expected-$format/o $format || die "an undisturbed run fails"
      milliseconds=$((($(date +%s%N) - begin) / 1000000))
    fi
    rm -rf killed && mkdir killed
    while true; do
      begin=$(date +%s%N)
      tokenize 2 killed/o $format &
      launcher=$!
      sleep "$(awk "BEGIN { print ($RANDOM / 32768) * $milliseconds / 1000 }")"
      found=($(ranks))
      if [ "$done_kills" -ge $((kills + 20)) ]; then found=(); fi
      if [ "${#found[@]}" -lt 2 ]; then
        wait "$launcher" || die "a run that was not killed ends with status $?"
        # The machine may be faster or slower now.
        milliseconds=$((($(date +%s%N) - begin) / 1000000))
        break
      fi
      [ $((RANDOM % 2)) = 0 ] && found=("${found[RANDOM % 2]}")
      kill -KILL "${found[@]}" 2> /dev/null
      if wait "$launcher"; then break; fi  # it had ended
      for _ in $(seq 100); do [ -z "$(ranks)" ] && break; sleep 0.1; done
      [ -z "$(ranks)" ] || die "kill $done_kills: processes are left"
      ls killed/o.tokenize/*.tokens > /dev/null 2>&1 && resumed=$((resumed + 1))
      whole
      done_kills=$((done_kills + 1))
    done
    whole
    [ "$(ls -A killed)" = "$(ls -A expected-$format)" ] || die "files: $(ls -A killed)"
    ended=$((ended + 1))
  done
done
[ "$resumed" -gt 0 ] || die "no kill left a part"
echo "$done_kills kills, $resumed of them with parts, $ended runs to the end: the same bytes"
