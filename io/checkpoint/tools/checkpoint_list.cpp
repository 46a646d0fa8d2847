// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tools/checkpoint_list.hpp"

#include <fmt/chrono.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

using Json = nlohmann::ordered_json;

struct Row {
  CheckpointPath file;
  std::string state, problem;          // problem: reason why it does not open
  std::optional<std::int64_t> bytes;   // none: dangling link
  std::optional<std::time_t> changed;  // none: dangling link
  CheckpointHeader header;             // set where it opens
  std::string type = "-";              // type of the weights
  bool fp8 = false;                    // the run used fp8 products
  std::string type_text() const { return fp8 ? type + "+fp8" : type; }
  bool opens() const { return problem.empty() && file.state != CheckpointState::unfinished; }
};

std::string type_of_weights(const CheckpointReader& reader) {
  for (const CheckpointTensor& tensor : reader.tensors())
    if (tensor.name.starts_with("/model/")) return std::string(name_of(tensor.dtype));
  return "-";
}

// Whether the run's job enabled fp8. The file of an import has no job.
bool multiplies_in_fp8(const std::string& job) {
  const Json value = Json::parse(job, nullptr, false);
  if (!value.is_object() || !value.contains("fp8")) return false;
  const Json& section = value["fp8"];
  return section.is_object() && section.value("enabled", Json(false)) == true;
}

Row row_of(const CheckpointPath& file) {
  Row row;
  row.file = file;
  row.state = "unfinished";
  struct stat status {};
  if (::stat(file.path.c_str(), &status) == 0) {
    row.bytes = status.st_size;
    row.changed = status.st_mtime;
  }
  if (file.state == CheckpointState::unfinished) return row;
  row.state = file.state == CheckpointState::superseded ? "superseded" : "opens";
  try {
    const CheckpointReader reader(file.path);
    row.header = reader.header();
    row.bytes = reader.file_bytes();
    row.type = type_of_weights(reader);
    row.fp8 = multiplies_in_fp8(row.header.job);
  } catch (const Error& error) {
    row.state = hdf5::why_unreadable(file.path).empty() ? "damaged" : "unreadable";
    row.problem = error.what();
  }
  return row;
}

std::string date_of(const Row& row) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(*row.changed));
}

// Formats {"data": 2, "pipeline": 1, "tensor": 2} as 2x1x2; any other text is returned unchanged.
std::string grid_text(const std::string& grid) {
  const Json value = Json::parse(grid, nullptr, false);
  std::string text;
  for (const char* axis : {"data", "pipeline", "tensor"}) {
    if (!value.is_object() || !value.contains(axis)) return grid;
    text += (text.empty() ? "" : "x") + value[axis].dump();
  }
  return text;
}

std::string json_text(const std::string& directory, const std::vector<Row>& rows) {
  Json files = Json::array();
  for (const Row& row : rows) {
    Json entry = {{"file", row.file.path},
                  {"state", row.state},
                  {"step", row.file.step},
                  {"bytes", row.bytes ? Json(*row.bytes) : Json()},
                  {"date", row.changed ? Json(date_of(row)) : Json()}};
    if (row.opens()) {
      const Json grid = Json::parse(row.header.grid, nullptr, false);
      entry["tokens"] = row.header.tokens;
      entry["grid"] = grid.is_discarded() ? Json(row.header.grid) : grid;
      entry["dtype"] = row.type;
      if (row.fp8) entry["fp8"] = true;
      entry["format_version"] = row.header.format_version;
    }
    if (!row.problem.empty()) entry["problem"] = row.problem;
    files.push_back(entry);
  }
  const Json out = {{"directory", directory}, {"checkpoints", files}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string table_text(const std::string& directory, const std::vector<Row>& rows) {
  if (rows.empty()) return fmt::format("no checkpoints in {}\n", directory);
  std::string out = fmt::format("{:>9} {:>15} {:>15}  {:<19}  {:<9} {:<8} {:<10}  {}\n", "step",
                                "tokens", "bytes", "date", "DxPxT", "type", "state", "file");
  for (const Row& row : rows) {
    out += fmt::format("{:>9} {:>15} {:>15}  {:<19}  {:<9} {:<8} {:<10}  {}\n", row.file.step,
                       row.opens() ? fmt::format("{}", row.header.tokens) : "-",
                       row.bytes ? fmt::format("{}", *row.bytes) : "-",
                       row.changed ? date_of(row) : "-",
                       row.opens() ? grid_text(row.header.grid) : "-", row.type_text(), row.state,
                       std::filesystem::path(row.file.path).filename().string());
    if (!row.problem.empty()) out += fmt::format("{:>9} {}\n", "", row.problem);
  }
  return out;
}

}  // namespace

CheckpointListing list_directory(const std::string& named, bool json) {
  std::error_code error;
  if (!std::filesystem::is_directory(named, error))
    throw Error(fmt::format("there is no directory {}", named), error ? error.message() : "",
                "Name the directory that holds the files step-N.h5");
  std::string directory = named;
  std::vector<CheckpointPath> files = find_checkpoints(directory);
  const std::filesystem::path of_a_run = std::filesystem::path(named) / "checkpoints";
  if (files.empty() && std::filesystem::is_directory(of_a_run, error))
    files = find_checkpoints(directory = of_a_run.string());
  std::vector<Row> rows;
  for (const CheckpointPath& file : files) rows.push_back(row_of(file));
  const bool all_open = std::ranges::all_of(rows, [](const Row& row) {
    return row.file.state != CheckpointState::published || row.problem.empty();
  });
  return {json ? json_text(directory, rows) : table_text(directory, rows), all_open};
}

}  // namespace triax
