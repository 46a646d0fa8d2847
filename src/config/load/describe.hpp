// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two tables of `triax config`: the values of a job, and the reference of all keys.
#include <cstdint>
#include <string>
#include <vector>

namespace triax {

struct JobDescription {
  std::string text;                  // a table, or JSON
  std::vector<std::string> missing;  // one line per file that a run reads and that does not exist
};
/// `triax config JOB`: every key with its value and source. Throws UsageError as load_job does,
/// except for missing data and checkpoint files.
JobDescription describe_job(const std::string& path, const std::vector<std::string>& overrides,
                            int ranks, bool json);
enum class ReferenceFormat : std::uint8_t { table, json, markdown };
/// `triax config --reference`: type, unit, default, allowed values and meaning of every key.
/// Markdown has one table per section of the job file.
std::string key_reference(ReferenceFormat format);

}  // namespace triax
