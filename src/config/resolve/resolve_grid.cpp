// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/config/resolve/resolve.hpp"

namespace triax {
namespace {
using std::int64_t;

constexpr const char* global_key = "train_batch_size";
constexpr const char* micro_key = "train_micro_batch_size_per_gpu";
constexpr const char* accumulation_key = "gradient_accumulation_steps";

struct Grid {
  int64_t tensor = 1, pipeline = 1;
};

bool heads_fit(const ModelConfig& m, int64_t tensor) {
  return m.heads % tensor == 0 && (m.kv_heads % tensor == 0 || tensor % m.kv_heads == 0);
}

// Advice for numbers meant for another number of ranks, such as those of a job.json.
std::string let_data_follow(const Settings& s, int64_t ranks, int64_t inner) {
  const int64_t data = ranks / inner;
  std::string text = fmt::format("Use --set parallel.data=auto (here {})", data);
  if (s.is_auto(global_key) || s.is_auto(micro_key) || s.is_auto(accumulation_key)) return text;
  const auto batch = static_cast<double>(s.integer(global_key));
  const bool same_micro = std::fmod(batch, static_cast<double>(s.integer(micro_key)) *
                                               static_cast<double>(data)) == 0.0;
  return text + " and --set " + (same_micro ? accumulation_key : micro_key) + "=auto";
}

// The grid nearest to the requested one that fits the ranks and the model. 1 x 1 always fits; more
// chunks than layers are cut to the number of layers.
std::string what_fits(const Grid& asked, const ModelConfig& m, int64_t chunks, int64_t ranks) {
  const int64_t allowed = std::min<int64_t>(chunks, m.layers);
  Grid best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (int64_t tensor = 1; tensor <= std::min<int64_t>(ranks, m.heads); ++tensor) {
    if (ranks % tensor != 0 || !heads_fit(m, tensor)) continue;
    for (int64_t pipeline = 1; pipeline * allowed <= m.layers && pipeline <= ranks / tensor;
         ++pipeline) {
      if (ranks / tensor % pipeline != 0) continue;
      const auto off = [](int64_t a, int64_t b) {
        return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
      };
      const double distance = off(tensor, asked.tensor) + off(pipeline, asked.pipeline);
      if (distance < best_distance) {
        best_distance = distance;
        best = {tensor, pipeline};
      }
    }
  }
  return fmt::format("For example tensor {}, pipeline {}, data {}{}", best.tensor, best.pipeline,
                     ranks / (best.tensor * best.pipeline),
                     allowed < chunks ? fmt::format(", chunks {}", allowed) : "");
}

void check_model_fits(Settings& s, const Grid& grid, const ModelConfig& m, int64_t ranks,
                      ErrorList& errors) {
  const auto chunks = s.integer("parallel.chunks");
  const auto fits = [&] { return what_fits(grid, m, chunks, ranks); };
  if (m.heads % grid.tensor != 0)
    s.error(
        errors, "parallel.tensor",
        fmt::format("{} does not divide the model's {} heads. {}", grid.tensor, m.heads, fits()));
  else if (!heads_fit(m, grid.tensor))
    s.error(errors, "parallel.tensor",
            fmt::format("{} and the model's {} key-value heads: neither divides the other. {}",
                        grid.tensor, m.kv_heads, fits()));
  if (m.layers < grid.pipeline * chunks)
    s.error(errors, "parallel.pipeline",
            fmt::format("{} stages x {} chunks are more than the model's {} layers. {}",
                        grid.pipeline, chunks, m.layers, fits()));
}

// Numbers of blocks by hand: one per chunk, all of them together those of the model.
void check_stage_layers(Settings& s, const ModelConfig& m, ErrorList& errors) {
  const std::string key = "parallel.stage_layers";
  if (!s.has(key) || s.at(key).value.is_string() ||
      !s.sound({key, "model", "parallel.pipeline", "parallel.chunks"}))
    return;
  const auto listed = s.at(key).value.get<std::vector<double>>();
  const int64_t stages = s.integer("parallel.pipeline"), chunks = s.integer("parallel.chunks");
  const double sum = std::accumulate(listed.begin(), listed.end(), 0.0);
  if (std::ranges::any_of(listed, [](double blocks) { return blocks != std::floor(blocks); }))
    s.error(errors, key, "a number of blocks is not whole");
  else if (std::ssize(listed) != stages * chunks)
    s.error(errors, key,
            fmt::format("{} numbers, and parallel.pipeline {} x parallel.chunks {} is {}. Give one "
                        "for each",
                        listed.size(), stages, chunks, stages * chunks));
  else if (sum != m.layers)
    s.error(errors, key, fmt::format("{} blocks in all, and the model has {}", sum, m.layers));
}

}  // namespace

void resolve_grid(Settings& s, const ModelConfig& m, int ranks, ErrorList& errors) {
  if (!s.sound({"parallel.tensor", "parallel.pipeline", "parallel.data"})) return;
  const Grid grid{s.integer("parallel.tensor"), s.integer("parallel.pipeline")};
  const int64_t inner = grid.tensor * grid.pipeline;
  const bool any_data = s.is_auto("parallel.data");
  const int64_t data = any_data ? (ranks > 0 ? ranks / inner : 1) : s.integer("parallel.data");
  const int64_t all = ranks > 0 ? ranks : inner * data;
  const bool sound_model = s.sound({"model", "parallel.chunks"});
  const int64_t chunks = sound_model ? s.integer("parallel.chunks") : 1;
  if (sound_model && m.layers < grid.pipeline * chunks)
    check_model_fits(s, grid, m, all, errors);  // no number of ranks helps
  else if (any_data && (data == 0 || all % inner != 0))
    s.error(errors, grid.tensor > 1 ? "parallel.tensor" : "parallel.pipeline",
            fmt::format("tensor {} x pipeline {} = {} does not divide the job's {} ranks. {}, or "
                        "start a multiple of {} ranks (mpiexec -n {})",
                        grid.tensor, grid.pipeline, inner, all, what_fits(grid, m, chunks, all),
                        inner, inner));
  else if (static_cast<double>(inner) * static_cast<double>(data) != static_cast<double>(all))
    s.error(errors, "parallel.data",
            fmt::format("tensor {} x pipeline {} x data {} is not the job's {} ranks. {}, or start "
                        "as many ranks as the grid has",
                        grid.tensor, grid.pipeline, data, all,
                        all % inner == 0 ? let_data_follow(s, all, inner)
                                         : what_fits(grid, m, chunks, all)));
  else if (sound_model)
    check_model_fits(s, grid, m, all, errors);
  if (any_data) s.resolve("parallel.data", std::max<int64_t>(1, data));
  check_stage_layers(s, m, errors);
}

namespace {

struct Batch {
  int64_t global = 0, micro = 0, accumulation = 0;  // 0: auto
};

// global / (known x data), an error if that is not whole; `key` gave `known`.
int64_t rest_of(const Batch& batch, const char* key, int64_t known, int64_t data, Settings& s,
                ErrorList& errors) {
  if (known <= batch.global / data && batch.global % (known * data) == 0)
    return batch.global / (known * data);
  s.error(errors, global_key,
          fmt::format("{} is not a multiple of {} {} x parallel.data {}. Set it to a multiple, or "
                      "one of them to auto",
                      batch.global, key, known, data));
  return 1;
}

double product(const Batch& batch, int64_t data) {
  return static_cast<double>(batch.micro) * static_cast<double>(batch.accumulation) *
         static_cast<double>(data);
}

// Fills in what is auto.
void complete(Batch& batch, int64_t data, Settings& s, ErrorList& errors) {
  auto& [global, micro, accumulation] = batch;
  if (global > 0 && micro > 0 && accumulation > 0) {
    if (product(batch, data) != static_cast<double>(global))
      s.error(errors, global_key,
              fmt::format("{} is not {} {} x {} {} x parallel.data {}. Correct one of them, or set "
                          "it to auto",
                          global, micro_key, micro, accumulation_key, accumulation, data));
  } else if (global > 0 && micro > 0) {
    accumulation = rest_of(batch, micro_key, micro, data, s, errors);
  } else if (global > 0) {
    // DeepSpeed: the global batch alone means no accumulation.
    accumulation = std::max<int64_t>(accumulation, 1);
    micro = rest_of(batch, accumulation_key, accumulation, data, s, errors);
  } else {
    micro = std::max<int64_t>(micro, 1);
    accumulation = std::max<int64_t>(accumulation, 1);
    if (product(batch, data) > 1e12)
      s.error(errors, global_key,
              fmt::format("more than 1e12 samples per step. Lower {} or {}", micro_key,
                          accumulation_key));
    else
      global = micro * accumulation * data;
  }
}

}  // namespace

void resolve_batch(Settings& s, ErrorList& errors) {
  if (!s.sound({global_key, micro_key, accumulation_key, "parallel.tensor", "parallel.pipeline",
                "parallel.data"}))
    return;
  if (!s.given(global_key) && !s.given(micro_key))
    return s.error(
        errors, global_key,
        fmt::format("missing. Set it or {} (\"auto\" in one of them: a micro-batch of 1); "
                    "as in DeepSpeed there is no default",
                    micro_key));
  const auto given = [&](const char* key) { return s.is_auto(key) ? int64_t{0} : s.integer(key); };
  Batch batch{given(global_key), given(micro_key), given(accumulation_key)};
  complete(batch, s.integer("parallel.data"), s, errors);
  for (const auto& [key, value] :
       {std::pair{global_key, batch.global}, std::pair{micro_key, batch.micro},
        std::pair{accumulation_key, batch.accumulation}})
    if (s.is_auto(key)) s.resolve(key, value);
}

}  // namespace triax
