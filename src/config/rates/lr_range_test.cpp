// SPDX-License-Identifier: Apache-2.0
// LRRangeTest: the values of DeepSpeed 0.19's lr_schedules.py under its engine. The rate rises
// without end, to find the one at which training diverges.
#include <cmath>

#include "src/config/rates/parameter.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {
namespace {
using enum KeyType;

double rate(const RateStep& s) {
  const double intervals = static_cast<double>(s.step) / s.number("lr_range_test_step_size");
  const double risen = s.flag("lr_range_test_staircase") ? std::floor(intervals) : intervals;
  return s.number("lr_range_test_min_lr") * (1.0 + s.number("lr_range_test_step_rate") * risen);
}

std::vector<RateParameter> parameters() {
  return {
      {parameter_key("lr_range_test_min_lr", number, 1e-3, at_least(0),
                     "learning rate of the first step")},
      {parameter_key("lr_range_test_step_size", integer, 2000, at_least(1), "steps of an interval")
           .in("steps")},
      {parameter_key("lr_range_test_step_rate", number, 1.0, at_least(0),
                     "rise of an interval, as a fraction of the first learning rate")},
      {parameter_key("lr_range_test_staircase", boolean, false, anything(),
                     "rise at the end of each interval only")}};
}

}  // namespace

const RateSchedule lr_range_test = {.name = "LRRangeTest",
                                    .rate = rate,
                                    .parameters = parameters,
                                    .peak_parameter = "lr_range_test_min_lr"};

}  // namespace triax::rates
