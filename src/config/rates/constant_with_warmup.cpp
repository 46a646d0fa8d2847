// SPDX-License-Identifier: Apache-2.0
// constant_with_warmup, as in Hugging Face's get_constant_schedule_with_warmup.
#include "src/config/rates/linear_warmup.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {

const RateSchedule constant_with_warmup = {
    .name = "constant_with_warmup",
    .rate = [](const RateStep& s) { return s.peak() * warmup_progress(s).value_or(1.0); },
    .parameters = [] { return with_warmup({}); },
    .warmup_parameter = "num_warmup_steps"};

}  // namespace triax::rates
