// SPDX-License-Identifier: Apache-2.0
// Muon through the keys of a job, against tests/golden/muon.json.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "src/state/optimizer/rules/rules.hpp"
#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using nlohmann::json;
using testing::HasSubstr;

class MuonRule : public testing_support::JobFiles {
 protected:
  Config config_of(const json& params) const {
    const std::string members =
        json({{"optimizer", {{"type", "Muon"}, {"params", params}}}}).dump();
    return this->config(", " + members.substr(1, members.size() - 2));
  }
  std::string error_with(const std::string& params) const {
    return error(R"(, "optimizer": {"type": "Muon", "params": )" + params + "}");
  }
};

// As in make_muon.py.
std::vector<float> start(std::int64_t rows, std::int64_t columns) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      values.push_back(static_cast<float>((5 * i + 3 * j + i * j + 1) % 17 - 8) / 8.0F);
  return values;
}

std::vector<float> gradient(std::int64_t step, std::int64_t rows, std::int64_t columns) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      values.push_back(
          static_cast<float>(
              (7 * i + 13 * step * step + 3 * i * step + 5 * j + i * j * (step + 2)) % 31 - 15) /
          16.0F);
  return values;
}

struct SteppedMatrix {
  SteppedMatrix(const Config& of, std::int64_t rows, std::int64_t columns)
      : config(complete(of.optimizer)),
        rule(*optimizer_rule("Muon").matrices),
        shape{rows, columns},
        parameter(start(rows, columns)),
        momentum(parameter.size()),
        direction(parameter.size()),
        memory(orthogonalize_bytes(rows, columns), MemorySpace::host) {}
  Tensor flat(std::vector<float>& values) const {
    return Tensor(values.data(), {shape.elements()});
  }
  void step(std::vector<float> gradient, std::int64_t number) {
    float factor = 1.0F;
    UpdateTensors tensors{flat(parameter), {}, flat(gradient), Tensor(&factor, {1})};
    tensors.states[0] = flat(momentum);
    UpdateStep step{config, config.learning_rate, config.weight_decay, 0.9, 0.999, number, {}, {}};
    step.updates.fill(number);
    const Stream stream;
    Arena arena(memory);
    rule.momentum(stream, flat(direction), tensors, step);
    orthogonalize(stream, Tensor(direction.data(), shape), rule.iteration(config),
                  rule.factor(config, shape[0], shape[1]), arena);
    rule.update(stream, flat(direction), tensors, step);
  }
  OptimizerConfig config;
  const MatrixRule& rule;
  Shape shape;
  std::vector<float> parameter, momentum, direction;
  Buffer memory;
};

TEST_F(MuonRule, StepsAsPyTorchDoes) {
  std::ifstream file(TRIAX_SOURCE_DIR "/tests/golden/muon.json");
  const json golden = json::parse(file);
  ASSERT_GT(golden["cases"].size(), 0U);
  for (const json& expected : golden["cases"]) {
    SCOPED_TRACE(expected["params"].dump() + " " + expected["shape"].dump());
    const std::int64_t rows = expected["shape"][0], columns = expected["shape"][1];
    SteppedMatrix stepped(config_of(expected["params"]), rows, columns);
    for (std::int64_t step = 1; step <= 50; ++step) {
      stepped.step(gradient(step - 1, rows, columns), step);
      const auto shown = expected["parameters"].find(std::to_string(step));
      if (shown == expected["parameters"].end()) continue;
      const auto values = shown->get<std::vector<double>>();
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(stepped.parameter[i], values[i], 3e-5) << "step " << step << " element " << i;
    }
  }
}

TEST_F(MuonRule, HasStatesByTheKindOfTensor) {
  const auto states = states_of(config_of(json::object()).optimizer);
  ASSERT_EQ(states.size(), 3U);
  for (const StateKind& state : states) EXPECT_NE(state.of(true), state.of(false)) << state.name;
  EXPECT_TRUE(states[0].of(true)) << "momentum_buffer";
}

TEST_F(MuonRule, RatesOfMatricesAndOthersAreInProportion) {
  const Config config = config_of({{"lr", 1e-3}, {"muon_lr", 2e-2}, {"adam_lr", 5e-4}});
  EXPECT_EQ(config.optimizer.numbers.at("muon_lr"), 2e-2);
  EXPECT_EQ(config.optimizer.numbers.at("adam_lr"), 5e-4);
  EXPECT_FALSE(config_of(json::object()).optimizer.numbers.contains("muon_lr"));
  EXPECT_THAT(error_with(R"({"lr": 0, "adam_lr": 1e-3})"),
              HasSubstr("adam_lr: it is in proportion to optimizer.params.lr, which is 0"));
}

TEST_F(MuonRule, RefusesWhatItCannotDo) {
  EXPECT_THAT(error_with(R"({"ns_coefficients": [1, 2]})"), HasSubstr("expected three numbers"));
  EXPECT_THAT(error_with(R"({"ns_steps": 100})"), HasSubstr("ns_steps: 100 is not allowed"));
  EXPECT_THAT(error_with(R"({"adjust_lr_fn": "none"})"), HasSubstr("\"match_rms_adamw\""));
  EXPECT_THAT(error_with(R"({"momentum": 1})"), HasSubstr("momentum: 1 is not allowed"));
}

}  // namespace
}  // namespace triax
