// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/json_number.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/io/metrics/metrics_lines.hpp"

namespace triax::test {
namespace {

TEST(JsonNumber, FloatsReadBackBitForBit) {
  const TempDirectory dir;
  using limits = std::numeric_limits<double>;
  std::vector<double> values = {0.0,     -0.0,          1.0,           -3.0,
                                1e15,    1e16,          1e17,          1e22,
                                0.1,     limits::min(), limits::max(), limits::denorm_min(),
                                1.0 / 3, 123456789.0};
  std::mt19937_64 random(5);
  while (values.size() < 2000) {
    const auto value = std::bit_cast<double>(random());
    if (std::isfinite(value)) values.push_back(value);
  }
  {
    MetricsWriter writer(dir.path("m"), 0);
    for (const double value : values) writer.write_valid(0, value, 0);
  }
  const auto read = lines(dir.path("m"));
  ASSERT_EQ(read.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(read[i].at("valid_loss").is_number_float()) << values[i];
    ASSERT_EQ(std::bit_cast<std::uint64_t>(read[i].at("valid_loss").get<double>()),
              std::bit_cast<std::uint64_t>(values[i]))
        << values[i];
  }
}

TEST(JsonNumber, NotANumberIsNull) {
  const TempDirectory dir;
  MetricsWriter writer(dir.path("m"), 0);
  writer.write_valid(0, std::nan(""), 0);
  writer.write_valid(1, -HUGE_VAL, 0);
  // Reads while the writer is open: each line is flushed.
  const auto read = lines(dir.path("m"));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_TRUE(read[0].at("valid_loss").is_null());
  EXPECT_TRUE(read[1].at("valid_loss").is_null());
}

}  // namespace
}  // namespace triax::test
