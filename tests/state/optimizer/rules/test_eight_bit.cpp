// SPDX-License-Identifier: Apache-2.0
// AdamW8bit against bitsandbytes: tests/golden/eight_bit.json.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/optimizer/quantized/packed_state.hpp"
#include "src/state/optimizer/rules/rules.hpp"

namespace triax {
namespace {
using nlohmann::json;

const json& golden() {
  static const json all = [] {
    std::ifstream file(TRIAX_SOURCE_DIR "/tests/golden/eight_bit.json");
    return json::parse(file);
  }();
  return all;
}

// As in make_eight_bit.py.
float start(std::int64_t i) {
  return static_cast<float>((5 * i + 1) % 8191 - 4095) / 4096.0F;
}
float gradient(std::int64_t i, std::int64_t step) {
  const std::int64_t mantissa = (1237 * i + 4099 * step * step + 31 * i * step) % 8191 - 4095;
  return std::ldexp(static_cast<float>(mantissa) / 4096.0F, -static_cast<int>((i * 7 + step) % 17));
}

Tensor view(std::vector<float>& values) {
  return {values.data(), {static_cast<std::int64_t>(values.size())}};
}
Tensor view(std::vector<std::uint8_t>& bytes) {
  return {static_cast<void*>(bytes.data()), DType::u8, {static_cast<std::int64_t>(bytes.size())}};
}

TEST(EightBit, HasTheMapsOfBitsandbytes) {
  for (const auto& [name, map] :
       {std::pair{"signs", CodeMap::signs}, {"positive", CodeMap::positive}}) {
    const auto levels = golden()[name].get<std::vector<float>>();
    ASSERT_EQ(std::ssize(levels), codes);
    for (std::size_t code = 0; code < levels.size(); ++code)
      EXPECT_EQ(dynamic_map(map).levels[code], levels[code]) << name << " " << code;
  }
}

TEST(EightBit, FiftyStepsAreThoseOfBitsandbytes) {
  const json& options = golden()["options"];
  OptimizerConfig config;
  config.type = "AdamW8bit";
  config.numbers["eps"] = options["eps"];
  config = complete(config);
  const auto n = golden()["size"].get<std::int64_t>();
  const auto count = static_cast<std::size_t>(n);
  std::vector<float> parameter(count), slope(count), m(count), v(count);
  std::vector<std::uint8_t> packed_m(static_cast<std::size_t>(packed_bytes(n))), packed_v(packed_m);
  for (std::int64_t i = 0; i < n; ++i) parameter[static_cast<std::size_t>(i)] = start(i);
  float factor = 1.0F;
  const UpdateTensors tensors{
      view(parameter), {}, view(slope), Tensor(&factor, {1}), {view(packed_m), view(packed_v)}};
  UpdateStep step{config,
                  options["lr"],
                  options["weight_decay"],
                  options["betas"][0],
                  options["betas"][1],
                  1,
                  {},
                  {}};
  for (; step.step <= 50; ++step.step) {
    step.updates.fill(step.step);
    for (std::int64_t i = 0; i < n; ++i)
      slope[static_cast<std::size_t>(i)] = gradient(i, step.step);
    optimizer_rule("AdamW8bit").update(Stream(), tensors, step);
    const auto shown = golden()["steps"].find(std::to_string(step.step));
    if (shown == golden()["steps"].end()) continue;
    unpack_state(Stream(), view(m), view(packed_m), 0, CodeMap::signs);
    unpack_state(Stream(), view(v), view(packed_v), 0, CodeMap::positive);
    const auto stride = golden()["stride"].get<std::size_t>();
    for (const auto& [name, found] : {std::pair{"parameter", &parameter}, {"m", &m}, {"v", &v}}) {
      const auto expected = (*shown)[name].get<std::vector<double>>();
      for (std::size_t k = 0; k < expected.size(); ++k)
        EXPECT_NEAR((*found)[k * stride], expected[k], 1e-6 * (std::abs(expected[k]) + 1e-3))
            << name << " of element " << k * stride << " in step " << step.step;
    }
  }
}

}  // namespace
}  // namespace triax
