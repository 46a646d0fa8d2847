// SPDX-License-Identifier: Apache-2.0
#include "src/planner/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace triax {
namespace {

struct Cause {
  double seconds;  // that the other spends more
  std::string text;
};

std::string recomputing(const Candidate& candidate) {
  return candidate.recompute == Recompute::attention ? "it computes attention twice"
                                                     : "it computes every block's forward twice";
}

std::string busy_text(const Evaluation& other, const Evaluation& best) {
  const Candidate &o = other.candidate, &b = best.candidate;
  if (o.recompute > b.recompute) return recomputing(o);
  const auto axis = static_cast<std::size_t>(Axis::tensor);
  if (other.price.bytes[axis] > 1.05 * best.price.bytes[axis])
    return fmt::format("{:.1f} GB of tensor messages per rank instead of {:.1f}",
                       other.price.bytes[axis] / 1e9, best.price.bytes[axis] / 1e9);
  if (o.tensor > b.tensor || o.micro < b.micro) return "its products are smaller";
  return "its stages have more work";
}

}  // namespace

std::string verdict(const Evaluation& other, const Evaluation& best) {
  const StepPrice &o = other.price, &b = best.price;
  const auto share_text = [](const char* what, double is, double was) {
    return fmt::format("{} {:.1f}% of the time, not {:.1f}%", what, 100.0 * is, 100.0 * was);
  };
  const auto busy = [](const StepPrice& p) {
    return p.seconds * (1.0 - p.bubble - p.data - p.store);
  };
  const std::array<Cause, 4> causes = {
      {{o.bubble * o.seconds - b.bubble * b.seconds,
        share_text("the pipeline waits", o.bubble, b.bubble)},
       {o.data * o.seconds - b.data * b.seconds,
        share_text("it waits for reductions and gathers", o.data, b.data)},
       {o.store * o.seconds - b.store * b.seconds,
        share_text("it waits for offloaded state", o.store, b.store)},
       {busy(o) - busy(b), busy_text(other, best)}}};
  const auto worst = std::ranges::max_element(causes, {}, &Cause::seconds);
  return fmt::format("{:.1f}% slower: {}", 100.0 * (o.seconds / b.seconds - 1.0), worst->text);
}

}  // namespace triax
