// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/loss_spike.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace triax {

LossSpikes::LossSpikes(const LossSpikeConfig& config) : config_(config) {
  losses_.reserve(static_cast<std::size_t>(config_.window) + 1);
  sorted_.reserve(static_cast<std::size_t>(config_.window));
}

namespace {
// Nats. A loss near zero, as in fine-tuning, varies by factors without harm.
constexpr double least_excess = 0.5;
}  // namespace

// The lower of the two in the middle.
double LossSpikes::median_of_losses() {
  if (losses_.empty()) return 0.0;
  sorted_.assign(losses_.begin(), losses_.end());
  const auto middle = sorted_.begin() + (std::ssize(sorted_) - 1) / 2;
  std::ranges::nth_element(sorted_, middle);
  return *middle;
}

double LossSpikes::limit_above(double median) const {
  if (losses_.empty()) return std::numeric_limits<double>::infinity();
  return std::max(config_.factor * median, median + least_excess);
}

bool LossSpikes::within_limit(double loss) {
  return std::isfinite(loss) && loss <= limit_above(median_of_losses());
}

LossVerdict LossSpikes::count(std::int64_t step, double loss, bool used) {
  last_ = step;
  median_ = median_of_losses();
  limit_ = limit_above(median_);
  const bool finite = std::isfinite(loss);
  const bool beyond = !finite || loss > limit_;
  beyond_ = beyond;
  const bool full = counted_ >= config_.window;
  if (finite && used) counted_ = std::min<std::int64_t>(counted_ + 1, config_.window);
  if (beyond) {
    if (!finite || !full) return LossVerdict::none;
    if (in_spikes_) return LossVerdict::spike;
    in_spikes_ = true;
    first_spike_ = step;
    return LossVerdict::first_spike;
  }
  within_ = step;
  if (used) losses_.push_back(loss);
  if (std::ssize(losses_) > config_.window) losses_.erase(losses_.begin());
  if (!in_spikes_) return LossVerdict::none;
  in_spikes_ = false;
  return LossVerdict::back;
}

int LossSpikes::count_rollback(std::int64_t step) {
  const int before = step > rollbacks_end_ ? 0 : rollbacks_;
  if (before >= config_.max_rollbacks) return 0;
  rollbacks_ = before + 1;
  rollbacks_end_ = std::max(rollbacks_end_, step + config_.window);
  return rollbacks_;
}

std::string LossSpikes::state() const {
  nlohmann::json state = {{"window", losses_}, {"counted", counted_}, {"within", within_}};
  if (rollbacks_ > 0) state.update({{"rollbacks", rollbacks_}, {"place_end", rollbacks_end_}});
  return state.dump();
}

void LossSpikes::restore(const std::string& state, std::int64_t steps) {
  const LossSpikeConfig config = config_;
  *this = LossSpikes(config);
  last_ = within_ = steps - 1;
  const auto read = nlohmann::json::parse(state, nullptr, false);
  try {
    const auto losses = read.at("window").get<std::vector<double>>();
    const std::ptrdiff_t most = std::min<std::ptrdiff_t>(std::ssize(losses), config_.window);
    losses_.assign(losses.end() - most, losses.end());
    counted_ = std::min(read.at("counted").get<std::int64_t>(), std::int64_t{config_.window});
    within_ = std::min(within_, read.at("within").get<std::int64_t>());
    rollbacks_ = read.value("rollbacks", 0);
    rollbacks_end_ = read.value("place_end", std::int64_t{-1});
  } catch (const nlohmann::json::exception&) {  // no state, or one of another version
  }
  beyond_ = last_ > within_;
}

void LossSpikes::go_back(const std::string& state, std::int64_t steps) {
  const int rollbacks = rollbacks_;
  const std::int64_t rollbacks_end = rollbacks_end_;
  restore(state, steps);
  rollbacks_ = rollbacks;
  rollbacks_end_ = rollbacks_end;
  within_ = std::max(within_, steps);
  beyond_ = false;
}

}  // namespace triax
