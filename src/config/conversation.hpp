// SPDX-License-Identifier: Apache-2.0
#pragma once
// How lines of JSON become samples: data.format and the keys beside it.
#include <map>
#include <string>

#include "src/config/row_slice.hpp"

namespace triax {

struct ConversationConfig {
  std::string format = "tokens";              // "chat", "instruction", "completion",
                                              // "preference"
  std::map<std::string, std::string> fields;  // name of a field in the files, by its usual name
  std::map<std::string, std::string> roles;   // role that templates know, by that of the files
  std::string train_on = "assistant";         // "assistant", "all", "last"
  std::string template_file;                  // empty: the tokenizer's own
  std::string template_date;                  // "2026-01-31"; empty: templates may not ask for it
  double validation_fraction = 0.0;           // of the lines of data.train; 0: data.valid
  RowSlice train_rows, valid_rows;            // of the lines of all files, read as one
  bool operator==(const ConversationConfig&) const = default;
};

/// The keys of a resolved job: its JSON text with every default filled in, as in LoadedJob and
/// job.json. Jobs of versions without these keys read tokens.
ConversationConfig conversation_config(const std::string& resolved_job);

}  // namespace triax
