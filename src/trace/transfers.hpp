// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions that begin and end a transfer beside the host: a message, a reduction, a file.
#include <optional>
#include <string>

#include "src/schedule/plan.hpp"

namespace triax {

/// Rows of a rank in a trace beside the row of its instructions.
enum class TransferRow : std::uint8_t { pipeline, data, store };
inline constexpr int transfer_rows = 3;
/// "messages between stages", "reductions and gathers", "stored state".
const char* name_of(TransferRow row);

/// A transfer, as its Start or its Wait names it.
struct Transfer {
  TransferRow row = TransferRow::pipeline;
  bool begins = false;  // by a Start
  Op key{};             // equal in the Start and the Wait of one transfer
};

/// None: the instruction is neither a Start nor a Wait.
std::optional<Transfer> transfer_of(const Op& op);
/// Text of an instruction without its phase: "send act c0 m1".
std::string transfer_name(const Op& start);

}  // namespace triax
