#!/usr/bin/env bash
# Usage: test_join.sh SOURCE CXX
# join.sh: kinds of the same sources become functions that call the kind in use, and stay apart from the same
# templates elsewhere; what cannot be there twice is refused.
set -euo pipefail
join=$1/kernels/isa/join.sh
export CXX=$2 NM=nm OBJCOPY=objcopy READELF=readelf SANITIZE=
. "$(dirname "${BASH_SOURCE[0]}")/../../support/script.sh"

# compile TEXT: as each kind of one file. KIND says which; optimisation would put templates into their callers.
compile() {
  for kind in avx2 avx512 avx512_bf16; do
    mkdir -p "part_$kind.dir"
    "$CXX" -std=c++20 -O0 "-DKIND=\"$kind\"" -x c++ -c - -o "part_$kind.dir/file.cpp.o" <<<"$1"
  done
}
join() {
  "$join" "$work/joined" part_*.dir/file.cpp.o
}
refused() {
  local why=$1
  compile "$2"
  if join 2>said; then fail "not refused: $2"; fi
  grep -q "$why" said || fail "refused with: $(cat said)"
}

readonly template='#include <cstdio>
template <class T> T shared(T x) { std::printf(KIND " "); return x; }
static int own(int x) { return shared(x); }'
compile "$template
int twice(int x) { return 2 * own(x); }"
join
cat >main.cpp <<'END'
#define KIND "main"
#include "template.hpp"
int twice(int x);
struct Row { const void *in_use, *avx2, *avx512, *avx512_bf16; };
extern "C" { extern Row __start_triax_isa[], __stop_triax_isa[]; extern const char triax_isa_rows = 0; }
int main() {
  int sum = twice(1) + shared(1);
  for (Row* row = __start_triax_isa; row != __stop_triax_isa; ++row) row->in_use = row->avx512;
  return sum + twice(1) - 5;
}
END
printf '%s\n' "$template" >template.hpp
readonly order=(joined/avx512/file.cpp.o joined/avx512_bf16/file.cpp.o joined/avx2/file.cpp.o joined/functions.o)
"$CXX" -std=c++20 -O0 -Wno-unused-function "${order[@]}" main.cpp -o program
[[ $(./program) == "avx2 main avx512 " ]] || fail "calls went to: $(./program)"
nm -C joined/avx512/file.cpp.o | grep -q 'own(int) \[clone .avx512\]' || fail "names of functions of a file's own"

refused "has .bss" "int count() { static int calls; return ++calls; }"
refused "has .data" "int limit = 3; int at_most() { return limit; }"
refused "has .tbss" "int count() { thread_local int calls; return ++calls; }"
refused "has .*.init_array" "struct Begin { Begin(); }; static Begin begin; int f() { return 1; }"
refused "one kind only" "int f() { return 1; }
int only(char (*)[sizeof KIND]) { return 2; }"
echo "join.sh joins and refuses"
