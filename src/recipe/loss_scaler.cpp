// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/loss_scaler.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/base/check.hpp"

namespace triax {

LossScaler::LossScaler(const LossScaleConfig& config)
    : config_(config), hysteresis_left_(config.hysteresis) {
  if (config_.enabled)
    scale_ = config_.fixed > 0.0 ? config_.fixed : std::ldexp(1.0, config_.initial_power);
}

void LossScaler::update(bool overflow) {
  if (overflow) ++skipped_;
  if (config_.steps > 0 && skipped_ >= config_.steps) throw_all_skipped();
  if (!dynamic()) return;
  if (overflow) {
    quiet_steps_ = 0;
    if (hysteresis_left_ > 1) {
      --hysteresis_left_;
      return;
    }
    if (scale_ <= config_.least)
      throw Error(fmt::format("gradients overflow at the minimum loss scale, {}", scale_),
                  "the run diverged, or the model does not fit float16",
                  "Lower the learning rate or fp16.min_loss_scale, resume an earlier checkpoint, "
                  "or train in bf16");
    scale_ = std::max(scale_ / 2.0, config_.least);
    return;
  }
  if (config_.consecutive_hysteresis) hysteresis_left_ = config_.hysteresis;
  if (++quiet_steps_ % config_.window != 0) return;
  hysteresis_left_ = config_.hysteresis;
  scale_ *= 2.0;
}

void LossScaler::pass_over() {
  if (++skipped_ < config_.steps || config_.steps == 0) return;
  throw Error(fmt::format("no step changed the weights: all {} were skipped", skipped_),
              "the last one had no label token: all labels of its batch are -100",
              "Check the labels in the files of data.train");
}

void LossScaler::throw_all_skipped() const {
  throw Error(
      skipped_ == 1
          ? std::string("no step changed the weights: the only one of the run was skipped")
          : fmt::format("no step changed the weights: all {} of the run were skipped", skipped_),
      config_.enabled
          ? fmt::format("gradients were not finite in any; the loss scale is {} now", scale_)
          : "loss or gradients were not finite in any",
      config_.enabled
          ? "Raise run.steps, lower fp16.initial_scale_power or fp16.loss_scale, or train in bf16"
          : "Lower the learning rate, check the weights that the run starts from, or resume an "
            "earlier checkpoint");
}

std::string LossScaler::state() const {
  if (!config_.enabled && skipped_ == 0) return "";
  if (!config_.enabled) return nlohmann::json{{"skipped", skipped_}}.dump();
  return nlohmann::json{{"scale", scale_},
                        {"hysteresis_left", hysteresis_left_},
                        {"quiet_steps", quiet_steps_},
                        {"skipped", skipped_}}
      .dump();
}

void LossScaler::restore(const std::string& state) {
  if (state.empty()) return;
  const auto read = nlohmann::json::parse(state, nullptr, false);
  if (!read.is_object() || !read.contains("skipped"))
    throw Error("the checkpoint's loss scale cannot be read", state,
                "Use another checkpoint of the run");
  skipped_ = read.value("skipped", std::int64_t{0});
  if (!config_.enabled || config_.fixed > 0.0) return;
  scale_ = read.value("scale", scale_);
  hysteresis_left_ = read.value("hysteresis_left", hysteresis_left_);
  quiet_steps_ = read.value("quiet_steps", quiet_steps_);
}

}  // namespace triax
