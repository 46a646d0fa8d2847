#!/usr/bin/env bash
# Tables and plots of lines that are given here.
# Usage: test_summarize.sh SUMMARIZE
set -euo pipefail
summarize=$1
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
says() { grep -qF -- "$2" "$1" || fail "$1 does not say: $2"; }

cat >a.jsonl <<'LINES'
{"benchmark":"matmul","case":"qkv","seconds":0.5,"spread":0.02,"flops_per_second":2e9,"peak_fraction":0.8}

{"benchmark":"matmul","case":"head <f32|bf16>","seconds":0.25,"spread":0.01,"flops_per_second":3e9,"peak_fraction":0.9}
{"benchmark":"model_state","case":"stage 3","seconds":0.1,"spread":0.0,"bytes_per_parameter":4.5}
{"benchmark":"step","case":"T=64","seconds":4.0,"tokens_per_second":64,"first_loss":11.0,"program":"peer"}
{"benchmark":"step","case":"T=64","seconds":2.0,"tokens_per_second":128,"first_loss":11.00011,"program":"triax"}
{"benchmark":"step","case":"T=64","seconds":5.0,"tokens_per_second":51.2,"first_loss":11.0,"program":"peer"}
{"benchmark":"step","case":"T=64","seconds":3.0,"tokens_per_second":85.3,"first_loss":11.0,"program":"peer"}
{"benchmark":"step","case":"B=4","seconds":1.0,"tokens_per_second":300,"cores":4,"program":"triax","series":"strong"}
{"benchmark":"step","case":"B=4","seconds":3.0,"tokens_per_second":100,"cores":1,"program":"triax","series":"strong"}
LINES
cat >b.jsonl <<'LINES'
{"benchmark":"matmul","case":"qkv","seconds":0.4,"spread":0.02,"flops_per_second":2.5e9,"peak_fraction":0.7}
LINES

"$summarize" --svg plots a.jsonl >one
says one '| qkv | 500 ms | 2% | 2 GFLOP/s | 0.80 |'
says one 'bytes_per_parameter 4.5'
says one '| triax | 1 | 2 s | 0% | 128 tokens/s |  | 1.00 |'
says one '| peer | 3 | 4 s | 3 s to 5 s | 64 tokens/s |  | 2.00 |'
says one 'First losses: 11.000000 to 11.000110, 1.0e-05 apart.'
says one '| 1 | 3 s | 0% | 100 tokens/s | 1.00 | B=4 |'
says one '| 4 | 1 s | 0% | 300 tokens/s | 0.75 | B=4 |'
[[ $(grep -c '^## ' one) -eq 3 ]] || fail "three benchmarks have a table each"

[[ $(cd plots && echo *) == "matmul.svg step-peers-1.svg step-scaling.svg" ]] || fail "plots: $(cd plots && echo *)"
says plots/matmul.svg 'head &lt;f32'
for plot in plots/*.svg; do
  says "$plot" '</svg>'
  ! grep -qE 'nan|inf' "$plot" || fail "$plot has numbers that are none"
done

cat >>b.jsonl <<'LINES'
{"benchmark":"step","case":"T=64","seconds":1.0,"tokens_per_second":256,"program":"triax"}
{"benchmark":"step","case":"T=64","seconds":5.0,"tokens_per_second":51.2,"program":"peer"}
{"benchmark":"step","case":"B=4","seconds":1.0,"tokens_per_second":300,"cores":1,"program":"triax","series":"strong"}
LINES
"$summarize" a.jsonl b.jsonl >two
# Peers and series are each file's own.
says two '### T=64, b.jsonl'
says two '| peer | 1 | 5 s | 0% | 51 tokens/s |  | 5.00 |'
says two '### strong, b.jsonl'
[[ $(grep -c '| 1.00 | B=4 |' two) -eq 2 ]] || fail "a series starts anew in each file: $(cat two)"
says one 'head &lt;f32\|bf16>'
says two '| qkv | b.jsonl | 400 ms | 2% | 2.5 GFLOP/s | 0.70 | 1.25 |'

# Of several files all rows of a case are together, and one says where it is not.
grep -A1 -F '| qkv | a.jsonl |' two | grep -qF '| qkv | b.jsonl |' || fail "the files of a case are apart: $(cat two)"
says two '| head &lt;f32\|bf16> | not in b.jsonl |  |  |  |  |  |'
mkdir -p one_host other_host
cp a.jsonl one_host/out.jsonl
cp a.jsonl other_host/out.jsonl
"$summarize" one_host/out.jsonl "$PWD/other_host/out.jsonl" >hosts
says hosts '| qkv | other_host/out.jsonl |'

# Cores are shown where lines have them: the same case on one and on two is two.
cat >cores.jsonl <<'LINES'
{"benchmark":"matmul","case":"qkv","seconds":0.9996,"flops_per_second":999.7e9,"peak_fraction":0.8,"cores":1,"limit":"triad"}
{"benchmark":"matmul","case":"qkv","seconds":1234.5,"flops_per_second":4e9,"peak_fraction":0.7,"cores":2,"limit":"triad"}
LINES
"$summarize" cores.jsonl >out
says out '| case | cores | seconds | spread | rate | of triad | more |'
says out '| qkv | 1 | 1 s | 0% | 1 TFLOP/s | 0.80 |  |'
says out '| qkv | 2 | 1234 s | 0% | 4 GFLOP/s | 0.70 |  |'

cat >limits.jsonl <<'LINES'
{"benchmark":"limits","case":"triad ranks=2 threads=1","seconds":0.1,"bytes_per_second":3e9,"least_bytes_per_second":1e9,"slowest":"n7"}
LINES
"$summarize" limits.jsonl >out
says out '3 GB/s |  | least_bytes_per_second 1 GB/s, slowest on n7 |'

# A series whose first point has no rate has no efficiency.
cat >rateless.jsonl <<'LINES'
{"benchmark":"step","case":"one","seconds":1.0,"cores":1,"series":"strong"}
{"benchmark":"step","case":"two","seconds":0.5,"tokens_per_second":100,"cores":2,"series":"strong"}
LINES
"$summarize" rateless.jsonl >out
says out '| 2 | 500 ms | 0% | 100 tokens/s |  | two |'
! grep -qE 'nan|inf' out || fail "numbers that are none: $(cat out)"

# What the programs ran on comes first, each value once; what differs between files is warned of.
cat >before.jsonl <<'LINES'
{"benchmark":"machine","host":"n1","processor":"Zen 4","ranks":1}
{"benchmark":"matmul","case":"qkv","seconds":1.0,"flops_per_second":100}
{"benchmark":"matmul","case":"up","seconds":1.0}
{"benchmark":"machine","host":"n1","processor":"Zen 4","ranks":2}
{"benchmark":"matmul","case":"down","seconds":1.0}
LINES
cat >after.jsonl <<'LINES'
{"benchmark":"machine","host":"n2","processor":"Zen 5","ranks":1}
{"benchmark":"matmul","case":"qkv","seconds":2.0,"flops_per_second":98}
{"benchmark":"matmul","case":"up","seconds":1.06}
{"benchmark":"matmul","case":"down","seconds":1.04}
LINES
"$summarize" before.jsonl after.jsonl >out 2>error
[[ $(head -n 1 out) == "## machine" ]] || fail "the machine is not first: $(cat out)"
says out '| processor | Zen 4 | Zen 5 |'
# By rates, for the second did more: its tensors are larger.
says out '| qkv | after.jsonl | 2 s | 0% | 98 FLOP/s |  | 0.98 |'
says out '| ranks | 1, 2 | 1 |'
says error 'WARNING: processor differs: Zen 4 in before.jsonl; Zen 5 in after.jsonl'
! grep -qE 'host|ranks' error || fail "what is of a run differs: $(cat error)"

within() { # status, percent, files...
  local expected=$1 status=0
  shift
  "$summarize" --within "$@" >out 2>error || status=$?
  [[ $status -eq $expected ]] || fail "--within $* ends with status $status: $(cat error)"
}
within 1 5 before.jsonl after.jsonl
says error 'beyond 5 % of before.jsonl: matmul: up takes 1.06 times as long'
[[ $(grep -c beyond error) -eq 1 ]] || fail "one case is beyond 5 %: $(cat error)"
within 0 7 before.jsonl after.jsonl
within 2 7 before.jsonl
sed -i /down/d after.jsonl
within 1 7 before.jsonl after.jsonl
says error 'matmul: down is not there'

refused() { # what it says, file
  local status=0
  "$summarize" "$2" >out 2>&1 || status=$?
  [[ $status -eq 2 ]] || fail "$2 ends with status $status"
  says out "$1"
}
printf '{"benchmark":"x","case":"y","seconds":1}\nnot JSON\n' >broken.jsonl
refused 'broken.jsonl:2: not a benchmark' broken.jsonl
says out '| y | 1 s |'
printf '{"benchmark":"x","case":"y","seconds":1,"cores":0,"series":"strong"}\n' >coreless.jsonl
refused 'cores has to be positive' coreless.jsonl
printf '{"case":"y","seconds":1}\n' >nameless.jsonl
refused 'nameless.jsonl:1: not a benchmark' nameless.jsonl
printf '{"benchmark":"x","case":"y","seconds":null}\n' >null.jsonl
refused 'null.jsonl:1: not a benchmark' null.jsonl
: >empty.jsonl
refused 'empty.jsonl has no lines' empty.jsonl
# The others are shown.
status=0
"$summarize" empty.jsonl a.jsonl >out 2>&1 || status=$?
[[ $status -eq 2 ]] || fail "an empty file beside another: status $status"
says out '| qkv | a.jsonl | 500 ms |'
printf '{"benchmark":"x","case":"y","seconds":0}\n{"benchmark":"x","case":"z","seconds":-1}\n' >timeless.jsonl
refused 'timeless.jsonl:1: not a benchmark' timeless.jsonl
says out 'timeless.jsonl:2: not a benchmark'
status=0
"$summarize" >out 2>&1 || status=$?
[[ $status -eq 2 ]] || fail "no files: status $status"
echo passed
