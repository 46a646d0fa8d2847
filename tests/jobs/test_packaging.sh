#!/usr/bin/env bash
# Usage: test_packaging.sh SOURCE
# The files of jobs/packaging as far as nothing needs to be installed: their versions are that of CMakeLists.txt, their syntax
# holds, the man page is made from either layout of CLI11's help, and an installation goes on where the program does not run.
set -euo pipefail
source=$1
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
packaging=$source/jobs/packaging
version=$(sed -nE 's/^project\(triax VERSION ([0-9.]+).*/\1/p' "$source/CMakeLists.txt")
[[ -n $version ]] || fail "CMakeLists.txt names no version"

# names FILE PATTERN: every version in a file is this one. PATTERN has the version in its group.
names() {
  local found
  found=$(sed -nE "s/$2/\1/p" "$1" | sort -u)
  [[ $found == "$version" ]] || fail "$1 names version '$found', CMakeLists.txt $version"
}
for file in "$packaging"/easybuild/triax-*.eb; do
  [[ ${file##*/} == "triax-$version"?(-*).eb ]] || fail "$file is not named after version $version"
  names "$file" "^version = '([^']*)'.*"
done
names "$packaging/spack/package.py" '^    version\("([0-9.]+)".*'
for file in "$packaging"/apptainer/*.def; do
  names "$file" '^    Version (.*)$'
done
if [[ -f $source/CITATION.cff ]]; then names "$source/CITATION.cff" '^version: "?([0-9.]+)"?$'; fi

# The packages of the distribution are those of jobs/setup.sh, less what only tests and git checkouts need.
listed() { tr -s ' ,' '\n' | tr -d "'" | grep -E '^[a-z]' | LC_ALL=C sort; }
sed -n '/^packages=(/,/^)/{s/#.*//;/^[^ ]/d;p}' "$source/jobs/setup.sh" | listed |
  grep -vxE 'git|ninja-build|mpich|hdf5-tools|libgtest-dev|libgmock-dev' >needed
sed -n '/^osdependencies/,/^]/{/^[^ ]/d;p}' "$packaging/easybuild/triax-$version.eb" | listed >named
diff needed named || fail "the easyconfig names other packages than jobs/setup.sh"

for file in "$packaging"/*.sh "$packaging"/*.bash; do
  bash -n "$file" || fail "$file is no bash"
done
for file in "$packaging"/apptainer/*.def; do  # what runs in the image, by sh
  sed -n '/^%\(post\|runscript\|test\)/,/^%/{/^%/d;s/{{[^}]*}}/x/g;p}' "$file" >sections
  sh -n sections || fail "$file: a section is no shell script"
done
if command -v python3 >/dev/null; then
  for file in "$packaging"/easybuild/*.eb "$packaging"/spack/*.py "$packaging"/reframe/*.py; do
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file" || fail "$file is no Python"
  done
fi

# A program whose help is laid out by CLI11 2.7: headings in capitals, usage without its word, descriptions wrapped.
mkdir page
cat >triax <<'STUB'
#!/usr/bin/env bash
case $* in
  --help) cat <<'HELP' ;;
triax trains models: one binary.


triax [OPTIONS] SUBCOMMAND


OPTIONS:
  -h,     --help              Print this help message and exit
          --version           Display program version information and exit

SUBCOMMANDS:
  train                       Train a model as a job file says, in a text that is so long that
                              it is wrapped.

Each command has a --help of its own.
Exit status: 0 done
HELP
  'train --help') cat <<'HELP' ;;
Train a model as a job file says.


triax train [OPTIONS] JOB.json


POSITIONALS:
  JOB.json REQUIRED           The job file (JSON)

OPTIONS:
  -h,     --help              Print this help message and exit
          --set KEY=VALUE ... Excludes: --reference 
                              Override one key, as parallel.tensor=2; or a text that is as long as
                              --dry-run
          --device DEVICE:{auto,cpu,gpu} [auto]  
                              What computes
  --dtype TYPE:{f32,bf16,f16} Type of the weights
          --prompt TEXT REQUIRED 
                              The text

Notes of train
HELP
  'config --reference') cat <<'REFERENCE' ;;
key         type     default  unit   allowed         meaning
run.device  string   "auto"   -      "auto", "cpu"   what computes
run.steps   integer  100      steps  >= 1            optimizer steps
run.old     any      -        -                      unused [accepted, without meaning here]
REFERENCE
  *) exit 2 ;;
esac
STUB
chmod +x triax
bash "$packaging/command_line.sh" "$work/triax" "$version" page/triax.1 page/triax || fail "the page of another CLI11"
sed 's/\\-/-/g' page/triax.1 >page/text
for line in '.SH NAME' 'triax - trains models: one binary' '\fBtriax train\fR [OPTIONS] JOB.json' '.SS triax train' \
  '\fB-h\fR, \fB--help\fR' '\fBJOB.json\fR' 'The job file (JSON). Required.' '\fB--set\fR \fIKEY=VALUE\fR' \
  '--dry-run. Not with --reference.' '\fB--device\fR \fIDEVICE\fR' 'What computes. One of auto, cpu, gpu. Default: auto.' \
  'Type of the weights. One of f32, bf16, f16.' 'The text. Required.' 'Notes of train' '.SH "EXIT STATUS"' '0 done'; do
  grep -qxF -e "$line" page/text || fail "no '$line' in the page: $(cat page/text)"
done
for line in "    'triax train --device') values='auto cpu gpu' ;;" "    'triax train --set') values='@key' ;;" \
  "    run.device) values='auto cpu' ;;" run.steps; do
  grep -qxF -e "$line" page/triax || fail "no '$line' in the completion: $(cat page/triax)"
done
if grep -q run.old page/triax; then fail "a key without meaning is completed"; fi

# installed PROGRAM CROSSCOMPILING: what the install step brings, and says in log.
installed() {
  rm -rf prefix
  cmake -D CMAKE_INSTALL_PREFIX="$work/prefix" -D TRIAX_PROGRAM="$1" -D TRIAX_VERSION="$version" -D TRIAX_CROSSCOMPILING="$2" \
    -D TRIAX_DEPENDS_ON='depends_on([[mpi/4]])' -D TRIAX_PACKAGING="$packaging" -D TRIAX_SCRATCH="$work/scratch" \
    -P "$packaging/install_step.cmake" >log 2>&1 || fail "the install step: $(cat log)"
  (cd prefix && find . -type f | LC_ALL=C sort | tr '\n' ' ')
}
module=./share/triax/modulefiles/triax/$version.lua
[[ $(installed "$work/triax" OFF) == "./share/bash-completion/completions/triax ./share/man/man1/triax.1 $module " ]] ||
  fail "installed: $(cd prefix && find . -type f)"
grep -qxF 'depends_on([[mpi/4]])' "prefix/$module" || fail "the modulefile does not load the site's modules"
[[ $(installed false OFF) == "$module " ]] || fail "a page of a program that does not run: $(find prefix -type f)"
grep -q 'not installed: 1' log || fail "nobody is told that there is no man page: $(cat log)"
[[ $(installed "$work/triax" TRUE) == "$module " ]] || fail "a page of a program for another machine: $(find prefix -type f)"
echo passed
