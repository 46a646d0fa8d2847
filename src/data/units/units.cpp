// SPDX-License-Identifier: Apache-2.0
#include "src/data/units/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "io/documents/text_pieces.hpp"

namespace triax {

std::vector<Unit> cut_units(const std::vector<InputFile>& files) {
  constexpr std::int64_t piece = piece_bytes;
  constexpr std::int64_t least = 4 * piece;
  constexpr std::int64_t most_units = 4096;
  constexpr std::int64_t compression_ratio = 4;  // about that of text
  std::int64_t total = 0;
  for (const InputFile& file : files) total += file.bytes;
  const std::int64_t unit_bytes = std::max(least, (total / most_units + piece - 1) / piece * piece);

  std::vector<Unit> units;
  Unit unit;
  const auto add = [&](std::size_t file, ByteRange range, std::int64_t cost) {
    unit.segments.push_back({file, range});
    unit.bytes += range.end - range.begin;
    unit.cost += cost;
    if (unit.cost >= unit_bytes) units.push_back(std::exchange(unit, {}));
  };
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::int64_t bytes = files[f].bytes;
    if (files[f].compression != Compression::none) {
      add(f, {0, bytes}, bytes * compression_ratio);
      continue;
    }
    for (std::int64_t begin = 0; begin < bytes; begin += unit_bytes) {
      const std::int64_t end = std::min(bytes, begin + unit_bytes);
      add(f, {begin, end}, end - begin);
    }
  }
  if (!unit.segments.empty()) units.push_back(std::move(unit));
  return units;
}

std::vector<std::size_t> units_of_rank(const std::vector<Unit>& units, int rank, int ranks,
                                       bool in_order) {
  std::vector<std::size_t> own;
  if (in_order) {
    for (auto u = static_cast<std::size_t>(rank); u < units.size();
         u += static_cast<std::size_t>(ranks))
      own.push_back(u);
    return own;
  }
  std::vector<std::size_t> order(units.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t u) { return units[u].cost; });
  std::vector<std::int64_t> load(static_cast<std::size_t>(ranks));
  for (const std::size_t u : order) {
    const auto least = std::ranges::min_element(load);
    *least += units[u].cost;
    if (least - load.begin() == rank) own.push_back(u);
  }
  return own;
}

std::string files_text(const std::vector<InputFile>& files) {
  std::string text;
  for (const InputFile& file : files)
    text += fmt::format("file {} {} {} {}:{}\n", file.bytes, file.modified,
                        static_cast<int>(file.format), file.path.size(), file.path);
  return text;
}

}  // namespace triax
