// SPDX-License-Identifier: Apache-2.0
#include "io/hub/hub_directory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

// The commit that refs/main names; empty: there is none.
std::string commit_of(const fs::path& folder) {
  std::ifstream file(folder / "refs" / "main");
  std::string commit;
  file >> commit;
  return commit;
}

std::vector<std::string> snapshots_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder / "snapshots", error))
    if (entry.is_directory(error)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string hub_snapshot(const std::string& path) {
  const fs::path folder = path;
  std::error_code ignored;
  if (!fs::is_directory(folder / "snapshots", ignored) ||
      fs::exists(folder / "config.json", ignored))
    return path;
  const std::vector<std::string> names = snapshots_in(folder);
  const std::string commit = commit_of(folder);
  const std::string remedy = "Fetch the model again, or name one directory of snapshots/";
  if (!commit.empty()) {
    if (fs::path(commit).filename() == commit && std::ranges::find(names, commit) != names.end())
      return (folder / "snapshots" / commit).string();
    throw UsageError(
        fmt::format("{} has no snapshot {}", path, commit),
        fmt::format("refs/main names it, and snapshots/ has {}",
                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))),
        remedy);
  }
  if (names.size() == 1) return (folder / "snapshots" / names.front()).string();
  throw UsageError(fmt::format("{} has {} snapshots and no refs/main", path, names.size()),
                   names.empty() ? "" : fmt::format("they are {}", fmt::join(names, ", ")), remedy);
}

std::string dangling_link(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_symlink(path, ignored) || fs::exists(path, ignored)) return {};
  return fmt::format("{} is a link to nothing ({})", path,
                     fs::read_symlink(path, ignored).string());
}

void refuse_dangling_link(const std::string& path) {
  const std::string problem = dangling_link(path);
  if (!problem.empty())
    throw Error(problem, "its download was stopped, or it was moved without its blobs",
                "Fetch the model again");
}

}  // namespace triax
