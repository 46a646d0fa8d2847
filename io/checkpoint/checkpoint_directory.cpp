// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_directory.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "io/checkpoint/checkpoint_parts.hpp"
#include "io/files/durable.hpp"
#include "io/files/numbered_name.hpp"
#include "io/hdf5/hdf5.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

// Step of a name like "step-000050.h5"; nothing for any other name.
std::optional<std::int64_t> step_of(std::string_view name) {
  constexpr std::string_view prefix = "step-";
  constexpr std::string_view suffix = ".h5";
  if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) ||
      !name.ends_with(suffix))
    return {};
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  if (name.find_first_not_of("0123456789") != name.npos) return {};
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc{} || end != name.data() + name.size()) return {};
  return step;
}

constexpr std::string_view set_aside = ".superseded";

// Whether the entry is a regular file; false where another process has just removed it.
bool is_file(const fs::directory_entry& entry) {
  std::error_code error;
  const bool file = entry.is_regular_file(error);
  const bool gone = error == std::errc::no_such_file_or_directory || error.value() == ESTALE;
  if (error && !gone)
    throw Error("cannot look at " + entry.path().string(), error.message(),
                "Check the file system, or move the file elsewhere to skip it");
  return file;
}

// A link whose target is not mounted now may be a checkpoint: it is never replaced.
bool leads_nowhere(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored) && !fs::exists(path, ignored);
}

// State by the rest of a name behind "step-000050.h5"; nothing for an unknown ending.
std::optional<CheckpointState> state_of(std::string_view ending) {
  if (ending.empty()) return CheckpointState::published;
  if (ending == ".tmp") return CheckpointState::unfinished;
  if (!ending.starts_with(set_aside)) return {};
  ending.remove_prefix(set_aside.size());
  if (is_number_of_name(ending)) return CheckpointState::superseded;
  return {};
}

// Paths of the checkpoints in one state, by step.
std::vector<std::string> paths_in(const std::string& directory, CheckpointState state) {
  std::vector<std::string> paths;
  for (CheckpointPath& found : find_checkpoints(directory))
    if (found.state == state) paths.push_back(std::move(found.path));
  return paths;
}

}  // namespace

std::string checkpoint_path(const std::string& directory, std::int64_t step) {
  return (fs::path(directory) / fmt::format("step-{:06}.h5", step)).string();
}

bool takes_stripes(const std::string& directory) {
  return hdf5::mpi_io_takes(directory);
}

std::int64_t checkpoint_step(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const std::size_t suffix = name.find(".h5");
  if (suffix == name.npos) return -1;
  return step_of(std::string_view(name).substr(0, suffix + 3)).value_or(-1);
}

std::vector<CheckpointPath> find_checkpoints(const std::string& directory) {
  std::vector<CheckpointPath> found;
  std::error_code error;
  if (!fs::exists(directory, error) && !error) return {};
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::size_t suffix = name.find(".h5");
    if (suffix == name.npos) continue;
    const auto step = step_of(std::string_view(name).substr(0, suffix + 3));
    const auto state = state_of(std::string_view(name).substr(suffix + 3));
    if (step && state && (leads_nowhere(entry->path()) || is_file(*entry)))
      found.push_back({entry->path().string(), *step, *state});
  }
  if (error)
    throw Error("cannot list the checkpoints in " + directory, error.message(),
                "Check that it is a readable directory");
  std::ranges::sort(found, [](const CheckpointPath& a, const CheckpointPath& b) {
    return std::tie(a.step, a.path) < std::tie(b.step, b.path);
  });
  return found;
}

std::vector<std::string> list_checkpoints(const std::string& directory) {
  std::vector<std::string> paths = paths_in(directory, CheckpointState::published);
  std::ranges::reverse(paths);
  return paths;
}

std::vector<std::string> set_aside_later(const std::string& directory, std::int64_t step) {
  std::vector<std::string> renamed;
  for (const std::string& path : list_checkpoints(directory)) {
    if (*step_of(fs::path(path).filename().string()) <= step) break;  // newest first
    const std::string name = path + std::string(set_aside);
    std::uint64_t number = 0;
    while (fs::exists(fs::symlink_status(numbered_name(name, number)))) ++number;
    rename_durably(path, numbered_name(name, number));
    renamed.push_back(path);
  }
  return renamed;
}

namespace {

void remove_file(const std::string& path, const char* what) {
  std::error_code error;
  fs::remove(path, error);
  if (error)
    throw Error(fmt::format("cannot remove the {} checkpoint {}", what, path), error.message(),
                "Check the directory's permissions");
}

// The part directories that `files` refer to, whatever the files are called now. Where the master
// that a directory is named after does not open, the directory counts as used.
std::set<std::string> shown_parts(const std::vector<std::string>& files,
                                  const std::vector<std::string>& directories) {
  std::set<std::string> shown;
  for (const std::string& file : files) {
    const std::optional<std::string> parts = parts_directory_of(file);
    if (parts) shown.insert(*parts);
    if (parts || file.ends_with(".tmp")) continue;
    for (const std::string& directory : directories)
      if (std::string master; is_parts_directory(fs::path(directory).filename().string(), master) &&
                              fs::path(file).filename().string().starts_with(master))
        shown.insert(directory);
  }
  return shown;
}

// Part directories that no file refers to; none where the directory cannot be listed completely.
std::vector<std::string> stray_parts(const std::string& directory) {
  std::vector<std::string> parts;
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string master;
    if (is_parts_directory(entry->path().filename().string(), master) && step_of(master))
      parts.push_back(entry->path().string());
    else if (std::error_code unknown; !entry->is_directory(unknown) && !entry->is_other(unknown))
      files.push_back(entry->path().string());
  }
  if (error || parts.empty()) return {};
  const std::set<std::string> shown = shown_parts(files, parts);
  std::erase_if(parts, [&](const std::string& path) { return shown.contains(path); });
  return parts;
}

}  // namespace

std::vector<std::string> remove_unfinished(const std::string& directory) {
  std::vector<std::string> removed = paths_in(directory, CheckpointState::unfinished);
  for (const std::string& path : removed) remove_file(path, "unfinished");
  for (const std::string& path : stray_parts(directory)) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error)
      throw Error("cannot remove " + path + ", parts of no checkpoint", error.message(),
                  "Check the directory's permissions");
    removed.push_back(path);
  }
  std::ranges::sort(removed);
  return removed;
}

std::string prune_checkpoints(const std::string& directory, int keep, std::int64_t sound,
                              std::int64_t best) {
  if (keep <= 0) return {};
  std::vector<std::string> paths = list_checkpoints(directory);
  std::erase_if(paths, leads_nowhere);
  const auto newest_sound = std::ranges::find_if(
      paths, [&](const std::string& path) { return checkpoint_step(path) <= sound; });
  std::string spared;
  if (newest_sound != paths.end() && newest_sound - paths.begin() >= keep) {
    spared = *newest_sound;
    paths.erase(newest_sound);
  }
  const auto kept_best = std::ranges::find(paths, best, checkpoint_step);
  if (kept_best != paths.end() && kept_best - paths.begin() >= keep) paths.erase(kept_best);
  std::set<std::string> unused;
  for (std::size_t i = static_cast<std::size_t>(keep); i < paths.size(); ++i) {
    // A link's target has its parts beside it, in another directory.
    std::error_code unknown;
    const bool link = fs::is_symlink(paths[i], unknown) || unknown;
    if (const auto parts = link ? std::nullopt : parts_directory_of(paths[i]);
        parts && !parts->empty())
      unused.insert(*parts);
    remove_file(paths[i], "old");
  }
  if (unused.empty()) return spared;
  for (const std::string& parts : stray_parts(directory)) {  // a copy of the master may use them
    std::error_code ignored;  // the next run's start removes the rest
    if (unused.contains(parts)) fs::remove_all(parts, ignored);
  }
  return spared;
}

}  // namespace triax
