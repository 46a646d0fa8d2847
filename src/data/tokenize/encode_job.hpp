// SPDX-License-Identifier: Apache-2.0
#pragma once
// Units to be encoded, and what decides the bytes that come of it.
#include <string>
#include <vector>

#include "src/data/tokenize/options.hpp"
#include "src/data/units/units.hpp"

namespace triax {

struct EncodeJob {
  const TokenizeOptions& options;
  const std::vector<InputFile>& files;
  const std::vector<Unit>& units;
  std::string directory;  // of the parts
};

/// Fingerprint of everything that decides the output's bytes: files with sizes and times, options,
/// tokenizer, version.
std::string job_fingerprint(const TokenizeOptions& options, const std::vector<InputFile>& files);

}  // namespace triax
