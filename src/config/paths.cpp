#include "src/config/paths.hpp"

#include <glob.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "src/config/load.hpp"

namespace triax {
namespace {
namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The .bin of the Megatron pair that `file` is the .idx of; other files as they are.
std::string data_of(const std::string& file) {
  const fs::path path(file);
  return path.extension() == ".idx" ? fs::path(path).replace_extension(".bin").string() : file;
}

// What `pattern` matches, sorted; directories left out, and each .idx whose .bin is there too: one
// of them names the pair.
std::vector<std::string> expand(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i)
      if (!fs::is_directory(found.gl_pathv[i])) files.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  const std::set<std::string> all(files.begin(), files.end());
  std::erase_if(files, [&](const std::string& file) {
    const std::string data = data_of(file);
    return data != file && all.contains(data);
  });
  return files;
}

std::vector<std::string> patterns(const nlohmann::json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.get<std::vector<std::string>>();
}

// What `pattern` matches here, else beside the file that names it.
std::vector<std::string> matches_of(const std::string& pattern, const std::string& naming_file) {
  auto matches = expand(pattern);
  if (matches.empty() && fs::path(pattern).is_relative())
    matches = expand((fs::path(naming_file).parent_path() / pattern).string());
  return matches;
}

// The files themselves, whatever their names and links to them: those that are there.
using FileId = std::pair<dev_t, ino_t>;
std::optional<FileId> id_of(const std::string& file) {
  struct stat status {};
  if (::stat(data_of(file).c_str(), &status) != 0) return {};
  return FileId{status.st_dev, status.st_ino};
}

std::string no_match(const std::string& pattern) {
  if (pattern.find_first_of("*?[") != std::string::npos) return "no file matches " + pattern;
  const auto text = "no such file: " + pattern;
  return fs::path(pattern).has_extension()
             ? text
             : text + ", nor " + pattern + ".idx, if a Megatron pair is meant";
}

void make_absolute(nlohmann::ordered_json& value) {
  if (value.is_array())
    for (auto& each : value) make_absolute(each);
  if (!value.is_string()) return;
  const auto text = value.get<std::string>();
  if (text != "auto" && text != "must" && text != "never")  // of checkpoint.resume
    value = fs::absolute(text).lexically_normal().string();
}

}  // namespace

std::string with_absolute_paths(const std::string& job) {
  auto root = nlohmann::ordered_json::parse(job);
  const KeyTable table;
  for (const Key& key : table.keys()) {
    if (key.type != KeyType::path && key.type != KeyType::paths) continue;
    std::string pointer = "/" + key.path;
    std::ranges::replace(pointer, '.', '/');
    if (const nlohmann::ordered_json::json_pointer at(pointer); root.contains(at))
      make_absolute(root[at]);
  }
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<std::string> find_input(const std::string& path, const std::string& naming_file) {
  if (path.empty()) return {};
  if (is_there(path)) return path;
  const auto beside = fs::path(naming_file).parent_path() / path;
  if (fs::path(path).is_relative() && is_there(beside)) return beside.string();
  return {};
}

std::vector<std::string> data_files(Settings& settings, const std::string& key,
                                    const std::string& job_file, ErrorList& errors,
                                    ErrorList& missing) {
  std::vector<std::string> files;
  if (!settings.has(key)) return files;
  const auto& origin = settings.at(key).origin;
  const auto& naming_file = origin.line > 0 ? origin.file : job_file;
  const auto value = settings.at(key).value;
  for (const auto& pattern : patterns(value)) {
    if (const auto file = find_input(pattern, naming_file)) {
      if (fs::is_directory(*file))
        settings.error(
            errors, key,
            pattern + " is a directory. Name its files, for example " + pattern + "/*.txt");
      else
        files.push_back(*file);
      continue;
    }
    if (const auto index = find_input(pattern + ".idx", naming_file)) {
      files.push_back(fs::path(*index).replace_extension(".bin").string());
      continue;
    }
    if (pattern.find("**") != std::string::npos) {
      settings.error(errors, key,
                     pattern +
                         ": ** is not known here: a * matches names of one level. Name each "
                         "level, as in [\"corpus/*.bin\", \"corpus/*/*.bin\"]");
      continue;
    }
    auto matches = matches_of(pattern, naming_file);
    if (matches.empty()) {
      settings.error(missing, key, no_match(pattern));
      matches = {pattern};
    }
    files.insert(files.end(), matches.begin(), matches.end());
  }
  return files;
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
    settings.warn("data.train", fmt::format("{} of {} files are there before, {} first: an epoch "
                                            "has their tokens more than once",
                                            twice.size(), train.size(), twice.front()));
  if (!shared.empty())
    settings.warn("data.valid",
                  fmt::format("{} of {} files are in data.train too, {} first: the validation loss "
                              "is of data that are trained on",
                              shared.size(), valid.size(), shared.front()));
}

}  // namespace triax
