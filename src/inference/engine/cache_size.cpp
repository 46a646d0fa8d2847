// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/cache_size.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "src/forecast/memory_limit.hpp"
#include "src/forecast/process_memory.hpp"
#include "src/inference/engine/paged_model.hpp"

namespace triax {
namespace {

constexpr double mebibyte = 1 << 20;

[[noreturn]] void refuse(const char* key, std::string_view value, const std::string& wanted) {
  throw UsageError(fmt::format("inference.{} is {}", key, value), "it must be " + wanted,
                   fmt::format("Correct inference.{}", key));
}

}  // namespace

void check_options(const EngineOptions& options) {
  if (options.cache_dtype != DType::f32 && options.cache_dtype != DType::bf16)
    refuse("cache_dtype", name_of(options.cache_dtype), "f32 or bf16");
  if (options.block_tokens < page_multiple || options.block_tokens % page_multiple != 0 ||
      paged_span % options.block_tokens != 0)
    refuse("block_tokens", std::to_string(options.block_tokens), "16, 32, 64 or 128");
  if (!(options.memory_fraction > 0.0 && options.memory_fraction <= 1.0))
    refuse("memory_fraction", fmt::format("{}", options.memory_fraction), "above 0, at most 1");
  if (options.tokens_per_step < 1)
    refuse("tokens_per_step", std::to_string(options.tokens_per_step), "at least 1");
  if (options.sequences < 1) refuse("sequences", std::to_string(options.sequences), "at least 1");
}

std::int64_t most_step_rows(const GridModel& model, const EngineOptions& options) {
  return std::min(options.tokens_per_step, options.sequences * model.context());
}

std::int64_t cache_blocks_of(const GridModel& model, const EngineOptions& options, double left) {
  const std::int64_t of_text = (model.context() + options.block_tokens - 1) / options.block_tokens;
  if (options.cache_blocks > 0) return std::max(options.cache_blocks, of_text);
  const auto bytes =
      static_cast<double>(std::max<std::int64_t>(1, PagedModel::block_bytes(model, options)));
  const double room =
      options.memory_fraction * left -
      static_cast<double>(PagedModel::workspace_bytes(model, most_step_rows(model, options)));
  const double fit = std::max(0.0, std::floor(room / bytes));
  if (fit < static_cast<double>(of_text))
    throw UsageError(
        fmt::format("the KV cache has no room for a text of {} tokens", model.context()),
        fmt::format("it needs {:.0f} MiB and {:.0f} MiB are left", of_text * bytes / mebibyte,
                    std::max(0.0, room) / mebibyte),
        fmt::format("Lower the context to {} tokens, set inference.cache_dtype to bf16, or lower "
                    "inference.tokens_per_step",
                    static_cast<std::int64_t>(fit) * options.block_tokens));
  return std::min(static_cast<std::int64_t>(std::min(fit, 1e9)), options.sequences * of_text);
}

double memory_left(const ProcessGrid& grid) {
  return memory_limit().bytes / grid.node_size() - static_cast<double>(resident_bytes());
}

}  // namespace triax
