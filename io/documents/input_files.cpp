// SPDX-License-Identifier: Apache-2.0
#include "io/documents/input_files.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

// Name of the file within its compression.
std::string_view bare_name(std::string_view path) {
  for (const std::string_view end : {".gz", ".zst"})
    if (path.ends_with(end)) return path.substr(0, path.size() - end.size());
  return path;
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

bool is_found_in_directories(const std::string& path) {
  return ends_with_any(bare_name(path), {".txt", ".jsonl", ".ndjson"});
}

DocumentFormat format_of_name(const std::string& path) {
  return ends_with_any(bare_name(path), {".jsonl", ".ndjson", ".json"}) ? DocumentFormat::json
                                                                        : DocumentFormat::text;
}

std::vector<std::string> files_below(const std::string& directory) {
  std::vector<std::string> found;
  try {
    const auto follow = fs::directory_options::follow_directory_symlink;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory, follow))
      if (entry.is_regular_file() && is_found_in_directories(entry.path().string()))
        found.push_back(entry.path().string());
  } catch (const fs::filesystem_error& error) {
    throw UsageError("cannot list " + directory, error.code().message(),
                     "Check the permissions of the directory and of those below it");
  }
  std::ranges::sort(found);
  if (found.empty())
    throw UsageError(directory + " has no documents",
                     "no file in it ends in .txt, .jsonl or .ndjson, or these with .gz or .zst",
                     "Give files of other names by a pattern, as '" + directory + "/*.md'");
  return found;
}

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t matches{};
  const int result = ::glob(pattern.c_str(), GLOB_BRACE, nullptr, &matches);
  std::vector<std::string> found;
  for (std::size_t i = 0; result == 0 && i < matches.gl_pathc; ++i)
    found.emplace_back(matches.gl_pathv[i]);
  ::globfree(&matches);
  if (found.empty())
    throw UsageError("no file matches " + pattern, {}, "Check the pattern and the directory");
  std::ranges::sort(found);
  return found;
}

struct stat status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw UsageError("cannot open " + path, std::strerror(errno),
                     "Check the path and its permissions");
  return status;
}

std::int64_t nanoseconds(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

InputFile input_at(const std::string& path, std::optional<DocumentFormat> format) {
  const struct stat status = status_of(path);
  if (!S_ISREG(status.st_mode))
    throw UsageError(path + " is no regular file", "documents are read in ranges, and again later",
                     "Write them to a file first");
  InputFile file{path, status.st_size, nanoseconds(status), compression_of(path),
                 format.value_or(format_of_name(path))};
  if (file.compression == Compression::none && bare_name(path).size() < path.size())
    throw UsageError(path + " is not compressed",
                     file.bytes == 0 ? "it is empty" : "its first bytes are not gzip's or zstd's",
                     "Fetch it again, or give it a name without .gz or .zst");
  return file;
}

}  // namespace

std::vector<InputFile> find_inputs(const std::vector<std::string>& names,
                                   std::optional<DocumentFormat> format) {
  std::vector<InputFile> files;
  std::set<std::string> known;
  const auto add = [&](const std::string& path) {
    if (known.insert(fs::path(path).lexically_normal().string()).second)
      files.push_back(input_at(path, format));
  };
  for (const std::string& name : names) {
    std::error_code ignored;
    if (fs::is_directory(name, ignored))
      std::ranges::for_each(files_below(name), add);
    else if (!fs::exists(name, ignored) && name.find_first_of("*?[{") != name.npos)
      std::ranges::for_each(matches_of(name), [&](const std::string& path) {
        if (!fs::is_directory(path)) add(path);
      });
    else
      add(name);
  }
  return files;
}

void require_unchanged(const InputFile& file) {
  struct stat status {};
  if (::stat(file.path.c_str(), &status) == 0 && status.st_size == file.bytes &&
      nanoseconds(status) == file.modified)
    return;
  throw Error(file.path + " was changed while it was read",
              "its size or its time is not as at the start", "Run the command again");
}

}  // namespace triax
