// SPDX-License-Identifier: Apache-2.0
#include "src/inference/grid/grid_engine.hpp"

#include "kernels/base/mpi/agree.hpp"
#include "src/inference/engine/cache_size.hpp"
#include "src/inference/engine/paged_engine.hpp"
#include "src/inference/grid/replicated_engine.hpp"
#include "src/inference/grid/step_control.hpp"

namespace triax {
namespace {

// Blocks of the cache, as many as the rank with the least memory has: all have the same tables.
std::int64_t agreed_blocks(GridModel& model, const EngineOptions& options) {
  std::int64_t blocks = 0;
  agreed(Ranks(model.grid()), [&] {
    check_options(options);
    if (model.grid().space() != MemorySpace::host)
      throw UsageError("the engine has no paged KV cache on a GPU", {},
                       "Set --device to cpu, or generate one text at a time");
    blocks = cache_blocks_of(model, options, memory_left(model.grid()));
  });
  const Tensor least(&blocks, {1});
  const Stream stream(MemorySpace::host);
  model.grid().world().all_reduce(stream, least, ReduceOp::min).wait(stream);
  return blocks;
}

// Runs `body`, then `end`, also where `body` throws: its error is the one that is reported.
template <class Body, class End>
void run_to_end(const Body& body, const End& end) {
  try {
    body();
  } catch (...) {
    try {
      end();
    } catch (...) {  // of an engine that has failed already
    }
    throw;
  }
  end();
}

void lead(GridModel& model, PagedEngine& engine, const std::function<void(Engine&)>& body) {
  ProcessGrid& grid = model.grid();
  if (grid.shape().data == 1) return body(engine);
  if (grid.data_rank() > 0) return serve_replica(engine, grid.data(), grid.wait_policy());
  ReplicatedEngine all(engine, grid.data(), grid.wait_policy());
  run_to_end([&] { body(all); }, [&] { all.end(); });
}

}  // namespace

void with_engine(GridModel& model, const EngineOptions& options,
                 const std::function<void(Engine&)>& body, const TokenBytes& token_bytes) {
  const std::int64_t blocks = agreed_blocks(model, options);
  PagedModel paged(model, options, blocks, most_step_rows(model, options));
  StepControl control(model.grid());
  if (!control.leads()) {
    while (const std::optional<StepBatch> batch = control.next()) {
      paged.start(*batch);
      paged.finish(*batch, {}, {});
    }
    return;
  }
  PagedEngine engine(
      paged, options, [&](const StepBatch& batch) { control.announce(batch); }, token_bytes);
  run_to_end([&] { lead(model, engine, body); },
             [&] {
               engine.drain();
               control.end();
             });
}

}  // namespace triax
