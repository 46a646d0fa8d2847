// SPDX-License-Identifier: Apache-2.0
#pragma once
// Message instructions of a chunk's compute: its input's if it receives one, its output's if it
// sends one.
#include "src/schedule/stage_layout.hpp"

namespace triax {

constexpr bool is_forward(const Op& op) {
  return op.kind == OpKind::Forward;
}

constexpr bool is_weight_gradient(const Op& op) {
  return op.kind == OpKind::WeightGradient;
}

inline bool receives(const StageLayout& layout, const Op& op) {
  if (is_weight_gradient(op)) return false;
  return is_forward(op) ? layout.has_message_before(op.chunk) : layout.has_message_after(op.chunk);
}
inline bool sends(const StageLayout& layout, const Op& op) {
  if (is_weight_gradient(op)) return false;
  return is_forward(op) ? layout.has_message_after(op.chunk) : layout.has_message_before(op.chunk);
}

namespace detail {

/// `activation` for a Forward, `gradient` for a Backward.
constexpr Op message_of(const Op& op, OpKind activation, OpKind gradient) {
  return {is_forward(op) ? activation : gradient, op.chunk, 0, op.microbatch};
}

}  // namespace detail

constexpr Op receive_start(const Op& op) {
  return detail::message_of(op, OpKind::RecvActivationStart, OpKind::RecvGradientStart);
}
constexpr Op receive_wait(const Op& op) {
  return detail::message_of(op, OpKind::RecvActivationWait, OpKind::RecvGradientWait);
}
constexpr Op send_start(const Op& op) {
  return detail::message_of(op, OpKind::SendActivationStart, OpKind::SendGradientStart);
}
constexpr Op send_wait(const Op& op) {
  return detail::message_of(op, OpKind::SendActivationWait, OpKind::SendGradientWait);
}

}  // namespace triax
