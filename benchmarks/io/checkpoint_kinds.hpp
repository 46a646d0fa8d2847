// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cases of bench_checkpoint.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "benchmarks/io/checkpoint_state.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"

namespace triax {

using Cut = State::Cut;

/// A case: the operation, the sharding of the state, and the number of files.
struct Kind {
  enum class Action : std::uint8_t { write, write_behind, read, verify };
  const char* name;
  Action action;
  Cut cut = Cut::flat;
  int files = 1;
  bool collective = false;  // needs several ranks
  CheckpointOptions options() const {
    CheckpointOptions options;
    options.files = files;
    options.collective = collective;
    return options;
  }
};

// In the order of a round.
constexpr std::array kinds = {
    Kind{"write independent", Kind::Action::write},
    Kind{"write independent columns", Kind::Action::write, Cut::columns},
    Kind{"write independent files=4", Kind::Action::write, Cut::flat, 4},
    Kind{"write collective", Kind::Action::write, Cut::flat, 1, true},
    Kind{"write collective columns", Kind::Action::write, Cut::columns, 1, true},
    Kind{"async", Kind::Action::write_behind},
    Kind{"read flat", Kind::Action::read},
    Kind{"read columns", Kind::Action::read, Cut::columns},
    Kind{"read replicated", Kind::Action::read, Cut::replicated},
    Kind{"verify", Kind::Action::verify},
    Kind{"read flat files=4", Kind::Action::read, Cut::flat, 4}};

/// The cases that are possible with `ranks` ranks.
inline std::vector<Kind> kinds_of(int ranks) {
  std::vector<Kind> some;
  std::ranges::copy_if(kinds, std::back_inserter(some),
                       [&](const Kind& kind) { return ranks > 1 || !kind.collective; });
  return some;
}

inline std::vector<std::string> names_of(const std::vector<Kind>& kinds) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  return names;
}

}  // namespace triax
