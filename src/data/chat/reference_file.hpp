// SPDX-License-Identifier: Apache-2.0
#pragma once
// Log-probabilities of preference data under a reference model, kept beside the prepared files.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace triax {

/// Path in `directory` for the pairs of a token file: its name has a hash of the file's content and
/// of `model`, a text that differs where the reference model does.
std::string reference_path(const std::string& directory, const std::string& token_file,
                           const std::string& model);

/// The two log-probabilities of each pair, as write_reference() wrote them. Error for a file that
/// does not hold `pairs` pairs, or is damaged.
std::vector<double> read_reference(const std::string& path, std::int64_t pairs);

/// Writes `log_probs`, chosen and rejected of each pair; the file gets its name when it is whole.
void write_reference(const std::string& path, std::span<const double> log_probs,
                     const std::string& model);

}  // namespace triax
