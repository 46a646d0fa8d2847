// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tools/checkpoint_inspect.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/tensor_pieces.hpp"

namespace triax {
namespace {

using Json = nlohmann::ordered_json;

struct Statistics {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0;  // over finite elements
  std::int64_t finite = 0, nan = 0, infinite = 0;

  static constexpr std::size_t numbers = 7;
  void store(double* to) const {
    const std::array all = {min,
                            max,
                            sum,
                            squares,
                            static_cast<double>(finite),
                            static_cast<double>(nan),
                            static_cast<double>(infinite)};
    std::ranges::copy(all, to);
  }
  // Adds the statistics of a piece from store().
  void join(const double* from) {
    min = std::min(min, from[0]);
    max = std::max(max, from[1]);
    sum += from[2];
    squares += from[3];
    finite += static_cast<std::int64_t>(from[4]);
    nan += static_cast<std::int64_t>(from[5]);
    infinite += static_cast<std::int64_t>(from[6]);
  }
  void add(std::span<const double> values) {
    for (const double x : values) {
      if (std::isnan(x)) {
        ++nan;
      } else if (std::isinf(x)) {
        ++infinite;
      } else {
        ++finite;
        min = std::min(min, x);
        max = std::max(max, x);
        sum += x;
        squares += x * x;
      }
    }
  }
  double mean() const { return sum / static_cast<double>(finite); }
  double norm() const { return std::sqrt(squares); }
};

struct Row {
  CheckpointTensor tensor;
  Statistics statistics;
};

constexpr std::string_view files_group = "/tokenizer/";

// Whether the bytes of a file are kept as a tensor.
bool is_file(const CheckpointTensor& tensor) {
  return tensor.name.starts_with(files_group);
}

std::vector<std::string> file_names(const CheckpointReader& reader) {
  std::vector<std::string> names;
  for (const CheckpointTensor& tensor : reader.tensors())
    if (is_file(tensor)) names.push_back(tensor.name.substr(files_group.size()));
  return names;
}

// All ranks get the statistics of every piece and join them in order, so that the sums do not
// depend on the number of ranks.
std::vector<Row> examine(const CheckpointReader& reader, const Ranks& ranks) {
  std::vector<CheckpointTensor> tensors;
  std::ranges::remove_copy_if(reader.tensors(), std::back_inserter(tensors), is_file);
  const TensorPieces pieces(tensors, piece_elements, ranks);
  std::vector<double> numbers(static_cast<std::size_t>(pieces.count()) * Statistics::numbers);
  const auto numbers_of = [&](std::int64_t index) {
    return numbers.data() + static_cast<std::size_t>(index) * Statistics::numbers;
  };
  agreed(ranks, [&] {
    PieceReader values(reader);
    pieces.each_own([&](std::int64_t index, const TensorPiece& piece) {
      Statistics statistics;
      statistics.add(values.read(tensors[piece.tensor], piece));
      statistics.store(numbers_of(index));
    });
  });
  sum_over_ranks(ranks, numbers);
  std::vector<Row> rows;
  for (const CheckpointTensor& tensor : tensors) rows.push_back({tensor, {}});
  pieces.each([&](std::int64_t index, const TensorPiece& piece) {
    rows[piece.tensor].statistics.join(numbers_of(index));
  });
  return rows;
}

// Parses JSON text of the header; a damaged text becomes a string, so that it is still shown.
Json parsed(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

std::string architecture(const CheckpointHeader& header) {
  const Json model = parsed(header.model);
  const bool known =
      model.is_object() && model.contains("model_type") && model["model_type"].is_string();
  return known ? model["model_type"].get<std::string>() : "unknown";
}

std::int64_t parameters(const std::vector<Row>& rows) {
  std::int64_t count = 0;
  for (const Row& row : rows)
    if (row.tensor.name.starts_with("/model/")) count += row.tensor.shape.elements();
  return count;
}

Json to_json(const Row& row) {
  const Statistics& s = row.statistics;
  const auto known = [&](double value) { return s.finite > 0 ? Json(value) : Json(nullptr); };
  Json shape = Json::array();
  for (int d = 0; d < row.tensor.shape.rank(); ++d) shape.push_back(row.tensor.shape[d]);
  return {{"name", row.tensor.name},
          {"dtype", name_of(row.tensor.dtype)},
          {"shape", shape},
          {"min", known(s.min)},
          {"max", known(s.max)},
          {"mean", known(s.mean())},
          {"l2_norm", known(s.norm())},
          {"nan", s.nan},
          {"inf", s.infinite}};
}

Json to_json(const InspectedTokenizer& tokenizer, const std::vector<std::string>& files) {
  if (tokenizer.hash.empty() && files.empty()) return nullptr;
  const auto known = [&](bool is, Json value) { return is ? std::move(value) : Json(nullptr); };
  return {{"kind", known(!tokenizer.kind.empty(), tokenizer.kind)},
          {"hash", known(!tokenizer.hash.empty(), tokenizer.hash)},
          {"vocabulary", known(tokenizer.vocabulary > 0, tokenizer.vocabulary)},
          {"files", files}};
}

std::string json_text(const CheckpointReader& reader, const std::vector<Row>& rows,
                      const InspectedTokenizer& tokenizer) {
  const CheckpointHeader& header = reader.header();
  Json tensors = Json::array();
  for (const Row& row : rows) tensors.push_back(to_json(row));
  const Json out = {{"file", reader.path()},
                    {"format_version", header.format_version},
                    {"triax_version", header.version},
                    {"step", header.step},
                    {"tokens", header.tokens},
                    {"samples", header.samples},
                    {"grid", parsed(header.grid)},
                    {"architecture", architecture(header)},
                    {"parameters", parameters(rows)},
                    {"model", parsed(header.model)},
                    {"tokenizer", to_json(tokenizer, file_names(reader))},
                    {"tensors", tensors}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

// A line, or nothing where the checkpoint says nothing of a tokenizer.
std::string tokenizer_line(const InspectedTokenizer& tokenizer,
                           const std::vector<std::string>& files) {
  if (tokenizer.hash.empty() && files.empty()) return {};
  std::string line = tokenizer.hash.empty()   ? "no tokenizer"
                     : tokenizer.kind.empty() ? "tokenizer not stored"
                                              : "tokenizer " + tokenizer.kind;
  if (tokenizer.vocabulary > 0) line += fmt::format(", vocabulary {}", tokenizer.vocabulary);
  if (!tokenizer.hash.empty()) line += ", SHA-256 " + tokenizer.hash;
  if (!files.empty()) line += fmt::format("; files {}", fmt::join(files, ", "));
  return line + '\n';
}

std::string table_text(const CheckpointReader& reader, const std::vector<Row>& rows,
                       const InspectedTokenizer& tokenizer) {
  const CheckpointHeader& header = reader.header();
  std::string out = fmt::format(
      "{}: format {}, written by triax {}\n"
      "step {}, {} tokens, {} samples, grid {}\n"
      "{}, {} parameters, {} tensors\n{}\n",
      reader.path(), header.format_version, header.version, header.step, header.tokens,
      header.samples, header.grid, architecture(header), parameters(rows), rows.size(),
      tokenizer_line(tokenizer, file_names(reader)));
  std::size_t width = 4;
  for (const Row& row : rows) width = std::max(width, row.tensor.name.size());
  out += fmt::format("{:<{}}  {:<4}  {:<16} {:>11} {:>11} {:>11} {:>11} {:>8} {:>8}\n", "name",
                     width, "type", "shape", "min", "max", "mean", "l2 norm", "nan", "inf");
  for (const auto& [tensor, s] : rows) {
    out += fmt::format("{:<{}}  {:<4}  {:<16}", tensor.name, width, name_of(tensor.dtype),
                       tensor.shape.text());
    if (s.finite > 0)
      out +=
          fmt::format(" {:>11.4g} {:>11.4g} {:>11.4g} {:>11.4g}", s.min, s.max, s.mean(), s.norm());
    else
      out += fmt::format(" {:>11} {:>11} {:>11} {:>11}", "-", "-", "-", "-");
    out += fmt::format(" {:>8} {:>8}\n", s.nan, s.infinite);
  }
  return out;
}

}  // namespace

std::string inspect_checkpoint(const std::string& path, bool json, const Ranks& ranks,
                               const InspectedTokenizer& tokenizer) {
  const CheckpointReader reader(path, ranks);
  const std::vector<Row> rows = examine(reader, ranks);
  return json ? json_text(reader, rows, tokenizer) : table_text(reader, rows, tokenizer);
}

}  // namespace triax
