#!/usr/bin/env bash
# Usage: check_walls.sh ROOT
# Refuses includes that the design's arrows do not allow, libraries outside the folder that owns them, folders
# without a README.md, and strangers at the top level. One line each violation; exits 1 when there is one.
set -euo pipefail
cd "$1"

include_lines() {
  grep -rHnE '^[[:space:]]*#[[:space:]]*include' kernels io src tests benchmarks \
    --include='*.hpp' --include='*.cpp' --include='*.h' --include='*.cuh' --include='*.cu' || true
}

check_includes() {
  include_lines | awk '
    # Which parts a part may include, itself apart. A part is the longest of these names that a path begins with.
    BEGIN {
      may["kernels/base"] = ""
      may["kernels"]      = "kernels/base"
      may["io"]           = "kernels/base"
      may["src/comm"]     = "kernels/base"
      may["src/config"]   = "kernels/base"
      may["src/schedule"] = ""
      may["src/model"]    = "kernels/base kernels src/comm src/config"
      may["src/state"]    = may["src/model"] " io src/model"
      may["src/train"]    = may["src/state"] " src/state src/schedule"
      may["src"]          = may["src/train"] " src/train"  # main.cpp
      may["benchmarks"]   = may["src"] " src"
      may["tests"]        = may["src"] " src"
      may["tests/benchmarks"] = "kernels/base benchmarks"

      # Of config, what reads job files stays inside: others see the structs, load, paths as job.json has them, and what helps with typing errors.
      interface["src/config"] = "src/config/source/absolute_path.hpp src/config/config.hpp src/config/load/describe.hpp src/config/model/huggingface.hpp src/config/load/load.hpp src/config/resolve/resolved_paths.hpp src/config/source/spelling.hpp"

      # Libraries that belong to some parts only. Patterns of <...>, with the paths that may include them.
      owner["^Kokkos"]                           = "kernels/"
      owner["^(dnnl|oneapi/dnnl)"]               = "kernels/"
      owner["^(cuda|cublas|cudnn|cub/|thrust/)"] = "kernels/"
      owner["^omp[.]h"]                          = "kernels/ tests/"
      owner["^(hdf5|H5)"]                        = "io/ tests/io/"
      owner["^liburing"]                         = "io/ benchmarks/io/"
      owner["^mpi[.]h"]                          = "src/comm/ io/ tests/ benchmarks/"
      owner["^(hwloc|nccl)"]                     = "src/comm/ tests/support/"
      owner["^CLI/"]                             = "src/commands/main.cpp src/huggingface_commands src/checkpoint_commands src/generate_command benchmarks/"
      owner["^(gtest|gmock)/"]                   = "tests/"
    }

    function begins(path, prefix) { return substr(path, 1, length(prefix)) == prefix }
    function listed(word, words) { return index(" " words " ", " " word " ") > 0 }

    function part_of(path,    part, best) {
      best = ""
      for (part in may)
        if (begins(path, part "/") && length(part) > length(best)) best = part
      return best
    }

    function refuse(why) {
      printf "%s: %s (%s)\n", place, statement, why
      bad = 1
    }

    function check_own(from, header,    to) {
      to = part_of(header)
      if (to == "")
        refuse("paths are relative to the repository root")
      else if (to != from && !listed(to, may[from]))
        refuse(from " may not include " to)
      else if (to != from && to in interface && !listed(header, interface[to]) && from != "tests" && from != "benchmarks")
        refuse("outside " to " only " interface[to])
    }

    function check_library(from, file, header,    pattern, n, i, owners, owned) {
      if (from == "src/schedule" && header !~ /^[a-z0-9_]+$/) refuse("src/schedule includes the standard library only")
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
        check_own(part_of(file), substr(statement, RSTART + 1, RLENGTH - 2))
      else if (match(statement, /<[^>]*>/))
        check_library(part_of(file), file, substr(statement, RSTART + 1, RLENGTH - 2))
    }

    END { exit bad }'
}

check_top_level() {
  local entry status=0
  for entry in *; do
    case $entry in
      CMakeLists.txt | CMakePresets.json | src | kernels | io | jobs | tests | benchmarks | README.md | LICENSE) ;;
      build | build-* | runs | CMakeUserPresets.json | compile_commands.json) ;;  # git ignores them
      *)
        echo "$entry: (not one of the top level's entries)"
        status=1
        ;;
    esac
  done
  return "$status"
}

check_readmes() {
  local folder status=0
  for folder in kernels kernels/base io src src/*/ jobs tests benchmarks; do
    if [[ ! -f ${folder%/}/README.md ]]; then
      echo "${folder%/}: (no README.md that says what lives here and what may never)"
      status=1
    fi
  done
  return "$status"
}

status=0
check_includes || status=1
check_top_level || status=1
check_readmes || status=1
exit "$status"
