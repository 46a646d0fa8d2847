#pragma once
// The two tables that `triax config` prints: the values of a job, and all keys.
#include <cstdint>
#include <string>
#include <vector>

namespace triax {

struct JobDescription {
  std::string text;                  // a table, or JSON
  std::vector<std::string> missing;  // a line for each file that a run would read and not find
};
/// `triax config JOB`: every key with its value and where it came from. UsageError as load_job, but
/// for files of data and checkpoints that are not there.
JobDescription describe_job(const std::string& path, const std::vector<std::string>& overrides,
                            int ranks, bool json);
enum class ReferenceFormat : std::uint8_t { table, json, markdown };
/// `triax config --reference`: type, unit, default, allowed values and meaning of every key.
/// Markdown has one table per section of the job file.
std::string key_reference(ReferenceFormat format);

}  // namespace triax
