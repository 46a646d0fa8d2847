// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/best_loss.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace triax {

bool BestLoss::count(std::int64_t steps, double loss, std::int64_t bad) {
  last_ = steps;
  const bool first = steps_ < 0;
  const bool lowest = std::isfinite(loss) && (first || loss < loss_);
  const bool improves = lowest && (first || loss_ - loss > config_.threshold);
  without_ = improves ? 0 : without_ + 1;
  if (lowest) {
    steps_ = steps - bad;
    loss_ = loss;
  }
  return lowest;
}

std::string BestLoss::state() const {
  return nlohmann::json{
      {"steps", steps_}, {"loss", loss_}, {"without_improvement", without_}, {"last", last_}}
      .dump();
}

void BestLoss::restore(const std::string& state) {
  *this = BestLoss(config_);
  const auto read = nlohmann::json::parse(state, nullptr, false);
  try {
    const auto steps = read.at("steps").get<std::int64_t>();
    const auto loss = read.at("loss").get<double>();
    without_ = read.at("without_improvement").get<int>();
    last_ = read.at("last").get<std::int64_t>();
    steps_ = steps;
    loss_ = loss;
  } catch (const nlohmann::json::exception&) {  // no state
  }
}

}  // namespace triax
