// SPDX-License-Identifier: Apache-2.0
#include "src/planner/search.hpp"

#include <algorithm>

#include "src/planner/bounds.hpp"

namespace triax {
namespace {

struct Bounded {
  Candidate candidate;
  double seconds = 0.0;
};

bool same_grid(const Candidate& a, const Candidate& b) {
  return a.tensor == b.tensor && a.pipeline == b.pipeline && a.data == b.data;
}

// Whether `other` needs at least the memory of `candidate`.
bool needs_more(const Candidate& other, const Candidate& candidate) {
  // 1f1b holds least; interleaved holds the less, the more chunks it has; zero-bubble keeps
  // operands of weight gradients too.
  const bool chunks =
      candidate.chunks == 1 || (other.chunks > 1 && other.chunks <= candidate.chunks);
  const bool operands = !candidate.zero_bubble || other.zero_bubble;
  return same_grid(other, candidate) && chunks && operands && other.micro >= candidate.micro &&
         other.zero <= candidate.zero && other.recompute <= candidate.recompute &&
         other.offload <= candidate.offload;
}

// Whether `other` differs from `candidate`, which fits, in nothing but memory saved, which costs
// time.
bool saves_more(const Candidate& other, const Candidate& candidate) {
  return same_grid(other, candidate) && other.chunks == candidate.chunks &&
         other.zero_bubble == candidate.zero_bubble && other.micro == candidate.micro &&
         other.zero >= candidate.zero && (candidate.zero >= 1 || other.zero == 0) &&
         other.recompute >= candidate.recompute && other.offload >= candidate.offload;
}

class Best {
 public:
  explicit Best(std::size_t top) : top_(top) {}

  // Whether a layout that takes at least `seconds` may still be listed.
  bool admits(const Candidate& candidate, double seconds) const {
    for (const Evaluation& one : best_)
      if (same_grid(one.candidate, candidate)) return seconds < one.price.seconds;
    return best_.size() < top_ || seconds < best_.back().price.seconds;
  }
  // Whether none that takes at least `seconds` can be listed.
  bool closed(double seconds) const {
    return best_.size() == top_ && seconds >= best_.back().price.seconds;
  }
  void add(Evaluation&& evaluation) {
    if (!admits(evaluation.candidate, evaluation.price.seconds)) return;
    std::erase_if(best_, [&](const Evaluation& one) {
      return same_grid(one.candidate, evaluation.candidate);
    });
    const auto at = std::upper_bound(
        best_.begin(), best_.end(), evaluation,
        [](const Evaluation& a, const Evaluation& b) { return a.price.seconds < b.price.seconds; });
    best_.insert(at, std::move(evaluation));
    if (best_.size() > top_) best_.pop_back();
  }
  std::vector<Evaluation> take() { return std::move(best_); }

 private:
  std::size_t top_;
  std::vector<Evaluation> best_;  // one of each grid, the quickest first
};

// Layouts that may fit, the quickest first by their least seconds.
std::vector<Bounded> bounded(const std::vector<Candidate>& layouts, const Config& job,
                             const Machine& machine, Search& result) {
  Bounds bounds(job, machine);
  std::vector<Bounded> left;
  for (const Candidate& candidate : layouts) {
    const double bytes = bounds.bytes(candidate);
    if (bytes <= machine.memory) {
      left.push_back({candidate, bounds.seconds(candidate)});
      continue;
    }
    ++result.too_large;
    if (result.least_bytes == 0.0 || bytes < result.least_bytes) result.least_bytes = bytes;
  }
  std::ranges::stable_sort(left, {}, &Bounded::seconds);
  return left;
}

void keep_leanest(Search& result, Evaluation&& evaluation) {
  const std::int64_t bytes = evaluation.memory.scarce().total();
  if (result.leanest.reason.empty() || bytes < result.leanest.memory.scarce().total())
    result.leanest = std::move(evaluation);
}

}  // namespace

Search search(const std::vector<Candidate>& layouts, const Config& job, const Machine& machine,
              std::size_t top, const std::function<Evaluation(const Candidate&)>& evaluate,
              std::size_t plans) {
  Search result;
  result.layouts = layouts.size();
  const std::vector<Bounded> left = bounded(layouts, job, machine, result);
  Best best(top);
  std::vector<Candidate> too_large, fitting;
  std::size_t made = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Candidate& candidate = left[i].candidate;
    const double seconds = left[i].seconds;
    result.cut = made >= plans;
    if (best.closed(seconds) || result.cut) {
      result.slower += left.size() - i;
      break;
    }
    if (std::ranges::any_of(too_large,
                            [&](const Candidate& one) { return needs_more(candidate, one); })) {
      ++result.too_large;
      continue;
    }
    const auto saves = [&](const Candidate& one) { return saves_more(candidate, one); };
    if (!best.admits(candidate, seconds) || std::ranges::any_of(fitting, saves)) {
      ++result.slower;
      continue;
    }
    ++made;
    Evaluation evaluation = evaluate(candidate);
    switch (evaluation.outcome) {
      case Evaluation::Outcome::priced:
        ++result.priced;
        fitting.push_back(candidate);
        best.add(std::move(evaluation));
        break;
      case Evaluation::Outcome::too_large:
        ++result.too_large;
        too_large.push_back(candidate);
        keep_leanest(result, std::move(evaluation));
        break;
      case Evaluation::Outcome::refused:
        ++result.refused;
        break;
    }
  }
  result.best = best.take();
  return result;
}

}  // namespace triax
