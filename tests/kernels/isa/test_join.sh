#!/usr/bin/env bash
# Usage: test_join.sh SOURCE CXX
# join.sh turns functions compiled for several ISA levels into one function that calls the level in use. Templates
# instantiated elsewhere stay apart, and symbols that cannot exist twice are refused.
set -euo pipefail
join=$1/kernels/isa/join.sh
export CXX=$2 NM=nm OBJCOPY=objcopy READELF=readelf SANITIZE=
. "$(dirname "${BASH_SOURCE[0]}")/../../support/script.sh"

# compile_for KIND NAME TEXT: compiles TEXT, in which KIND is the ISA level, without optimisation, which would inline
# templates.
compile_for() {
  mkdir -p "part_$1.dir"
  "$CXX" -std=c++20 -O0 "-DKIND=\"$1\"" -x c++ -c - -o "part_$1.dir/$2.cpp.o" <<<"$3"
}
# compile TEXT [NAME]: compiles one file for all ISA levels but the last, which may lack it.
compile() {
  for kind in avx2 avx512 avx512_bf16; do compile_for "$kind" "${2:-file}" "$1"; done
}
join() {
  "$join" "$work/joined" part_*.dir/*.o
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
struct Row { const void *in_use, *of[4]; };
extern "C" { extern Row __start_triax_isa[], __stop_triax_isa[]; extern const char triax_isa_rows = 0; }
int main() {
  int sum = twice(1) + shared(1);
  for (Row* row = __start_triax_isa; row != __stop_triax_isa; ++row) row->in_use = row->of[1];
  return sum + twice(1) - 5;
}
END
printf '%s\n' "$template" >template.hpp
readonly order=(joined/avx512/file.cpp.o joined/avx512_bf16/file.cpp.o joined/avx2/file.cpp.o joined/functions.o)
"$CXX" -std=c++20 -O0 -Wno-unused-function "${order[@]}" main.cpp -o program
[[ $(./program) == "avx2 main avx512 " ]] || fail "calls went to: $(./program)"
nm -C joined/avx512/file.cpp.o | grep -q 'own(int) \[clone .avx512\]' || fail "names of functions of a file's own"

# The last level has one of two files. Each file calls into the other, at whatever level the other has.
compile '#include <cstdio>
int said(int x) { std::printf(KIND "-rest "); return x; }
int twice(int);
int thrice(int x) { return twice(x) + said(x); }' rest
compile "$template
int said(int); int twice(int x) { return 2 * own(said(x)); }"
compile_for avx512_amx file "$template
int said(int); int twice(int x) { return 2 * own(said(x)); }"
join
cat >main.cpp <<'END'
int thrice(int x);
struct Row { const void *in_use, *of[4]; };
extern "C" { extern Row __start_triax_isa[], __stop_triax_isa[]; extern const char triax_isa_rows = 0; }
int main() {
  int sum = 0;
  for (int kind = 3; kind > 0; --kind) {
    for (Row* row = __start_triax_isa; row != __stop_triax_isa; ++row) row->in_use = row->of[kind];
    sum += thrice(1);
  }
  return sum - 9;
}
END
"$CXX" -std=c++20 -O0 joined/*/*.o joined/functions.o main.cpp -o program
readonly shared="avx512_bf16-rest avx512_amx avx512_bf16-rest "
[[ $(./program) == "${shared}avx512_bf16-rest avx512_bf16 avx512_bf16-rest avx512-rest avx512 avx512-rest " ]] ||
  fail "calls between files of the last kind and of the one before went to: $(./program)"
compile_for avx512_amx file "int other() { return 1; }"
if join 2>said; then fail "not refused: a function of the last kind alone"; fi
grep -q "one kind only" said || fail "refused with: $(cat said)"
rm -r part_*.dir

refused "has .bss" "int count() { static int calls; return ++calls; }"
refused "has .data" "int limit = 3; int at_most() { return limit; }"
refused "has .tbss" "int count() { thread_local int calls; return ++calls; }"
refused "has .*.init_array" "struct Begin { Begin(); }; static Begin begin; int f() { return 1; }"
refused "one kind only" "int f() { return 1; }
int only(char (*)[sizeof KIND]) { return 2; }"
echo "join.sh joins and refuses"
