// SPDX-License-Identifier: Apache-2.0
#pragma once
// A translated job as JSON with comments.
#include <string>

#include "src/axolotl/axolotl_job.hpp"

namespace triax {

/// The job, with a comment at each key that says where it came from.
std::string job_text(const AxolotlJob& job);

}  // namespace triax
