#!/usr/bin/env bash
# Usage: test_build.sh SOURCE
# What jobs/build.sh asks CMake for, and what jobs/setup.sh takes for missing: cmake and Debian's programs are stubs.
set -euo pipefail
source=$1
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
unset TRIAX_NO_INSTALL CMAKE_CXX_COMPILER_LAUNCHER CMAKE_BUILD_PARALLEL_LEVEL
says() { grep -qE -- "$2" "$1" || fail "$1 does not say: $2. It says: $(cat "$1")"; }

mkdir bin
printf '#!/bin/sh\necho "$@ launcher=$CMAKE_CXX_COMPILER_LAUNCHER" >>asked\n' >bin/cmake
printf '#!/bin/sh\n' >bin/ccache
printf '#!/bin/sh\necho "${MACHINE:-x86_64}"\n' >bin/uname
cat >bin/dpkg-query <<'STUB'
#!/usr/bin/env bash
for _ in amd64 i386; do printf "${2/-f=\$\{db:Status-Status\}/${INSTALLED:-installed}}"; done
STUB
printf '#!/bin/sh\necho apt-get\n' >bin/apt-get
chmod +x bin/*
export PATH=$work/bin:$PATH
. "$source/jobs/build.sh"
build() { rm -f asked; (build_preset "$@"); }

# Debian's MPICH, where it is, unless the user says what there is; what a folder was made with it keeps.
if [[ -x /usr/bin/mpicxx.mpich && -x /usr/bin/h5pcc.mpich ]]; then
  build release triax
  says asked 'MPI_CXX_COMPILER=/usr/bin/mpicxx.mpich .*HDF5_C_COMPILER_EXECUTABLE=/usr/bin/h5pcc.mpich'
fi
TRIAX_NO_INSTALL=1 build release triax
if grep mpich asked; then fail "MPICH where the user says what there is"; fi
mkdir build && touch build/CMakeCache.txt
build release triax
if grep mpich asked; then fail "another MPI for a folder that has one"; fi

# As many compilers as the user wants, and no cache of code that another machine cannot run.
says asked 'launcher=ccache'
CMAKE_BUILD_PARALLEL_LEVEL=3 build release triax
says asked '--parallel 3 '
build native triax
if grep launcher=ccache asked; then fail "code of this processor goes into a cache"; fi
MACHINE=aarch64 build release triax
if grep launcher=ccache asked; then fail "code of this processor goes into a cache"; fi

# A package that is there for two architectures is not missing.
[[ -z $("$source/jobs/setup.sh") ]] || fail "installed packages are installed: $("$source/jobs/setup.sh")"
INSTALLED=config-files "$source/jobs/setup.sh" >said 2>&1 || true
says said 'setup: installing with apt: g\+\+ cmake'
echo passed
