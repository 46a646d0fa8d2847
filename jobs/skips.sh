# shellcheck shell=bash
# Lists skipped tests, which ctest counts as success. Sourced by test.sh.

# count_cases LOG: prints how many cases of GoogleTest passed, failed and were skipped; ctest counts programs.
count_cases() {
  awk '/^\[  PASSED  \] [0-9]+ test/ { passed += $4; ++programs }
       /^\[  FAILED  \] [0-9]+ test/ { failed += $4 }
       /^\[  SKIPPED \] [0-9]+ test/ { skipped += $4 }
       END {
         if (programs)
           printf "GoogleTest: %d cases passed, %d failed, %d skipped, in %d runs\n", passed, failed, skipped, programs
       }' "$1" || true
}

# list_skips OUTPUT LOG: prints the tests that ctest's OUTPUT names as skipped, each with the reason in its LOG.
list_skips() {
  awk 'FNR == NR && /^[0-9]+\/[0-9]+ Test: / { test = $3 }
       FNR == NR && /^skipped: / && !(test in why) { why[test] = $0 }
       FNR != NR && sub(/^[[:space:]]*[0-9]+ - /, "") && sub(/ \(Skipped\).*/, "") { print $0 " " why[$0] }' "$2" "$1"
}

# report_skips LIST WORDS: prints the list; fails if a name in it contains one of the words.
report_skips() {
  local name why word status=0
  while read -r name why; do
    echo "test: $name was ${why:-skipped}"
    for word in $2; do
      if [[ $name == *$word* ]]; then
        echo "test: FAILED: $name must run here (TRIAX_MUST_RUN=\"$2\")"
        status=1
      fi
    done
  done <"$1"
  return "$status"
}
