// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/pair_metrics.hpp"

#include <fmt/format.h>

#include "io/metrics/json_number.hpp"

namespace triax {

std::string pair_fields(const PairMetrics& pairs) {
  std::string text =
      fmt::format(R"("rewards":{{"chosen":{},"rejected":{},"margins":{},"accuracies":{}}},)"
                  R"("logps":{{"chosen":{},"rejected":{}}},)",
                  json_number(pairs.chosen_reward), json_number(pairs.rejected_reward),
                  json_number(pairs.margin()), json_number(pairs.accuracy),
                  json_number(pairs.chosen_log_prob), json_number(pairs.rejected_log_prob));
  if (pairs.chosen_loss) text += fmt::format(R"("nll_loss":{},)", json_number(*pairs.chosen_loss));
  return text;
}

}  // namespace triax
