// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/work_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/process/say.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

std::string job_path(const std::string& directory) {
  return directory + "/job";
}

// The job a working directory is of; empty: none.
std::string job_of(const std::string& directory) {
  std::ifstream file(job_path(directory));
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

Found look_for_outputs(const TokenizeOptions& options, const std::string& job) {
  const bool own_parts = job_of(WorkDirectory::path_of(options.out)) == job;
  bool all_done = true;
  for (const OutputSet& set : output_sets(options)) {
    const std::string last = last_file(options.format, set.prefix);
    const std::string first = first_file(options.format, set.prefix);
    const bool known = is_there(last);
    const bool whole = known && is_there(first);
    const auto facts = whole ? token_facts(first) : std::nullopt;
    const bool done = facts && facts->job == job;
    if (!done && !own_parts && (known || is_there(first)))
      throw UsageError((known ? last : first) + " is there already",
                       "it was made from other files or with other options",
                       "Remove it, or set --out to another prefix");
    all_done = all_done && done;
  }
  return all_done ? Found::done : Found::nothing;
}

void remove_remains(const std::string& prefix, const std::string& job) {
  const std::string path = WorkDirectory::path_of(prefix);
  const std::string left = job_of(path);
  // Empty: it was killed while it removed its directory.
  if (is_there(path) && (left == job || left.empty())) WorkDirectory(prefix, job).remove();
}

WorkDirectory::WorkDirectory(const std::string& prefix, const std::string& job)
    : path_(path_of(prefix)) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error)
    throw Error("cannot create " + path_, error.message(),
                "Set --out to a directory that is writable on every node");
  lock_ =
      std::make_unique<DirectoryLock>(path_, "Wait until it ends, or set --out to another prefix");
  const std::string before = job_of(path_);
  if (before == job) return;
  if (!before.empty())
    say("tokenize: {} has parts of a job with other files or options; they are removed\n", path_);
  for (const fs::directory_entry& entry : fs::directory_iterator(path_))
    if (entry.path().filename() != ".lock") fs::remove_all(entry.path());
  write_durably(job_path(path_), job);
}

void WorkDirectory::remove() {
  std::error_code error;
  fs::remove_all(path_, error);
  if (error) say("tokenize: cannot remove {}: {}\n", path_, error.message());
}

}  // namespace triax
