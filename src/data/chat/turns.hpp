// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of a rendered conversation that the assistant says, where its template does not mark them.
#include <string>
#include <vector>

#include "src/text/template/chat_template.hpp"

namespace triax {

/// The turns of the assistant in `text`, the whole conversation as the template renders it, in
/// bytes, ascending. A turn begins where the conversation before it ends when the assistant is to
/// answer, and ends where the conversation with it ends. Where the template writes a conversation
/// otherwise when it goes on (thoughts of earlier turns are left out), the turn is found by another
/// content in its place; the end of turn is not in it then. UsageError where a turn cannot be
/// found.
std::vector<jinja::TextSpan> assistant_turns(const ChatTemplates& templates,
                                             const Conversation& conversation,
                                             const jinja::Clock& clock, const std::string& text);

}  // namespace triax
