// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/step_verdict.hpp"

namespace triax {

StepNumbers LateNumbers::read() const {
  const double* sums = sums_.as<double>();
  return {sums[1], rule_.norm(sums[0], sums[1])};
}

StepVerdict::StepVerdict(const MemorySource& source)
    : sums_(source.take("numbers", 2 * sizeof(double))), factor_(source, sizeof(float), "numbers") {
  for (Buffer& numbers : late_) numbers = Buffer::beside(source.space, 2 * sizeof(double));
  *host_factor().as<float>() = 1.0F;  // a step may come without a norm before it
}

void StepVerdict::begin(const Stream& stream) const {
  fill_zero(stream, sums());
}

double StepVerdict::read_squares(const Stream& stream, const WaitForDevice& wait) const {
  const Tensor to = late_.front().tensor(DType::f64, {2});
  copy(stream, to, sums());
  Event arrived;
  arrived.record(stream);
  wait(arrived);
  return *to.as<double>();
}

void StepVerdict::decide(const Stream& stream, float factor) const {
  *host_factor().as<float>() = factor;
  factor_.push(stream);
}

LateNumbers StepVerdict::decide(const Stream& stream, Communicator& all, const Tensor& loss,
                                const ClipRule& rule) {
  if (!loss.empty()) copy(stream, sums().slice(0, 1, 1), loss);
  all.all_reduce(stream, sums()).wait(stream);
  clip_factor(stream, factor(), sums(), rule);
  const Tensor numbers = late_[static_cast<std::size_t>(step_)].tensor(DType::f64, {2});
  step_ = 1 - step_;
  copy(stream, numbers, sums());
  Event arrived;
  arrived.record(stream);
  return {numbers, std::move(arrived), rule};
}

}  // namespace triax
