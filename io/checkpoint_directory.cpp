// Names of published checkpoints and their upkeep.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "io/checkpoint_file.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

// The step of "step-000050.h5"; nothing for any other name.
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

// The files "step-<digits>.h5<ending>" of a directory with their steps, in no order.
std::vector<std::pair<std::int64_t, std::string>> files_of(const std::string& directory,
                                                           std::string_view ending) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  std::error_code error;
  if (!fs::exists(directory, error) && !error) return {};
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.ends_with(ending)) continue;
    const auto step = step_of(std::string_view(name).substr(0, name.size() - ending.size()));
    std::error_code ignored;  // a file that another process has just removed
    if (step && entry->is_regular_file(ignored)) found.emplace_back(*step, entry->path().string());
  }
  if (error)
    throw Error("cannot list the checkpoints in " + directory, error.message(),
                "Check that it is a readable directory");
  return found;
}

}  // namespace

std::string checkpoint_path(const std::string& directory, std::int64_t step) {
  return (fs::path(directory) / fmt::format("step-{:06}.h5", step)).string();
}

std::vector<std::string> list_checkpoints(const std::string& directory) {
  std::vector<std::pair<std::int64_t, std::string>> found = files_of(directory, "");
  std::ranges::sort(found, std::greater{});
  std::vector<std::string> paths;
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::vector<std::string> set_aside_later(const std::string& directory, std::int64_t step) {
  std::vector<std::string> renamed;
  for (const std::string& path : list_checkpoints(directory)) {
    if (*step_of(fs::path(path).filename().string()) <= step) break;  // newest first
    std::error_code error;
    fs::rename(path, path + ".superseded", error);
    if (error)
      throw Error("cannot rename the checkpoint " + path + " of another run", error.message(),
                  "Check the directory's permissions");
    renamed.push_back(path);
  }
  return renamed;
}

std::vector<std::string> remove_unfinished(const std::string& directory) {
  std::vector<std::string> removed;
  for (const auto& [step, path] : files_of(directory, ".tmp")) {
    std::error_code error;
    fs::remove(path, error);
    if (error)
      throw Error("cannot remove the unfinished checkpoint " + path, error.message(),
                  "Check the directory's permissions");
    removed.push_back(path);
  }
  std::ranges::sort(removed);
  return removed;
}

void prune_checkpoints(const std::string& directory, int keep) {
  if (keep <= 0) return;
  const std::vector<std::string> paths = list_checkpoints(directory);
  for (std::size_t i = static_cast<std::size_t>(keep); i < paths.size(); ++i) {
    std::error_code error;
    fs::remove(paths[i], error);
    if (error)
      throw Error("cannot remove the old checkpoint " + paths[i], error.message(),
                  "Check the directory's permissions");
  }
}

}  // namespace triax
