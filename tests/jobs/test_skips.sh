#!/usr/bin/env bash
# Usage: test_skips.sh SOURCE
# That jobs/test.sh names tests that were skipped, and fails where one must run (jobs/skips.sh).
set -euo pipefail
source=$1
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
. "$source/jobs/skips.sh"

cat >output.log <<'END'
 6/12 Test  #1: test_a ...........................   Passed    0.02 sec
The following tests did not run:
\t  7 - test_slurm_jobs (Skipped)
\t 12 - test_parity_device.np2 (Skipped)
END
sed -i 's/^\\t/\t/' output.log
cat >LastTest.log <<'END'
6/12 Testing: test_a
6/12 Test: test_a
Output:
skipped: not a test, but a case of one
7/12 Testing: test_slurm_jobs
7/12 Test: test_slurm_jobs
Output:
skipped: slurmctld is not installed (slurm-wlm, munge)
END
list_skips output.log LastTest.log >skips
cat >expected <<'END'
test: test_slurm_jobs was skipped: slurmctld is not installed (slurm-wlm, munge)
test: test_parity_device.np2 was skipped
END
report_skips skips "" | cmp - expected || fail "what was skipped: $(report_skips skips "")"
report_skips skips "full_disk cuda" >/dev/null || fail "tests that need not run"
if report_skips skips "full_disk slurm" >said; then fail "a test that must run was skipped"; fi
grep -q 'FAILED: test_slurm_jobs must run here' said || fail "it says: $(<said)"
echo passed
