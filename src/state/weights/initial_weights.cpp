// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/initial_weights.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "io/safetensors/safetensors.hpp"
#include "kernels/random/random.hpp"
#include "src/model/families/families.hpp"
#include "src/model/quantized/packed_weight.hpp"
#include "src/state/offload/staging.hpp"
#include "src/state/weights/adapter_weights.hpp"
#include "src/state/weights/quantized/quantize_box.hpp"
#include "src/state/weights/row_norms.hpp"

namespace triax {
namespace {

template <class Visit>
void for_each_weight_run(const ParameterBlock& block, const BlockView& kept, Visit&& visit) {
  for (const PlacedParameter& param : block.params) {
    if (param.spec.packed) continue;
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

// Whether some state of the optimizer begins as the weights.
bool keeps_weights(const Optimizer& optimizer) {
  return optimizer.has_master() ||
         std::ranges::any_of(optimizer.states(), [](const StateKind& kind) {
           return kind.start == StateStart::weights;
         });
}

// Calls visit(spec, piece, memory of a range, global index of its first element) for every
// contiguous range of the weights this rank keeps, of their master copy and of their average.
template <class Visit>
void for_each_weight_run(const Stream& stream, ParameterStore& store, Optimizer* optimizer,
                         Visit&& visit) {
  for (int b = 0; b < std::ssize(store.blocks()); ++b) {
    const ParameterBlock& block = store.blocks()[static_cast<std::size_t>(b)];
    store.visit_weights(stream, b, Access::replace, [&](const BlockView& weights) {
      for_each_weight_run(block, weights, visit);
    });
    if (optimizer == nullptr || !keeps_weights(*optimizer)) continue;
    optimizer->visit_state(stream, b, Access::update, [&](const StateView& state) {
      if (optimizer->has_master()) for_each_weight_run(block, state.master, visit);
      for (std::size_t k = 0; k < optimizer->states().size(); ++k)
        if (optimizer->states()[k].start == StateStart::weights)
          for_each_weight_run(block, state.states[k], visit);
    });
  }
}

// Numbers of the random stream `key` from element `index` on, uniform within plus and minus
// `bound`.
void fill_uniform(const Stream& stream, Staging& staging, const Tensor& out, std::uint64_t key,
                  std::int64_t index, float bound) {
  std::vector<std::uint32_t> words(
      static_cast<std::size_t>(std::min(staged_elements, out.elements())));
  for (std::int64_t done = 0; done < out.elements(); done += staged_elements) {
    const std::int64_t count = std::min(staged_elements, out.elements() - done);
    random_words(words.data(), count, key, index + done);
    const Tensor from = staging.take(out.space(), DType::f32, count);
    constexpr double of_a_word = 0x1p-32;
    for (std::int64_t i = 0; i < count; ++i)
      from.as<float>()[i] = static_cast<float>(
          ((words[static_cast<std::size_t>(i)] + 0.5) * of_a_word * 2.0 - 1.0) * bound);
    staging.put(stream, out.slice(0, done, count), from);
  }
}

void initialize(const Stream& stream, Staging& staging, const ParameterSpec& spec,
                const Piece& piece, const Tensor& out, std::int64_t index, std::uint64_t seed) {
  const Stream its = stream_for(out, stream);
  const std::uint64_t key = mix_key(seed, piece.name);
  switch (spec.initial) {
    case Initial::zero:
      return fill_constant(its, out, 0.0F);
    case Initial::one:
      return fill_constant(its, out, 1.0F);
    case Initial::normal:
      return fill_normal(its, out, key, index, 0.0F, spec.deviation);
    case Initial::uniform:
      return fill_uniform(stream, staging, out, key, index, spec.deviation);
    case Initial::row_norm:
      check(false, "{} without the files of its model", piece.name);
  }
}

// out = elements of `source` (HuggingfaceWeights, AdapterWeights, RowNorms) from `index` on.
template <class Source>
void copy_from(const Source& source, const Stream& stream, Staging& staging, const Piece& piece,
               const Tensor& out, std::int64_t index) {
  if (out.dtype() == DType::f32 && out.space() == MemorySpace::host)
    return source.read(piece.name, index, out);
  for (std::int64_t done = 0; done < out.elements(); done += staged_elements) {
    const std::int64_t count = std::min(staged_elements, out.elements() - done);
    const Tensor from = staging.take(out.space(), DType::f32, count);
    source.read(piece.name, index + done, from);
    staging.put(stream, out.slice(0, done, count), from);
  }
}

// Fills the range that this rank keeps of each packed weight of a bucket. The whole weight of the
// tensor rank is made for that.
void load_packed(const HuggingfaceWeights& source, const ParameterBlock& block,
                 const BlockView& kept) {
  for (const PlacedParameter& param : block.params) {
    const FlatRange here = intersect(param.range(), kept.range);
    if (!param.spec.packed || here.count() == 0) continue;
    const std::int64_t bytes = param.spec.packed->bytes();
    std::vector<float> memory(static_cast<std::size_t>(bytes / 4 + 1));
    const Tensor whole(static_cast<void*>(memory.data()), DType::u8, {bytes});
    for (const PackedPart& part : param.spec.packed->parts)
      source.read_box(part.name, part.box,
                      {part.box, whole.slice(0, part.begin, part.box.bytes())});
    const Tensor to = bytes_of(kept.at(here));
    check(to.space() == MemorySpace::host, "packed weights on a device");
    const auto width = static_cast<std::int64_t>(size_of(kept.data.dtype()));
    const std::int64_t from = (here.begin - param.offset) * width;
    std::copy_n(whole.as<std::uint8_t>() + from, std::min(to.elements(), bytes - from),
                to.as<std::uint8_t>());
  }
}

void load_packed(const Stream& stream, ParameterStore& store, const HuggingfaceWeights& source) {
  for (int b = 0; b < std::ssize(store.blocks()); ++b) {
    const ParameterBlock& block = store.blocks()[static_cast<std::size_t>(b)];
    if (std::ranges::none_of(block.params, [](const PlacedParameter& param) {
          return param.spec.packed != nullptr;
        }))
      continue;
    store.visit_weights(stream, b, Access::update,
                        [&](const BlockView& weights) { load_packed(source, block, weights); });
  }
}

}  // namespace

void initialize_weights(const Stream& stream, ParameterStore& store, std::uint64_t seed,
                        Optimizer* optimizer) {
  Staging staging(store.wait());
  for_each_weight_run(
      stream, store, optimizer,
      [&](const ParameterSpec& spec, const Piece& piece, const Tensor& out, std::int64_t index) {
        initialize(stream, staging, spec, piece, out, index, seed);
      });
}

WeightNames load_weights(const Stream& stream, ParameterStore& store, const ModelConfig& model,
                         const std::string& directory, Optimizer* optimizer, std::uint64_t seed) {
  const HuggingfaceWeights source(directory, model);
  std::optional<AdapterWeights> adapter;
  if (!model.lora.from.empty()) adapter.emplace(model.lora.from, model);
  const RowNorms norms(source, model, store.type());
  Staging staging(store.wait());
  for_each_weight_run(
      stream, store, optimizer,
      [&](const ParameterSpec& spec, const Piece& piece, const Tensor& out, std::int64_t index) {
        if (adapter && spec.adapter)
          copy_from(*adapter, stream, staging, piece, out, index);
        else if (spec.of_base)
          copy_from(source, stream, staging, piece, out, index);
        else if (spec.initial == Initial::row_norm)
          copy_from(norms, stream, staging, piece, out, index);
        else
          initialize(stream, staging, spec, piece, out, index, seed);
      });
  load_packed(stream, store, source);
  return source.names();
}

WeightNames load_base_weights(const Stream& stream, ParameterStore& store, const ModelConfig& model,
                              const std::string& directory) {
  const HuggingfaceWeights source(directory, model);
  Staging staging(store.wait());
  for (int b = 0; b < std::ssize(store.blocks()); ++b) {
    const ParameterBlock& block = store.blocks()[static_cast<std::size_t>(b)];
    const auto of_adapter = [](const PlacedParameter& param) { return param.spec.adapter; };
    if (std::ranges::all_of(block.params, of_adapter)) continue;
    const bool mixed = std::ranges::any_of(block.params, of_adapter);
    store.visit_weights(
        stream, b, mixed ? Access::update : Access::replace, [&](const BlockView& weights) {
          for_each_weight_run(block, weights,
                              [&](const ParameterSpec& spec, const Piece& piece, const Tensor& out,
                                  std::int64_t index) {
                                if (!spec.adapter)
                                  copy_from(source, stream, staging, piece, out, index);
                              });
        });
  }
  load_packed(stream, store, source);
  return source.names();
}

std::int64_t loading_bytes(const ModelConfig& model, DType type, MemorySpace space) {
  std::int64_t elements = 0, largest = 0;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    elements += tensor.shape.elements();
    largest = std::max(largest, tensor.shape.elements());
  }
  // A packed weight is made whole; a matrix that the model has transposed is turned in memory.
  std::int64_t packed = 0;
  if (model.kept) packed = largest + largest / 8 + 8 * quantized_at_once;
  if (model.kept && family_of(model).block.order == WeightOrder::input_output)
    packed += 2 * largest * std::int64_t{sizeof(float)};
  const std::int64_t mapped =
      packed + std::min<std::int64_t>(SafetensorsReader::most_mapped,
                                      elements * std::int64_t{sizeof(float)});
  if (type == DType::f32 && space == MemorySpace::host) return mapped;
  return mapped + Staging::bytes_of(space, type, std::min(largest, staged_elements));
}

}  // namespace triax
