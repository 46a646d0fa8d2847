// SPDX-License-Identifier: Apache-2.0
// constant: the optimizer's learning rate at each step.
#include "src/config/rates/parameter.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {

const RateSchedule constant = {.name = "constant",
                               .rate = [](const RateStep& s) { return s.peak(); },
                               .parameters = [] { return std::vector<RateParameter>(); },
                               .varies = false};

}  // namespace triax::rates
