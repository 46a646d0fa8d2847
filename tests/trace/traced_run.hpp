// SPDX-License-Identifier: Apache-2.0
#pragma once
// A short run with a trace, for tests.
#include <filesystem>
#include <string>

#include "src/trace/write_trace.hpp"
#include "tests/support/training.hpp"

namespace triax::test {

/// Job of four steps whose steps 1 and 2 are traced.
inline nlohmann::json traced_job_of(const Layout& layout, const std::string& directory) {
  nlohmann::json job = golden_job(read_golden("llama-tiny"), layout);
  job["run"]["directory"] = directory;
  job["run"]["steps"] = 4;
  job["run"]["trace_steps"] = {1, 3};
  job["checkpoint"]["at_end"] = false;
  return job;
}

/// A layout for the ranks of this test.
inline Layout traced_layout(int ranks) {
  Layout layout{.pipeline = ranks > 1 ? 2 : 1, .data = ranks > 2 ? ranks / 2 : 1, .micro = 1};
  layout.zero = layout.data > 1 ? 1 : 0;
  return layout;
}

}  // namespace triax::test
