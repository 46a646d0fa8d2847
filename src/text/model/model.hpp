// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces of text to token ids.
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "src/text/model/vocabulary.hpp"
#include "src/text/split/splitter.hpp"

namespace triax {

/// Immutable: threads share it.
class Model {
 public:
  virtual ~Model() = default;

  /// Scratch memory and cache of one thread. Outlived by the model.
  class Session {
   public:
    virtual ~Session() = default;
    /// Appends the ids of the pieces of `text`: the first begins at byte `begin`, each ends at its
    /// cut.
    virtual void encode(std::string_view text, std::size_t begin, std::span<const Cut> cuts,
                        std::vector<std::int32_t>& ids) = 0;
  };
  virtual std::unique_ptr<Session> session() const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
};

}  // namespace triax
