// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <vector>

#include "src/checkpoint/held_slice.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/checkpoint/state_slices.hpp"

namespace triax {
namespace {

// Calls visit(tensor name, HeldPart) for every piece that this rank saves. State on a disk is read
// for the call and is in memory only until visit returns; reading may fail on this rank alone.
template <class Visit>
void each_saved(const Stream& stream, ParameterStore& store, Optimizer* optimizer, Visit&& visit) {
  for (int b = 0; b < static_cast<int>(store.blocks().size()); ++b) {
    const ParameterBlock& block = store.blocks()[static_cast<std::size_t>(b)];
    if (block.duplicate || !block.saved) continue;
    const auto owned = [](const Piece& piece) { return piece.owner; };
    const auto save = [&](const std::string& group, const BlockView& view) {
      each_part(block, intersect(block.own, view.range), view, owned,
                [&](const HeldSlice& part) { visit(group + part.name(), part); });
    };
    const auto save_state = [&](const StateKind& kind, const BlockView& view) {
      if (!has_state(kind, block)) return;
      each_state_part(block, kind, intersect(block.own, view.range), view, owned,
                      [&](const HeldSlice& part) { visit(state_group(kind) + part.name(), part); });
    };
    store.visit_weights(stream, b, Access::read,
                        [&](const BlockView& weights) { save(weight_group, weights); });
    if (optimizer == nullptr) continue;
    optimizer->visit_state(stream, b, Access::read, [&](const StateView& state) {
      if (optimizer->has_master()) save(master_group, state.master);
      for (std::size_t k = 0; k < optimizer->states().size(); ++k)
        save_state(optimizer->states()[k], state.states[k]);
    });
  }
}

// Writes every piece in its type in memory, without conversion; packed state as float32.
void write_state(const Stream& stream, ParameterStore& store, Optimizer* optimizer,
                 CheckpointWriter& writer) {
  const WaitForDevice wait = store.wait();
  Staging staging(wait);
  each_saved(stream, store, optimizer, [&](const std::string& name, const HeldSlice& held) {
    if (const auto run = held.host_run()) return writer.write(name, boxes_of(held.range), *run);
    each_staged(staging, held, held.type(), [&](const HeldSlice& part, const Tensor& memory) {
      part.copy_to(stream, memory);
      Event copied;
      copied.record(stream);
      wait(copied);
      writer.write(name, boxes_of(part.range), memory);
    });
  });
}

// Upper bound of the snapshot's bytes beside the elements (alignment) for the pieces of one
// parameter, each saved as one part.
std::int64_t beside_bytes(const ParameterSpec& spec) {
  std::int64_t bytes = 0;
  for (const Piece& piece : spec.pieces) {
    const std::int64_t most = piece.extent.elements() * std::int64_t{sizeof(float)};
    bytes += CheckpointSnapshot::footprint(most) - most + CheckpointSnapshot::footprint(1);
  }
  return bytes;
}

}  // namespace

std::int64_t staging_bytes(const std::vector<ParameterBlock>& blocks, DType type, MemorySpace space,
                           const std::vector<StateKind>& states) {
  const bool packed = has_packed(states);
  std::int64_t most = 0;
  for (const ParameterBlock& block : blocks)
    for (const PlacedParameter& param : block.params)
      for (const Piece& piece : param.spec.pieces) {
        if (param.spec.packed) break;  // never saved
        const std::int64_t elements = piece.extent.elements();
        if (elements > most && (type != DType::f32 || packed || space == MemorySpace::device ||
                                !side_by_side({&piece, 0, elements}, param.spec.shape)))
          most = elements;
      }
  most = std::min(most, staged_elements);
  // Restoring packed state: the window beside the piece, and its cells on the way to a device.
  const std::int64_t window = packed ? most * std::int64_t{sizeof(float)} + packed_bytes(most) : 0;
  return Staging::bytes_of(space, type, most) + window;
}

std::int64_t snapshot_bytes(const std::vector<ParameterBlock>& blocks, DType type,
                            const std::vector<StateKind>& states) {
  std::int64_t bytes = 0;
  for (const ParameterBlock& block : blocks) {
    if (block.duplicate || !block.saved) continue;
    std::int64_t state = 0, kinds = 0;  // bytes of an element, number
    if (block.trained && type != DType::f32) {
      state += std::int64_t{sizeof(float)};  // master
      ++kinds;
    }
    for (const StateKind& each : states)
      if (block.trained && has_state(each, block)) {
        state += static_cast<std::int64_t>(size_of(each.saved_type()));
        ++kinds;
      }
    // With padding: the same number on every data rank.
    bytes += block.own.count() * (static_cast<std::int64_t>(size_of(type)) + state);
    std::int64_t most = 0;  // of a parameter
    for (const PlacedParameter& param : block.params) {
      const std::int64_t beside = beside_bytes(param.spec);
      bytes += (1 + kinds) * beside;
      most = std::max(most, beside);
    }
    // State in an offload store comes one sub-group at a time; a sub-group's end may cut a
    // parameter and all its pieces.
    if (!block.parts.empty()) bytes += kinds * (std::ssize(block.parts) - 1) * most;
  }
  return bytes;
}

void take_snapshot(const Stream& stream, ParameterStore& store, Optimizer& optimizer,
                   CheckpointSnapshot& snapshot) {
  const bool stays = store.offload() == nullptr && optimizer.offload() == nullptr;
  snapshot.clear();
  each_saved(stream, store, &optimizer, [&](const std::string& name, const HeldSlice& part) {
    if (const auto run = part.one_run())
      snapshot.add(name, boxes_of(part.range), *run);
    else
      snapshot.add(name, boxes_of(part.range), part.type(),
                   [part](const Stream& copies, const Tensor& to) { part.copy_to(copies, to); });
    if (!stays) snapshot.copy(stream);
  });
}

std::vector<CheckpointTensor> checkpoint_tensors(const ModelConfig& model,
                                                 const ParameterStore& store,
                                                 const Optimizer* optimizer) {
  std::vector<CheckpointTensor> tensors;
  const std::vector<GlobalTensor> all = global_tensors(model);
  const auto add = [&](const std::string& group, DType type, const StateKind& of = {}) {
    for (const GlobalTensor& tensor : all)
      if ((tensor.trained || group == weight_group) && (tensor.adapter || !model.lora) &&
          of.of(tensor.matrix))
        tensors.push_back({group + tensor.name, type, tensor.shape});
  };
  add(weight_group, store.type());
  if (optimizer != nullptr) {
    if (optimizer->has_master()) add(master_group, DType::f32);
    for (const StateKind& state : optimizer->states())
      add(state_group(state), state.saved_type(), state);
  }
  return tensors;
}

std::string save_checkpoint(const Stream& stream, const std::string& path,
                            const CheckpointHeader& header, const ModelConfig& model,
                            ParameterStore& store, Optimizer* optimizer, const ProcessGrid& grid,
                            const CheckpointOptions& options, const RunTokenizer* tokenizer) {
  std::vector<CheckpointTensor> tensors;
  agreed(grid, [&] {
    tensors = checkpoint_tensors(model, store, optimizer);
    if (tokenizer != nullptr)
      tensors.insert(tensors.end(), tokenizer->datasets.begin(), tokenizer->datasets.end());
  });
  CheckpointWriter writer(path, grid, options);
  writer.create(header, tensors);
  try {
    write_state(stream, store, optimizer, writer);
    if (tokenizer != nullptr) write_tokenizer(*tokenizer, grid, writer);
  } catch (const std::exception& error) {
    writer.fail(failure_text(error));  // the other ranks go on to publish() and learn of it there
  }
  return writer.publish();
}

CheckpointOptions checkpoint_options(const CheckpointConfig& config) {
  CheckpointOptions options;
  options.files = config.files;
  options.collective = config.collective;
  options.hints = {config.striping_factor, config.striping_unit, config.alignment};
  return options;
}

}  // namespace triax
