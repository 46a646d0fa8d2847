// SPDX-License-Identifier: Apache-2.0
#pragma once
// The token at which a model that learned a chat template stops.
#include <cstdint>
#include <optional>

#include "src/text/template/chat_template.hpp"
#include "src/text/tokenizer.hpp"

namespace triax {

/// Whether the id is a special token, which a decoded text may leave out.
bool is_special(const Tokenizer& tokenizer, std::int32_t id);

/// The first special token that the template puts behind what the assistant says; none: it puts
/// none, or renders no plain conversation.
std::optional<std::int32_t> end_of_turn(const ChatTemplates& templates, const Tokenizer& tokenizer);

}  // namespace triax
