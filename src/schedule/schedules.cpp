// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/schedules.hpp"

#include <algorithm>
#include <stdexcept>

#include "src/schedule/compute_order.hpp"

namespace triax {
namespace {

Op forward(int chunk, int microbatch) {
  return {OpKind::Forward, chunk, all, microbatch};
}
Op backward(int chunk, int microbatch) {
  return {OpKind::Backward, chunk, all, microbatch};
}

Plans gpipe(const PlanShape& shape) {
  Plan plan;
  for (int c = 0; c < shape.chunks; ++c)
    for (int m = 0; m < shape.microbatches; ++m) plan.push_back(forward(c, m));
  for (int c = shape.chunks - 1; c >= 0; --c)
    for (int m = 0; m < shape.microbatches; ++m) plan.push_back(backward(c, m));
  return Plans(shape.stages, plan);
}

// `warmup` forwards, then forward and backward alternately, then the remaining backwards. unit(k,
// kind) is the k-th forward or backward.
template <class Unit>
Plan one_by_one(int warmup, int units, const Unit& unit) {
  Plan plan;
  for (int k = 0; k < warmup; ++k) plan.push_back(unit(k, OpKind::Forward));
  for (int k = warmup; k < units; ++k) {
    plan.push_back(unit(k, OpKind::Forward));
    plan.push_back(unit(k - warmup, OpKind::Backward));
  }
  for (int k = units - warmup; k < units; ++k) plan.push_back(unit(k, OpKind::Backward));
  return plan;
}

Plans one_forward_one_backward(const PlanShape& shape) {
  const auto unit = [](int k, OpKind kind) { return Op{kind, 0, all, k}; };
  Plans plans;
  for (int s = 0; s < shape.stages; ++s) {
    const int warmup = std::min(shape.stages - 1 - s, shape.microbatches);
    plans.push_back(one_by_one(warmup, shape.microbatches, unit));
  }
  return plans;
}

// Stage s computes the weight gradients of a micro-batch s backward passes later than its backward
// pass, so that the gradient that the stage before waits for leaves first.
Plans zero_bubble(const PlanShape& shape) {
  Plans plans;
  for (int s = 0; s < shape.stages; ++s) {
    Plan& plan = plans.emplace_back();
    const int warmup = std::min(shape.stages - s, shape.microbatches);
    for (int m = 0; m < warmup; ++m) plan.push_back(forward(0, m));
    const int late = std::min(s, shape.microbatches);
    for (int m = 0; m < shape.microbatches; ++m) {
      plan.push_back(backward(0, m));
      if (m >= late) plan.push_back({OpKind::WeightGradient, 0, all, m - late});
      if (m + warmup < shape.microbatches) plan.push_back(forward(0, m + warmup));
    }
    for (int m = shape.microbatches - late; m < shape.microbatches; ++m)
      plan.push_back({OpKind::WeightGradient, 0, all, m});
  }
  return plans;
}

// Each chunk takes `stages` micro-batches in a row, then the next chunk takes the same ones: units
// count (group of micro-batches, chunk, micro-batch of the group). Backward visits the chunks in
// reverse.
Plans interleaved(const PlanShape& shape) {
  const int group = shape.stages;
  const int units = shape.microbatches * shape.chunks;
  const auto unit = [&](int k, OpKind kind) {
    const int in_groups = k % (group * shape.chunks);
    const int position = in_groups / group;
    const int chunk = kind == OpKind::Forward ? position : shape.chunks - 1 - position;
    return Op{kind, chunk, all, k / (group * shape.chunks) * group + in_groups % group};
  };
  Plans plans;
  for (int s = 0; s < shape.stages; ++s) {
    const int warmup = std::min((shape.stages - s - 1) * 2 + (shape.chunks - 1) * group, units);
    plans.push_back(one_by_one(warmup, units, unit));
  }
  return plans;
}

Plans by_hand(const PlanShape& shape) {
  check_order(shape.order, shape.stages, shape.chunks, shape.microbatches);
  return shape.order;
}

std::string names_of(bool (*wanted)(const ScheduleRow&)) {
  std::string names;
  for (const ScheduleRow& row : schedules())
    if (wanted(row)) names += (names.empty() ? "" : ", ") + row.name;
  return names;
}

void check_needs(const ScheduleRow& row, const PlanShape& shape) {
  const std::string stages = std::to_string(shape.stages);
  if (shape.chunks > 1 && !row.several_chunks)
    throw std::invalid_argument("schedule " + row.name +
                                " runs one chunk per stage (parallel.chunks is " +
                                std::to_string(shape.chunks) +
                                "). Set parallel.chunks to 1, or parallel.schedule to one of " +
                                names_of([](const ScheduleRow& r) { return r.several_chunks; }));
  if (row.microbatches_fill_stages && shape.microbatches % shape.stages != 0)
    throw std::invalid_argument("schedule " + row.name + " takes micro-batches in groups of " +
                                stages + ", the pipeline stages (there are " +
                                std::to_string(shape.microbatches) +
                                "). Make gradient_accumulation_steps a multiple of " + stages);
}

}  // namespace

const std::vector<ScheduleRow>& schedules() {
  static const std::vector<ScheduleRow> rows = {
      {"gpipe", gpipe, true, false},
      {"1f1b", one_forward_one_backward, false, false},
      {"interleaved", interleaved, true, true},
      {"zero-bubble", zero_bubble, false, false, true},
  };
  return rows;
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleRow& row : schedules()) names.push_back(row.name);
  return names;
}

ScheduleRow schedule(const std::string& name, const Plans& order) {
  if (name.starts_with(schedule_file_prefix))
    return {name, by_hand, true, false, splits_backward(order)};
  for (const ScheduleRow& row : schedules())
    if (row.name == name) return row;
  throw std::invalid_argument("there is no schedule \"" + name +
                              "\". Set parallel.schedule to one of " +
                              names_of([](const ScheduleRow&) { return true; }));
}

Plans make_schedule(const std::string& name, const PlanShape& shape) {
  check_shape(shape);
  const ScheduleRow row = schedule(name, shape.order);
  check_needs(row, shape);
  return row.make(shape);
}

Plans forward_only(const PlanShape& shape) {
  check_shape(shape);
  // Groups of micro-batches pass through all chunks, so that the activations that wait between
  // chunks do not grow with the number of micro-batches.
  Plan plan;
  for (int begin = 0; begin < shape.microbatches; begin += shape.stages)
    for (int c = 0; c < shape.chunks; ++c)
      for (int m = begin; m < std::min(begin + shape.stages, shape.microbatches); ++m)
        plan.push_back(forward(c, m));
  return Plans(shape.stages, plan);
}

}  // namespace triax
