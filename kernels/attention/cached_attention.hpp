#pragma once
// Causal attention of a text's newest tokens over the keys and values of all of them, which were
// kept: generation makes those of a token once and reads them for every later one.
#include "kernels/base/device/arena.hpp"

namespace triax {

/// Bytes that cached_attention takes from its arena at most, and gives back, on the host or on a
/// device. queries: (B, T, H, D). It grows with T and, up to a limit, with `positions`: that of the
/// most positions is enough for fewer.
std::size_t cached_attention_scratch_bytes(const Shape& queries, std::int64_t positions);

/// out = softmax(scale q k^T + causal mask) v of the last T of n positions: query i sees keys 0 to
/// n - T + i.
/// q, out: (B, T, H, D); k, v: (B, n, Hkv, D) with n >= T and H a multiple of Hkv (query head h
/// reads key head h / (H / Hkv)). Views may be strided; the last dimension has stride 1. All are of
/// one type; all arithmetic is float32, and each result is rounded once.
/// It is for few queries, where reading k and v is what costs: the positions are cut into parts
/// that workers share out (Dao et al. 2023, "Flash-Decoding"), by their number alone, so that the
/// result does not depend on how many workers there are.
void cached_attention(const Stream& stream, const Tensor& out, const Tensor& q, const Tensor& k,
                      const Tensor& v, float scale, Arena& scratch);

}  // namespace triax
