#!/usr/bin/env bash
# Installs what triax is built from (Debian 12, Ubuntu 24.04 or newer), after naming it.
# Called by test.sh, quickstart.sh and gates.sh; does nothing when all is there.
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config git
  mpich libmpich-dev libhdf5-mpich-dev hdf5-tools   # ranks, and one file written by all of them
  libtrilinos-kokkos-dev libdnnl-dev libhwloc-dev   # kernels, matrix products, cores of a node
  liburing-dev                                      # blocks to and from a disk while the ranks compute
  zlib1g-dev libzstd-dev                            # corpora in .gz and .zst
  ocl-icd-opencl-dev                                # Debian's oneDNN is built with OpenCL: its CMake file asks for it
  libpcre2-dev libutf8proc-dev                      # patterns and normal forms of tokenizers
  libboost-dev                                      # HTTP of triax serve (Boost.Beast)
  libyaml-cpp-dev                                   # Axolotl's config.yml
  libcli11-dev nlohmann-json3-dev libfmt-dev libspdlog-dev
  libgtest-dev libgmock-dev
)
# tests/slurm starts a cluster of its own and asks its servers; test.sh compiles most files for two configurations, and
# the cache only once.
readonly test_packages=(slurm-wlm munge curl ccache)

usage() {
  cat <<END
Usage: jobs/setup.sh [--tests | --gates]
Installs the packages that triax is built from, through apt, as root or with sudo:
  ${packages[*]}
With --tests also what tests alone need, some of which are skipped without it: ${test_packages[*]}
With --gates also what jobs/gates.sh needs: clang-tidy, and clang-N with libomp-N-dev of the first N from 15 on
TRIAX_NO_INSTALL=1: install nothing, build with what CMake finds (modules of a cluster, for example).
END
}

# Requirements for a system without apt. The build continues with what CMake finds: sites have these as modules.
name_requirements() {
  cat >&2 <<'END'
setup: this system has no apt, so nothing is installed. triax needs, where CMake and pkg-config find them:
  a C++20 compiler (GCC 12, Clang 15 or newer), CMake 3.22, Ninja or make, pkg-config,
  an MPI library, parallel HDF5 1.10.7 or newer on that MPI, Kokkos 3.4 or newer, oneDNN 2.6 or newer,
  hwloc 2, liburing 2.2 or newer, PCRE2 10.30 or newer, utf8proc 2.5 or newer, zlib,
  Zstandard 1.4 or newer, Boost 1.74 or newer (headers), yaml-cpp 0.7 or newer, fmt, spdlog, nlohmann-json 3, CLI11 2,
  OpenMP, GoogleTest 1.12.
END
}

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -x installed >/dev/null || echo "$package"
  done
}

install_packages() {
  local -a apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0)
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null || ! sudo -v; then
      echo "setup: neither root nor allowed to use sudo. Ask an administrator for: apt-get install $*" >&2
      echo "setup: or set TRIAX_NO_INSTALL=1 to build with what CMake finds." >&2
      return 1
    fi
    apt=(sudo "${apt[@]}")
  fi
  local -a install=("${apt[@]}" install -y --no-install-recommends "$@")
  # The lists of a fresh machine are absent, those of an old one name files that are gone.
  if ! apt-cache show "$@" >/dev/null 2>&1 || ! "${install[@]}"; then
    "${apt[@]}" update
    "${install[@]}"
  fi
}

# From names of packages on stdin: clang-N and libomp-N-dev of the first N from 15 on that has both.
first_clang() {
  awk -F- '/^clang-[0-9]+$/ { clang[$2] } /^libomp-[0-9]+-dev$/ { openmp[$2] }
    END {
      for (n = 15; n < 100; ++n)
        if (n in clang && n in openmp) {
          printf "clang-%d\nlibomp-%d-dev\n", n, n
          exit
        }
    }'
}

# The Clang that jobs/gates.sh compiles with: one that is installed, else one of this system's packages. Without lists
# of packages, as on a fresh machine, that of Debian 12.
clang_packages() {
  local found
  found=$({ dpkg-query -W -f='${db:Status-Status} ${Package}\n' 'clang-*' 'libomp-*' 2>/dev/null || true; } |
    sed -n 's/^installed //p' | first_clang)
  if [[ -z $found ]]; then
    found=$({ apt-cache pkgnames clang- && apt-cache pkgnames libomp- || true; } 2>/dev/null | first_clang)
  fi
  printf '%s\n' "${found:-$(printf 'clang-15\nlibomp-15-dev')}"
}

main() {
  local needs_clang=
  if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    usage
    return
  fi
  case ${1:-} in
    --tests) packages+=("${test_packages[@]}") ;;
    --gates) packages+=("${test_packages[@]}" clang-tidy); needs_clang=yes ;;
    "") ;;
    *)
      echo "setup: there is no option $1 (see --help)" >&2
      return 2
      ;;
  esac
  if [[ -n ${TRIAX_NO_INSTALL:-} ]]; then
    return
  fi
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    name_requirements
    return
  fi
  local -a clang missing
  if [[ -n $needs_clang ]]; then
    mapfile -t clang < <(clang_packages)
    packages+=("${clang[@]}")
  fi
  mapfile -t missing < <(missing_packages)
  if [[ ${#missing[@]} -eq 0 ]]; then
    return
  fi
  echo "setup: installing with apt: ${missing[*]}"
  install_packages "${missing[@]}"
}

main "$@"
