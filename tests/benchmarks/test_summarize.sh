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
status=0
"$summarize" >out 2>&1 || status=$?
[[ $status -eq 2 ]] || fail "no files: status $status"
echo passed
