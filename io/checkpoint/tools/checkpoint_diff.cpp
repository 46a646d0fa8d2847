// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tools/checkpoint_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/tensor_pieces.hpp"

namespace triax {
namespace {

using Json = nlohmann::ordered_json;

struct Contents {
  CheckpointReader reader;
  std::vector<CheckpointTensor> tensors;
  Contents(const std::string& path, const Ranks& ranks)
      : reader(path, ranks), tensors(reader.tensors()) {}
};

struct Values {
  double absolute = 0, relative = 0;  // largest differences
  double count = 0;                   // number of elements that differ

  static constexpr std::size_t numbers = 3;
  void add(double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return;
    ++count;
    const double difference = std::abs(a - b);
    const bool finite = std::isfinite(difference);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    absolute = std::max(absolute, finite ? difference : infinity);
    relative =
        std::max(relative, finite ? difference / std::max(std::abs(a), std::abs(b)) : infinity);
  }
  void join(const Values& other) {
    absolute = std::max(absolute, other.absolute);
    relative = std::max(relative, other.relative);
    count += other.count;
  }
};

// A tensor in both files.
struct Row {
  CheckpointTensor a, b;
  Values values;  // set where the shapes are equal
  bool same_form() const { return a.dtype == b.dtype && a.shape == b.shape; }
  bool differs() const { return !same_form() || values.count > 0; }
};

struct Comparison {
  std::vector<Row> rows;  // tensors in both files
  std::vector<std::string> only_a, only_b;
  std::map<std::string, std::pair<Json, Json>> attributes;  // attributes that differ
  bool tensors_differ() const {
    return !only_a.empty() || !only_b.empty() ||
           std::ranges::any_of(rows, [](const Row& row) { return row.differs(); });
  }
};

// Matches the tensors of two files by name. Both lists are sorted.
Comparison matched(const Contents& a, const Contents& b) {
  Comparison out;
  auto left = a.tensors.begin();
  auto right = b.tensors.begin();
  while (left != a.tensors.end() || right != b.tensors.end()) {
    if (right == b.tensors.end() || (left != a.tensors.end() && left->name < right->name))
      out.only_a.push_back((left++)->name);
    else if (left == a.tensors.end() || right->name < left->name)
      out.only_b.push_back((right++)->name);
    else
      out.rows.push_back({*left++, *right++, {}});
  }
  return out;
}

void compare_values(const Contents& a, const Contents& b, std::vector<Row>& rows,
                    const Ranks& ranks) {
  std::vector<CheckpointTensor> comparable;
  std::vector<std::size_t> row_of;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].a.shape != rows[i].b.shape) continue;
    comparable.push_back(rows[i].a);
    row_of.push_back(i);
  }
  const TensorPieces pieces(comparable, piece_elements, ranks);
  std::vector<double> numbers(static_cast<std::size_t>(pieces.count()) * Values::numbers);
  agreed(ranks, [&] {
    PieceReader read_a(a.reader);
    PieceReader read_b(b.reader);
    pieces.each_own([&](std::int64_t index, const TensorPiece& piece) {
      const std::span<const double> x = read_a.read(comparable[piece.tensor], piece);
      const std::span<const double> y = read_b.read(comparable[piece.tensor], piece);
      Values values;
      for (std::size_t i = 0; i < x.size(); ++i) values.add(x[i], y[i]);
      const std::array all = {values.absolute, values.relative, values.count};
      std::ranges::copy(all, numbers.data() + static_cast<std::size_t>(index) * Values::numbers);
    });
  });
  sum_over_ranks(ranks, numbers);
  pieces.each([&](std::int64_t index, const TensorPiece& piece) {
    const double* n = numbers.data() + static_cast<std::size_t>(index) * Values::numbers;
    rows[row_of[piece.tensor]].values.join({n[0], n[1], n[2]});
  });
}

// Attributes of a header as JSON; texts that contain JSON are parsed.
std::map<std::string, Json> attributes_of(const CheckpointHeader& header) {
  std::map<std::string, Json> out;
  for_each_attribute(header, [&](const char* name, const auto& value) {
    if (std::string_view(name) == "parts") return;  // describes files, not contents
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>) {
      out[name] = value;
    } else {
      Json parsed = Json::parse(value, nullptr, false);
      out[name] = parsed.is_discarded() ? Json(value) : parsed;
    }
  });
  return out;
}

void compare_attributes(const Contents& a, const Contents& b, Comparison& out) {
  const auto left = attributes_of(a.reader.header());
  const auto right = attributes_of(b.reader.header());
  for (const auto& [name, value] : left)
    if (value != right.at(name)) out.attributes[name] = {value, right.at(name)};
}

// JSON has no infinity: it becomes a string.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json("infinity");
}

std::string json_text(const Comparison& comparison) {
  Json tensors = Json::array();
  for (const Row& row : comparison.rows) {
    if (!row.differs()) continue;
    Json entry = {{"name", row.a.name}};
    if (row.a.dtype != row.b.dtype) entry["dtype"] = {name_of(row.a.dtype), name_of(row.b.dtype)};
    if (row.a.shape != row.b.shape) {
      entry["shape"] = {row.a.shape.text(), row.b.shape.text()};
    } else {
      entry["max_absolute"] = number(row.values.absolute);
      entry["max_relative"] = number(row.values.relative);
      entry["elements"] = static_cast<std::int64_t>(row.values.count);
    }
    tensors.push_back(entry);
  }
  Json attributes = Json::object();
  for (const auto& [name, values] : comparison.attributes)
    attributes[name] = {values.first, values.second};
  const Json out = {{"equal", !comparison.tensors_differ() && comparison.attributes.empty()},
                    {"tensors_equal", !comparison.tensors_differ()},
                    {"compared", comparison.rows.size()},
                    {"tensors", tensors},
                    {"only_in_a", comparison.only_a},
                    {"only_in_b", comparison.only_b},
                    {"attributes", attributes}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

// One line per attribute that differs; for JSON objects one line per key that differs.
std::string attribute_text(const std::string& name, const Json& a, const Json& b) {
  if (!a.is_object() || !b.is_object())
    return fmt::format("attribute {}: {} and {}\n", name, a.dump(), b.dump());
  std::string out;
  Json keys = a;
  keys.update(b);
  for (const auto& [key, ignored] : keys.items())
    if (const Json x = a.value(key, Json()), y = b.value(key, Json()); x != y)
      out += attribute_text(name + "." + key, x, y);
  return out;
}

std::string table_text(const Comparison& comparison) {
  std::string out;
  std::size_t width = 4;
  for (const Row& row : comparison.rows) width = std::max(width, row.a.name.size());
  std::size_t equal = 0;
  for (const Row& row : comparison.rows) {
    equal += row.differs() ? 0 : 1;
    if (row.differs() && out.empty())
      out = fmt::format("{:<{}} {:>14} {:>14} {:>12}\n", "name", width, "max absolute",
                        "max relative", "elements");
    if (row.a.shape != row.b.shape)
      out += fmt::format("{:<{}} shapes {} and {}\n", row.a.name, width, row.a.shape.text(),
                         row.b.shape.text());
    else if (row.differs())
      out += fmt::format("{:<{}} {:>14.4g} {:>14.4g} {:>12.0f}{}\n", row.a.name, width,
                         row.values.absolute, row.values.relative, row.values.count,
                         row.same_form() ? ""
                                         : fmt::format("  types {} and {}", name_of(row.a.dtype),
                                                       name_of(row.b.dtype)));
  }
  for (const std::string& name : comparison.only_a) out += fmt::format("only in A: {}\n", name);
  for (const std::string& name : comparison.only_b) out += fmt::format("only in B: {}\n", name);
  for (const auto& [name, values] : comparison.attributes)
    out += attribute_text(name, values.first, values.second);
  return out + fmt::format("{} of {} tensors in both are equal\n", equal, comparison.rows.size());
}

}  // namespace

CheckpointDifference diff_checkpoints(const std::string& a, const std::string& b, bool json,
                                      const Ranks& ranks) {
  const Contents left(a, ranks);
  const Contents right(b, ranks);
  Comparison comparison = matched(left, right);
  compare_values(left, right, comparison.rows, ranks);
  compare_attributes(left, right, comparison);
  return {comparison.tensors_differ(), !comparison.attributes.empty(),
          json ? json_text(comparison) : table_text(comparison)};
}

}  // namespace triax
