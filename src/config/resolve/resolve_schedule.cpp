// SPDX-License-Identifier: Apache-2.0
// parallel.schedule: its needs, and a schedule by hand.
#include <fmt/format.h>

#include <stdexcept>

#include "src/config/resolve/resolve.hpp"
#include "src/config/source/absolute_path.hpp"
#include "src/config/source/json_lines.hpp"
#include "src/schedule/compute_order.hpp"
#include "src/schedule/schedules.hpp"

namespace triax {
namespace {

const std::string key = "parallel.schedule";
const std::string prefix = schedule_file_prefix;

}  // namespace

Plans find_schedule_file(Settings& settings, const std::string& job_file, ErrorList& errors) {
  if (!settings.sound({key}) || !settings.string(key).starts_with(prefix)) return {};
  const std::string path = settings.string(key).substr(prefix.size());
  const std::string found = named_input(
      settings, key, path, job_file,
      fmt::format("no such file: {}. triax train JOB --print-schedule writes the order of a job, "
                  "to start from",
                  path),
      errors);
  if (found.empty()) return {};
  settings.resolve(key, prefix + absolute_path(found), settings.at(key).source);
  try {
    return read_compute_order(settings.string(key));
  } catch (const std::exception& error) {
    settings.error(errors, key, fmt::format("{}: {}", found, error.what()));
    return {};
  }
}

Plans read_compute_order(const std::string& schedule) {
  if (!schedule.starts_with(prefix)) return {};
  return order_of_text(read_text(schedule.substr(prefix.size())));
}

namespace {

// Chunks and ZeRO stage, which are known whatever the number of ranks.
void check_schedule_row(Settings& s, const ScheduleRow& row, ErrorList& errors) {
  const auto chunks = s.integer("parallel.chunks");
  if (chunks > 1 && !row.several_chunks)
    s.error(
        errors, "parallel.chunks",
        fmt::format("{} with schedule {}, which has one chunk per stage. Set parallel.schedule to "
                    "interleaved or gpipe",
                    chunks, row.name));
  const std::string zero = "zero_optimization.stage";
  if (row.splits_backward && s.sound({zero}) && s.integer(zero) > 1)
    s.error(errors, zero,
            fmt::format("{} with schedule {}, whose weight gradients add up over the step and must "
                        "stay whole. Set it to 1, or set parallel.schedule to 1f1b",
                        s.integer(zero), row.name));
}

}  // namespace

void check_schedule(Settings& s, const Plans& order, ErrorList& errors) {
  if (!s.sound({"parallel.schedule", "parallel.chunks", "parallel.pipeline"})) return;
  const std::string name = s.string("parallel.schedule");
  const ScheduleRow row = schedule(name, order);
  check_schedule_row(s, row, errors);
  if (!s.sound({"gradient_accumulation_steps", "train_batch_size", "parallel.chunks"}) ||
      s.is_auto("gradient_accumulation_steps"))
    return;
  const auto accumulation = s.integer("gradient_accumulation_steps");
  const auto stages = s.integer("parallel.pipeline");
  if (row.microbatches_fill_stages && accumulation % stages != 0)
    s.error(errors, "gradient_accumulation_steps",
            fmt::format("{} is not a multiple of parallel.pipeline {}, as schedule {} needs. Set "
                        "it to a multiple, or set parallel.schedule to 1f1b",
                        accumulation, stages, row.name));
  if (order.empty()) return;
  try {
    check_order(order, static_cast<int>(stages), static_cast<int>(s.integer("parallel.chunks")),
                static_cast<int>(accumulation));
  } catch (const std::invalid_argument& error) {
    s.error(errors, "parallel.schedule", fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace triax
