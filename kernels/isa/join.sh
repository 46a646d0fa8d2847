#!/bin/sh
# Usage: join.sh FOLDER OBJECT...   with CXX, NM, OBJCOPY, READELF and SANITIZE in the environment
# Joins objects that were compiled from the same sources for several ISA levels (TARGET_avx2.dir/FILE.o,
# TARGET_avx512.dir/FILE.o, ...) into one set of functions. $partial may have few objects or none. Writes to FOLDER:
#   KIND/FILE.o   the same code, with ".KIND" appended to the name of everything that the object defines. Inline
#                 functions and templates in it can then not replace those of files compiled for a lower level,
#                 where they would end the program by an illegal instruction, and no code outside can call them.
#   functions.o   each function under its own name: a jump through its row of the section triax_isa, which
#                 kernels/isa/isa.cpp points at one level
# Refuses objects with writable data, which would exist once per level, and objects that run code at program start,
# before a level has been chosen. (Sanitizers add both.)
set -eu
folder=$1
shift
kinds="avx2 avx512 avx512_bf16 avx512_amx"  # in the order of kernels/isa/isa.hpp
partial=avx512_amx  # uses the functions of $whole where it has none of its own
whole=avx512_bf16
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

# Prints a line "NAME LETTER OBJECT" (nm's letters) for each symbol that the objects of level $1 define.
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

# Prints a line "NAME NEW_NAME" for each name to change in object $2 of level $1. Calls stay within a level, except
# between $whole and $partial: object $2 of $whole calls a function that $partial also has through the jump, unless $2
# defines it.
names_in() {
  # Local names: only code and section groups, which no other object can refer to.
  awk -v object="$2" '$3 == object && $2 ~ /^[tnN]$/ { print $1 }' "$work/$1" | cat - "$work/global.$1" |
    awk -v kind="$1" '!seen[$1]++ { print $1, $1 "." kind }' >"$work/own"
  case $1 in
    "$whole")
      awk -v object="$2" '$3 == object { print $1 }' "$work/$1" | LC_ALL=C sort >"$work/here"
      LC_ALL=C comm -13 "$work/here" "$work/functions.$partial" >"$work/by_jump"
      awk -v by_jump="$work/by_jump" '
        FILENAME == by_jump { jumps[$1] = 1; next }
        !($1 in jumps)' "$work/by_jump" "$work/own"
      ;;
    "$partial")
      cat "$work/own"
      LC_ALL=C comm -13 "$work/global.$partial" "$work/global.$whole" | awk -v kind="$whole" '{ print $1, $1 "." kind }'
      ;;
    *) cat "$work/own" ;;
  esac
}

# Writes the renamed objects of kind $1, whose symbols are in $work/$1.
rename() {
  awk '{ print $3 }' "$work/$1" | sort -u | while read -r object; do
    to=$folder/$1/${object##*_"$1".dir/}
    mkdir -p "${to%/*}"
    names_in "$1" "$object" >"$work/names"
    $OBJCOPY --redefine-syms="$work/names" "$object" "$to"
  done
}

functions_of() {
  awk '$2 == "T" { print $1 }' "$work/$1" | LC_ALL=C sort -u
}

for kind in $kinds; do
  symbols_of "$kind" "$@" >"$work/$kind"
  awk '$2 ~ /^[A-Zu]$/ { print $1 }' "$work/$kind" | LC_ALL=C sort -u >"$work/global.$kind"
  functions_of "$kind" >"$work/functions.$kind"
done
for kind in $kinds; do
  rename "$kind"
done
[ -s "$work/functions.avx2" ] || fail "no functions in $*"
for kind in $kinds; do
  if [ "$kind" = "$partial" ]; then
    different=$(LC_ALL=C comm -13 "$work/functions.avx2" "$work/functions.$kind")
    [ -z "$different" ] || fail "functions of one kind only: $different"
  else
    different=$(diff "$work/functions.avx2" "$work/functions.$kind") || fail "functions of one kind only: $different"
  fi
done

# A row is an IsaRow of kernels/isa/isa.cpp: the code in use, then the code of each level.
awk -v kinds="$kinds" -v partial="$partial" -v whole="$whole" -v own="$work/functions.$partial" '
  FILENAME == own { has[$1] = 1; next }
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
    for (k = 1; k <= count; ++k) print "\t.quad " $1 "." (kind[k] == partial && !($1 in has) ? whole : kind[k])
  }' "$work/functions.$partial" "$work/functions.avx2" >"$work/functions.s"
$CXX -c -x assembler "$work/functions.s" -o "$folder/functions.o"
