// SPDX-License-Identifier: Apache-2.0
#include "src/trace/transfers.hpp"

#include <algorithm>
#include <array>

namespace triax {
namespace {

struct TransferKinds {
  OpKind start, wait;
  TransferRow row;
};

constexpr std::array<TransferKinds, 12> transfers = {
    {{OpKind::SendActivationStart, OpKind::SendActivationWait, TransferRow::pipeline},
     {OpKind::RecvActivationStart, OpKind::RecvActivationWait, TransferRow::pipeline},
     {OpKind::SendGradientStart, OpKind::SendGradientWait, TransferRow::pipeline},
     {OpKind::RecvGradientStart, OpKind::RecvGradientWait, TransferRow::pipeline},
     {OpKind::ReduceStart, OpKind::ReduceWait, TransferRow::data},
     {OpKind::GatherStart, OpKind::GatherWait, TransferRow::data},
     {OpKind::OffloadInputStart, OpKind::OffloadInputWait, TransferRow::store},
     {OpKind::ReloadInputStart, OpKind::ReloadInputWait, TransferRow::store},
     {OpKind::FetchStart, OpKind::FetchWait, TransferRow::store},
     {OpKind::StoreStart, OpKind::StoreWait, TransferRow::store},
     {OpKind::LoadStart, OpKind::LoadWait, TransferRow::store},
     {OpKind::SaveStart, OpKind::SaveWait, TransferRow::store}}};

}  // namespace

const char* name_of(TransferRow row) {
  constexpr std::array<const char*, transfer_rows> names = {
      "messages between stages", "reductions and gathers", "stored state"};
  return names[static_cast<std::size_t>(row)];
}

std::optional<Transfer> transfer_of(const Op& op) {
  const auto* found = std::ranges::find_if(transfers, [&](const TransferKinds& kinds) {
    return op.kind == kinds.start || op.kind == kinds.wait;
  });
  if (found == transfers.end()) return {};
  Transfer transfer{found->row, op.kind == found->start, op};
  transfer.key.kind = found->start;
  // A field that the text does not show may differ between Start and Wait.
  if (!fields_of(op.kind).microbatch) transfer.key.microbatch = 0;
  return transfer;
}

std::string transfer_name(const Op& start) {
  std::string text = text_of(start);
  if (const auto at = text.rfind(' '); at != std::string::npos) text.resize(at);
  return text;
}

}  // namespace triax
