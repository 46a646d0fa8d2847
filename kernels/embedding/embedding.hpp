// SPDX-License-Identifier: Apache-2.0
#pragma once
// Token and position embeddings. Rows of tokens are (N) = (B T); rows of padding have token -1.
#include "kernels/base/device/arena.hpp"

namespace triax {

/// y[r] = scale * weight[tokens[r] - first_token], or zero if the token is -1 or belongs to another
/// shard of the vocabulary. y: (N, E); tokens: (N) int32; weight: (V_local, E) of y's type, on the
/// host also of 16 bits where y is float32. Gemma scales by sqrt(E).
void embedding_forward(const Stream& stream, const Tensor& y, const Tensor& tokens,
                       const Tensor& weight, std::int64_t first_token, float scale = 1.0F);

/// dweight[tokens[r] - first_token] += scale * dy[r] for the tokens of this shard; dweight starts
/// at zero unless `accumulate`. dweight is float32 or has the type of dy. Each row is summed in
/// float32 in row order (on a device in segments of that order) and rounded once.
void embedding_backward(const Stream& stream, const Tensor& dweight, const Tensor& tokens,
                        const Tensor& dy, std::int64_t first_token, bool accumulate, Arena& scratch,
                        float scale = 1.0F);
/// Upper bound of the bytes that embedding_backward takes from `scratch` in `space`, for a dy of
/// this shape and a dweight of `vocabulary` rows.
std::size_t embedding_scratch_bytes(const Shape& dy, std::int64_t vocabulary,
                                    MemorySpace space = MemorySpace::host);

/// y[r] += weight[(first_row + r) % T]. y: (N, E); weight: (positions >= T, E), of types as in
/// embedding_forward. Row r is global row first_row + r of the micro-batch.
void position_forward(const Stream& stream, const Tensor& y, const Tensor& weight,
                      std::int64_t first_row, std::int64_t sequence_length);

/// dweight[(first_row + r) % T] += dy[r], summed as embedding_backward does.
void position_backward(const Stream& stream, const Tensor& dweight, const Tensor& dy,
                       std::int64_t first_row, std::int64_t sequence_length, bool accumulate);

}  // namespace triax
