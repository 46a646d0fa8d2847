// SPDX-License-Identifier: Apache-2.0
// Rows of the key table for the section scheduler, from the table of schedules.
#include <algorithm>
#include <iterator>
#include <utility>

#include "src/config/keys/key_table.hpp"
#include "src/config/rates/parameter.hpp"
#include "src/config/rates/rates.hpp"

namespace triax {

std::vector<Key> scheduler_keys() {
  std::vector<std::string> names;
  std::ranges::transform(rate_schedules(), std::back_inserter(names), &RateSchedule::name);
  std::vector<Key> keys;
  keys.push_back(obeyed("scheduler.type", KeyType::string, nullptr, one_of(std::move(names)),
                        "learning-rate schedule; absent: constant")
                     .without({"reduce_lr_on_plateau", "greedy"}));
  for (const RateSchedule* schedule : rate_schedules())
    for (RateParameter& parameter : schedule->parameters())
      add_for_type(keys, std::move(parameter.key), schedule->name);
  keys.push_back(refused("scheduler.params.last_batch_iteration", KeyType::integer, -1,
                         "step at which the schedule starts",
                         "a resumed run goes on where it stopped"));
  return keys;
}

}  // namespace triax
