// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lengths of the documents of a token file, one after another.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/tokens/token_reader.hpp"

namespace triax {

class DocumentWalk {
 public:
  virtual ~DocumentWalk() = default;
  /// Tokens of the next document; nothing after the last. Error where the file's documents do not
  /// fit its tokens.
  virtual std::optional<std::int64_t> next() = 0;
};

/// Documents of the file at `path`, which is opened as `file`: those of /documents (HDF5) or the
/// index (Megatron); else they end with `end_token`. Null: the file does not tell them apart.
std::unique_ptr<DocumentWalk> walk_documents(const std::string& path, const TokenFile& file,
                                             std::int64_t end_token);

}  // namespace triax
