#!/usr/bin/env bash
# Usage: check_walls.sh ROOT
# Refuses, in the files that git tracks: includes that arrows.txt does not allow, circles of files, libraries outside the
# folder that owns them, a .cpp without a header of its name, folders without README.md or with more than 25 files,
# strangers at the top level, sources without a license line, two types of one name, pages that are too long, and words that
# style does not allow. One line per violation; exits 1 when there is one.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"

# Names of the tracked files under the given folders; in a tarball, of all files but those of build folders.
tracked() {
  if [[ -e .git ]]; then
    git ls-files -- "$@"
  else
    find "$@" -type f -not -path './build*' | sed 's#^\./##'
  fi
}

sources() { tracked kernels io src tests benchmarks | grep -E '\.(hpp|cpp|h|cuh|cu)$' || true; }
include_lines() { sources | xargs -r -d '\n' grep -HnE '^[[:space:]]*#[[:space:]]*include' || true; }

check_includes() {
  include_lines | awk -v arrows="$here/arrows.txt" '
    function expand(words,    n, i, list, all) {
      n = split(words, list, " ")
      for (i = 1; i <= n; ++i) all = all " " (list[i] in group ? group[list[i]] : list[i])
      return all
    }

    BEGIN {
      while ((getline line < arrows) > 0) {
        if (line ~ /^#/ || line == "") continue
        if (line ~ / = /) {
          split(line, halves, " = ")
          group[halves[1]] = expand(halves[2])
        } else {
          split(line, halves, ":")
          may[halves[1]] = expand(halves[2])
          rooms = rooms " " halves[1]
        }
      }
      may["benchmarks"] = rooms
      may["tests"]      = rooms
      may["tests/benchmarks"] = "kernels/base benchmarks"

      # Headers of src/config that other rooms may include. The others read job files.
      config = "config.hpp conversation.hpp ending.hpp outputs.hpp preference.hpp load/command_keys.hpp load/load.hpp load/describe.hpp lora/lora.hpp model/huggingface.hpp rates/rates.hpp resolve/resolved_paths.hpp rope_kinds.hpp row_slice.hpp source/absolute_path.hpp source/spelling.hpp"

      # Libraries that belong to some rooms: patterns of <...>, and the paths that may include them.
      owner["^Kokkos"]                           = "kernels/"
      owner["^(dnnl|oneapi/dnnl)"]               = "kernels/"
      owner["^(cuda|cublas|cudnn|cub/|thrust/)"] = "kernels/"
      owner["^omp[.]h"]                          = "kernels/ tests/"
      owner["^(hdf5|H5)"]                        = "io/ tests/io/"
      owner["^liburing"]                         = "io/ benchmarks/io/"
      owner["^(pcre2|utf8proc)"]                 = "src/text/ tests/text/"
      owner["^yaml-cpp/"]                        = "src/axolotl/"
      owner["^boost/"]                           = "src/serve/http/ tests/serve/http/"
      owner["^(zlib|zstd)[.]h"]                  = "io/ tests/io/"
      owner["^mpi[.]h"]                          = "src/comm/ kernels/base/mpi/ io/ tests/ benchmarks/"
      owner["^(hwloc|nccl)"]                     = "src/comm/ tests/support/"
      owner["^CLI/"]                             = "src/commands/ benchmarks/"
      owner["^(gtest|gmock)/"]                   = "tests/"
    }

    function begins(path, prefix) { return substr(path, 1, length(prefix)) == prefix }
    function listed(word, words) { return index(" " words " ", " " word " ") > 0 }

    # The folder of a source of triax; tests and benchmarks are one room each.
    function room_of(path) {
      if (begins(path, "tests/benchmarks/")) return "tests/benchmarks"
      if (begins(path, "tests/")) return "tests"
      if (begins(path, "benchmarks/")) return "benchmarks"
      sub("/[^/]*$", "", path)
      return path
    }

    function refuse(why) {
      printf "%s: %s (%s)\n", place, statement, why
      bad = 1
    }

    function check_own(from, header,    to) {
      to = room_of(header)
      if (!(from in may))
        refuse("tests/walls/arrows.txt has no room " from)
      else if (!(to in may))
        refuse(index(header, "/") ? "tests/walls/arrows.txt has no room " to : "paths are relative to the repository root")
      else if (to != from && !listed(to, may[from]))
        refuse(from " may not include " to)
      else if (begins(to, "src/config") && !begins(from, "src/config") && !begins(from, "src/model/families") && from != "src/axolotl" && from != "src/machine" && from != "src/state/optimizer/rules" && from != "tests" && from != "benchmarks" &&
               !listed(substr(header, length("src/config/") + 1), config))
        refuse("outside src/config only " config)
    }

    function check_library(from, file, header,    pattern, n, i, owners, owned) {
      if (begins(from, "src/schedule") && header !~ /^[a-z0-9_]+$/) refuse("src/schedule includes the standard library only")
      for (pattern in owner)
        if (header ~ pattern) {
          owned = 0
          n = split(owner[pattern], owners, " ")
          for (i = 1; i <= n; ++i)
            if (begins(file, owners[i])) owned = 1
          if (!owned) refuse("only in " owner[pattern])
        }
    }

    # FILE:LINE:#include "header" or <header>
    {
      split($0, fields, ":")
      file = fields[1]
      place = file ":" fields[2]
      statement = substr($0, length(place) + 2)
      if (match(statement, /"[^"]*"/))
        check_own(room_of(file), substr(statement, RSTART + 1, RLENGTH - 2))
      else if (match(statement, /<[^>]*>/))
        check_library(room_of(file), file, substr(statement, RSTART + 1, RLENGTH - 2))
    }

    END { exit bad }'
}

# Circles of files. A file is X.hpp with X.cpp, and with the files of its folder that extend its name (X_impl.hpp, X_steps.cpp). The
# dispatch of an operation to its GPU body, which takes the types of the operation, is none; nor is a folder's own file (matmul.cpp of
# matmul/), which uses the other files of its folder, while they take the types of its header.
check_circles() {
  include_lines | awk -F: '
    $1 ~ /^(kernels|io|src)\// && match($0, /"[^"]*"/) {
      from = $1; to = substr($0, RSTART + 1, RLENGTH - 2)
      sub(/[.][a-z]+$/, "", from); sub(/[.][a-z]+$/, "", to)
      if ($1 ~ /[.]hpp$/) header[from] = 1
      header[to] = 1
      if (to ~ /^kernels\/cuda\// && from !~ /^kernels\/cuda\//) next
      depth = split(from, names, "/")
      if ($1 ~ /[.]cpp$/ && names[depth] == names[depth - 1]) next
      from_of[++n] = from; to_of[n] = to
    }
    # The shortest name of a header that `file` extends.
    function whole(file,    folder, name, at, part) {
      folder = file; sub(/[^\/]*$/, "", folder)
      name = substr(file, length(folder) + 1)
      for (at = 1; at <= length(name); ++at)
        if (substr(name, at, 1) == "_") {
          part = folder substr(name, 1, at - 1)
          if (part in header) return part
        }
      return file
    }
    END {
      for (i = 1; i <= n; ++i) {
        a = whole(from_of[i]); b = whole(to_of[i])
        if (a != b && !((a, b) in edge)) { edge[a, b] = 1; out[a] = out[a] " " b; node[a] }
      }
      # From each file along the includes until it is met again.
      for (start in node) {
        split("", before); todo[1] = start; last = 1
        for (next_one = 1; next_one <= last && !(start in before); ++next_one) {
          m = split(out[todo[next_one]], targets, " ")
          for (k = 1; k <= m; ++k)
            if (!(targets[k] in before)) { before[targets[k]] = todo[next_one]; todo[++last] = targets[k] }
        }
        if (!(start in before)) continue
        path = start
        for (at = before[start]; at != start; at = before[at]) path = at " -> " path
        print start ": (a circle of includes: " start " -> " path ")"
        bad = 1
      }
      exit bad
    }'
}

# keys_*.cpp are rows of one table, absent.cpp and *_absent.cpp stand in for files that a build leaves out, standard_descriptors.cpp
# runs before main().
check_headers() {
  local source folder name status=0
  while read -r source; do
    folder=${source%/*} name=${source##*/}
    name=${name%.cpp}
    [[ $name != main && $name != standard_descriptors && $name != keys_* && $name != *absent ]] || continue
    while [[ ! -e $folder/$name.hpp && $name == *_* ]]; do name=${name%_*}; done
    if [[ ! -e $folder/$name.hpp && ! -e $folder/${folder##*/}.hpp ]]; then
      echo "$source: (no header of its name, or that its name extends, or of its folder's name)"
      status=1
    fi
  done < <(tracked kernels io src | grep -E '\.cpp$' || true)
  return "$status"
}

check_licenses() {
  local file status=0
  while read -r file; do
    echo "$file: (its first line is not // SPDX-License-Identifier: Apache-2.0)"
    status=1
  done < <(sources | xargs -r -d '\n' awk 'FNR == 1 && !/SPDX-License-Identifier: Apache-2.0/ { print FILENAME }')
  return "$status"
}

# Types of one name in one namespace are one type to the linker, which keeps the functions of either. Only headers are
# looked at, and types that a line begins.
check_names() {
  sources | grep -vE '^(tests|benchmarks)/' | grep -E '\.(hpp|h|cuh)$' | xargs -r -d '\n' awk '
    FNR == 1 { depth = 0 }
    /^ *(inline )?namespace [A-Za-z_:]+ *\{/ {
      sub(/^ *(inline )?namespace /, "")
      space[++depth] = $1
    }
    /^}  \/\/ namespace/ { if (depth > 0) --depth }
    /^(struct|class|union|enum( class)?) [A-Za-z_]+( |;|$)/ && !/;$/ {
      name = $1 == "enum" && $2 == "class" ? $3 : $2
      whole = ""
      for (i = 1; i <= depth; ++i) whole = whole space[i] "::"
      whole = whole name
      if (whole in at && at[whole] != FILENAME) {
        printf "%s: (%s is the name of a type in %s)\n", FILENAME, whole, at[whole]
        bad = 1
      }
      at[whole] = FILENAME
    }
    END { exit bad }'
}

check_folders() {
  local count folder status=0
  while read -r count folder; do
    if [[ $count -gt 25 ]]; then
      echo "$folder: ($count files; a folder holds at most 25)"
      status=1
    fi
  done < <(tracked . | sed -n 's#/[^/]*$##p' | sort | uniq -c)
  return "$status"
}

check_top_level() {
  local entry status=0
  while read -r entry; do
    case $entry in
      CMakeLists.txt | CMakePresets.json | src | kernels | io | jobs | tests | benchmarks) ;;
      README.md | LICENSE | CHANGELOG.md | CITATION.cff | .*) ;;
      *)
        echo "$entry: (not one of the top level's entries)"
        status=1
        ;;
    esac
  done < <(tracked . | sed 's#/.*##' | sort -u)
  return "$status"
}

check_readmes() {
  local folder count status=0
  for folder in kernels kernels/base io src src/*/ jobs tests benchmarks; do
    if [[ ! -f ${folder%/}/README.md ]]; then
      echo "${folder%/}: (no README.md that says what lives here and what never does)"
      status=1
    fi
  done
  while read -r count folder; do
    if [[ $count -ge 3 && ! -f $folder/README.md ]]; then
      echo "$folder: ($count headers and no README.md that says what lives here)"
      status=1
    fi
  done < <(tracked kernels io src | grep -E '\.(hpp|h|cuh)$' | sed 's#/[^/]*$##' | sort | uniq -c)
  while IFS= read -r folder; do  # a formatter for C++ has been at it
    if [[ $(head -n 1 "$folder") == '#'[!\ \#]* ]]; then
      echo "$folder: (its first line is no heading)"
      status=1
    fi
  done < <(tracked . | grep -E '(^|/)README\.md$')
  return "$status"
}

# README.md is a front door, and lines of pages are read in terminals. Rows of tables cannot be wrapped.
check_pages() {
  local -a pages=()
  mapfile -t pages < <(tracked . | grep -E '\.md$' | grep -vE '^(CHANGELOG\.md|benchmarks/results/|tests/golden/|\.github/)')
  awk '
    { ++lines[FILENAME]; words[FILENAME] += NF }
    length($0) > 120 && (FILENAME == "README.md" || $0 !~ /^\|/) { printf "%s:%d: (%d characters, at most 120)\n", FILENAME, FNR, length($0); bad = 1 }
    END {
      if (lines["README.md"] > 120) { printf "README.md: (%d lines, at most 120)\n", lines["README.md"]; bad = 1 }
      if (words["README.md"] > 1200) { printf "README.md: (%d words, at most 1200)\n", words["README.md"]; bad = 1 }
      exit bad
    }' "${pages[@]}"
}

# Terms that grep must find, in one spelling, and comments that begin with the thing they are about.
check_words() {
  local status=0 where=(kernels io src jobs tests benchmarks README.md) found
  found=$(tracked "${where[@]}" | grep -vE '^(benchmarks/results/|tests/golden/|tests/walls/)' | xargs -d '\n' grep -HnE 'ZeRO [0-3]\b' || true)
  if [[ -n $found ]]; then
    sed 's/$/ (the spelling is ZeRO-0 ... ZeRO-3)/' <<<"$found"
    status=1
  fi
  found=$(sources | xargs -r -d '\n' grep -HnE '^[[:space:]]*//+ (Of|What|That of|Those of|Likewise)\b' || true)
  if [[ -n $found ]]; then
    sed 's/$/ (a comment begins with its subject)/' <<<"$found"
    status=1
  fi
  return "$status"
}

status=0
for check in check_includes check_circles check_headers check_licenses check_names check_folders check_top_level check_readmes check_pages check_words; do
  "$check" || status=1
done
exit "$status"
