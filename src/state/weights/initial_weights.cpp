// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/initial_weights.hpp"

#include <algorithm>

#include "io/safetensors/safetensors.hpp"
#include "kernels/random/random.hpp"
#include "src/state/offload/staging.hpp"

namespace triax {
namespace {

template <class Visit>
void for_each_weight_run(const ParameterBlock& block, const BlockView& kept, Visit&& visit) {
  for (const PlacedParameter& param : block.params) {
    const FlatRange here = intersect(param.range(), kept.range);
    for (const Piece& piece : param.spec.pieces)
      for_each_run(
          intersect(piece, param.spec.shape, here.begin - param.offset, here.end - param.offset),
          param.spec.shape, [&](std::int64_t at, std::int64_t global, std::int64_t count) {
            const std::int64_t begin = param.offset + at;
            visit(param.spec, piece, kept.at({begin, begin + count}), global);
          });
  }
}

// Calls visit(spec, piece, memory of a range, global index of its first element) for every
// contiguous range of the weights this rank keeps, and of their master copy.
template <class Visit>
void for_each_weight_run(const Stream& stream, ParameterStore& store, Optimizer* optimizer,
                         Visit&& visit) {
  for (int b = 0; b < std::ssize(store.blocks()); ++b) {
    const ParameterBlock& block = store.blocks()[static_cast<std::size_t>(b)];
    store.visit_weights(stream, b, Access::replace, [&](const BlockView& weights) {
      for_each_weight_run(block, weights, visit);
    });
    if (optimizer == nullptr || !optimizer->has_master()) continue;
    optimizer->visit_state(stream, b, Access::update, [&](const StateView& state) {
      for_each_weight_run(block, state.master, visit);
    });
  }
}

}  // namespace

void initialize_weights(const Stream& stream, ParameterStore& store, std::uint64_t seed,
                        Optimizer* optimizer) {
  for_each_weight_run(
      stream, store, optimizer,
      [&](const ParameterSpec& spec, const Piece& piece, const Tensor& out, std::int64_t index) {
        const Stream its = stream_for(out, stream);
        switch (spec.initial) {
          case Initial::zero:
            fill_constant(its, out, 0.0F);
            break;
          case Initial::one:
            fill_constant(its, out, 1.0F);
            break;
          case Initial::normal:
            fill_normal(its, out, mix_key(seed, piece.name), index, 0.0F, spec.deviation);
            break;
        }
      });
}

WeightNames load_weights(const Stream& stream, ParameterStore& store, const ModelConfig& model,
                         const std::string& directory, Optimizer* optimizer) {
  const HuggingfaceWeights source(directory, model);
  Staging staging(store.wait());
  for_each_weight_run(
      stream, store, optimizer,
      [&](const ParameterSpec&, const Piece& piece, const Tensor& out, std::int64_t index) {
        if (out.dtype() == DType::f32 && out.space() == MemorySpace::host)
          return source.read(piece.name, index, out);
        for (std::int64_t done = 0; done < out.elements(); done += staged_elements) {
          const std::int64_t count = std::min(staged_elements, out.elements() - done);
          const Tensor from = staging.take(out.space(), DType::f32, count);
          source.read(piece.name, index + done, from);
          staging.put(stream, out.slice(0, done, count), from);
        }
      });
  return source.names();
}

std::int64_t loading_bytes(const ModelConfig& model, DType type, MemorySpace space) {
  std::int64_t elements = 0, largest = 0;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    elements += tensor.shape.elements();
    largest = std::max(largest, tensor.shape.elements());
  }
  const std::int64_t mapped = std::min<std::int64_t>(SafetensorsReader::most_mapped,
                                                     elements * std::int64_t{sizeof(float)});
  if (type == DType::f32 && space == MemorySpace::host) return mapped;
  return mapped + Staging::bytes_of(space, type, std::min(largest, staged_elements));
}

}  // namespace triax
