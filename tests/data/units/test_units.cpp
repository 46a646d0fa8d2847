// SPDX-License-Identifier: Apache-2.0
// Units of work, and their progress.
#include "src/data/units/units.hpp"

#include <numeric>
#include <set>

#include "src/data/units/progress.hpp"
#include "tests/io/document_fixtures.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;

InputFile plain(std::int64_t bytes) {
  return {.path = "a", .bytes = bytes};
}

// Each byte of each file is in one range, in order.
TEST(Units, CoverTheFiles) {
  const std::vector<InputFile> files = {
      plain(3),
      plain(100 * mebibyte + 5),
      plain(0),
      plain(7),
      {.path = "z", .bytes = 50 * mebibyte, .compression = Compression::gzip},
      plain(9)};
  std::vector<std::int64_t> next(files.size());
  for (const Unit& unit : cut_units(files))
    for (const Segment& segment : unit.segments) {
      EXPECT_EQ(segment.range.begin, next[segment.file]);
      next[segment.file] = segment.range.end;
    }
  for (std::size_t f = 0; f < files.size(); ++f) EXPECT_EQ(next[f], files[f].bytes);
}

TEST(Units, AreFewEvenForLargeCorpora) {
  EXPECT_LE(cut_units({plain(std::int64_t{100} << 40)}).size(), 4097U);
  EXPECT_LE(cut_units(std::vector<InputFile>(100000, plain(100))).size(), 2U);
}

TEST(Units, AreDealtOnceAndEvenly) {
  const auto units =
      cut_units({plain(1000 * mebibyte),
                 {.path = "z", .bytes = 100 * mebibyte, .compression = Compression::zstd}});
  for (const bool in_order : {false, true}) {
    std::set<std::size_t> dealt;
    for (int rank = 0; rank < 3; ++rank) {
      std::int64_t cost = 0;
      for (const std::size_t u : units_of_rank(units, rank, 3, in_order)) {
        EXPECT_TRUE(dealt.insert(u).second);
        cost += units[u].cost;
      }
      if (!in_order) {
        EXPECT_NEAR(static_cast<double>(cost), 1400.0 / 3 * mebibyte, 17.0 * mebibyte);
      }
    }
    EXPECT_EQ(dealt.size(), units.size());
  }
}

TEST(Progress, NamesRateAndTime) {
  EXPECT_EQ(progress_text("tokenize", 500'000'000, 1'000'000'000, 5.0),
            "tokenize: 50% of 1.00 GB, 100.0 MB/s, 5 s left");
  EXPECT_EQ(progress_text("tokenize", 0, 1'000'000'000, 0.0), "tokenize: 0% of 1.00 GB, 0.0 MB/s");
  EXPECT_EQ(number_progress_text("merges", 500, 2000, 5.0),
            "merges: 25% of 2000, 100 per second, 15 s left");
}

}  // namespace
}  // namespace triax::test
