// SPDX-License-Identifier: Apache-2.0
#include "src/config/resolve/paths.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "src/config/source/absolute_path.hpp"
#include "src/config/source/file_look.hpp"
#include "src/config/source/find_input.hpp"
#include "src/config/source/pattern.hpp"

namespace triax {
namespace {
namespace fs = std::filesystem;

using Names = std::vector<std::string>;

// The .bin of the Megatron pair whose .idx is `file`; any other file unchanged.
std::string data_of(const std::string& file) {
  const fs::path path(file);
  return path.extension() == ".idx" ? fs::path(path).replace_extension(".bin").string() : file;
}

// Drops each .idx whose .bin is in the list too: one file names the pair.
Names without_indices(Names files) {
  const std::set<std::string> all(files.begin(), files.end());
  std::erase_if(files, [&](const std::string& file) {
    const std::string data = data_of(file);
    return data != file && all.contains(data);
  });
  return files;
}

Names patterns_of(const Names& files) {
  Names patterns;
  std::ranges::transform(files, std::back_inserter(patterns), pattern_of);
  return patterns;
}

std::vector<std::string> patterns(const nlohmann::json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.get<std::vector<std::string>>();
}

// Files that `pattern` matches below the working directory, else beside the file that names it.
PatternMatches matches_of(const std::string& pattern, const std::string& naming_file) {
  PatternMatches here = match_pattern({}, pattern);
  if (!here.files.empty() || !here.unseen.empty() || fs::path(pattern).is_absolute()) return here;
  PatternMatches beside = match_pattern(fs::path(naming_file).parent_path(), pattern);
  if (beside.files.empty() && beside.unlisted.empty()) beside.unlisted = here.unlisted;
  return beside;
}

// Identity of an existing file, whatever its name and the links to it.
using FileId = std::pair<dev_t, ino_t>;
std::optional<FileId> id_of(const std::string& file) {
  struct stat status {};
  if (::stat(data_of(file).c_str(), &status) != 0) return {};
  return FileId{status.st_dev, status.st_ino};
}

std::string no_match(const std::string& pattern) {
  if (is_pattern(pattern)) return "no file matches " + pattern;
  const auto text = "no such file: " + pattern;
  return fs::path(pattern).has_extension()
             ? text
             : text + ", nor " + pattern + ".idx, if a Megatron pair is meant";
}

// Whether the name refers to an open descriptor, behind which the next process finds another file.
bool names_a_descriptor(const std::string& file) {
  return file == "/dev/stdin" || file.starts_with("/dev/fd/") || file.starts_with("/proc/self/fd/");
}

// Why the existing `file` cannot be data; empty: it can.
std::string problem_with_data(const std::string& file) {
  const FileLook look = look_at(file);
  if (look.directory)
    return file + " is a directory. Name its files, for example " + file + "/*.txt";
  if (look.special.empty() && !names_a_descriptor(file)) return {};
  return fmt::format(
      "{} is {} (data must be a regular file: every rank reads it, more than once, and a resumed "
      "run again). Write the data to a file, and name that",
      file, look.special.empty() ? "what this process has open" : look.special);
}

// Why this process cannot read `file`, which a directory lists; empty: it can, or it is no file.
std::string problem_with_reading(const std::string& file) {
  std::error_code ignored;
  const FileLook look = look_at(file);
  if (!look.there && look.problem.empty() && fs::is_symlink(file, ignored))
    return fmt::format("{} is a link to nothing ({})", file,
                       fs::read_symlink(file, ignored).string());
  if (!fs::is_regular_file(file, ignored) ||
      ::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) == 0)
    return {};
  return fmt::format("{}: cannot read ({})", file, std::strerror(errno));
}

// Files of one pattern, each as a pattern of its own name. Problems are reported under `key`; of
// files that cannot be read the first.
Names files_of(Settings& settings, const std::string& key, const std::string& pattern,
               const std::string& naming_file, ErrorList& errors, ErrorList& missing) {
  bool read = true;
  const auto refused = [&](const std::string& file) {
    const std::string problem = problem_with_data(file), unread = problem_with_reading(file);
    if (!problem.empty()) settings.error(errors, key, problem);
    if (!unread.empty() && std::exchange(read, false)) settings.error(missing, key, unread);
    return !problem.empty();
  };
  const FoundInput named = find_input(pattern, naming_file);
  // A file of the pattern's own name does not hide what the pattern matches.
  const Names matches = is_pattern(pattern) ? matches_of(pattern, naming_file).files : Names{};
  if (!named.path.empty() && matches.empty())
    return refused(named.path) ? Names{} : Names{pattern_of(named.path)};
  if (!named.path.empty() && std::ranges::find(matches, named.path) == matches.end())
    settings.warn(key, fmt::format("{} is the name of a file too, which it does not match: it is "
                                   "left out. Write {} for that file",
                                   pattern, pattern_of(named.path)));
  if (const auto index = find_input(pattern + ".idx", naming_file).path; !index.empty())
    return {pattern_of(fs::path(index).replace_extension(".bin").string())};
  if (pattern.find("**") != std::string::npos) {
    settings.error(errors, key,
                   pattern +
                       ": ** is not known here: a * matches names of one level. Name each level, "
                       "as in [\"corpus/*.bin\", \"corpus/*/*.bin\"]");
    return {};
  }
  const PatternMatches found = matches_of(pattern, naming_file);
  if (found.files.empty() || !found.unseen.empty()) {
    std::string why = no_match(pattern);
    for (const auto* other : {&named.problem, &found.unlisted, &found.unseen})
      if (!other->empty()) why = *other;
    settings.error(missing, key, why);
    return {pattern};
  }
  if (std::ranges::any_of(found.files, refused)) return {};
  if (!found.unlisted.empty())  // such as lost+found
    settings.warn(
        key, fmt::format("{}: files that {} matches there are left out", found.unlisted, pattern));
  return patterns_of(without_indices(found.files));
}

}  // namespace

std::vector<std::string> data_files(Settings& settings, const std::string& key,
                                    const nlohmann::json& paths, const std::string& job_file,
                                    ErrorList& errors, ErrorList& missing) {
  std::vector<std::string> all;
  const Origin origin = settings.at(key).origin;
  const auto& naming_file = origin.line > 0 ? origin.file : job_file;
  for (const auto& pattern : patterns(paths)) {
    const auto files = files_of(settings, key, pattern, naming_file, errors, missing);
    all.insert(all.end(), files.begin(), files.end());
  }
  return all;
}

void warn_of_repeated(Settings& settings, const std::vector<std::string>& train,
                      const std::vector<std::string>& valid) {
  std::set<FileId> trained;
  std::vector<std::string> twice, shared;
  for (const auto& file : train)
    if (const auto id = id_of(file); id && !trained.insert(*id).second) twice.push_back(file);
  for (const auto& file : valid)
    if (const auto id = id_of(file); id && trained.contains(*id)) shared.push_back(file);
  if (!twice.empty())
    settings.warn("data.train", fmt::format("{} of {} files are listed before, {} first: an epoch "
                                            "reads their tokens more than once",
                                            twice.size(), train.size(), twice.front()));
  if (!shared.empty())
    settings.warn("data.valid", fmt::format("{} of {} files are in data.train too, {} first: the "
                                            "validation loss is measured on training data",
                                            shared.size(), valid.size(), shared.front()));
}

}  // namespace triax
