#!/bin/sh
# Usage: join.sh FOLDER OBJECT...   with CXX, NM, OBJCOPY, READELF and SANITIZE in the environment
# Makes one part of a program of objects (TARGET_avx2.dir/FILE.o, TARGET_avx512.dir/FILE.o, ...) that were compiled from
# the same sources for several kinds of processors. In FOLDER:
#   KIND/FILE.o   the same code, with ".KIND" behind the name of everything that an object defines: what an inline
#                 function or a template left in it can then never be taken for that of a file compiled otherwise,
#                 nor can anything outside call it
#   functions.o   each function of theirs under its own name: a jump through its row of the section triax_isa, which
#                 kernels/base/isa.cpp points at one kind
# Refuses objects that have data of their own that can be written, which would be there several times, or that run anything as
# a program starts, when no kind has been chosen. (Sanitizers add both.)
set -eu
folder=$1
shift
kinds="avx2 avx512 avx512_bf16"  # in the order of kernels/base/isa.hpp
work=$folder/work
rm -rf "$folder"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

fail() {
  echo "join.sh: $*" >&2
  exit 1
}

refuse_state() {
  [ -z "$SANITIZE" ] || return 0
  LC_ALL=C $READELF -SW "$1" | sed -n 's/^ *\[ *[0-9]*\] //p' | awk '
    $1 !~ /^\.data\.rel\.ro/ && $1 !~ /DW\.ref/ && $7 ~ /W/ && $5 !~ /^0+$/ { print $1; found = 1 }
    END { exit found }' >"$work/state" ||
    fail "$1 has $(tr '\n' ' ' <"$work/state")(state, or code that runs at the start). Move it to a file that is compiled once."
}

# A line "NAME LETTER OBJECT" (nm's letters) for each symbol that objects of kind $1 define.
symbols_of() {
  kind=$1
  shift
  for object; do
    case $object in
      *_"$kind".dir/*) ;;
      *) continue ;;
    esac
    refuse_state "$object"
    $NM -P --defined-only "$object" | awk -v object="$object" 'NF > 1 { print $1, $2, object }'
  done
}

# Writes the renamed objects of kind $1, whose symbols are in $work/$1.
rename() {
  awk '$2 ~ /^[A-Zu]$/ && !seen[$1]++ { print $1 }' "$work/$1" >"$work/global"
  awk '{ print $3 }' "$work/$1" | sort -u | while read -r object; do
    to=$folder/$1/${object##*_"$1".dir/}
    mkdir -p "${to%/*}"
    # Of what is an object's own, code alone, and the names of groups: a name that nobody else can mean.
    awk -v object="$object" '$3 == object && $2 ~ /^[tnN]$/ { print $1 }' "$work/$1" | cat - "$work/global" |
      awk -v kind="$1" '!seen[$1]++ { print $1, $1 "." kind }' >"$work/names"
    $OBJCOPY --redefine-syms="$work/names" "$object" "$to"
  done
}

functions_of() {
  awk '$2 == "T" { print $1 }' "$work/$1" | LC_ALL=C sort -u
}

for kind in $kinds; do
  symbols_of "$kind" "$@" >"$work/$kind"
  rename "$kind"
  functions_of "$kind" >"$work/functions.$kind"
done
[ -s "$work/functions.avx2" ] || fail "no functions in $*"
for kind in $kinds; do
  different=$(diff "$work/functions.avx2" "$work/functions.$kind") || fail "functions of one kind only: $different"
done

# A row is a Row of kernels/base/isa.cpp: the code in use, then that of each kind.
awk -v kinds="$kinds" '
  BEGIN {
    count = split(kinds, kind, " ")
    print "\t.section .note.GNU-stack,\"\",@progbits"
    print "\t.section .data.rel.ro,\"aw\"\n\t.quad triax_isa_rows"  # brings what sets the rows into the program
  }
  {
    print "\t.text\n\t.globl " $1 "\n\t.type " $1 ", @function\n\t.balign 16"
    print $1 ":\n\tendbr64\n\tjmp *.Lrow" NR "(%rip)\n\t.size " $1 ", . - " $1
    print "\t.section triax_isa,\"aw\"\n\t.balign 8"
    print ".Lrow" NR ":\n\t.quad " $1 "." kind[1]
    for (k = 1; k <= count; ++k) print "\t.quad " $1 "." kind[k]
  }' "$work/functions.avx2" >"$work/functions.s"
$CXX -c -x assembler "$work/functions.s" -o "$folder/functions.o"
